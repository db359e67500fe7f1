// Best fit over an ordered map of what is free. A device has few blocks, each large beside the cost of finding it.
#include "best_fit_arena.h"

#include <algorithm>

namespace cairn::ops {

void Arena::provide() {
  if (spare_.size() > blocks_.size() - unused_.size()) return;
  const std::size_t all = free_.size() + spare_.size() + 1;
  if (spare_.capacity() < all) spare_.reserve(2 * all);
  std::map<Address, Free> by_address{{0, Free{0, {}, {}}}};
  std::set<std::pair<std::int64_t, Address>> size{{0, 0}};
  spare_.push_back({by_address.extract(by_address.begin()), size.extract(size.begin())});
}

void Arena::insert(Address begin, const Free& free) {
  Nodes nodes = std::move(spare_.back());
  spare_.pop_back();
  nodes.by_address.key() = begin;
  nodes.by_address.mapped() = free;
  nodes.size.value() = {free.bytes, begin};
  free_.insert(std::move(nodes.by_address));
  by_size_.insert(std::move(nodes.size));
  free_bytes_ += free.bytes;
}

void Arena::remove(Position position) {
  free_bytes_ -= position->second.bytes;
  const auto size = by_size_.find({position->second.bytes, position->first});
  spare_.push_back({free_.extract(position), by_size_.extract(size)});
}

void Arena::add(void* begin, std::int64_t bytes) {
  const Address address = reinterpret_cast<Address>(begin);
  bytes = bytes / alignment_ * alignment_;
  provide();
  stretches_.emplace(address, bytes);
  insert(address, Free{bytes, {}, {}});
}

TrackedBlock* Arena::take(std::int64_t bytes) {
  if (bytes > free_bytes_) return nullptr; // also keeps what follows from overflowing
  const std::int64_t taken = (std::max<std::int64_t>(bytes, 1) + alignment_ - 1) / alignment_ * alignment_;
  const auto best = by_size_.lower_bound({taken, 0});
  if (best == by_size_.end()) return nullptr;
  provide();
  if (unused_.empty()) {
    if (unused_.capacity() <= blocks_.size()) unused_.reserve(2 * (blocks_.size() + 1));
    unused_.push_back(&blocks_.emplace_back());
  }
  const Position position = free_.find(best->second);
  const Address begin = position->first;
  const Free from = position->second;
  remove(position);
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
  const auto take_in = [&](Position position) {
    whole.bytes += position->second.bytes;
    join(whole.after, position->second.after);
    join(whole.known, position->second.known);
    remove(position);
  };
  Position next = free_.lower_bound(begin);
  if (next != free_.begin()) {
    const Position previous = std::prev(next);
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
    const Position position = free_.find(stretch.first);
    if (position == free_.end() || position->second.bytes != stretch.second) return false;
    remove(position);
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
