// See thinning.h.
#include "vm/runs/thinning.h"

#include "vm/runs/met.h"
#include "vm/tape/derived.h"

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

// What a lean tape does not keep of a record, once it has been added to `derived`: takes the elements out of these lists of its
// tensors. Whether there was any.
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

} // namespace

void thin(machine::Engine& engine, tape::Tape& tape) {
  Polls polls(engine.meter());
  Derived derived(engine.heap());
  for (std::size_t at = 0; at < tape.tensors().size(); ++at) {
    polls.one();
    const TensorRecord& record = *tape.tensors()[at];
    std::vector<Tensor> inputs = record.inputs.all(), outputs = record.outputs.all();
    derived.add(record, Derived::As::lean, record.cheap);
    if (let_go(derived, record, inputs, outputs)) tape.keep_less(at, inputs, outputs);
  }
}

} // namespace cairn::runs
