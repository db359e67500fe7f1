// See optimum.h. Written without the rest of the room, so that it can judge it.
#include "ops/plans/optimum.h"

#include <set>
#include <utility>
#include <vector>

namespace cairn::ops::plans {

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

} // namespace cairn::ops::plans
