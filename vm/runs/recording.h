// What the executor tells the recorder of outermost gradients. To be called only where the machine has one.
#pragma once

#include "vm/explain/recorder.h"
#include "vm/runs/states.h"
#include "vm/schedule/checker.h"

#include <optional>

namespace cairn::runs {

// That goes while the machine weighs and plans; null if nobody asked for explanations.
inline explain::Stopwatch* planning_watch(const Engine& engine) {
  return engine.recorder == nullptr ? nullptr : &engine.recorder->planning;
}

void record_beginning(Engine& engine, const CheckpointState& s);
// Memory has run out, and the schedule has said what to let go of.
void record_relief(Engine& engine, const CheckpointState& s, const schedule::Schedule::Relief& relief);
// Before the next action: what was done since the last one is over.
void record_arrival(Engine& engine, const CheckpointState& s);
// It has been begun, or performed.
void record_action(Engine& engine, const CheckpointState& s, const schedule::Action& action);
// The gradient has ended: it is told.
void record_end(Engine& engine, const CheckpointState& s);

// What is known of a run by which schedules of the same length can be predicted.
schedule::Program program_seen(const CheckpointState& s);
// What the memories of the device that streams, if there is one, hold and have held since the gradient began. `together`: bytes
// that are foreseen of all accounts, at most.
explain::Tiers tiers_of(const Engine& engine, std::optional<std::int64_t> together);
// Where a procedure of the user's called the operator.
std::string place_of_call(const Engine& engine);

// The program has ended: calls that no line was due for yet are told.
void record_rest(Engine& engine);
// It has ended within a gradient, of which nothing comes any more.
void record_break(Engine& engine);

// One that is in progress or did not come to its end, for a machine that stands still.
std::optional<explain::Gradient> unfinished_gradient(const Engine& engine);

} // namespace cairn::runs
