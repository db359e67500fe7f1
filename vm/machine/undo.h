// An instruction that was stopped half-way has not happened. The objects it made are released as the exception unwinds; an Undo
// puts the machine's counters and the tape back to what they were, so that the instruction does the same when it is executed
// again.
#pragma once

#include "vm/machine/engine.h"
#include "vm/machine/tensor_operands.h"

namespace cairn::machine {

// Charges what streamed runs have recorded. BudgetExceeded.
void account_recordings(Engine& engine);

class Undo {
public:
  explicit Undo(Engine& engine) : Undo(engine, engine.runs.back().tape) {}
  // `tape`: what may be recorded on; null: none.
  Undo(Engine& engine, Tape* tape)
      : attempt_(engine.meter()), engine_(engine), tape_(tape), draws_(engine.effects.draws()),
        serial_(engine.heap().next_serial), tag_(engine.next_tag), work_(engine.meter().work()),
        capsules_(engine.statistics.capsules_taken) {
    if (tape_ != nullptr) length_ = tape_->length();
    if (const auto& call = engine.streamed_call(); call != nullptr) recorded_ = call->mark();
  }
  ~Undo() { engine_.effects.keep_draws(draws_); }
  Undo(const Undo&) = delete;
  Undo& operator=(const Undo&) = delete;
  void put_back() const {
    if (tape_ != nullptr) tape_->cut(length_);
    if (const auto& call = engine_.streamed_call(); call != nullptr) call->take_back(recorded_);
    engine_.heap().next_serial = serial_;
    engine_.effects.put_back_draws(draws_);
    engine_.next_tag = tag_;
    engine_.meter().set_work(work_);
    engine_.statistics.capsules_taken = capsules_;
  }

private:
  ops::Meter::Attempt attempt_;
  Engine& engine_;
  Tape* tape_;
  std::size_t draws_;
  std::uint64_t serial_, tag_, work_, capsules_;
  Tape::Length length_;
  ops::streaming::Call::Mark recorded_;
};

// Calls f, which can be stopped. Polls once before, so that many steps in a row of a millisecond each can be stopped too.
template <class F> decltype(auto) stoppable(Engine& engine, Tape* tape, F&& f) {
  const Undo undo(engine, tape);
  try {
    engine.meter().poll();
    if (engine.streamed_run() != nullptr) account_recordings(engine);
    // Runs call operators by themselves, too, as for the sum of two cotangents.
    return tensors::translated("", f);
  } catch (const ops::Stopped&) {
    undo.put_back();
    throw;
  } catch (const value::BudgetExceeded&) {
    engine.refused_step_undone = !engine.meter().held();
    if (engine.refused_step_undone) undo.put_back();
    throw;
  }
}
template <class F> decltype(auto) stoppable(Engine& engine, F&& f) {
  return stoppable(engine, engine.runs.back().tape, std::forward<F>(f));
}

} // namespace cairn::machine
