// Follows cotangents from operation to operation.
#include "vm/runs/cotangents.h"

#include "vm/tape/tape.h"

#include <map>

namespace cairn::runs {

using ops::VjpMemory;

namespace {

// Whether its first input does: operators with kernels want that of what they only look at.
bool lies_in_rows(const tape::TensorRecord& record) {
  tape::KeptTensors::Kept first;
  std::uint32_t at = 0;
  return record.inputs.next(at, first) && !first.weak && record.inputs.contiguous(0);
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
    o.is_view = !record.operands.empty() && (o.turns || lies_in_rows(record));
  }
  o.gives_memory = !o.is_view;
  if (o.cotangents != ops::VjpMemory::parts) return;
  const ops::Tensor result = record.outputs.all().front();
  const std::int64_t given = record.attributes[0].integer(), axis = given < 0 ? given + result.rank() : given;
  for (int i = 0; i < axis; ++i) o.turns = o.turns || result.shape[i] != 1; // parts lie beside each other
}

void CotangentMemory::begin(const Node& end) {
  if (of_[end.node] == kNone) of_[end.node] = all_.add(made(end.bytes));
}

CotangentMemory::Swept CotangentMemory::made(std::uint64_t bytes) {
  held_ += bytes;
  note();
  return {memory_.add({bytes, 1}), false, bytes};
}

CotangentMemory::Swept CotangentMemory::view(const Swept& of, std::uint64_t bytes, bool turned) {
  ++memory_[of.memory].users;
  return {of.memory, of.turned || turned, bytes};
}

void CotangentMemory::let_go(const Swept& cotangent) {
  Memory& memory = memory_[cotangent.memory];
  if (--memory.users != 0) return;
  held_ -= memory.bytes;
  memory_.remove(cotangent.memory);
}

bool CotangentMemory::alone(const Swept& cotangent) const {
  const Memory& memory = memory_[cotangent.memory];
  return memory.users == 1 && !cotangent.turned && cotangent.bytes == memory.bytes;
}

// That of an operand, as the reverse rule makes it. `of_result`: null if there is none.
CotangentMemory::Swept CotangentMemory::part(const Operation& operation, std::span<const Operand> operands, std::size_t operand,
                                             const Swept* of_result) {
  const std::uint64_t bytes = operands[operand].bytes;
  if (of_result == nullptr || operands[operand].of_call) return made(bytes);
  const Swept& whole = *of_result;
  const bool is_first = operand == 0 || operands[operand - 1].of_call, is_last = operand + 1 == operands.size();
  switch (operation.cotangents) {
  case VjpMemory::own:
  case VjpMemory::onto: // where there is no sum
    break;
  case VjpMemory::shares:
    if (bytes == whole.bytes && !(operation.may_copy && whole.turned)) return view(whole, bytes, operation.turns);
    break;
  case VjpMemory::parts:
    return view(whole, bytes, operation.turns);
  case VjpMemory::first_over:
    if (is_first && bytes == whole.bytes && alone(whole)) return view(whole, bytes, false);
    break;
  case VjpMemory::last_over:
    if (is_last && alone(whole)) return bytes == whole.bytes ? view(whole, bytes, false) : made(bytes);
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
  if (!alone(all_[at])) {
    const Swept before = all_[at];
    all_[at] = made(before.bytes);
    let_go(before);
  }
  return true;
}

// The machine lets go of the cotangents of results before it adds those of operands.
std::uint64_t CotangentMemory::sweep(const Operation& operation, std::span<const Operand> operands) {
  most_ = held_;
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
  if (memory_[sum.memory].users == 1 && !sum.turned) return let_go(part);
  const Swept before = sum;
  sum = !sum.turned && alone(part) ? view(part, part.bytes, false) : made(before.bytes);
  let_go(before);
  let_go(part);
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
    const std::uint64_t bytes = memory_[cotangent.memory].bytes;
    if (bytes == cotangent.bytes) continue;
    const auto [at, fresh] = by_memory.emplace(cotangent.memory, all.size());
    if (fresh) all.push_back({bytes, {}});
    all[at->second].nodes.push_back({node, cotangent.bytes});
  }
  return all;
}

} // namespace cairn::runs
