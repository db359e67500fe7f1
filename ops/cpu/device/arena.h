// Memory of the CPU device: small blocks of size classes, cut from regions, and large ones, of extents. Either is kept for reuse
// when it comes back: nothing is mapped and unmapped with single tensors.
#pragma once

#include "ops/cpu/device/extents.h"
#include "ops/cpu/device/size_classes.h"
#include "ops/cpu/device/slabs.h"
#include "ops/device.h"

#include <array>
#include <cstdint>

namespace cairn::ops::cpu {

// At most a fifth of a small block is unused.
class Arena {
public:
  // 64-byte aligned, contents undefined. bad_alloc.
  Block* take(std::int64_t bytes);
  void give_back(Block* block) noexcept;

private:
  struct SmallBlock : Block {
    std::uint32_t size_class = 0;
    SmallBlock* next_free = nullptr;
  };
  void* cut(std::int64_t bytes);

  Extents extents_;
  Slabs<SmallBlock> blocks_;
  std::array<SmallBlock*, kSizeClasses> free_{}; // by class, the last given back first
  char* cut_from_ = nullptr;                     // what is left of the last region
  std::int64_t cut_left_ = 0;
};

} // namespace cairn::ops::cpu
