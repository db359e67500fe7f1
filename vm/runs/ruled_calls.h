// The calls of procedures with derivative rules on a tape, as weighing sees them.
#pragma once

#include "vm/runs/graph.h"
#include "vm/value/charged.h"

#include <cstddef>
#include <cstdint>

namespace cairn::runs {

// Nothing is recorded while the value of one is computed, so the tensors that it gives are the tape's next records: a call
// belongs to the operation of that number, or to one behind the last.
class RuledCalls {
public:
  struct Call {
    std::size_t at;
    const tape::Composite* composite;
    const tape::Output* output; // null: it ended on a later tape
  };
  RuledCalls(Engine& engine, const tape::Tape& tape) : engine_(engine), calls_(value::ChargedAllocator<Call>(engine.heap())) {
    Polls polls(engine.meter());
    value::ChargedMap<std::uint64_t, const tape::Output*> outputs{value::ChargedAllocator<const tape::Output*>(engine.heap())};
    for (const tape::Output& o : tape.outputs) {
      polls.one();
      outputs.emplace(o.serial, &o);
    }
    std::size_t at = 0;
    for (const tape::Composite& c : tape.composites) {
      polls.one();
      while (at < tape.tensors().size() && tape.tensors()[at]->node < c.node) ++at;
      if (!c.is_ruled()) continue;
      const auto found = outputs.find(c.serial);
      calls_.push_back({at, &c, found != outputs.end() ? found->second : nullptr});
    }
  }
  const value::ChargedVector<Call>& all() const { return calls_; }
  // Calls f(tensor) for those among the arguments, and for those of the value.
  template <class F> void each_argument(const Call& call, F&& f) const { each(call.composite->x, f); }
  template <class F> void each_result(const Call& call, F&& f) const {
    if (call.output != nullptr) each(call.output->skeleton, f);
  }
  template <class F> void each_storage(const Call& call, F&& f) const {
    const auto storage = [&](const value::TensorObject& t) {
      if (t.tensor.storage) f(t.tensor.storage.get());
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
};

} // namespace cairn::runs
