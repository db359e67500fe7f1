// Memory of a device: stretches of addresses, taken once from the system and cut into blocks. What is given back is joined with
// what is free beside it and may be taken again at once: it carries the tickets of those who used it, which whoever uses it next
// waits for. Knows addresses only and touches nothing there.
#pragma once

#include "ops/ordering.h"

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace cairn::ops {

class Arena {
public:
  explicit Arena(std::int64_t alignment) : alignment_(alignment) {}

  // More memory. Blocks never reach from one stretch into another.
  void add(void* begin, std::int64_t bytes);
  // The smallest free stretch that serves; null: none does. `bytes` is what is asked for, `taken` what the block occupies.
  TrackedBlock* take(std::int64_t bytes);
  void give_back(TrackedBlock* block);
  // Takes out the stretches in which nothing is in use, and gives where they begin: for whoever returns them to the system.
  std::vector<void*> remove_unused();

  std::vector<void*> all_stretches() const;

  std::int64_t taken_bytes() const { return taken_; }
  std::int64_t free_bytes() const { return free_bytes_; }
  std::int64_t largest_free() const { return by_size_.empty() ? 0 : by_size_.rbegin()->first; }

private:
  using Address = std::uintptr_t;
  struct Free {
    std::int64_t bytes;
    Tickets after{}, known{};
  };
  using Position = std::map<Address, Free>::iterator;
  // What a stretch that becomes free needs in both orders. Blocks are given back where nothing may fail, often since there was no
  // memory, so there is one of these for each block in use, made before the block is taken.
  struct Nodes {
    std::map<Address, Free>::node_type by_address;
    std::set<std::pair<std::int64_t, Address>>::node_type size;
  };
  // Makes sure of one more of them than blocks are in use.
  void provide();
  void insert(Address begin, const Free& free);
  void remove(Position position);

  std::int64_t alignment_, taken_ = 0, free_bytes_ = 0;
  std::map<Address, Free> free_;
  std::set<std::pair<std::int64_t, Address>> by_size_;
  std::map<Address, std::int64_t> stretches_; // where each begins, and its bytes
  std::deque<TrackedBlock> blocks_;           // all that have ever been
  std::vector<TrackedBlock*> unused_;         // those that name no memory; has room for all
  std::vector<Nodes> spare_;                  // has room for those of all that is free, too
};

} // namespace cairn::ops
