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

void Aliases::unmap_until(std::int64_t pages) {
  for (bool unmapped = true; unmapped && retired_pages_ > pages;) unmapped = unmap_oldest();
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
  unmap_until(std::min(kMostRetired, pages_.addresses() / 8));
  std::list<Alias> one(1);
  Alias& alias = one.front();
  for (const PageRun& run : runs) alias.count += run.count;
  alias.at = place(alias.count, own);
  if (alias.at < 0) return {};
  try {
    if (map_at(alias.at, runs)) return one;
    if (pages_.unmap(alias.at, alias.count)) { // there are bounds on what may be mapped: once more, beside less
      unmap_until(0);
      if (map_at(alias.at, runs)) return one;
    }
  } catch (...) {
    retire(std::move(one), {});
    throw;
  }
  retire(std::move(one), {}); // what is mapped there has never been used
  return {};
}

void Aliases::retire(std::list<Alias> alias, const Tickets& after) noexcept {
  alias.front().after = after;
  retired_pages_ += alias.front().count;
  retired_.splice(retired_.end(), alias);
}

} // namespace cairn::ops
