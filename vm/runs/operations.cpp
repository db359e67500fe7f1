// Follows the operations of a tape forwards and backwards.
#include "vm/runs/operations.h"

#include "vm/tape/tape.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace cairn::runs {

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
    weights.advancing = std::max(weights.advancing, alive);
    weights.taping = std::max(weights.taping, kept + alive_unkept - std::min(kept + alive_unkept, kept_in_all));
    alive -= last_used[i];
    alive_unkept -= last_used_unkept[i];
  }
  // Backwards: a cotangent is there from the last operation that reads what it is of to the one that made that.
  std::unordered_map<std::uint32_t, std::uint64_t> cotangents;
  std::uint64_t held = 0, let_go = 0; // of these, and of what is counted elsewhere or on the tape
  for (const Node& end : ends)
    if (cotangents.emplace(end.node, end.bytes).second) {
      held += end.bytes;
      let_go += end.bytes;
    }
  for (std::size_t i = operations.size(); i-- > 0;) {
    const Operation& o = operations[i];
    for (std::size_t k = 0; k < o.operands.size(); ++k)
      if (o.operands[k] != tape::kNone && cotangents.emplace(o.operands[k], o.operand_bytes[k]).second)
        held += o.operand_bytes[k];
    weights.sweeping = std::max(weights.sweeping, held - std::min(held, let_go));
    let_go += o.kept_new;
    for (std::uint32_t node = o.node; node < o.end; ++node)
      if (const auto found = cotangents.find(node); found != cotangents.end()) {
        held -= found->second;
        cotangents.erase(found);
      }
  }
}

} // namespace cairn::runs
