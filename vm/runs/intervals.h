// Intervals of checkpoint-*j (intervals.cpp): how the executor of schedules (checkpoint.cpp) runs one from a state and seeds the
// tape of one with the cotangents of the state it ended in.
#pragma once

#include "vm/runs/states.h"

namespace cairn::runs {

// Runs `steps` steps from the current state, on the tape in work if there is one.
void begin_interval(Engine& engine, CheckpointState& s, machine::rules::Owned& state, std::uint64_t steps);

// Before an interval that is taped: its tape, a new one unless the tape in work is to go on. Where the tape comes to weigh more
// than `records`, the interval ends before its steps are done.
void begin_tape(Engine& engine, CheckpointState& s, std::uint64_t records);

// After an interval, whether its budget or the program ended.
void after_interval(Engine& engine, CheckpointState& s, std::uint64_t steps, bool ended);

// Tells the schedule what the tape in work and the state at its end hold.
void tell_weights(Engine& engine, CheckpointState& s);

// All slots with numbers in the state at the end of a tape.
TapeEnds tape_ends(Engine& engine, const std::vector<Run>& runs, const Tape& tape);

// Seeds the tape in work at the state it ended in.
void seed_interval(Engine& engine, CheckpointState& s);

} // namespace cairn::runs
