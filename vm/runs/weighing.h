// What states and tapes of a run weigh, for schedules: logical bytes, the same in every replay, so that a schedule which decides
// by them decides alike. Counts of references, levels of accounts and addresses have no part in them.
#pragma once

#include "vm/machine/engine.h"
#include "vm/schedule/schedule.h"

#include <cstdint>
#include <vector>

namespace cairn::runs {

// Bytes of what a state holds that is newer than `since`: its own cost beyond the snapshot before it. The last frame that is
// older may have changed since, by a loop in it; those that wait behind it cannot.
std::int64_t logical_bytes(machine::Engine& engine, const std::vector<machine::Run>& runs, std::uint64_t since);

// Bytes of the frames younger than `low`.
std::uint64_t stack_bytes(const std::vector<machine::Run>& runs, std::uint64_t low);

// Bytes of all that can be reached from these, however old it is.
std::uint64_t reachable_bytes(machine::Engine& engine, const std::vector<machine::Run>& runs,
                              const std::vector<value::Value>& values);

using schedule::OldTensor;

// A state at the end of a tape, and the tape, by birth: entry k is what was made while the serial counter stood at births[k] or
// above it, and below births[k + 1]. Elements are as old as the first tensor that had them.
struct Weights {
  std::vector<std::uint64_t> state, tape; // the tape's records and tables apart
  std::uint64_t together = 0;             // of the last birth: what the state, the tape or both hold
  std::uint64_t own = 0;                  // of the tape's records and tables
  std::uint64_t largest = 0;              // of operands and results of one operation on the tape
  // What is held for a while beside the states at both ends and the whole tape: while the interval runs without tape and with it,
  // and, cotangents that are new among it, while the tape is swept and gets shorter.
  std::uint64_t advancing = 0, taping = 0, sweeping = 0;
  std::uint64_t work = 0; // modelled, of the operations on the tape: the machine's own count goes on where a replay goes back
  bool nested = false;    // a derivative operator ran on the tape
  std::vector<OldTensor> read; // tensors older than the first birth that the tape has as inputs, by serial
};
Weights weigh(machine::Engine& engine, const std::vector<machine::Run>& runs, const tape::Tape& tape,
              const std::vector<std::uint64_t>& births);

} // namespace cairn::runs
