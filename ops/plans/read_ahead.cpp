// See read_ahead.h.
#include "ops/plans/read_ahead.h"

namespace cairn::ops::plans {

std::optional<ReadAhead::Read> ReadAhead::next(const Timeline& now, Picoseconds disk_end,
                                               const std::function<bool(Name)>& is_away) const {
  if (!follower_.on_plan()) return std::nullopt;
  const AccessPlan& plan = follower_.plan();
  const std::uint64_t following = follower_.following();
  const Picoseconds begun = plan.begins(following);
  const auto begins = [&](std::uint64_t position) { return now.execute + (plan.begins(position) - begun); };
  const Picoseconds later = begins(following + 1); // the next time that this is asked
  if (disk_end >= later) return std::nullopt;

  std::optional<Read> first;
  Picoseconds read = later;
  std::uint64_t bytes = 0;
  std::size_t seen = 0;
  for (const auto& [position, block] : residents_.missing()) {
    const std::uint64_t own = plan.blocks()[block].bytes;
    if (position - following >= kWindowLaunches || ++seen > kWindowBlocks || (bytes != 0 && bytes + own > window_)) break;
    const std::optional<Name> name = follower_.name_of(block);
    if (!name || !is_away(*name)) continue;
    if (!first) first = Read{*name, position};
    bytes += own;
    read += disk_.in(own);
    if (read + link_.in(own) > begins(position)) return first;
  }
  return std::nullopt;
}

} // namespace cairn::ops::plans
