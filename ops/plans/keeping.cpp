// See keeping.h.
#include "ops/plans/keeping.h"

#include "ops/plans/profile.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>

namespace cairn::ops::plans {
namespace {

// Behind a use of a block until the next one, or until it is dropped: the launches [begin, end), counted on where the plan
// follows itself, at which it lies there if it stays, and does not otherwise.
struct Gap {
  std::uint32_t use = 0; // in front of it
  std::size_t begin = 0, end = 0;
  std::uint64_t bytes = 0;
  bool back = false; // its elements are needed behind it

  double gain() const { return back ? 1 : 0; } // of a byte that stays
};
// Gaps in which a block has the same elements. They are copied out once, whenever it leaves first.
struct Version {
  std::size_t first = 0, count = 0;
  bool out = false;      // there is no copy of them below
  std::uint32_t use = 0; // then: that wrote them
};
// What may stay together or not at all: some gaps of a version.
struct Item {
  double worth = 0; // what a byte saves for what it costs
  std::size_t first = 0, count = 0;
};

class Choice {
public:
  Choice(const AccessPlan& plan, const Memory& memory, Ending ending, unsigned ahead)
      : plan_(plan), link_(memory.link), again_(ending == Ending::again), ahead_(ahead), size_(plan.size()) {
    std::vector<std::int64_t> taken(2 * size_ + 1); // changes of what copies under way take
    for (std::uint32_t block = 0; block < plan.blocks().size(); ++block) add(block, taken);
    free_.assign(size_, static_cast<std::int64_t>(memory.capacity));
    std::int64_t now = 0;
    for (std::size_t at = 0; at < 2 * size_; ++at) free_[at % size_] -= now += taken[at];
    for (std::size_t at = 0; at < size_; ++at) {
      for (const PlannedUse& use : plan.uses(at)) free_[at] -= static_cast<std::int64_t>(plan.blocks()[use.block].bytes);
      free_[at] = std::max<std::int64_t>(free_[at], 0);
    }
  }

  Kept decide() {
    const std::size_t uses = plan_.parts().uses.size();
    Kept kept{std::vector<bool>(uses), std::vector<bool>(uses), first_, first_};
    if (gaps_.empty()) return kept;
    search();
    for (std::size_t i = 0; i < gaps_.size(); ++i) kept.leaves[gaps_[i].use] = !best_[i];
    for (const Version& version : versions_)
      if (version.out && leaves(version, best_)) kept.copied_out[version.use] = true;
    kept.bytes += cost_;
    kept.least += static_cast<std::uint64_t>(std::max(0.0, bound_));
    return kept;
  }

private:
  static constexpr int kRounds = 200, kEach = 10; // of prices, and how often they are made a choice
  static constexpr int kPatience = 5;             // rounds without a better bound, until prices move less
  static constexpr double kLess = 0.6;
  static constexpr std::size_t kTries = std::size_t{1} << 15; // gaps that are gone through to improve the choice

  // --- what there is to choose

  // The first position of [begin, end] that is not earlier; none is behind one that is not.
  template <class Earlier> static std::size_t first_not(std::size_t begin, std::size_t end, Earlier&& is_earlier) {
    while (begin < end) {
      const std::size_t middle = begin + (end - begin) / 2;
      if (is_earlier(middle))
        begin = middle + 1;
      else
        end = middle;
    }
    return begin;
  }
  // From which launches until `until` take no longer than that.
  std::size_t first_within(std::size_t begin, std::size_t end, std::size_t until, Picoseconds time) const {
    return first_not(begin, end, [&](std::size_t at) { return plan_.begins(until) - plan_.begins(at) > time; });
  }
  // Until which launches from the first one on take as long.
  std::size_t first_behind(std::size_t begin, std::size_t end, Picoseconds time) const {
    return first_not(begin, end, [&](std::size_t at) { return plan_.begins(at) - plan_.begins(begin) < time; });
  }

  void add(Gap gap, bool written, std::vector<std::int64_t>& taken) {
    const auto take = [&](std::size_t begin, std::size_t end) {
      taken[begin] += static_cast<std::int64_t>(gap.bytes);
      taken[end] -= static_cast<std::int64_t>(gap.bytes);
    };
    const std::size_t begin = gap.begin, end = gap.end;
    if (ahead_ != 0 && gap.back) {
      const std::size_t comes = first_within(begin, end, end, ahead_ * link_.in(gap.bytes));
      gap.end = comes == end && end > begin ? end - 1 : comes;
    }
    if (ahead_ != 0 && written) gap.begin = first_behind(begin, gap.end, ahead_ * link_.out(gap.bytes));
    take(begin, gap.begin);
    take(gap.end, end);
    if (gap.begin >= gap.end) return;
    if (gap.begin >= size_) {
      gap.begin -= size_;
      gap.end -= size_;
    }
    gaps_.push_back(gap);
  }

