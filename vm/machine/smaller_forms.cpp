// Smaller forms of what a tape keeps (ops::SmallerForm): bits that say where a rectified tensor is positive or which operand was
// taken, places of the largest in windows. They save something only where nobody keeps the tensors themselves, so it is decided
// behind a few more operations, by what these keep. What is recorded later and wants the tensors keeps them as well.
#include "ops/operators/registry.h"
#include "ops/operators/runtime.h"
#include "vm/machine/tensor_operands.h"

#include <algorithm>
#include <vector>

namespace cairn::machine::tensors {

using ops::Tensor;
using tape::TensorRecord;

namespace {

constexpr std::uint64_t kOfWhole = 2;          // what is kept instead takes at most one of so many parts
constexpr std::uint64_t kLeastReplaced = 4096; // bytes

bool contains(const auto& list, auto what) { return std::ranges::find(list, what) != list.end(); }

// The nodes that a record keeps where something smaller might be kept, each once.
std::vector<std::uint32_t> replaceable(const TensorRecord& record) {
  if (ops::keeps_smaller_output(*record.op)) return {record.node};
  std::vector<std::uint32_t> nodes;
  for (const std::uint32_t node : record.operands)
    if (node != tape::kNone && !contains(nodes, node)) nodes.push_back(node);
  return nodes;
}

// Whether a record may do with something smaller: nothing but its rule needs what it keeps, which is there, so that the smaller
// form can be made. (What a lean tape does without may be computed from that.)
bool can_do_with_less(const Tape& tape, const TensorRecord& record) {
  if (!may_keep_smaller(record) || (tape.is_lean() && record.level != 0)) return false;
  const std::vector<Tensor> inputs = record.inputs.all(), outputs = record.outputs.all();
  const std::span<const Tensor> whole = ops::kept_whole(*record.op, inputs, outputs);
  return std::ranges::none_of(whole, [](const Tensor& t) { return !t.weak && !t.storage; }) &&
         outputs[0].device()->supports(ops::operator_of(record.op->smaller->made_by)) &&
         record.op->smaller->fits({*record.op, inputs, record.attributes, nullptr}, whole);
}

// All who keep a tensor, by their places on the tape, if they can do with something smaller; else none.
std::vector<std::size_t> all_who_keep(const Tape& tape, std::uint32_t node) {
  const auto records = tape.tensors();
  const auto maker = tape.place_of(node);
  if (maker == records.end() || records.end() - maker > tape::kLooksAhead) return {};
  std::vector<std::size_t> all;
  for (auto record = maker; record != records.end(); ++record) {
    if (!keeps_whole(**record, node)) continue;
    if (!can_do_with_less(tape, **record) || !contains(replaceable(**record), node)) return {};
    all.push_back(static_cast<std::size_t>(record - records.begin()));
  }
  return all;
}

// Of a tensor that a record keeps. One that is stretched has more elements than there are bytes.
std::uint64_t kept_bytes(const TensorRecord& record, std::uint32_t node) {
  const auto bytes_of = [](const Tensor& t) { return static_cast<std::uint64_t>(std::min(t.bytes(), t.storage->bytes)); };
  if (ops::keeps_smaller_output(*record.op)) return bytes_of(record.outputs.all()[0]);
  const std::vector<Tensor> inputs = record.inputs.all();
  return bytes_of(inputs[static_cast<std::size_t>(std::ranges::find(record.operands, node) - record.operands.begin())]);
}

// A record with what is kept instead.
struct Replaced {
  explicit Replaced(const TensorRecord& record)
      : inputs(record.inputs.all()), outputs(record.outputs.all()), whole([&] {
          const std::span<const Tensor> kept = ops::kept_whole(*record.op, inputs, outputs);
          return std::vector<Tensor>(kept.begin(), kept.end());
        }()),
        making(ops::call_for_smaller(*record.op, whole, record.attributes, nullptr)) {
    for (Tensor& t : ops::keeps_smaller_output(*record.op) ? std::span(outputs).first(1) : std::span(inputs))
      if (!t.weak) t = ops::description(std::move(t));
  }
  std::vector<Tensor> inputs, outputs, whole;
  ops::Call making;
  Tensor smaller;
};

} // namespace

void keep_smaller(Engine& engine, Tape& tape) {
  const auto records = tape.tensors();
  if (records.size() <= tape::kDecidedBehind) return;
  const std::size_t due_at = records.size() - 1 - tape::kDecidedBehind;
  const TensorRecord& due = *records[due_at];
  if (!may_keep_smaller(due) || due.inputs.element_bytes() + due.outputs.element_bytes() < kLeastReplaced ||
      !can_do_with_less(tape, due))
    return;
  std::vector<std::size_t> places = {due_at};
  std::uint64_t bytes = 0; // of what nobody keeps then
  for (const std::uint32_t node : replaceable(due)) {
    if (!keeps_whole(due, node)) continue; // a number
    const std::vector<std::size_t> keepers = all_who_keep(tape, node);
    if (!keepers.empty()) bytes += kept_bytes(due, node);
    for (const std::size_t place : keepers)
      if (!contains(places, place)) places.push_back(place);
  }
  if (bytes < kLeastReplaced) return;
  std::uint64_t instead = 0;
  std::vector<Replaced> all;
  all.reserve(places.size()); // calls refer to what is beside them
  for (const std::size_t place : places) {
    const ops::Call& making = all.emplace_back(*records[place]).making;
    ops::ResultTypes types;
    making.op.infer(making, types);
    instead += static_cast<std::uint64_t>(types[0].shape.elements() * ops::bytes_of(types[0].dtype));
  }
  if (instead > bytes / kOfWhole) return;
  for (Replaced& r : all) engine.tensors().runtime.apply(r.making.op, r.whole, {}, r.making.attributes, {&r.smaller, 1});
  for (std::size_t i = 0; i < all.size(); ++i) tape.keep_less(places[i], all[i].inputs, all[i].outputs, {&all[i].smaller, 1});
}

} // namespace cairn::machine::tensors
