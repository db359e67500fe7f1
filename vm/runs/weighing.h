// What states and tapes of a run weigh, for schedules: logical bytes, the same in every replay, so that a schedule which decides
// by them decides alike. Counts of references, levels of accounts and addresses have no part in them.
#pragma once

#include "vm/machine/engine.h"
#include "vm/runs/states.h"
#include "vm/schedule/schedule.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace cairn::runs {

// Bytes of what a state holds that is newer than `since`: its own cost beyond the snapshot before it. The last frame that is
// older may have changed since, by a loop in it; those that wait behind it cannot.
std::int64_t logical_bytes(machine::Engine& engine, const std::vector<machine::Run>& runs, std::uint64_t since);

// Bytes of the tensors that these reach and that are newer than `since`; none if there is too much to look at in no time. It
// is never stopped.
std::optional<std::uint64_t> alive_bytes(machine::Engine& engine, std::span<const machine::Run> runs, std::uint64_t since);

// Bytes of the frames younger than `low`.
std::uint64_t stack_bytes(const std::vector<machine::Run>& runs, std::uint64_t low);

// Bytes of all that can be reached from these, however old it is.
std::uint64_t reachable_bytes(machine::Engine& engine, const std::vector<machine::Run>& runs,
                              std::span<const value::Value> values);

// A state at the end of a tape, and the tape, by birth: entry k is what was made while the serial counter stood at births[k] or
// above it, and below births[k + 1]. Elements are as old as the first tensor that had them. `rules_take`: an update rule takes
// the cotangent of a leaf once the sweep has passed its first read. `before` has the elements that the tape before this one was
// weighed with; `elements` is empty and gets those of this one.
schedule::Weights weigh(machine::Engine& engine, const std::vector<machine::Run>& runs, tape::Tape& tape,
                        const WeighedElements& before, const std::vector<std::uint64_t>& births, bool rules_take,
                        WeighedElements& elements);

// Before the tape of an inner gradient is swept, what that takes and holds (tape::Output), if an outer run is weighed. It may be
// stopped, and then nothing has changed.
void weigh_inside(Engine& engine, ReverseState& s);

} // namespace cairn::runs