  void add(std::uint32_t block, std::vector<std::int64_t>& taken) {
    const auto positions = plan_.positions(block);
    const auto uses = plan_.uses_of(block);
    const std::size_t count = positions.size();
    if (count == 0) return;
    const std::uint64_t bytes = plan_.blocks()[block].bytes;
    const bool comes_again = again_ && !is_born(plan_.blocks()[block].name) && plan_.dropped(block) > size_;
    if (!comes_again && needs_elements(uses.front())) first_ += bytes;
    // Where uses follow each other in a circle, one that writes comes first, if there is one.
    const auto write = static_cast<std::size_t>(std::ranges::find_if(uses, writes) - uses.begin());
    const std::size_t start = comes_again ? write % count : 0;
    bool dirty = false;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t from = (start + i) % count, to = (from + 1) % count;
      const std::uint32_t use = plan_.first_use(block) + static_cast<std::uint32_t>(from);
      const bool is_last = to == 0 && !comes_again;
      dirty = dirty || writes(uses[from]);
      if (writes(uses[from]) || !dirty) versions_.push_back({gaps_.size(), 0, dirty, use});
      add({use, std::size_t{positions[from]} + 1,
           is_last ? std::min(plan_.dropped(block), size_) : positions[to] + (to <= from ? size_ : 0), bytes,
           !is_last && needs_elements(uses[to])},
          writes(uses[from]), taken);
      versions_.back().count = gaps_.size() - versions_.back().first;
    }
  }

  std::span<const Gap> gaps_of(const Version& version) const { return std::span(gaps_).subspan(version.first, version.count); }
  static bool leaves(const Version& version, const std::vector<bool>& stays) {
    for (std::size_t i = version.first; i < version.first + version.count; ++i)
      if (!stays[i]) return true;
    return false;
  }
  std::uint64_t cost_of(const std::vector<bool>& stays) const {
    std::uint64_t cost = 0;
    for (const Version& version : versions_) {
      if (!leaves(version, stays)) continue;
      if (version.out) cost += gaps_[version.first].bytes;
      for (std::size_t i = version.first; i < version.first + version.count; ++i)
        if (!stays[i] && gaps_[i].back) cost += gaps_[i].bytes;
    }
    return cost;
  }

  // --- prices

  double price(const Gap& gap) const { return sums_[gap.end] - sums_[gap.begin]; }

  void sum_prices() {
    for (std::size_t at = 0; at < 2 * size_; ++at) sums_[at + 1] = sums_[at] + prices_[at % size_];
  }

  // What the best choice costs at these prices, were there room for all of it at each launch: what it takes of that is in
  // `load_`.
  double bound() {
    std::ranges::fill(changes_, 0);
    double cost = 0;
    for (const Version& version : versions_) {
      if (version.count == 0) continue;
      double stay = 0, leave = version.out ? 1 : 0;
      for (const Gap& gap : gaps_of(version)) {
        stay += price(gap);
        leave += std::min(price(gap), gap.gain());
      }
      const auto bytes = static_cast<double>(gaps_[version.first].bytes);
      cost += bytes * std::min(stay, leave);
      for (const Gap& gap : gaps_of(version)) {
        if (stay > leave && price(gap) >= gap.gain()) continue;
        changes_[gap.begin] += bytes;
        changes_[gap.end] -= bytes;
      }
    }
    std::ranges::fill(load_, 0);
    double now = 0;
    for (std::size_t at = 0; at < 2 * size_; ++at) load_[at % size_] += now += changes_[at];
    for (std::size_t at = 0; at < size_; ++at) cost -= prices_[at] * static_cast<double>(free_[at]);
    return cost;
  }

