// A CUDA that is no GPU: the functions of the runtime and the driver that gpu/ calls, in the host's memory. Streams are queues of
// which nothing is done until it must be, or until chance says so, and then in any order that events allow: work that forgot to
// wait for other work meets elements that are not there yet. What a driver would forbid, or do slowly without a word, is noted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fake_cuda {

struct Settings {
  std::uint64_t seed = 1;
  std::int64_t device_bytes = std::int64_t{1} << 30;
  std::int64_t registered_bytes = std::int64_t{1} << 30; // of the host's memory, at the most
  bool has_virtual_memory = true;
  std::int64_t lost_at = -1; // the step of a stream, counted from 0, from which on nothing is done and all waits fail; -1: none
  std::int64_t refused_call = -1; // of those that take or map memory, counted from 0; -1: none
};

struct Counts {
  std::int64_t copies = 0;           // that engines do beside everything
  std::int64_t copies_that_wait = 0; // since the host's memory is not registered
  std::int64_t kernels = 0;
  std::int64_t steps = 0;        // of streams
  std::int64_t mapped_again = 0; // pages that were mapped already
  std::int64_t refusable = 0;    // calls that could have been refused
  std::int64_t out_of_order = 0; // work that was done before work of other streams that was queued earlier
};

// A fresh machine. Nothing is kept of the one before.
void begin(const Settings& settings);
// Whatever was done wrong since.
const std::vector<std::string>& faults();
// Memory, addresses, registrations, streams and events that were not given back.
std::int64_t left_over();
const Counts& counts();

} // namespace fake_cuda
