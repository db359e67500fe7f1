// Tensors on a tape: nodes for them, found by the serials of their objects.
#include "vm/tape/tape.h"

#include <algorithm>

namespace cairn::tape {

std::uint32_t Tape::tensor_node(std::uint64_t serial) {
  if (serial < start()) {
    Input* input = inputs.find({serial, 0});
    return input != nullptr ? input->node : kNone;
  }
  // Operands are mostly results of the operations just before: looked for from the end in growing steps.
  std::size_t high = unswept_tensors_, step = 1;
  while (high > 1 && tensors_[high - 1]->serial > serial) {
    high = high > step ? high - step : 1;
    step *= 2;
  }
  if (high == 0 || tensors_[high - 1]->serial > serial) return kNone;
  auto first = tensors_.begin() + static_cast<std::ptrdiff_t>(high - 1);
  auto last = tensors_.begin() + static_cast<std::ptrdiff_t>(std::min(unswept_tensors_, high + step));
  auto behind = std::upper_bound(first, last, serial, [](std::uint64_t s, const auto& r) { return s < r->serial; });
  const TensorRecord& r = **(behind - 1);
  return r.kind != TensorRecord::Kind::unpack && serial - r.serial < r.results
             ? r.node + static_cast<std::uint32_t>(serial - r.serial)
             : kNone;
}

std::uint32_t Tape::lift_tensor_at(Place place) {
  bool fresh = false;
  Input& input = inputs.at(place, fresh);
  if (fresh) {
    input.node = leaf(0).tape_node();
    input.original = value::kUnspecified;
    account_maps();
  }
  return input.node;
}

// One step may read a tensor several times.
void Tape::note_first_read(std::uint64_t serial, std::uint64_t steps) {
  for (std::size_t i = first_reads.size(); i-- > 0 && first_reads[i].steps == steps;)
    if (first_reads[i].serial == serial) return;
  first_reads.push_back({count_, serial, steps});
}

// Of the operations that may be computed again at a level, those in front of each other, kept or not. On a lean tape there are no
// others than those that it does without, and an operand that the record itself keeps ends the chain.
void Tape::link(TensorRecord& record) const {
  record.links = {};
  if (record.level == 0) return;
  std::uint32_t at = 0;
  for (const std::uint32_t operand : record.operands) {
    KeptTensors::Kept kept;
    record.inputs.next(at, kept);
    const TensorRecord* const maker = operand == kNone || (lean_ && kept.storage != nullptr) ? nullptr : maker_of(operand);
    for (std::size_t i = record.level - 1U; maker != nullptr && i < kLeanLevels; ++i)
      record.links[i] = std::max(record.links[i], maker->links[i]);
  }
  for (std::size_t i = record.level - 1U; i < kLeanLevels; ++i) ++record.links[i];
}

// At every level: what costs little stands in the same chains as what costs more.
bool Tape::are_short(const TensorRecord& record) const {
  for (std::size_t i = 0; i < kLeanLevels; ++i)
    if (record.links[i] > (lean_ ? kDeepestAtOnce : kDeepest[i])) return false;
  return true;
}

// Of what computing it again takes, one of so many parts of what the operations on the tape and their sweeps cost.
constexpr std::uint64_t kPartsDoneAgain = 16;

// Whether the results of such a record can be computed again from what the tape keeps and what it can compute again itself: the
// record gets its level then.
bool Tape::can_let_go(TensorRecord& record) const {
  KeptTensors::Kept kept;
  for (std::uint32_t i = 0, at = 0; record.inputs.next(at, kept); ++i) {
    if (!kept.weak && kept.storage == nullptr && kept.bytes != 0 && !does_without(record.operands[i])) return false;
  }
  record.level = 1;
  link(record);
  return are_short(record);
}

// Those that keep a result for themselves are among the next operations. Any behind them goes on keeping it.
void Tape::let_go_of(std::size_t at, std::shared_ptr<TensorRecord> lean) {
  const std::uint32_t begin = lean->node, end = lean->end();
  const auto made_here = [&](std::uint32_t node) { return begin <= node && node < end; };
  replace(at, std::move(lean));
  const std::size_t behind = std::min(tensors_.size(), at + 1 + static_cast<std::size_t>(kLooksAhead));
  for (std::size_t reader = at + 1; reader < behind; ++reader) {
    const TensorRecord& r = *tensors_[reader];
    if (r.kind != TensorRecord::Kind::apply || std::ranges::none_of(r.operands, made_here)) continue;
    std::vector<ops::Tensor> tensors = r.inputs.all();
    for (std::size_t i = 0; i < tensors.size(); ++i)
      if (made_here(r.operands[i]) && tensors[i].storage) tensors[i] = ops::description(std::move(tensors[i]));
    keep_less(reader, tensors, r.outputs.all(), r.smaller.all());
  }
}

void Tape::let_go() {
  for (; lean_ && costs_.looked_at < tensors_.size(); ++costs_.looked_at) {
    const TensorRecord& record = *tensors_[costs_.looked_at];
    if (record.cost == 0) continue;
    if ((costs_.again + record.cost) * kPartsDoneAgain > costs_.all) return;
    // What may still be replaced by something smaller is nothing to compute it from.
    if (may_keep_smaller(record) && ops::keeps_smaller_inputs(*record.op) && costs_.looked_at + kDecidedBehind >= tensors_.size())
      return;
    std::vector<ops::Tensor> outputs = record.outputs.all();
    for (ops::Tensor& t : outputs) t = ops::description(std::move(t));
    std::shared_ptr<TensorRecord> lean = with(record, record.inputs.all(), outputs, record.smaller.all());
    if (!can_let_go(*lean)) continue;
    costs_.again += lean->cost;
    let_go_of(costs_.looked_at, std::move(lean));
  }
}

bool TensorRecord::asks_for_encoding() const { return op->normalized != nullptr || operands[1] != kNone; }

bool keeps_whole(const TensorRecord& record, std::uint32_t node) {
  KeptTensors::Kept kept;
  for (std::uint32_t i = 0, at = 0; record.inputs.next(at, kept); ++i)
    if (kept.storage != nullptr && i < record.operands.size() && record.operands[i] == node) return true;
  for (std::uint32_t made = record.node, at = 0; record.outputs.next(at, kept); ++made)
    if (kept.storage != nullptr && made == node) return true;
  return false;
}

bool Tape::keeps(std::uint32_t node) const {
  const auto records = tensors();
  auto record = node == kNone ? records.end() : place_of(node);
  for (std::ptrdiff_t looked = 0; record != records.end() && looked < kLooksAhead; ++record, ++looked)
    if (!may_keep_smaller(**record) && keeps_whole(**record, node)) return true;
  return false;
}

void Tape::append_tensor(std::shared_ptr<TensorRecord> record) {
  record->account();
  tensor_bytes_ += record->weight();
  kept_bytes_ += record->kept_weight(start());
  tensors_.push_back(std::move(record));
  unswept_tensors_ = tensors_.size();
  if (tensors_.back()->kind == TensorRecord::Kind::leaf) leaf_tensors_ = unswept_tensors_;
}

bool Tape::restore_tensor(std::shared_ptr<TensorRecord> record) {
  link(*record);
  if (!are_short(*record)) return false;
  append_tensor(std::move(record));
  return true;
}

// The same record with these lists of what it keeps.
std::shared_ptr<TensorRecord> Tape::with(const TensorRecord& from, std::span<const ops::Tensor> inputs,
                                         std::span<const ops::Tensor> outputs, std::span<const ops::Tensor> smaller) const {
  auto record = std::make_shared<TensorRecord>(heap_);
  record->kind = from.kind;
  record->node = from.node;
  record->results = from.results;
  record->serial = from.serial;
  record->count = from.count;
  record->level = from.level;
  record->links = from.links;
  record->cost = from.cost;
  record->encoded_small = from.encoded_small;
  record->op = from.op;
  record->attributes = from.attributes;
  record->operands = from.operands;
  record->inputs = KeptTensors(inputs);
  record->outputs = KeptTensors(outputs);
  record->smaller = KeptTensors(smaller);
  return record;
}

void Tape::replace(std::size_t at, std::shared_ptr<TensorRecord> record) {
  record->account();
  tensor_bytes_ += record->weight() - tensors_[at]->weight();
  kept_bytes_ += record->kept_weight(start()) - tensors_[at]->kept_weight(start());
  tensors_[at] = std::move(record);
}

void Tape::keep_less(std::size_t at, std::span<const ops::Tensor> inputs, std::span<const ops::Tensor> outputs,
                     std::span<const ops::Tensor> smaller) {
  replace(at, with(*tensors_[at], inputs, outputs, smaller));
}

std::span<const std::shared_ptr<const TensorRecord>>::iterator Tape::place_of(std::uint32_t node) const {
  const auto records = tensors();
  const auto behind =
      std::upper_bound(records.begin(), records.end(), node, [](std::uint32_t n, const auto& r) { return n < r->node; });
  return behind == records.begin() || node >= (*(behind - 1))->end() ? records.end() : behind - 1;
}

const TensorRecord* Tape::maker_of(std::uint32_t node) const {
  const auto at = place_of(node);
  return at == tensors().end() ? nullptr : at->get();
}

void Tape::cut_tensors(std::size_t to) {
  for (; tensors_.size() > to; tensors_.pop_back())
    if (tensors_.back() != nullptr) {
      tensor_bytes_ -= tensors_.back()->weight();
      kept_bytes_ -= tensors_.back()->kept_weight(start());
      if (lean_ && tensors_.back()->level != 0) costs_.again -= tensors_.back()->cost;
    }
  costs_.looked_at = std::min(costs_.looked_at, to);
  unswept_tensors_ = tensors_.size();
  leaf_tensors_ = std::min(leaf_tensors_, unswept_tensors_);
}

const TensorRecord& Tape::add_tensor(std::shared_ptr<TensorRecord> record) {
  record->node = size();
  for (std::uint32_t i = 0; i < record->results; ++i) leaf(0);
  for (link(*record); !are_short(*record); link(*record)) record->level = record->level == kLeanLevels ? 0 : record->level + 1;
  made_much = made_much || (most_weight != UINT64_MAX && record->weight() >= kLeastAgain);
  append_tensor(std::move(record));
  return *tensors_.back();
}

} // namespace cairn::tape
