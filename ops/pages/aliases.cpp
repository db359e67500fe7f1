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

std::list<Alias> Aliases::map(std::span<const PageRun> runs, std::int64_t own) {
  while (retired_pages_ > std::min(kMostRetired, pages_.addresses() / 8) && unmap_oldest()) {}
  std::int64_t count = 0;
  for (const PageRun& run : runs) count += run.count;
  std::list<Alias> one(1);
  const std::int64_t at = place(count, own);
  if (at < 0) return {};
  one.front().at = at;
  std::int64_t mapped = 0;
  for (const PageRun& run : runs) {
    if (!pages_.map(at + mapped, run.page, run.count)) break;
    mapped += run.count;
  }
  one.front().count = count;
  if (mapped == count) return one;
  // What is mapped already was never used, but the system may refuse to take it away too. Then it stays like what is retired.
  if (mapped == 0 || pages_.unmap(at, mapped)) {
    release(at, count);
  } else {
    retire(std::move(one), {});
  }
  return {};
}

void Aliases::retire(std::list<Alias> alias, const Tickets& after) noexcept {
  alias.front().after = after;
  retired_pages_ += alias.front().count;
  retired_.splice(retired_.end(), alias);
}

} // namespace cairn::ops
