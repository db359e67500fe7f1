// See optimum.h. Written without the rest of the room, so that it can judge it.
#include "ops/plans/optimum.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <set>
#include <utility>
#include <vector>

namespace cairn::ops::plans {
namespace {

// Whether its elements are there below before anybody in the run has used it.
bool is_there(const AccessPlan& run, std::uint32_t block) {
  const auto uses = run.uses_of(block);
  return !uses.empty() && (!is_born(run.blocks()[block].name) || needs_elements(uses.front()));
}

} // namespace

std::optional<std::uint64_t> belady_bytes(const AccessPlan& run, std::uint64_t capacity) {
  const std::size_t never = run.size();
  std::vector<std::size_t> used(run.blocks().size(), 0); // how many of its uses are over
  std::vector<bool> filled(run.blocks().size());
  for (std::uint32_t block = 0; block < filled.size(); ++block) filled[block] = !is_born(run.blocks()[block].name);
  std::set<std::pair<std::size_t, std::uint32_t>> here; // (next use, block)
  std::vector<std::size_t> key(run.blocks().size(), SIZE_MAX);
  std::uint64_t bytes = 0, moved = 0;
  const auto next_use = [&](std::uint32_t block) {
    const auto positions = run.positions(block);
    return used[block] < positions.size() ? std::size_t{positions[used[block]]} : never;
  };
  const auto leave = [&](std::uint32_t block) {
    here.erase({std::exchange(key[block], SIZE_MAX), block});
    bytes -= run.blocks()[block].bytes;
  };
  for (std::size_t at = 0; at < run.size(); ++at) {
    for (const Change& change : run.changes(at)) {
      if (change.made)
        filled[change.block] = !run.uses_of(change.block).empty() && needs_elements(run.uses_of(change.block).front());
      else if (key[change.block] != SIZE_MAX)
        leave(change.block);
    }
    // Those of this launch are needed at once, so they are the last to leave.
    for (const PlannedUse& use : run.uses(at)) {
      if (key[use.block] != SIZE_MAX) continue;
      const std::uint64_t own = run.blocks()[use.block].bytes;
      while (bytes + own > capacity) {
        if (here.empty() || here.rbegin()->first <= at) return std::nullopt;
        leave(here.rbegin()->second);
      }
      if (needs_elements(use.use) && filled[use.block]) moved += own;
      bytes += own;
      here.emplace(key[use.block] = at, use.block);
    }
    for (const PlannedUse& use : run.uses(at)) {
      filled[use.block] = true;
      ++used[use.block];
      here.erase({key[use.block], use.block});
      here.emplace(key[use.block] = next_use(use.block), use.block);
    }
  }
  return moved;
}

namespace {

// What of some copies a memory saves at most in which blocks lie at one place in the run, between two launches. What the launch
// in front of that place uses, or the one behind it, lies there at the same time, so for all others there is only the rest. Of
// these it is no more than of those that take longest for their bytes, which are the smallest, and a part of the last one; nor
// more than of as many as there is room for, wherever they are large.
class Saved {
public:
  Saved(const AccessPlan& run, std::uint64_t capacity) : run_(run), capacity_(capacity), used_(run.blocks().size()) {}

  void begin(std::size_t place) {
    ++place_;
    beside_.clear();
    for (const std::size_t launch : {place - 1, place}) // in front of the first one is none
      if (launch < run_.size()) beside_.push_back({capacity_, 0, {}});
    std::size_t bit = 0;
    for (const std::size_t launch : {place - 1, place}) {
      if (launch >= run_.size()) continue;
      for (const PlannedUse& use : run_.uses(launch)) {
        Used& used = used_[use.block];
        if (used.place != place_) used = {place_, 0};
        used.launches |= 1U << bit;
        beside_[bit].left -= std::min(beside_[bit].left, run_.blocks()[use.block].bytes);
      }
      ++bit;
    }
  }
  // Another block that may lie there, and what to copy it takes.
  void add(std::uint32_t block, Picoseconds takes) {
    const std::uint64_t bytes = run_.blocks()[block].bytes;
    if (bytes == 0) return;
    const unsigned launches = used_[block].place == place_ ? used_[block].launches : 0;
    for (std::size_t i = 0; i < beside_.size(); ++i) {
      Beside& beside = beside_[i];
      if ((launches >> i & 1U) != 0)
        beside.used += takes;
      else
        beside.others.insert(std::ranges::upper_bound(beside.others, bytes, {}, &std::pair<std::uint64_t, Picoseconds>::first),
                             {bytes, takes});
    }
  }
  Picoseconds most() const {
    Picoseconds most = std::numeric_limits<Picoseconds>::max();
    for (const Beside& beside : beside_) most = std::min(most, beside.used + std::min(by_parts(beside), by_number(beside)));
    return most;
  }

private:
  struct Beside {
    std::uint64_t left = 0; // of the memory, beside what that launch uses
    Picoseconds used = 0;
    std::vector<std::pair<std::uint64_t, Picoseconds>> others; // by size
  };
  static Picoseconds by_parts(const Beside& beside) {
    double sum = 0;
    std::uint64_t left = beside.left;
    for (const auto& [bytes, takes] : beside.others) {
      const std::uint64_t part = std::min(left, bytes);
      sum += static_cast<double>(takes) * static_cast<double>(part) / static_cast<double>(bytes);
      if ((left -= part) == 0) break;
    }
    return static_cast<Picoseconds>(sum) + 1;
  }
  // All small ones, and as many large ones as fit of the smallest of these.
  Picoseconds by_number(const Beside& beside) const {
    constexpr std::uint64_t kSmall = 64; // times less than the memory
    Picoseconds sum = 0;
    auto large = beside.others.begin();
    for (; large != beside.others.end() && large->first <= capacity_ / kSmall; ++large) sum += large->second;
    std::uint64_t left = beside.left;
    auto longest = beside.others.end();
    for (; large != beside.others.end() && large->first <= left; ++large) {
      left -= large->first;
      sum += (--longest)->second;
    }
    return sum;
  }

