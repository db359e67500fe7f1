// Follows the operations of a tape forwards and backwards.
#include "vm/runs/operations.h"

#include "vm/tape/tape.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace cairn::runs {

namespace {

// What the sweep of a lean tape has computed again, until it has passed the operation that it is a result of, or nobody wants it
// any more.
class Again {
public:
  explicit Again(const std::vector<Operation>& operations) : operations_(operations), there_(operations.size(), false) {}

  // For operation number `now`.
  void compute(const std::vector<std::uint32_t>& nodes, std::size_t now) {
    for (const std::uint32_t node : nodes) {
      const std::size_t maker = maker_of(node);
      if (maker == operations_.size() || there_[maker]) continue;
      const std::vector<std::uint32_t>& operands = operations_[maker].wanted_again;
      compute(operands, now); // not deeper than operations are linked
      there_[maker] = true;
      bytes_ += operations_[maker].again_bytes;
      most_ = std::max(most_, bytes_);
      for (const std::uint32_t operand : operands)
        if (const std::size_t made_by = maker_of(operand);
            made_by != operations_.size() && there_[made_by] && !is_wanted(operand, made_by, now)) {
          there_[made_by] = false;
          bytes_ -= operations_[made_by].again_bytes;
        }
    }
  }
  void pass(std::size_t i) {
    if (there_[i]) bytes_ -= operations_[i].again_bytes;
    there_[i] = false;
  }
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t take_most() { return std::exchange(most_, 0); } // at once since this was asked last

private:
  std::size_t maker_of(std::uint32_t node) const {
    const auto behind = std::upper_bound(operations_.begin(), operations_.end(), node,
                                         [](std::uint32_t n, const Operation& other) { return n < other.node; });
    return behind == operations_.begin() ? operations_.size() : static_cast<std::size_t>(behind - operations_.begin()) - 1;
  }
  // At least whenever the sweep itself finds that it is (vm/machine/tensor_sweep.cpp).
  bool is_wanted(std::uint32_t node, std::size_t maker, std::size_t now) const {
    const auto has = [&](const std::vector<std::uint32_t>& nodes) { return std::ranges::find(nodes, node) != nodes.end(); };
    if (has(operations_[maker].wanted) || now - maker > static_cast<std::size_t>(tape::kLooksAhead)) return true;
    for (std::size_t i = maker + 1; i <= now; ++i)
      if (has(operations_[i].wanted) || (!there_[i] && has(operations_[i].operands))) return true;
    return false;
  }

  const std::vector<Operation>& operations_;
  std::vector<bool> there_;
  std::uint64_t bytes_ = 0, most_ = 0;
};

// The most bytes held for a while, of a tape as recorded or of a lean one. A cotangent is there from the last operation that
// reads what it is of to the one that made that.
std::uint64_t swept(const std::vector<Operation>& operations, const Nodes& ends, bool lean) {
  std::unordered_map<std::uint32_t, std::uint64_t> cotangents;
  std::uint64_t held = 0, let_go = 0, most = 0; // of these, and of what is counted elsewhere or on the tape
  const auto note = [&](std::uint64_t bytes) { most = std::max(most, bytes - std::min(bytes, let_go)); };
  Again again(operations);
  for (const Node& end : ends)
    if (cotangents.emplace(end.node, end.bytes).second) {
      held += end.bytes;
      let_go += end.bytes;
    }
  for (std::size_t i = operations.size(); i-- > 0;) {
    const Operation& o = operations[i];
    if (lean) {
      again.compute(o.wanted, i);
      note(held + again.take_most() + o.beside);
    }
    for (std::size_t k = 0; k < o.operands.size(); ++k)
      if (o.operands[k] != tape::kNone && cotangents.emplace(o.operands[k], o.operand_bytes[k]).second)
        held += o.operand_bytes[k];
    note(held + again.bytes() + o.beside);
    let_go += lean ? o.kept_lean : o.kept_new;
    again.pass(i);
    for (std::uint32_t node = o.node; node < o.end; ++node)
      if (const auto found = cotangents.find(node); found != cotangents.end()) {
        held -= found->second;
        cotangents.erase(found);
      }
  }
  return most;
}

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
  weights.forms[0].sweeping = swept(operations, ends, false);
}

std::uint64_t sweeping_of_lean(const std::vector<Operation>& operations, const Nodes& ends) {
  return swept(operations, ends, true);
}

} // namespace cairn::runs