  void search() {
    prices_.assign(size_, 0);
    load_.resize(size_);
    sums_.resize(2 * size_ + 1);
    changes_.resize(2 * size_ + 1);
    choose({}, items());
    double factor = 1;
    for (int round = 1, since = 0; round <= kRounds; ++round) {
      const double reached = bound();
      if (reached > bound_) {
        bound_ = reached;
        since = 0;
      } else if (++since == kPatience) {
        factor *= kLess;
        since = 0;
      }
      const auto excess = [&](std::size_t at) { return load_[at] - static_cast<double>(free_[at]); };
      double squares = 0;
      for (std::size_t at = 0; at < size_; ++at)
        if (excess(at) > 0 || prices_[at] > 0) squares += excess(at) * excess(at);
      if (squares == 0) break; // all that stays has room
      const double step = factor * std::max(static_cast<double>(cost_) - reached, 1e-3 * static_cast<double>(cost_)) / squares;
      for (std::size_t at = 0; at < size_; ++at) prices_[at] = std::max(0.0, prices_[at] + step * excess(at));
      sum_prices();
      if (round % kEach == 0) choose({}, items());
    }
    improve();
  }

  // --- a choice that has room

  // What is worth most first.
  std::vector<Item> items() const {
    // Time costs a little even where it has no price.
    const auto cost = [&](const Gap& gap) { return price(gap) + 1e-9 * static_cast<double>(gap.end - gap.begin); };
    std::vector<Item> items;
    for (const Version& version : versions_) {
      double gain = version.out ? 1 : 0, all = 0;
      for (std::size_t i = version.first; i < version.first + version.count; ++i) {
        const Gap& gap = gaps_[i];
        gain += gap.gain();
        all += cost(gap);
        if (gap.back && (version.count != 1 || !version.out)) items.push_back({1 / cost(gap), i, 1});
      }
      if (version.out && version.count != 0) items.push_back({gain / all, version.first, version.count});
    }
    std::ranges::stable_sort(items, std::ranges::greater(), &Item::worth);
    return items;
  }

  // True: it is better than all before.
  bool choose(std::span<const Item> first, std::span<const Item> items) {
    Profile profile(free_);
    std::vector<bool> stays(gaps_.size());
    for (const std::span<const Item> some : {first, items})
      for (const Item& item : some) take(item, profile, stays);
    const std::uint64_t bytes = cost_of(stays);
    if (bytes >= cost_) return false;
    cost_ = bytes;
    best_ = std::move(stays);
    return true;
  }

  // Whoever does not stay is tried in front of all others, the largest first.
  void improve() {
    const std::vector<Item> all = items();
    std::vector<Item> others, first;
    for (const Item& item : all)
      if (!best_[item.first]) others.push_back(item);
    std::ranges::stable_sort(others, std::ranges::greater(),
                             [&](const Item& item) { return gaps_[item.first].bytes * item.count; });
    const std::size_t tries = std::min(others.size(), kTries / gaps_.size());
    for (const Item& item : std::span(others).first(tries)) {
      first.push_back(item);
      if (!choose(first, all)) first.pop_back();
    }
  }

  void take(const Item& item, Profile& profile, std::vector<bool>& stays) const {
    const auto bytes = [&](std::size_t i) { return static_cast<std::int64_t>(gaps_[i].bytes); };
    std::vector<std::size_t> taken;
    for (std::size_t i = item.first; i < item.first + item.count; ++i) {
      if (stays[i]) continue;
      if (profile.take(gaps_[i].begin, gaps_[i].end, bytes(i))) {
        taken.push_back(i);
        continue;
      }
      for (const std::size_t back : taken) profile.give(gaps_[back].begin, gaps_[back].end, bytes(back));
      return;
    }
    for (const std::size_t i : taken) stays[i] = true;
  }

  const AccessPlan& plan_;
  const Link& link_;
  bool again_;
  unsigned ahead_;
  std::size_t size_;
  std::uint64_t first_ = 0;        // bytes that come before they are used first
  std::vector<std::int64_t> free_; // at each launch, for what it does not use
  std::vector<Gap> gaps_;          // version by version
  std::vector<Version> versions_;
  std::vector<double> prices_, sums_, load_, changes_;
  double bound_ = -std::numeric_limits<double>::infinity(); // the best of all prices
  std::vector<bool> best_;                                  // by gap: it stays
  std::uint64_t cost_ = std::numeric_limits<std::uint64_t>::max();
};

// Plans may be anybody's.
bool can_be_counted(const AccessPlan& plan) {
  std::uint64_t left = std::uint64_t{1} << 60;
  for (const PlannedUse& use : plan.parts().uses) {
    const std::uint64_t bytes = plan.blocks()[use.block].bytes;
    if (bytes > left) return false;
    left -= bytes;
  }
  return true;
}

} // namespace

Kept worth_keeping(const AccessPlan& plan, const Memory& memory, Ending ending, unsigned ahead) {
  if (plan.size() == 0 || !can_be_counted(plan)) return {};
  return Choice(plan, memory, ending, ahead).decide();
}

} // namespace cairn::ops::plans
