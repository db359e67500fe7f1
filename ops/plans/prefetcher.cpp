// See prefetcher.h.
#include "ops/plans/prefetcher.h"

#include <algorithm>

namespace cairn::ops::plans {

std::optional<Prefetcher::Fetch> Prefetcher::next(std::uint64_t free, const Timeline& now) const {
  const auto& missing = residents_.missing();
  if (!follower_.on_plan() || missing.empty()) return std::nullopt;
  const AccessPlan& plan = follower_.plan();
  const std::uint64_t following = follower_.following();
  const Foresight* const times = residents_.times();
  const auto planned = [&](std::uint64_t position) {
    return times != nullptr ? times->begins_at(position) : plan.begins(position);
  };
  const Picoseconds begun = planned(following);
  // When launches begin that come later, if none of them has to wait for what comes in.
  const auto begins = [&](std::uint64_t position) { return now.execute + (planned(position) - begun); };
  // The next time that this is asked.
  const Picoseconds later = begins(following + 1);
  if (now.copy_in >= later) return std::nullopt;

  bool must = false;
  Picoseconds copied = later;
  std::uint64_t bytes = 0;
  std::size_t looked = 0;
  auto used = missing.begin(); // of those that have been looked at: the first that is still in the memory
  for (const auto& [position, block] : missing) {
    const std::uint64_t own = plan.blocks()[block].bytes;
    if (position - following >= kWindowLaunches || ++looked > kWindowCopies) break;
    bytes += own;
    bool rests = false; // for want of room, so that to begin now would not let it end sooner
    for (; bytes > capacity_ && bytes != own && !rests; ++used) {
      bytes -= plan.blocks()[used->second].bytes;
      rests = times == nullptr || begins(used->first + 1) > copied;
    }
    if (rests) break;
    copied += link_.in(own);
    if (copied <= begins(position)) continue;
    must = true;
    break;
  }
  if (!must) return std::nullopt;

  const auto [position, block] = *missing.begin();
  if (!residents_.may_come_early(plan.blocks()[block].bytes)) return std::nullopt;
  const std::optional<Name> name = follower_.name_of(block);
  if (!name) return std::nullopt;
  Fetch fetch{*name, plan.blocks()[block].bytes, position, {}};
  if (fetch.bytes <= free) return fetch;
  const Picoseconds begin = begins(position), takes = link_.in(fetch.bytes);
  fetch.evicted = residents_.choose(
      {fetch.bytes - free, position, std::max(now.copy_in, begin > takes ? begin - takes : 0), &link_, now.copy_out});
  if (fetch.evicted.empty() || pays_to_wait(fetch, free, now)) return std::nullopt;
  return fetch;
}

// What is used until then may be needed even later, and could leave as soon as it has been used: nothing that leaves now would
// have to come back. That is better where to bring it back takes longer than the link would be idle until then.
bool Prefetcher::pays_to_wait(const Fetch& fetch, std::uint64_t free, const Timeline& now) const {
  std::uint64_t soonest = NextUse::kNever;
  Picoseconds back = 0, begin = now.copy_in;
  if (std::ranges::all_of(fetch.evicted, [&](const Resident* there) { return residents_.leaves(*there); })) return false;
  if (residents_.stays_firm()) return true;
  for (const Resident* const there : fetch.evicted) {
    begin = std::max(begin, there->free_at);
    soonest = std::min(soonest, there->next.position);
    if (there->next.needs_elements) back += link_.in(there->bytes);
    if (there->dirty && !there->must_out) back += link_.out(there->bytes);
  }
  const AccessPlan& plan = follower_.plan();
  std::uint64_t better = free;
  for (std::uint64_t at = follower_.following(); at < fetch.needed_at; ++at) {
    const Picoseconds end = now.execute + (plan.begins(at + 1) - plan.begins(follower_.following()));
    if (end > begin && end - begin >= back) return false;
    for (const PlannedUse& use : plan.uses(static_cast<std::size_t>(at % plan.size()))) {
      const NextUse next = follower_.next_use_after(use.block, at);
      if (next.position > soonest || residents_.leaves_behind(next)) better += plan.blocks()[use.block].bytes;
      if (better >= fetch.bytes) return true;
    }
  }
  return false;
}

} // namespace cairn::ops::plans
