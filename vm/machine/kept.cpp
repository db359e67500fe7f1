// What a tape keeps of an operation on tensors: what the reverse rule asks for, and what it takes to compute results again that
// cost little. A lean tape lets go of such results as soon as what was recorded allows it, the oldest first; else each record
// says from which level on a plan may make the tape lean.
#include "ops/operator_ids.h"
#include "ops/operators/lossy.h"
#include "ops/operators/runtime.h"
#include "vm/machine/engine.h"
#include "vm/machine/tensor_operands.h"

#include <array>
#include <memory>
#include <utility>
#include <vector>

namespace cairn::machine::tensors {

using ops::Tensor;
using tape::TensorRecord;

namespace {

constexpr std::int64_t kSmallOperand = 16; // of a result: an operand that takes so small a part of its bytes

// To compute a byte again may be worth so much work, flops and bytes, at each level of lean tapes: a reduction and some passes
// over a tensor, or a product over some tens of elements, as that of attention's queries and keys; a product over some hundreds,
// as in small layers; and one over some thousands.
constexpr std::array<std::uint64_t, tape::kLeanLevels> kWorkOfByte = {24, 128, 2048};
// What is let go of from the start has the price of the first level. Of products, which are most of what a network computes, only
// those over some tens of elements are among it whose result is so many times as large as the operands: that of attention's
// queries and keys, which is most of what such a network would keep.
constexpr std::uint64_t kWorkOfByteOfLarge = 40, kLargeOfOperands = 4;

std::uint64_t bytes_of(std::span<const Tensor> tensors) {
  std::uint64_t bytes = 0;
  for (const Tensor& t : tensors) bytes += t.weak ? 0 : static_cast<std::uint64_t>(t.bytes());
  return bytes;
}

std::uint8_t lean_level(const TensorRecord& record, std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
  const std::uint64_t bytes = bytes_of(outputs);
  if (bytes < tape::kLeastAgain) return 0;
  const std::uint64_t work = ops::Runtime::modelled_work({*record.op, inputs, record.attributes, nullptr}, outputs);
  for (std::uint8_t level = 1; level <= tape::kLeanLevels; ++level)
    if (work <= kWorkOfByte[level - 1U] * bytes) return level;
  return 0;
}

// To let go of a result, to look for it and to keep it for a while takes as long as so many operations on small tensors.
constexpr double kBesidesAgain = 5;

// Modelled, in ticks.
struct Price {
  std::uint64_t all = 0;   // with the sweep; 0 where it is next to nothing
  std::uint64_t once = 0;  // without it
  std::uint64_t again = 0; // to compute the results again, if that is little beside their bytes; else 0
};

Price price_of(const Engine& engine, const TensorRecord& record, std::span<const Tensor> inputs,
               std::span<const Tensor> outputs) {
  const std::uint64_t bytes = bytes_of(outputs), of_operands = bytes_of(inputs);
  if (bytes + of_operands < tape::kLeastAgain) return {};
  const ops::Operator& op = *record.op;
  const bool is_view = op.view != nullptr && outputs[0].storage.get() == inputs[0].storage.get();
  const ops::Call call{op, inputs, record.attributes, nullptr};
  const ops::Cost cost = is_view ? ops::Cost{} : ops::Runtime::modelled_cost(call, outputs);
  const std::uint64_t ticks = engine.modelled_ticks(1, cost);
  bool constant = false; // one of the operands
  for (std::size_t i = 0; i < inputs.size(); ++i) constant = constant || (record.operands[i] == tape::kNone && !inputs[i].weak);
  const Price price{(cost.products > 0 && !constant ? 3 : 2) * ticks, ticks, 0};
  if (bytes < tape::kLeastAgain || (op.kernel == nullptr && op.view == nullptr)) return price; // copies to devices are made once
  const std::uint64_t most = cost.products > 0 ? kWorkOfByteOfLarge : kWorkOfByte[0];
  const bool is_little =
      cost.all() <= static_cast<double>(most * bytes) && (cost.products == 0 || bytes >= kLargeOfOperands * of_operands);
  const std::uint64_t again = ticks + engine.costs.ticks(kBesidesAgain, 0, 0, 0);
  return {price.all, ticks, is_little ? std::max<std::uint64_t>(again, 1) : 0};
}

// To keep an operand costs nothing where somebody has it anyway: another record, or, of what was there before the tape, the
// program.
bool costs_nothing(const Tape& tape, std::uint32_t node, const Tensor& t) {
  if (node != tape::kNone) return tape.keeps(node);
  return t.storage && t.storage->birth != 0 && t.storage->birth < tape.start();
}

// Whether something may stand on the tape in place of the first operand: where a policy is in force that covers the operator. It
// may depend on nothing but the operation, or schedules would come to other gradients: not on who else keeps the tensor, nor on
// whether the tape knows it.
bool may_be_encoded(const LossyPolicy& policy, const TensorRecord& record, std::span<const Tensor> inputs) {
  return policy.covers(*record.op) && !inputs[0].weak && !inputs[1].weak &&
         static_cast<std::uint64_t>(inputs[0].bytes()) >= tape::kLeastAgain && ops::can_be_encoded(inputs[0]);
}

// What does stand there, an encoding, and behind it variances that no result is; or nothing. And inputs[0] what it is an encoding
// of. Marks of operands have been used behind this, but for those that the sweep asks for.
std::vector<Tensor> encoded_instead(Engine& engine, const TensorRecord& record, std::span<Tensor> inputs) {
  const LossyPolicy& policy = engine.lossy_policies[engine.current().lossy];
  const bool covered = may_be_encoded(policy, record, inputs);
  const double mark = covered && ops::multiplies_with_cotangent(record.op->lossy) ? ops::mark_of(inputs[1]) : 0;
  for (Tensor& t : inputs)
    if (const double other = ops::mark_of(t); other != 0) t.number = other < 0 ? ops::kNotMeasuredHere : 0;
  if (mark < 0) inputs[1].number = ops::kMeasured;
  const double bound = mark > 0 ? mark : policy.bound;
  if (!covered || mark < 0 || bound == 0) return {};
  ops::Runtime& runtime = engine.tensors().runtime;
  Tensor variances;
  if (record.op->normalized != nullptr) {
    ops::Normalized normalized = record.op->normalized(runtime, {*record.op, inputs, record.attributes, nullptr});
    inputs[0] = std::move(normalized.operand);
    variances = std::move(normalized.variances);
  } else if (!inputs[0].dense()) {
    inputs[0] = runtime.apply(ops::OperatorId::contiguous, {inputs[0]});
  }
  Tensor encoding = ops::encoded(runtime, inputs[0], bound, mark == 0 && policy.relative, policy.small);
  engine.statistics.encoded_bytes += inputs[0].bytes();
  engine.statistics.encoding_bytes += encoding.bytes();
  engine.statistics.largest_bound = std::max(engine.statistics.largest_bound, encoding.number);
  std::vector<Tensor> kept = {std::move(encoding)};
  if (!variances.empty()) kept.push_back(std::move(variances));
  return kept;
}

} // namespace

// The encoding is made, and copied where it has no room to spare; a normalised operand is made by the operator once more, with
// scale and shift made for that.
EncodingTicks ticks_of_encoding(const Engine& engine, const TensorRecord& record, const Tensor& encoded,
                                std::uint64_t of_operator) {
  const ops::Cost cost = ops::cost_of_lossy(encoded, record.encoded_small);
  const bool normalized = record.op->normalized != nullptr;
  const std::uint64_t of_normalized = normalized ? engine.costs.ticks(2, 0, 0, 0) + of_operator : 0;
  return {engine.modelled_ticks(2, cost) + of_normalized, record.asks_for_encoding() ? engine.modelled_ticks(1, cost) : 0};
}

void record(Engine& engine, Tape& tape, std::shared_ptr<TensorRecord> record, std::span<Tensor> inputs,
            std::span<Tensor> outputs) {
  const ops::Operator& op = *record->op;
  Price price;
  if (tape.is_lean()) {
    price = price_of(engine, *record, inputs, outputs);
    record->cost = price.again;
  } else {
    record->level = lean_level(*record, inputs, outputs);
  }
  if (const std::vector<Tensor> encoding = encoded_instead(engine, *record, inputs); !encoding.empty()) {
    record->smaller = tape::KeptTensors(encoding);
    record->encoded_small = engine.lossy_policies[engine.current().lossy].small;
    if (tape.is_lean()) {
      const EncodingTicks ticks = ticks_of_encoding(engine, *record, inputs[0], price.once);
      price.all += ticks.recorded + ticks.swept;
    }
    inputs[0] = ops::description(std::move(inputs[0]));
  }
  tape.note_cost(price.all);
  // Small operands stay, with them the result can be computed again: where something else is kept, and where the result is worth
  // it, as that of adding a bias is.
  const bool worth = !outputs.empty() && (op.keep != 0 || outputs[0].bytes() >= static_cast<std::int64_t>(tape::kLeastAgain));
  const std::int64_t small = worth ? outputs[0].bytes() / kSmallOperand : -1;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::uint32_t node = record->operands[i];
    const bool wanted =
        ops::keeps_input(op, i) || inputs[i].bytes() <= small || (record->cost != 0 && costs_nothing(tape, node, inputs[i]));
    if (!wanted || tape.does_without(node)) inputs[i].storage = {};
  }
  record->inputs = tape::KeptTensors(inputs);
  for (Tensor& t : outputs)
    if (ops::mark_of(t) > 0) t.number = 0; // a view of what has a bound
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (!record->asks_for_result(i)) outputs[i] = ops::description(std::move(outputs[i]));
  record->outputs = tape::KeptTensors(outputs);
  tape.add_tensor(std::move(record));
  keep_smaller(engine, tape);
  tape.let_go();
}

} // namespace cairn::machine::tensors
