// See composite_calls.h.
#include "vm/runs/composite_calls.h"

#include "vm/runs/met.h"

namespace cairn::runs {

CompositeCalls::CompositeCalls(Engine& engine, const tape::Tape& tape)
    : engine_(engine), calls_(value::ChargedAllocator<Call>(engine.heap())) {
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
    const auto found = outputs.find(c.serial);
    const tape::Output* const output = found != outputs.end() ? found->second : nullptr;
    if (!c.is_ruled() && (output == nullptr || output->sweeping == 0))
      unknown_ = true;
    else
      calls_.push_back({at, &c, output});
  }
}

} // namespace cairn::runs
