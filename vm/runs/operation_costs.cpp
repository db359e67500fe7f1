// See the header.
#include "vm/runs/operation_costs.h"

#include "ops/operators/registry.h"
#include "ops/operators/rule_cost.h"
#include "ops/operators/runtime.h"
#include "vm/machine/tensor_operands.h"
#include "vm/schedule/profile.h"

#include <algorithm>
#include <memory>
#include <vector>

namespace cairn::runs {

namespace {

bool same(const ops::Attributes& a, const ops::Attributes& b) {
  return std::ranges::equal(a.values, b.values, [](const ops::Attribute& one, const ops::Attribute& other) {
    return one.kind() == other.kind() && one.integer() == other.integer() && one.number() == other.number() &&
           one.list() == other.list() && one.device() == other.device();
  });
}

} // namespace

OperationCosts::OperationCosts(machine::Engine& engine, const tape::Tape& tape)
    : engine_(engine), tape_(tape), known_(ops::all_operators().size(), Known{}, engine.heap()) {}

OperationCosts::Cost OperationCosts::of(const tape::TensorRecord& record, std::uint8_t given) {
  if (record.op == nullptr) {
    const auto bytes = static_cast<double>(record.inputs.element_bytes() + record.outputs.element_bytes());
    const std::uint64_t moved = engine_.costs.ticks(1, 0, 0, bytes);
    return {moved, record.kind == tape::TensorRecord::Kind::leaf ? 0 : 2 * moved, 0};
  }
  Known& known = known_[static_cast<std::size_t>(record.op->id)];
  for (const One& one : known.last)
    if (one.record != nullptr && one.given == given && same(*one.record, record)) return one.cost;
  One& oldest = known.last[known.next];
  known.next = (known.next + 1) % known.last.size();
  oldest = {&record, given, modelled(record, given)};
  return oldest.cost;
}

bool OperationCosts::same(const tape::TensorRecord& a, const tape::TensorRecord& b) const {
  const auto varies = [&](std::uint32_t node) { return tape_.varies(node); };
  return a.inputs.like(b.inputs) && a.outputs.like(b.outputs) && runs::same(a.attributes, b.attributes) &&
         (a.smaller.size() == 0) == (b.smaller.size() == 0) && a.encoded_small == b.encoded_small &&
         std::ranges::equal(a.operands, b.operands, {}, varies, varies);
}

OperationCosts::Cost OperationCosts::modelled(const tape::TensorRecord& record, std::uint8_t given) const {
  const std::vector<ops::Tensor> inputs = record.inputs.all(), outputs = record.outputs.all();
  const ops::Call call{*record.op, inputs, record.attributes, nullptr};
  const ops::Cost cost = ops::Runtime::modelled_cost(call, outputs);
  const std::uint64_t ticks = engine_.modelled_ticks(1, cost);
  machine::tensors::EncodingTicks encoding;
  if (record.is_lossy()) encoding = machine::tensors::ticks_of_encoding(engine_, record, inputs[0], ticks);
  return {ticks, schedule::bounded(of_rule(record, call, outputs, given).value_or(2 * ticks) + encoding.swept),
          encoding.recorded};
}

// Nothing: nobody can tell.
std::optional<std::uint64_t> OperationCosts::of_rule(const tape::TensorRecord& record, const ops::Call& call,
                                                     std::span<const ops::Tensor> outputs, std::uint8_t given) const {
  if (record.kind != tape::TensorRecord::Kind::apply || record.op->vjp == nullptr) return std::nullopt;
  value::Heap& heap = engine_.heap();
  const value::Charged listed(heap, heap.scratch, static_cast<std::int64_t>(3 * call.inputs.size() * sizeof(ops::Tensor)));
  const std::size_t n = call.inputs.size();
  const auto wanted = std::make_unique<bool[]>(n), with_cotangent = std::make_unique<bool[]>(outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) with_cotangent[i] = i >= kGiven || (given >> i & 1) != 0;
  for (std::size_t i = 0; i < n; ++i) wanted[i] = tape_.varies(record.operands[i]);
  std::vector<ops::Tensor> smaller;
  if (!record.is_lossy() || record.op->normalized != nullptr) smaller = record.smaller.all();
  if (record.is_lossy() && !smaller.empty()) smaller[0] = call.inputs[0]; // decoded
  const auto cost = ops::cost_of_rule(call, outputs, {with_cotangent.get(), outputs.size()}, {wanted.get(), n}, smaller);
  if (!cost) return std::nullopt;
  return engine_.modelled_ticks(static_cast<double>(cost->operations), cost->cost);
}

std::uint64_t ticks_of_records(const schedule::CostTable& costs, const tape::Tape& tape) {
  const std::uint64_t numbers =
      tape.size() - tape.tensors().size(); // and results beyond an operation's first, which weigh nothing
  return schedule::bounded(numbers * costs.ticks_of_record() + tape.tensors().size() * costs.ticks_of_taped());
}

} // namespace cairn::runs
