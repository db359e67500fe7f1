// See arena.h.
#include "ops/cpu/device/arena.h"

#include "ops/forbidden.h"

namespace cairn::ops::cpu {

namespace {

constexpr std::int64_t kRegionBytes = std::int64_t{1} << 20;
constexpr std::int64_t kLargestSmall = kRegionBytes / 16;

} // namespace

// Regions stay as long as the arena.
void* Arena::cut(std::int64_t bytes) {
  if (cut_left_ < bytes) { // what is left of the region stays unused: less than a sixteenth of it
    const Block* const region = extents_.take(kRegionBytes);
    forbid(region->data, region->bytes);
    cut_from_ = static_cast<char*>(region->data);
    cut_left_ = region->bytes;
  }
  void* memory = cut_from_;
  cut_from_ += bytes;
  cut_left_ -= bytes;
  return memory;
}

Block* Arena::take(std::int64_t bytes) {
  if (bytes > kLargestSmall) return extents_.take(bytes);
  const std::uint32_t size_class = class_for(bytes);
  SmallBlock* p = free_[size_class];
  if (p != nullptr) {
    free_[size_class] = p->next_free;
  } else {
    p = blocks_.take();
    p->bytes = bytes_of_class(size_class);
    p->size_class = size_class;
    try {
      p->data = cut((p->bytes + 63) / 64 * 64);
    } catch (...) {
      blocks_.give_back(p);
      throw;
    }
  }
  permit(p->data, p->bytes);
  return p;
}

void Arena::give_back(Block* block) noexcept {
  if (block->bytes > kLargestSmall) return extents_.give_back(block);
  auto* p = static_cast<SmallBlock*>(block);
  forbid(p->data, p->bytes);
  p->next_free = free_[p->size_class];
  free_[p->size_class] = p;
}

} // namespace cairn::ops::cpu
