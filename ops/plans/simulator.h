// One memory of a device and its three streams in virtual time: what a run of recorded launches would take, and what it would
// move, under several ways to decide what is in the memory. With the same decisions a device comes to the same numbers.
#pragma once

#include "ops/plans/access_plan.h"
#include "ops/plans/follower.h"
#include "ops/plans/foresight.h"
#include "ops/plans/memory.h"
#include "ops/plans/policy.h"
#include "ops/plans/prefetcher.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace cairn::ops::plans {

struct Simulated {
  Picoseconds makespan = 0, stalled = 0; // stalled: no launch was running
  std::uint64_t bytes_in = 0, bytes_out = 0;
  std::uint64_t fetches = 0, ahead = 0; // copies in, and those of them that were not waited for to be asked for
  std::uint64_t evictions = 0, write_backs = 0;
  std::uint64_t faults = 0, divergences = 0;
  std::uint64_t peak = 0; // bytes in the memory
  std::string failed;     // why it cannot be done; empty: it was
};

// What was done, for whoever wants to judge it.
struct Move {
  enum class Kind : std::uint8_t { fetch, take, write_back, evict, launch, drop };
  Kind kind = Kind::launch;
  std::uint32_t block = 0; // of the run
  std::size_t launch = 0;
  Picoseconds executed = 0; // when all launches that were queued before have ended; of a launch, itself as well
  Picoseconds waited = 0;   // of a launch: for room, whatever it waited for besides
};

// Leaves are below at the start, and the memory is empty. Null for the plan: the run itself, which foretells itself; plans are
// not looked at where the policy has none. Null for foresight: none.
Simulated simulate(const AccessPlan& run, const AccessPlan* plan, Policy policy, const Memory& memory,
                   Ending ending = Ending::once, const Foresight* foresight = nullptr,
                   const std::function<void(const Move&)>& each = {});

} // namespace cairn::ops::plans
