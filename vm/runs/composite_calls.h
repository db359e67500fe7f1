// The composites of a tape, as weighing sees them: calls of procedures with derivative rules, and gradients inside.
#pragma once

#include "vm/runs/graph.h"
#include "vm/value/charged.h"

#include <cstddef>
#include <cstdint>

namespace cairn::runs {

// Nothing is recorded while the value of one is computed, so the tensors that it gives are the tape's next records:
// Call::at is the number of the first record at or behind the call, or that of all records if there is none.
class CompositeCalls {
public:
  struct Call {
    std::size_t at;
    const tape::Composite* composite;
    const tape::Output* output; // null: a procedure with rules that ended on a later tape
  };
  CompositeCalls(Engine& engine, const tape::Tape& tape);
  // A gradient inside that is not over yet, or was not weighed, is not among them.
  const value::ChargedVector<Call>& all() const { return calls_; }
  bool some_unknown() const { return unknown_; }
  // Calls f(tensor) for those among the arguments, and for those of the value.
  template <class F> void each_argument(const Call& call, F&& f) const {
    each(call.composite->x, f);
    if (call.composite->is_ruled()) return;
    each(call.composite->f, f);
    each(call.composite->cotangent, f);
  }
  template <class F> void each_result(const Call& call, F&& f) const {
    if (call.output != nullptr) each(call.output->skeleton, f);
  }
  // Calls f(tensor, its storage) for both.
  template <class F> void each_storage(const Call& call, F&& f) const {
    const auto storage = [&](const value::TensorObject& t) {
      if (t.tensor.storage) f(t, t.tensor.storage.get());
    };
    each_argument(call, storage);
    each_result(call, storage);
  }

private:
  template <class F> void each(Value v, F&& f) const {
    contains(engine_.heap(), v, [&](Value leaf) {
      if (value::is_tensor(leaf)) f(*value::as_tensor_object(leaf));
      return false;
    });
  }
  Engine& engine_;
  value::ChargedVector<Call> calls_;
  bool unknown_ = false;
};

} // namespace cairn::runs
