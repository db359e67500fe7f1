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

void Tape::restore_tensor(std::shared_ptr<TensorRecord> record) {
  record->account();
  if (record->kind != TensorRecord::Kind::leaf) tensor_bytes_ += record->outputs.element_bytes();
  tensors_.push_back(std::move(record));
  unswept_tensors_ = tensors_.size();
  if (tensors_.back()->kind == TensorRecord::Kind::leaf) leaf_tensors_ = unswept_tensors_;
}

void Tape::cut_tensors(std::size_t to) {
  for (; tensors_.size() > to; tensors_.pop_back()) {
    if (tensors_.back() == nullptr || tensors_.back()->kind == TensorRecord::Kind::leaf) continue;
    tensor_bytes_ -= tensors_.back()->outputs.element_bytes();
  }
  unswept_tensors_ = tensors_.size();
  leaf_tensors_ = std::min(leaf_tensors_, unswept_tensors_);
}

const TensorRecord& Tape::add_tensor(std::shared_ptr<TensorRecord> record) {
  record->node = size();
  for (std::uint32_t i = 0; i < record->results; ++i) leaf(0);
  restore_tensor(std::move(record));
  return *tensors_.back();
}

} // namespace cairn::tape
