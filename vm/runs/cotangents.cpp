// Follows cotangents from operation to operation.
#include "vm/runs/cotangents.h"

#include "vm/tape/tape.h"

#include <map>
#include <utility>

namespace cairn::runs {

using ops::VjpMemory;

namespace {

// Whether its result is surely a view, where the operator has a kernel for operands that do not allow one: those that lie in rows
// do, and what a kernel makes lies in rows.
bool is_surely_view(const tape::TensorRecord& record) {
  tape::KeptTensors::Kept first;
  std::uint32_t at = 0;
  return record.inputs.next(at, first) && !first.weak &&
         (record.inputs.contiguous(0) || (record.outputs.size() == 1 && !record.outputs.contiguous(0)));
}

} // namespace

void tell_of_memory(const tape::TensorRecord& record, Operation& o) {
  using Kind = tape::TensorRecord::Kind;
  if (record.kind == Kind::identity) o.cotangents = ops::VjpMemory::shares;
  if (record.kind != Kind::apply) return;
  o.cotangents = record.op->vjp_memory;
  if (record.op->view != nullptr) {
    o.may_view = true;
    o.turns = record.op->kernel == nullptr;
    o.may_copy = !o.turns;
    o.is_view = !record.operands.empty() && (o.turns || is_surely_view(record));
  }
  o.gives_memory = !o.is_view;
  if (o.cotangents != ops::VjpMemory::parts) return;
  const ops::Tensor result = record.outputs.all().front();
  const std::int64_t given = record.attributes[0].integer(), axis = given < 0 ? given + result.rank() : given;
  for (int i = 0; i < axis; ++i) o.turns = o.turns || result.shape[i] != 1; // parts lie beside each other
}

void CotangentMemory::begin(const Node& end) {
  if (of_[end.node] != kNone) return;
  held_ += end.bytes;
  of_[end.node] = all_.add({memory_.add({end.bytes, 1, true}), false, end.bytes});
}

CotangentMemory::Swept CotangentMemory::made(std::uint64_t bytes) {
  held_ += bytes;
  note();
  return {kNone, false, bytes};
}

CotangentMemory::Swept CotangentMemory::view(Swept& of, std::uint64_t bytes, bool turned) {
  if (of.memory == kNone) of.memory = memory_.add({of.bytes, 1});
  ++memory_[of.memory].users;
  return {of.memory, of.turned || turned, bytes};
}

void CotangentMemory::let_go(const Swept& cotangent) {
  if (cotangent.memory == kNone) {
    held_ -= cotangent.bytes;
    return;
  }
  Memory& memory = memory_[cotangent.memory];
  if (--memory.users != 0) return;
  held_ -= memory.bytes;
  if (memory.of_end) kept_ += memory.bytes;
  memory_.remove(cotangent.memory);
}

// Whether its memory was that of the end until now.
bool CotangentMemory::write(const Swept& cotangent) {
  if (cotangent.memory == kNone) return false;
  Memory& memory = memory_[cotangent.memory];
  if (!std::exchange(memory.of_end, false)) return false;
  kept_ += memory.bytes;
  note();
  return true;
}

bool CotangentMemory::alone(const Swept& cotangent) const {
  if (cotangent.turned) return false;
  return cotangent.memory == kNone ||
         (memory_[cotangent.memory].users == 1 && cotangent.bytes == memory_[cotangent.memory].bytes);
}

// The memory is that of another cotangent from now on.
CotangentMemory::Swept CotangentMemory::overwritten(Swept& cotangent) {
  write(cotangent);
  return std::exchange(cotangent, {});
}

// That of an operand, as the reverse rule makes it. `of_result`: null if there is none.
CotangentMemory::Swept CotangentMemory::part(const Operation& operation, std::span<const Operand> operands, std::size_t operand,
                                             Swept* of_result) {
  const std::uint64_t bytes = operands[operand].bytes;
  if (of_result == nullptr || operands[operand].of_call) return made(bytes);
  Swept& whole = *of_result;
  const bool is_first = operand == 0 || operands[operand - 1].of_call, is_last = operand + 1 == operands.size();
  switch (operation.cotangents) {
  case VjpMemory::own:
  case VjpMemory::onto: // where there is no sum
    break;
  case VjpMemory::shares:
    if (bytes == whole.bytes && !(operation.may_copy && whole.turned)) {
      if (operation.may_copy) write(whole); // parts may lie with gaps
      return view(whole, bytes, operation.turns);
    }
    break;
  case VjpMemory::parts:
    return view(whole, bytes, operation.turns);
  case VjpMemory::first_over:
    if (is_first && bytes == whole.bytes && alone(whole)) return overwritten(whole);
    break;
  case VjpMemory::last_over:
    if (is_last && alone(whole)) {
      if (bytes == whole.bytes) return overwritten(whole);
      write(whole);
      return made(bytes);
    }
    if (bytes != whole.bytes) { // as large as the result, until it is summed
      note(whole.bytes + bytes);
      return made(bytes);
    }
    break;
  }
  return made(bytes);
}

// Is the part of the first operand added onto a sum that is there? Then it has no memory, but for a copy of a sum that somebody
// else has as well.
bool CotangentMemory::added_onto(const Operation& operation, std::span<const Operand> operands) {
  if (operation.cotangents != VjpMemory::onto || operands.empty() || operands[0].of_call || operands[0].node == tape::kNone)
    return false;
  const std::uint32_t at = of_[operands[0].node];
  if (at == kNone || all_[at].turned || all_[at].bytes != operands[0].bytes) return false;
  if (alone(all_[at])) {
    if (write(all_[at])) most_.if_parts = std::max(most_.if_parts, held_ + kept_ + all_[at].bytes); // with gaps it is no sum
    return true;
  }
  const Swept before = all_[at];
  all_[at] = made(before.bytes);
  let_go(before);
  return true;
}

// Whether the cotangent of its only operand is all there is of it and lies where that of its only result does. Then that becomes
// it: so it is along chains of elementwise operations, which are most of many a tape. Or one takes the place of the other, where
// nothing else has to be looked at, as along chains of products with constants.
bool CotangentMemory::moves(const Operation& operation, const Operand& operand) {
  if (operation.end - operation.node != 1 || operand.of_call || operand.node == tape::kNone) return false;
  const std::uint32_t number = of_[operation.node];
  if (number == kNone || of_[operand.node] != kNone) return false;
  Swept& cotangent = all_[number];
  if (operation.cotangents == VjpMemory::own && cotangent.memory == kNone) {
    held_ += operand.bytes;
    most_ = now();
    held_ -= std::exchange(cotangent, {kNone, false, operand.bytes}).bytes;
    of_[operand.node] = number;
    of_[operation.node] = kNone;
    return true;
  }
  if (cotangent.bytes != operand.bytes) return false;
  switch (operation.cotangents) {
  case VjpMemory::own:
  case VjpMemory::onto:
  case VjpMemory::parts:
    return false;
  case VjpMemory::shares:
    if (operation.may_copy && cotangent.turned) return false;
    if (operation.may_copy) write(cotangent);
    cotangent.turned = cotangent.turned || operation.turns;
    break;
  case VjpMemory::first_over:
  case VjpMemory::last_over:
    if (!alone(cotangent)) return false;
    write(cotangent);
    break;
  }
  of_[operand.node] = number;
  of_[operation.node] = kNone;
  most_ = now();
  return true;
}

// As `sweep`, where the rule makes each in memory of its own: all are there at once before any goes.
CotangentMemory::Most CotangentMemory::sweep_own(const Operation& operation, std::span<const Operand> operands) {
  for (const Operand& operand : operands) held_ += operand.bytes;
  most_ = now();
  for (std::uint32_t node = operation.node; node < operation.end; ++node) drop(node);
  for (const Operand& operand : operands) add(operand.node, {kNone, false, operand.bytes});
  return most_;
}

// The machine lets go of the cotangents of results before it adds those of operands.
CotangentMemory::Most CotangentMemory::sweep(const Operation& operation, std::span<const Operand> operands) {
  if (operands.size() == 1 && moves(operation, operands.front())) return most_;
  if (operation.cotangents == VjpMemory::own) return sweep_own(operation, operands);
  most_ = now();
  const std::uint32_t of_result = operation.node < of_.size() ? of_[operation.node] : kNone;
  parts_.clear();
  const std::size_t first = of_result != kNone && added_onto(operation, operands) ? 1 : 0;
  for (std::size_t k = first; k < operands.size(); ++k)
    parts_.push_back(part(operation, operands, k, of_result != kNone ? &all_[of_result] : nullptr));
  for (std::uint32_t node = operation.node; node < operation.end; ++node) drop(node);
  for (std::size_t k = first; k < operands.size(); ++k) add(operands[k].node, parts_[k - first]);
  return most_;
}

// In the memory of one of both, if it has that alone.
void CotangentMemory::add(std::uint32_t node, const Swept& part) {
  if (node == tape::kNone) return let_go(part);
  if (of_[node] == kNone) {
    of_[node] = all_.add(part);
    return;
  }
  Swept& sum = all_[of_[node]];
  if (owns(sum) && !sum.turned) {
    write(sum);
    return let_go(part);
  }
  const Swept before = sum;
  const bool onto_part = !sum.turned && alone(part);
  if (onto_part) write(part);
  sum = onto_part ? part : made(before.bytes);
  let_go(before);
  if (!onto_part) let_go(part);
}

void CotangentMemory::drop(std::uint32_t node) {
  if (of_[node] == kNone) return;
  let_go(all_[of_[node]]);
  all_.remove(of_[node]);
  of_[node] = kNone;
}

// In the order of their first nodes.
std::vector<Together> CotangentMemory::together() const {
  std::vector<Together> all;
  std::map<std::uint32_t, std::size_t> by_memory; // its number among these
  for (std::uint32_t node = 0; node < of_.size(); ++node) {
    if (of_[node] == kNone) continue;
    const Swept& cotangent = all_[of_[node]];
    if (cotangent.memory == kNone) continue;
    const std::uint64_t bytes = memory_[cotangent.memory].bytes;
    if (bytes == cotangent.bytes) continue;
    const auto [at, fresh] = by_memory.emplace(cotangent.memory, all.size());
    if (fresh) all.push_back({bytes, {}});
    all[at->second].nodes.push_back({node, cotangent.bytes});
  }
  return all;
}

} // namespace cairn::runs
