// get-streaming-plan and call-with-streaming-plan: calls whose launches are recorded, or foretold, for the device that streams
// (SCORCH, the thesis, section 3.2.2).
#pragma once

#include "ops/streaming/call.h"
#include "vm/machine/engine.h"
#include "vm/value/charged.h"

#include <memory>

namespace cairn::runs {

using machine::Engine;
using value::Heap;
using value::Value;

// Of a streamed run. What was recorded belongs to it, so a copy has a recording of its own.
struct StreamedState final : machine::RunState {
  explicit StreamedState(Engine& engine) : charged(engine.heap(), engine.heap().scratch) {}
  std::shared_ptr<ops::streaming::Call> streamed; // null where it was resumed in a gradient, whose replays would stray from it
  bool given_up = false;                          // so that what it recorded is no plan
  value::Charged charged;                         // for what is recorded

  machine::OwnedState clone(Engine& engine) const override;
  void activate(Engine&) const override {}
  void finished(Engine&, Value, std::uint64_t) override {}
  Value result(Engine& engine, Value value) override;
  const std::shared_ptr<ops::streaming::Call>& call() const override { return streamed; }
  void resumed(Engine& engine) override;
  void account() override;
  void release(Heap&) override {}
};

// Starts the run; everything is borrowed. `records`: there is no plan yet. Throws ProgramError.
void start_streamed(Engine& engine, bool records, Value plan, Value f, Value x);

} // namespace cairn::runs
