// Follows the operations of a tape forwards and backwards.
#include "vm/runs/operations.h"

#include "vm/tape/tape.h"

#include <algorithm>
#include <numeric>
#include <set>
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
      const std::size_t maker = operation_of(operations_, node);
      if (maker == kNothing || there_[maker]) continue;
      const std::vector<std::uint32_t>& operands = operations_[maker].wanted_again;
      compute(operands, now); // not deeper than operations are linked
      there_[maker] = true;
      bytes_ += operations_[maker].again_bytes;
      most_ = std::max(most_, bytes_);
      for (const std::uint32_t operand : operands)
        if (const std::size_t made_by = operation_of(operations_, operand);
            made_by != kNothing && there_[made_by] && !is_wanted(operand, made_by, now)) {
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

std::uint64_t beyond(std::uint64_t bytes, std::uint64_t counted) { return bytes - std::min(bytes, counted); }

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

// The most bytes held for a while, of a tape as recorded or of a lean one. A cotangent is there from the last operation that
// reads what it is of to the one that made that.
std::uint64_t swept(const std::vector<Operation>& operations, const Nodes& ends, bool lean) {
  std::unordered_map<std::uint32_t, std::uint64_t> cotangents;
  std::uint64_t held = 0, let_go = 0, most = 0; // of these, and of what is counted elsewhere or on the tape
  const auto note = [&](std::uint64_t bytes) { most = std::max(most, beyond(bytes, let_go)); };
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
    const auto result = cotangents.find(o.node);
    const std::uint64_t of_result = result != cotangents.end() ? result->second : 0;
    std::uint64_t overwritten = o.cotangent_split ? of_result : 0;
    std::uint64_t added = 0; // there until it has been added to the cotangent that is there
    for (std::size_t k = 0; k < o.operands.size(); ++k) {
      if (o.operands[k] == tape::kNone) continue;
      (cotangents.emplace(o.operands[k], o.operand_bytes[k]).second ? held : added) += o.operand_bytes[k];
      if (o.cotangent_overwritten && o.operand_bytes[k] == of_result) overwritten = of_result;
    }
    note(held + added - overwritten + again.bytes() + o.beside);
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
    weights.taping = std::max(weights.taping, beyond(kept + alive_unkept - taken_unkept + o.beside, kept_in_all + staying_unkept));
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

void follow(const std::vector<Operation>& operations, const Nodes& ends, schedule::Weights& weights) {
  follow_forwards(operations, ends, weights);
  weights.forms[0].sweeping = swept(operations, ends, false);
}

std::uint64_t sweeping_of_lean(const std::vector<Operation>& operations, const Nodes& ends) {
  return swept(operations, ends, true);
}

} // namespace cairn::runs
