// Smaller forms of what a tape keeps (ops::SmallerForm): bits that say where a rectified tensor is positive, places of the
// largest in windows. They save something only where nobody keeps the tensor itself, so it is decided behind a few more
// operations, by what these keep. What is recorded later and wants the tensor keeps it as well.
#include "ops/operators/registry.h"
#include "ops/operators/runtime.h"
#include "vm/machine/tensor_operands.h"

#include <vector>

namespace cairn::machine::tensors {

using ops::Tensor;
using tape::TensorRecord;

namespace {

constexpr std::size_t kDecidedBehind = 2;      // operations
constexpr std::uint64_t kOfWhole = 2;          // what is kept instead takes at most one of so many parts
constexpr std::uint64_t kLeastReplaced = 4096; // bytes

// The node that a record keeps where something smaller might be kept; kNone: it keeps nothing.
std::uint32_t replaceable(const TensorRecord& record) {
  const std::uint32_t node = ops::keeps_smaller_output(*record.op) ? record.node : record.operands[0];
  return node != tape::kNone && keeps_whole(record, node) ? node : tape::kNone;
}

struct Replaced {
  std::size_t at;
  Tensor whole, smaller;
};

} // namespace

void keep_smaller(Engine& engine, Tape& tape) {
  const auto records = tape.tensors();
  if (records.size() <= kDecidedBehind) return;
  const TensorRecord& due = *records[records.size() - 1 - kDecidedBehind];
  if (!may_keep_smaller(due)) return;
  const std::uint32_t node = replaceable(due);
  const auto maker = node == tape::kNone ? records.end() : tape.place_of(node);
  if (maker == records.end() || records.end() - maker > tape::kLooksAhead) return;
  std::vector<Replaced> all;
  for (auto record = maker; record != records.end(); ++record) {
    const TensorRecord& r = **record;
    if (!keeps_whole(r, node)) continue;
    if (!may_keep_smaller(r) || replaceable(r) != node) return;
    const std::vector<Tensor> inputs = r.inputs.all(), outputs = r.outputs.all();
    Tensor whole = ops::keeps_smaller_output(*r.op) ? outputs[0] : inputs[0];
    if (static_cast<std::uint64_t>(whole.bytes()) < kLeastReplaced ||
        !whole.device()->supports(ops::operator_of(r.op->smaller->made_by)) ||
        !r.op->smaller->fits({*r.op, inputs, r.attributes, nullptr}, whole))
      return;
    all.push_back({static_cast<std::size_t>(record - records.begin()), std::move(whole), {}});
  }
  std::uint64_t bytes = 0;
  for (Replaced& r : all) {
    const TensorRecord& record = *records[r.at];
    const ops::Call making = ops::call_for_smaller(*record.op, r.whole, record.attributes, nullptr);
    ops::ResultTypes types;
    making.op.infer(making, types);
    bytes += static_cast<std::uint64_t>(types[0].shape.elements() * ops::bytes_of(types[0].dtype));
  }
  if (bytes > static_cast<std::uint64_t>(all.front().whole.bytes()) / kOfWhole) return;
  for (Replaced& r : all) {
    const ops::Call making = ops::call_for_smaller(*records[r.at]->op, r.whole, records[r.at]->attributes, nullptr);
    r.smaller = engine.tensors().runtime.apply(making.op.id, {r.whole}, making.attributes);
  }
  for (const Replaced& r : all) {
    std::vector<Tensor> inputs = records[r.at]->inputs.all(), outputs = records[r.at]->outputs.all();
    Tensor& goes = ops::keeps_smaller_output(*records[r.at]->op) ? outputs[0] : inputs[0];
    goes = ops::description(std::move(goes));
    tape.keep_less(r.at, inputs, outputs, {&r.smaller, 1});
  }
}

} // namespace cairn::machine::tensors
