// Blocks of one size, cut from regions of 2 MiB: what slabs of objects and chunks of tape are made of. A machine that records or
// recurses takes fresh memory faster than the system hands out small pages, so all regions but the first ask for a huge one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cairn::value {

// Where regions and large objects come from; null functions: the system.
struct MemorySource {
  void* (*allocate)(void* user, std::size_t bytes, std::size_t alignment) = nullptr; // null when there is none
  void (*release)(void* user, void* memory, std::size_t bytes) = nullptr;
  void* user = nullptr;
};

class BlockPool {
public:
  explicit BlockPool(std::size_t block_bytes, MemorySource source = {}); // at most 1 MiB
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  // 64-byte aligned, contents undefined; null if the system refuses.
  void* take();
  void give_back(void* block);

private:
  struct Region;
  static constexpr std::size_t kRegionBytes = std::size_t{2} << 20;
  static constexpr std::size_t kKept = 8; // regions without a block in use that are not given back to the system
  void* new_region() const;
  void free_region(void* region) const;
  bool add_region();
  void drop_region(Region* region);
  static Region* region_of(void* block) {
    return reinterpret_cast<Region*>(reinterpret_cast<std::uintptr_t>(block) & ~(kRegionBytes - 1));
  }

  std::size_t block_bytes_;
  MemorySource source_;
  std::vector<Region*> all_;
  std::vector<Region*> with_free_; // those that have a free block; blocks are taken from the last one
  std::size_t empty_ = 0;          // those without a block in use
};

} // namespace cairn::value
