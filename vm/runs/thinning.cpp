// See thinning.h.
#include "vm/runs/thinning.h"

#include "ops/operators/runtime.h"
#include "vm/runs/met.h"
#include "vm/schedule/profile.h"

#include <algorithm>

namespace cairn::runs {

using ops::Tensor;
using tape::Derived;
using tape::TensorRecord;

namespace {

// Without its elements; where it is stays known.
void empty(Tensor& t) {
  t.home = t.device();
  t.storage = {};
}

} // namespace

std::uint64_t cost_of(const schedule::CostTable& costs, const TensorRecord& record, std::span<const Tensor> inputs,
                      std::span<const Tensor> outputs) {
  if (record.op == nullptr)
    return costs.ticks(1, 0, 0, static_cast<double>(record.inputs.element_bytes() + record.outputs.element_bytes()));
  const ops::Cost cost = ops::Runtime::modelled_cost({*record.op, inputs, record.attributes, nullptr}, outputs);
  return costs.ticks(1, cost.products, cost.flops, cost.bytes);
}

bool let_go(const Derived& derived, const TensorRecord& record, std::span<Tensor> inputs, std::span<Tensor> outputs) {
  bool any = false;
  if (record.kind != TensorRecord::Kind::apply) return false;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].storage && derived.has(record.operands[i])) {
      empty(inputs[i]);
      any = true;
    }
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].storage && derived.has(record.node + static_cast<std::uint32_t>(i))) {
      empty(outputs[i]);
      any = true;
    }
  return any;
}

void thin(machine::Engine& engine, tape::Tape& tape) {
  Polls polls(engine.meter());
  Derived derived(engine.heap());
  for (std::size_t at = 0; at < tape.tensors().size(); ++at) {
    polls.one();
    const TensorRecord& record = *tape.tensors()[at];
    std::vector<Tensor> inputs = record.inputs.all(), outputs = record.outputs.all();
    derived.add(record, inputs, Derived::As::lean, record.cheap);
    if (let_go(derived, record, inputs, outputs)) tape.keep_less(at, inputs, outputs);
  }
}

} // namespace cairn::runs