  struct Used {
    std::size_t place = 0;
    unsigned launches = 0; // in front, behind: a bit each
  };
  const AccessPlan& run_;
  std::uint64_t capacity_;
  std::vector<Used> used_;
  std::size_t place_ = 0;
  std::vector<Beside> beside_;
};

// Whether the next launch that uses it, there or behind that, needs its elements.
bool is_needed(const AccessPlan& run, std::uint32_t block, std::size_t at) {
  const auto positions = run.positions(block);
  const auto next = static_cast<std::size_t>(std::ranges::lower_bound(positions, at) - positions.begin());
  return next != positions.size() && needs_elements(run.uses_of(block)[next]);
}

// The same for what comes in behind each place and may be there already, whatever it is needed for.
std::vector<Picoseconds> saved_in(const AccessPlan& run, const Memory& memory) {
  std::vector<Picoseconds> most(run.size() + 1);
  Saved saved(run, memory.capacity);
  for (std::size_t at = 0; at <= run.size(); ++at) {
    saved.begin(at);
    for (std::uint32_t block = 0; block < run.blocks().size(); ++block) {
      if (is_needed(run, block, at) && (run.positions(block).front() < at || is_there(run, block)))
        saved.add(block, memory.link.in(run.blocks()[block].bytes));
    }
    most[at] = saved.most();
  }
  return most;
}

} // namespace

Picoseconds least_time(const AccessPlan& run, const Memory& memory) {
  const Link& link = memory.link;
  const auto there = saved_in(run, memory);
  std::vector<Picoseconds> least(run.size() + 1); // until the launch in front of that place has ended
  struct Block {
    std::size_t seen = SIZE_MAX; // the end for which this holds
    bool written = false;
    std::size_t comes_in = SIZE_MAX; // for the launch that uses it first, if it does
  };
  std::vector<Block> blocks(run.blocks().size());
  std::vector<std::size_t> come_in(run.size()); // blocks, by that launch
  Saved stays(run, memory.capacity);
  for (std::size_t end = 1; end <= run.size(); ++end) {
    least[end] = least[end - 1];
    stays.begin(end);
    std::ranges::fill(come_in, 0);
    Picoseconds in = 0, out = 0, stay = 0;
    std::size_t last_in = end - 1, first_out = end; // launches: that need what comes in, that make what goes out
    for (std::size_t begin = end; begin-- > 0;) {
      for (const PlannedUse& use : run.uses(begin)) {
        Block& block = blocks[use.block];
        const auto positions = run.positions(use.block);
        const std::uint64_t bytes = run.blocks()[use.block].bytes;
        if (block.seen != end) block = {end};
        if (block.comes_in != SIZE_MAX) {
          in -= link.in(bytes);
          --come_in[std::exchange(block.comes_in, SIZE_MAX)];
        }
        if (needs_elements(use.use) && (positions.front() < begin || is_there(run, use.block))) {
          in += link.in(bytes);
          ++come_in[block.comes_in = begin];
        }
        if (!writes(use.use) || block.written) continue;
        block.written = true;
        if (!is_needed(run, use.block, end)) continue;
        out += link.out(bytes);
        stays.add(use.block, link.out(bytes));
        stay = stays.most();
        first_out = begin;
      }
      while (last_in > begin && come_in[last_in] == 0) --last_in;
      const auto takes = [&](std::size_t from, std::size_t to) { return run.begins(to) - run.begins(from); };
      Picoseconds whole = takes(begin, end);
      if (in > there[begin]) whole = std::max(whole, in - there[begin] + takes(last_in, end));
      if (out > stay) whole = std::max(whole, takes(begin, first_out + 1) + out - stay);
      least[end] = std::max(least[end], least[begin] + whole);
    }
  }
  return least.back();
}

} // namespace cairn::ops::plans
