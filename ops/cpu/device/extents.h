// Memory of large blocks of the CPU device. Blocks are cut from chunks of many megabytes, and free neighbours become one again,
// so that what is given back serves for any size: the sizes of a network differ from layer to layer, and under a tight budget
// hardly any two of them are equal. Fresh memory costs the first touch of every page, more than most kernels take to fill it, so
// pages go back to the system only where more lie idle than a program comes back to.
#pragma once

#include "ops/cpu/device/size_classes.h"
#include "ops/cpu/device/slabs.h"
#include "ops/device.h"

#include <array>
#include <cstdint>
#include <list>
#include <vector>

namespace cairn::ops::cpu {

class Extents {
public:
  Extents() = default;
  ~Extents();
  Extents(const Extents&) = delete;
  Extents& operator=(const Extents&) = delete;

  // At least so many bytes, more than none, at a multiple of 4,096; contents undefined. bad_alloc.
  Block* take(std::int64_t bytes);
  void give_back(Block* block) noexcept;

  std::int64_t bytes_in_use() const { return in_use_; }
  // Of the large pages of which something was in use since the system gave them.
  std::int64_t bytes_touched() const { return touched_; }

private:
  struct Chunk {
    char* memory = nullptr;
    std::int64_t bytes = 0;
    std::vector<bool> touched; // each large page
    std::list<Chunk>::iterator place;
  };
  struct Extent : Block {
    Chunk* chunk = nullptr;
    Extent *below = nullptr, *above = nullptr; // the neighbours in the chunk
    bool is_free = false;
    Extent *next_free = nullptr, *last_free = nullptr; // of the same class
    Extent *older = nullptr, *newer = nullptr;         // of all that are free, by when they were given back
  };

  Extent* fitting(std::int64_t bytes) const;
  Extent* fresh_chunk(std::int64_t bytes);
  void unmap(Chunk& chunk);
  void split(Extent* extent, std::int64_t bytes, Extent* rest);
  Extent* join(Extent* below, Extent* above);
  void link(Extent* extent, Extent* older);
  void unlink(Extent* extent);
  void touch(const Extent* extent);
  bool has_idle_pages(const Extent* extent) const;
  void let_go_of_idle(std::int64_t kept);

  Slabs<Extent> extents_;
  std::list<Chunk> chunks_;
  std::array<Extent*, kSizeClasses> free_{}; // by class, the last given back first
  Extent *oldest_ = nullptr, *newest_ = nullptr;
  std::int64_t mapped_ = 0, touched_ = 0, in_use_ = 0, most_ = 0; // most: in use at once
};

} // namespace cairn::ops::cpu
