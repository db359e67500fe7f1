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

// What a tape that is lean at that level does not keep of a record, once it has been added to `derived`: takes the elements out
// of these lists of its tensors. Whether there was any.
bool let_go(const Derived& derived, std::size_t level, const TensorRecord& record, std::span<Tensor> inputs,
            std::span<Tensor> outputs) {
  bool any = false;
  if (record.kind != TensorRecord::Kind::apply) return false;
  const auto take = [&](Tensor& t, std::uint32_t node) {
    const std::uint8_t from = derived.level_of(node);
    if (!t.storage || from == 0 || from > level) return;
    empty(t);
    any = true;
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) take(inputs[i], record.operands[i]);
  for (std::size_t i = 0; i < outputs.size(); ++i) take(outputs[i], record.node + static_cast<std::uint32_t>(i));
  return any;
}

} // namespace

void thin(machine::Engine& engine, tape::Tape& tape, std::size_t level) {
  Polls polls(engine.meter());
  Derived derived(engine.heap());
  for (std::size_t at = 0; at < tape.tensors().size(); ++at) {
    polls.one();
    const TensorRecord& record = *tape.tensors()[at];
    std::vector<Tensor> inputs = record.inputs.all(), outputs = record.outputs.all();
    derived.add(record, Derived::As::lean);
    if (let_go(derived, level, record, inputs, outputs)) tape.keep_less(at, inputs, outputs, record.smaller.all());
  }
}

} // namespace cairn::runs
