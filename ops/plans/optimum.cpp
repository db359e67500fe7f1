// See optimum.h. Written without the rest of the room, so that it can judge it.
#include "ops/plans/optimum.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
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

// At each place in the run, what of copies that take so long a memory saves at most in which blocks lie that are used there or
// later: those that take longest for their bytes, which are the smallest, and a part of the last one. What the launch in front of
// that place uses, or the one behind it, lies there at the same time, so for all others there is only the rest.
template <class Takes> std::vector<Picoseconds> saved_at(const AccessPlan& run, const Memory& memory, Takes&& takes) {
  std::vector<std::uint32_t> by_size(run.blocks().size());
  std::iota(by_size.begin(), by_size.end(), 0U);
  std::ranges::stable_sort(by_size, {}, [&](std::uint32_t block) { return run.blocks()[block].bytes; });
  std::vector<Picoseconds> saved(run.size() + 1);
  std::vector<std::size_t> used(run.blocks().size(), SIZE_MAX); // by the launch that was looked at last
  const auto beside = [&](std::size_t at, std::size_t launch) {
    std::uint64_t left = memory.capacity;
    for (const PlannedUse& use : run.uses(launch)) {
      left -= std::min(left, run.blocks()[use.block].bytes);
      used[use.block] = launch;
    }
    double sum = 0;
    for (const std::uint32_t block : by_size) {
      const auto positions = run.positions(block);
      const std::uint64_t bytes = run.blocks()[block].bytes;
      const bool may_be_there = !positions.empty() && positions.back() >= at && (positions.front() < at || is_there(run, block));
      if (!may_be_there || bytes == 0) continue;
      const bool is_used = used[block] == launch;
      const std::uint64_t part = is_used ? bytes : std::min(left, bytes);
      sum += static_cast<double>(takes(bytes)) * static_cast<double>(part) / static_cast<double>(bytes);
      if (!is_used) left -= part;
    }
    std::ranges::fill(used, SIZE_MAX);
    return static_cast<Picoseconds>(sum) + 1;
  };
  for (std::size_t at = 0; at <= run.size(); ++at) {
    saved[at] = at == 0 ? beside(at, at) : beside(at, at - 1);
    if (at != 0 && at != run.size()) saved[at] = std::min(saved[at], beside(at, at));
  }
  return saved;
}

} // namespace

Picoseconds least_time(const AccessPlan& run, const Memory& memory) {
  const Link& link = memory.link;
  const auto saved_in = saved_at(run, memory, [&](std::uint64_t bytes) { return link.in(bytes); });
  const auto saved_out = saved_at(run, memory, [&](std::uint64_t bytes) { return link.out(bytes); });
  std::vector<Picoseconds> least(run.size() + 1); // until the launch in front of that place has ended
  struct Block {
    std::size_t seen = SIZE_MAX; // the beginning for which this holds
    bool written = false, goes_out = false;
  };
  std::vector<Block> blocks(run.blocks().size());
  for (std::size_t begin = 0; begin < run.size(); ++begin) {
    Picoseconds work = 0, in = 0, out = 0;
    least[begin + 1] = std::max(least[begin + 1], least[begin]);
    for (std::size_t at = begin; at < run.size(); ++at) {
      work += run.duration(at);
      for (const PlannedUse& use : run.uses(at)) {
        Block& block = blocks[use.block];
        const auto positions = run.positions(use.block);
        const std::uint64_t bytes = run.blocks()[use.block].bytes;
        if (block.seen != begin) {
          block = {begin, false, false};
          if (needs_elements(use.use) && (positions.front() < begin || is_there(run, use.block))) in += link.in(bytes);
        }
        block.written = block.written || writes(use.use);
        const auto next = std::ranges::upper_bound(positions, at);
        const bool goes_out = block.written && next != positions.end() &&
                              needs_elements(run.uses_of(use.block)[static_cast<std::size_t>(next - positions.begin())]);
        if (goes_out && !block.goes_out) out += link.out(bytes);
        if (!goes_out && block.goes_out) out -= link.out(bytes);
        block.goes_out = goes_out;
      }
      const auto beyond = [](Picoseconds copies, Picoseconds saved) { return copies > saved ? copies - saved : 0; };
      const Picoseconds takes = std::max({work, beyond(in, saved_in[begin]), beyond(out, saved_out[at + 1])});
      least[at + 1] = std::max(least[at + 1], least[begin] + takes);
    }
  }
  return least.back();
}

} // namespace cairn::ops::plans
