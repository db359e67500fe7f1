#include "ops/pages/aliases.h"

#include <algorithm>
#include <iterator>

namespace cairn::ops {

// Addresses that nothing is mapped at.
void Aliases::release(std::int64_t at, std::int64_t count) {
  auto here = free_.emplace(at, count).first;
  const auto next = std::next(here);
  if (next != free_.end() && at + count == next->first) {
    here->second += next->second;
    free_.erase(next);
  }
  if (here == free_.begin()) return;
  const auto previous = std::prev(here);
  if (previous->first + previous->second == at) {
    previous->second += here->second;
    free_.erase(here);
  }
}

bool Aliases::unmap_oldest() {
  if (retired_.empty()) return false;
  const Alias& oldest = retired_.front();
  progress_.wait_for(oldest.after);
  if (!pages_.unmap(oldest.at, oldest.count)) return false;
  release(oldest.at, oldest.count);
  retired_pages_ -= oldest.count;
  retired_.pop_front();
  return true;
}

std::int64_t Aliases::place(std::int64_t count, std::int64_t own) {
  for (;;) {
    auto best = free_.end();
    for (auto each = free_.begin(); each != free_.end(); ++each)
      if (each->second >= count && (best == free_.end() || each->second < best->second)) best = each;
    if (best != free_.end()) {
      const std::int64_t at = best->first + best->second - count;
      if ((best->second -= count) == 0) free_.erase(best);
      return at;
    }
    if (lowest_ - count >= own) return lowest_ -= count;
    if (!unmap_oldest()) return -1;
  }
}

bool Aliases::map_at(std::int64_t at, std::span<const PageRun> runs) {
  for (const PageRun& run : runs) {
    if (!pages_.map(at, run.page, run.count)) return false;
    at += run.count;
  }
  return true;
}

std::list<Alias> Aliases::map(std::span<const PageRun> runs, std::int64_t own) {
  while (retired_pages_ > std::min(kMostRetired, pages_.addresses() / 8) && unmap_oldest()) {}
  std::list<Alias> one(1);
  for (const PageRun& run : runs) one.front().count += run.count;
  one.front().at = place(one.front().count, own);
  if (one.front().at < 0) return {};
  if (map_at(one.front().at, runs)) return one;
  while (unmap_oldest()) {} // there are bounds on what may be mapped
  if (map_at(one.front().at, runs)) return one;
  retire(std::move(one), {}); // what is mapped there has never been used
  return {};
}

void Aliases::retire(std::list<Alias> alias, const Tickets& after) noexcept {
  alias.front().after = after;
  retired_pages_ += alias.front().count;
  retired_.splice(retired_.end(), alias);
}

} // namespace cairn::ops
