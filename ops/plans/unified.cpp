// See unified.h.
#include "ops/plans/unified.h"

#include <algorithm>
#include <utility>

namespace cairn::ops::plans {

UnifiedMemory::UnifiedMemory(const Memory& memory, bool prefetched, std::function<void(const Move&)> each)
    : memory_(memory), prefetched_(prefetched), each_(std::move(each)), free_(memory.capacity / kPage) {}

void UnifiedMemory::made(Name name, std::uint64_t bytes, bool filled) {
  Paged& block = blocks_[name];
  block.pages = (bytes + kPage - 1) / kPage;
  block.filled = filled;
}

void UnifiedMemory::fill(Name name) { blocks_.at(name).filled = true; }

void UnifiedMemory::dropped(Name name) {
  const auto found = blocks_.find(name);
  if (found == blocks_.end()) return;
  if (found->second.here != 0) order_.erase(found->second.place);
  free_ += found->second.here;
  blocks_.erase(found);
}

bool UnifiedMemory::is_missing(Name name) const {
  const auto found = blocks_.find(name);
  return found != blocks_.end() && found->second.filled && found->second.here != found->second.pages;
}

bool UnifiedMemory::is_in_use(Name name) const { return std::ranges::find(in_use_, name) != in_use_.end(); }

// The block becomes the one that was used last.
void UnifiedMemory::touch(Paged& block) {
  if (block.here != 0) order_.splice(order_.end(), order_, block.place);
}

// Pages of others leave for that block, from `at` on; when they have.
bool UnifiedMemory::make_room(Name name, std::uint64_t pages, Picoseconds& at) {
  Move move{name, false, 0, at, at};
  while (free_ < pages) {
    const auto victim = std::ranges::find_if(order_, [this](Name other) { return !is_in_use(other); });
    if (victim == order_.end()) return false;
    Paged& block = blocks_.at(*victim);
    const std::uint64_t leave = std::min(block.here, pages - free_);
    if (block.filled) {
      at += Link::at_rate(leave * kPage, memory_.link.bytes_out);
      move.bytes += leave * kPage;
      ++moved_.write_backs;
    }
    ++moved_.evictions;
    free_ += leave;
    if ((block.here -= leave) == 0) order_.erase(victim);
  }
  moved_.bytes_out += move.bytes;
  move.end = at;
  if (each_ && move.bytes != 0) each_(move);
  return true;
}

// What is missing of the block comes, from `at` on; what is asked for has a latency.
bool UnifiedMemory::come(Name name, Paged& block, Picoseconds latency, Picoseconds& at) {
  const std::uint64_t pages = block.pages - block.here;
  if (!make_room(name, pages, at)) return false;
  Move move{name, true, block.filled ? pages * kPage : 0, at, at};
  if (block.here == 0) block.place = order_.insert(order_.end(), name);
  block.here += pages;
  free_ -= pages;
  moved_.peak = std::max(moved_.peak, (memory_.capacity / kPage - free_) * kPage);
  at += latency;
  if (block.filled) at += Link::at_rate(move.bytes, memory_.link.bytes_in);
  moved_.bytes_in += move.bytes;
  move.end = at;
  if (each_) each_(move);
  return true;
}

std::optional<Picoseconds> UnifiedMemory::launch(Picoseconds duration, std::span<const Access> accesses, Picoseconds from) {
  in_use_.clear();
  for (const Access& access : accesses)
    if (!is_in_use(access.name)) in_use_.push_back(access.name);
  Picoseconds ready = std::max(execute_, from);
  for (const Name name : in_use_) {
    Paged& block = blocks_.at(name);
    touch(block);
    ready = std::max(ready, block.arrives);
    const std::uint64_t missing = block.pages - block.here;
    if (missing == 0) continue;
    // Faults go before what was asked for ahead.
    Picoseconds moved = ready;
    if (!come(name, block, prefetched_ ? memory_.link.latency : missing * memory_.fault, moved)) return std::nullopt;
    if (!prefetched_) moved_.faults += missing;
    engine_ = std::max(engine_, ready) + (moved - ready);
    ready = moved;
  }
  execute_ = ready + duration;
  for (const Access& access : accesses)
    if (writes(access.use)) blocks_.at(access.name).filled = true;
  return ready;
}

bool UnifiedMemory::ask_for(Name name) {
  Paged& block = blocks_.at(name);
  touch(block);
  in_use_.push_back(name);
  Picoseconds moved = engine_;
  const bool came = come(name, block, memory_.link.latency, moved);
  in_use_.pop_back();
  if (came) block.arrives = engine_ = moved;
  return came;
}

} // namespace cairn::ops::plans
