// Best fit over an ordered map of what is free. A device has few blocks, each large beside the cost of finding it.
#include "ops/arena.h"

#include <algorithm>

namespace cairn::ops {

void Arena::insert(Address begin, const Free& free) {
  free_.emplace(begin, free);
  by_size_.emplace(free.bytes, begin);
  free_bytes_ += free.bytes;
}

void Arena::remove(Place place) {
  free_bytes_ -= place->second.bytes;
  by_size_.erase({place->second.bytes, place->first});
  free_.erase(place);
}

void Arena::add(void* begin, std::int64_t bytes) {
  const Address address = reinterpret_cast<Address>(begin);
  bytes = bytes / alignment_ * alignment_;
  stretches_.emplace(address, bytes);
  insert(address, Free{bytes, {}, {}});
}

TrackedBlock* Arena::take(std::int64_t bytes) {
  if (bytes > free_bytes_) return nullptr; // also keeps what follows from overflowing
  const std::int64_t taken = (std::max<std::int64_t>(bytes, 1) + alignment_ - 1) / alignment_ * alignment_;
  const auto best = by_size_.lower_bound({taken, 0});
  if (best == by_size_.end()) return nullptr;
  if (unused_.empty()) unused_.push_back(&blocks_.emplace_back());
  const Place place = free_.find(best->second);
  const Address begin = place->first;
  const Free from = place->second;
  remove(place);
  if (from.bytes > taken) insert(begin + static_cast<Address>(taken), Free{from.bytes - taken, from.after, from.known});
  TrackedBlock* block = unused_.back();
  unused_.pop_back();
  *block = TrackedBlock{};
  block->data = reinterpret_cast<void*>(begin);
  block->bytes = bytes;
  block->taken = taken;
  block->earlier = from.after;
  block->earlier_known = from.known;
  taken_ += taken;
  return block;
}

void Arena::give_back(TrackedBlock* block) {
  Address begin = reinterpret_cast<Address>(block->data);
  Free whole{block->taken, {}, {}};
  Ordering::uses(*block, whole.after, whole.known);
  taken_ -= block->taken;
  const auto take_in = [&](Place place) {
    whole.bytes += place->second.bytes;
    join(whole.after, place->second.after);
    join(whole.known, place->second.known);
    remove(place);
  };
  Place next = free_.lower_bound(begin);
  if (next != free_.begin()) {
    const Place previous = std::prev(next);
    if (previous->first + static_cast<Address>(previous->second.bytes) == begin && !stretches_.contains(begin)) {
      begin = previous->first;
      take_in(previous);
    }
  }
  if (next != free_.end() && begin + static_cast<Address>(whole.bytes) == next->first && !stretches_.contains(next->first))
    take_in(next);
  insert(begin, whole);
  unused_.push_back(block);
}

std::vector<void*> Arena::remove_unused() {
  std::vector<void*> removed;
  std::erase_if(stretches_, [&](const auto& stretch) {
    const Place place = free_.find(stretch.first);
    if (place == free_.end() || place->second.bytes != stretch.second) return false;
    remove(place);
    removed.push_back(reinterpret_cast<void*>(stretch.first));
    return true;
  });
  return removed;
}

std::vector<void*> Arena::all_stretches() const {
  std::vector<void*> all;
  for (const auto& [begin, bytes] : stretches_) all.push_back(reinterpret_cast<void*>(begin));
  return all;
}

} // namespace cairn::ops
