// Follows the operations of a tape forwards and backwards.
#include "vm/runs/operations.h"

#include "vm/tape/tape.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace cairn::runs {

namespace {

// What the sweep of a lean tape has computed again, until it has passed the operation that it is a result of.
class Again {
public:
  explicit Again(const std::vector<Operation>& operations) : operations_(operations), there_(operations.size(), false) {}

  void compute(const std::vector<std::uint32_t>& nodes) {
    for (const std::uint32_t node : nodes) {
      const auto behind = std::upper_bound(operations_.begin(), operations_.end(), node,
                                           [](std::uint32_t n, const Operation& other) { return n < other.node; });
      if (behind == operations_.begin()) continue;
      const auto maker = static_cast<std::size_t>(behind - operations_.begin()) - 1;
      if (there_[maker]) continue;
      there_[maker] = true;
      bytes_ += operations_[maker].again_bytes;
      compute(operations_[maker].wanted_again); // not deeper than tape::Derived::kDeepest
    }
  }
  void pass(std::size_t i) {
    if (there_[i]) bytes_ -= operations_[i].again_bytes;
  }
  std::uint64_t bytes() const { return bytes_; }

private:
  const std::vector<Operation>& operations_;
  std::vector<bool> there_;
  std::uint64_t bytes_ = 0;
};

} // namespace

void follow(const std::vector<Operation>& operations, const Nodes& ends, schedule::Weights& weights) {
  std::uint64_t kept_in_all = 0;
  for (const Operation& o : operations) kept_in_all += o.kept_new;
  // Forwards: a result is there until its last use; what the tape keeps stays.
  std::vector<std::uint64_t> last_used(operations.size() + 1, 0), last_used_unkept(operations.size() + 1, 0);
  std::uint64_t alive = 0, alive_unkept = 0, kept = 0;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const Operation& o = operations[i];
    const std::uint64_t made = std::accumulate(o.result_bytes.begin(), o.result_bytes.end(), std::uint64_t{0});
    kept += o.kept_new;
    alive += made;
    last_used[o.last_use] += made;
    if (!o.result_kept) {
      alive_unkept += made;
      last_used_unkept[o.last_use] += made;
    }
    weights.advancing = std::max(weights.advancing, alive + o.beside);
    const std::uint64_t there = kept + alive_unkept + o.beside;
    weights.taping = std::max(weights.taping, there - std::min(there, kept_in_all));
    alive -= last_used[i];
    alive_unkept -= last_used_unkept[i];
  }
  // Backwards: a cotangent is there from the last operation that reads what it is of to the one that made that.
  std::unordered_map<std::uint32_t, std::uint64_t> cotangents;
  std::uint64_t held = 0, let_go = 0; // of these, and of what is counted elsewhere or on the tape
  std::uint64_t let_go_lean = 0;      // the same of a lean tape
  Again again(operations);
  for (const Node& end : ends)
    if (cotangents.emplace(end.node, end.bytes).second) {
      held += end.bytes;
      let_go += end.bytes;
      let_go_lean += end.bytes;
    }
  for (std::size_t i = operations.size(); i-- > 0;) {
    const Operation& o = operations[i];
    for (std::size_t k = 0; k < o.operands.size(); ++k)
      if (o.operands[k] != tape::kNone && cotangents.emplace(o.operands[k], o.operand_bytes[k]).second)
        held += o.operand_bytes[k];
    weights.sweeping = std::max(weights.sweeping, held + o.beside - std::min(held + o.beside, let_go));
    again.compute(o.wanted);
    const std::uint64_t held_lean = held + again.bytes() + o.beside;
    weights.sweeping_lean = std::max(weights.sweeping_lean, held_lean - std::min(held_lean, let_go_lean));
    let_go += o.kept_new;
    let_go_lean += o.kept_lean;
    again.pass(i);
    const auto drop = [&](std::uint32_t node) {
      const auto found = cotangents.find(node);
      if (found == cotangents.end()) return;
      held -= found->second;
      cotangents.erase(found);
    };
    for (std::uint32_t node = o.node; node < o.end; ++node) drop(node);
    for (const std::uint32_t node : o.taken) drop(node);
  }
}

} // namespace cairn::runs
