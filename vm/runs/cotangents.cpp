// Follows cotangents from operation to operation.
#include "vm/runs/cotangents.h"

#include "vm/tape/tape.h"

#include <algorithm>

namespace cairn::runs {

using ops::VjpMemory;

void Cotangents::begin(const Node& end) {
  if (!of_.contains(end.node)) of_.emplace(end.node, made(end.bytes));
}

Cotangents::Cotangent Cotangents::made(std::uint64_t bytes) {
  memory_.push_back({bytes, 1});
  held_ += bytes;
  note();
  return {memory_.size() - 1, bytes, false};
}

Cotangents::Cotangent Cotangents::view(const Cotangent& of, std::uint64_t bytes, bool turned) {
  ++memory_[of.memory].users;
  return {of.memory, bytes, of.turned || turned};
}

void Cotangents::let_go(const Cotangent& cotangent) {
  Memory& memory = memory_[cotangent.memory];
  if (--memory.users == 0) held_ -= memory.bytes;
}

bool Cotangents::alone(const Cotangent& cotangent) const {
  const Memory& memory = memory_[cotangent.memory];
  return memory.users == 1 && !cotangent.turned && cotangent.bytes == memory.bytes;
}

// That of an operand, as the reverse rule makes it. `of_result`: null if there is none.
Cotangents::Cotangent Cotangents::part(const Operation& operation, std::size_t operand, const Cotangent* of_result) {
  const std::uint64_t bytes = operation.operand_bytes[operand];
  if (of_result == nullptr || operand < operation.called) return made(bytes);
  const Cotangent& whole = *of_result;
  const bool is_last = operand + 1 == operation.operands.size();
  switch (operation.cotangents) {
  case VjpMemory::own:
    break;
  case VjpMemory::shares:
    if (bytes == whole.bytes && !(operation.may_copy && whole.turned)) return view(whole, bytes, operation.turns);
    break;
  case VjpMemory::parts:
    return view(whole, bytes, operation.turns);
  case VjpMemory::first_over:
    if (operand == operation.called && bytes == whole.bytes && alone(whole)) return view(whole, bytes, false);
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

// The machine lets go of the cotangents of results before it adds those of operands.
std::uint64_t Cotangents::sweep(const Operation& operation) {
  most_ = held_;
  const auto found = of_.find(operation.node);
  const Cotangent* const of_result = found != of_.end() ? &found->second : nullptr;
  std::vector<Cotangent> parts;
  parts.reserve(operation.operands.size());
  for (std::size_t k = 0; k < operation.operands.size(); ++k) parts.push_back(part(operation, k, of_result));
  for (std::uint32_t node = operation.node; node < operation.end; ++node) drop(node);
  for (std::size_t k = 0; k < parts.size(); ++k) add(operation.operands[k], parts[k]);
  return most_;
}

// In the memory of one of both, if it has that alone.
void Cotangents::add(std::uint32_t node, const Cotangent& part) {
  if (node == tape::kNone) return let_go(part);
  const auto [at, fresh] = of_.emplace(node, part);
  if (fresh) return;
  Cotangent& sum = at->second;
  const Memory& memory = memory_[sum.memory];
  if (memory.users == 1 && !sum.turned) return let_go(part);
  const Cotangent before = sum;
  sum = !sum.turned && alone(part) ? view(part, part.bytes, false) : made(before.bytes);
  let_go(before);
  let_go(part);
}

void Cotangents::drop(std::uint32_t node) {
  const auto found = of_.find(node);
  if (found == of_.end()) return;
  let_go(found->second);
  of_.erase(found);
}

std::vector<Together> Cotangents::together() const {
  std::map<std::size_t, Together> by_memory;
  for (const auto& [node, cotangent] : of_) {
    const Memory& memory = memory_[cotangent.memory];
    if (memory.bytes == cotangent.bytes) continue;
    Together& together = by_memory[cotangent.memory];
    together.bytes = memory.bytes;
    together.nodes.push_back({node, cotangent.bytes});
  }
  std::vector<Together> all;
  for (auto& [memory, together] : by_memory) all.push_back(std::move(together));
  return all;
}

} // namespace cairn::runs
