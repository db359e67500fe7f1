// Follows the operations of a tape forwards and backwards.
#include "vm/runs/operations.h"

#include "vm/runs/cotangents.h"

#include "vm/tape/tape.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

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

// What memory the results of operations take, and when.
class Results {
public:
  Results(const std::vector<Operation>& operations, const Nodes& ends) : operations_(operations), staying_(operations.size(), 0) {
    for (const Node& end : ends) {
      std::size_t at = operation_of(operations, end.node);
      if (at == kNothing) continue;
      std::size_t result = end.node - operations[at].node;
      for (; operations[at].view_of != kNothing; result = 0) at = operations[at].view_of;
      ends_.insert({at, result});
    }
    for (const auto& [at, result] : ends_)
      if (result < operations[at].result_bytes.size()) staying_[at] += operations[at].result_bytes[result];
  }
  std::uint64_t made(std::size_t i) const {
    const std::vector<std::uint64_t>& bytes = operations_[i].result_bytes;
    return std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
  }
  // Of these, what the state at the end has; the others are gone behind their last use.
  std::uint64_t staying(std::size_t i) const { return staying_[i]; }
  // The operation whose result is overwritten by that of operation `i`.
  std::size_t overwritten(std::size_t i) const {
    const std::size_t at = operations_[i].overwritten;
    return at != kNothing && operations_[at].last_use == i && !ends_.contains({at, 0}) ? at : kNothing;
  }

private:
  const std::vector<Operation>& operations_;
  std::set<std::pair<std::size_t, std::size_t>> ends_; // operations and which of their results
  std::vector<std::uint64_t> staying_;
};

std::uint64_t beyond(std::uint64_t bytes, std::uint64_t counted) { return bytes - std::min(bytes, counted); }

// A result is there until its last use; what the tape keeps stays, and so does what the state at the end has.
void follow_forwards(const std::vector<Operation>& operations, const Nodes& ends, schedule::Weights& weights) {
  const Results results(operations, ends);
  std::uint64_t kept_in_all = 0, staying_in_all = 0, staying_unkept = 0;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    kept_in_all += operations[i].kept_new;
    staying_in_all += results.staying(i);
    if (!operations[i].result_kept) staying_unkept += results.staying(i);
  }
  std::vector<std::uint64_t> last_used(operations.size() + 1, 0), last_used_unkept(operations.size() + 1, 0);
  std::uint64_t alive = 0, alive_unkept = 0, kept = 0;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const Operation& o = operations[i];
    const std::uint64_t made = results.made(i), dies = made - results.staying(i);
    kept += o.kept_new;
    alive += made;
    last_used[o.last_use] += dies;
    if (!o.result_kept) {
      alive_unkept += made;
      last_used_unkept[o.last_use] += dies;
    }
    const std::size_t at = results.overwritten(i);
    const std::uint64_t taken = at == kNothing ? 0 : operations[at].result_bytes.front();
    const std::uint64_t taken_unkept = at == kNothing || operations[at].result_kept ? 0 : taken;
    weights.advancing = std::max(weights.advancing, beyond(alive - taken + o.beside, staying_in_all));
    weights.taping =
        std::max(weights.taping, beyond(kept + alive_unkept - taken_unkept + o.beside, kept_in_all + staying_unkept));
    alive -= last_used[i];
    alive_unkept -= last_used_unkept[i];
  }
}

} // namespace

std::size_t operation_of(const std::vector<Operation>& operations, std::uint32_t node) {
  const auto behind = std::upper_bound(operations.begin(), operations.end(), node,
                                       [](std::uint32_t n, const Operation& other) { return n < other.node; });
  if (behind == operations.begin() || node >= std::prev(behind)->end) return kNothing;
  return static_cast<std::size_t>(behind - operations.begin()) - 1;
}

std::vector<Together> follow(const std::vector<Operation>& operations, const Nodes& ends, schedule::Weights& weights) {
  follow_forwards(operations, ends, weights);
  // Backwards: a cotangent is there from the last operation that reads what it is of to the one that made that.
  Cotangents cotangents;
  for (const Node& end : ends) cotangents.begin(end);
  std::uint64_t let_go = cotangents.held(); // of these, and of what is counted elsewhere or on the tape
  std::uint64_t let_go_lean = let_go;       // the same of a lean tape
  Again again(operations);
  for (std::size_t i = operations.size(); i-- > 0;) {
    const Operation& o = operations[i];
    const std::uint64_t there = cotangents.sweep(o) + o.beside;
    weights.sweeping = std::max(weights.sweeping, beyond(there, let_go));
    again.compute(o.wanted);
    weights.sweeping_lean = std::max(weights.sweeping_lean, beyond(there + again.bytes(), let_go_lean));
    let_go += o.kept_new;
    let_go_lean += o.kept_lean;
    again.pass(i);
    for (const std::uint32_t node : o.taken) cotangents.drop(node);
  }
  return cotangents.together();
}

} // namespace cairn::runs
