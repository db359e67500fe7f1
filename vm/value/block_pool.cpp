// See block_pool.h. A region is mapped at a multiple of its size, so that its header is found from the address of a block.
#include "vm/value/block_pool.h"

#include "ops/forbidden.h"

#include <sys/mman.h>

#include <new>

namespace cairn::value {

struct alignas(64) BlockPool::Region {
  struct Free {
    Free* next;
  };
  Free* free = nullptr;  // given back
  std::size_t fresh = 0; // blocks from this one on were never taken
  std::size_t used = 0;
  std::size_t in_all = 0, in_free = kNotThere; // indices in the lists
  static constexpr std::size_t kNotThere = SIZE_MAX;
};

BlockPool::BlockPool(std::size_t block_bytes, MemorySource source)
    : block_bytes_((block_bytes + 63) / 64 * 64), source_(source) {}

BlockPool::~BlockPool() {
  for (Region* r : all_) {
    ops::permit(r + 1, static_cast<std::int64_t>(block_bytes_ * r->fresh));
    free_region(r);
  }
}

void* BlockPool::new_region() const {
  if (source_.allocate != nullptr) return source_.allocate(source_.user, kRegionBytes, kRegionBytes);
  // Twice the size, so that an aligned region lies within; the rest goes back at once.
  void* wide = mmap(nullptr, 2 * kRegionBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (wide == MAP_FAILED) return nullptr;
  std::size_t before = (kRegionBytes - reinterpret_cast<std::uintptr_t>(wide) % kRegionBytes) % kRegionBytes;
  char* memory = static_cast<char*>(wide) + before;
  if (before != 0) munmap(wide, before);
  munmap(memory + kRegionBytes, kRegionBytes - before);
  if (!all_.empty()) madvise(memory, kRegionBytes, MADV_HUGEPAGE); // only advice: without it all is the same, slower
  return memory;
}

void BlockPool::free_region(void* region) const {
  if (source_.release != nullptr)
    source_.release(source_.user, region, kRegionBytes);
  else
    munmap(region, kRegionBytes);
}

bool BlockPool::add_region() {
  // Both lists have room for all regions, so that giving back never fails.
  try {
    if (all_.size() == all_.capacity()) all_.reserve(all_.empty() ? 8 : all_.size() * 2);
    with_free_.reserve(all_.capacity());
  } catch (const std::bad_alloc&) {
    return false;
  }
  void* memory = new_region();
  if (memory == nullptr) return false;
  auto* r = new (memory) Region;
  r->in_all = all_.size();
  r->in_free = with_free_.size();
  all_.push_back(r);
  with_free_.push_back(r);
  ++empty_;
  return true;
}

void BlockPool::drop_region(Region* r) {
  all_[r->in_all] = all_.back();
  all_[r->in_all]->in_all = r->in_all;
  all_.pop_back();
  with_free_[r->in_free] = with_free_.back();
  with_free_[r->in_free]->in_free = r->in_free;
  with_free_.pop_back();
  ops::permit(r + 1, static_cast<std::int64_t>(block_bytes_ * r->fresh));
  free_region(r);
  --empty_;
}

void* BlockPool::take() {
  if (with_free_.empty() && !add_region()) return nullptr;
  Region* r = with_free_.back();
  if (r->used++ == 0) --empty_;
  void* block = nullptr;
  if (r->free != nullptr) {
    block = r->free;
    ops::permit(block, static_cast<std::int64_t>(block_bytes_));
    r->free = r->free->next;
  } else {
    block = reinterpret_cast<char*>(r + 1) + block_bytes_ * r->fresh++;
  }
  if (r->free == nullptr && sizeof(Region) + block_bytes_ * (r->fresh + 1) > kRegionBytes) {
    r->in_free = Region::kNotThere;
    with_free_.pop_back();
  }
  return block;
}

void BlockPool::give_back(void* block) {
  Region* r = region_of(block);
  auto* free = static_cast<Region::Free*>(block);
  free->next = r->free;
  r->free = free;
  ops::forbid(block, static_cast<std::int64_t>(block_bytes_));
  if (r->in_free == Region::kNotThere) {
    r->in_free = with_free_.size();
    with_free_.push_back(r);
  }
  if (--r->used == 0 && ++empty_ > kKept) drop_region(r);
}

} // namespace cairn::value
