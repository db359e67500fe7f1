// Memory of the CPU device: blocks of size classes, cut from regions or mapped alone, kept for reuse when they come back. Fresh
// memory costs the first touch of every page, at a fifth of the speed of warm memory, so nothing is mapped and unmapped with
// single tensors.
#pragma once

#include "ops/device.h"

#include <array>
#include <cstdint>
#include <vector>

namespace cairn::ops::cpu {

// Four classes to each doubling from 64 bytes on: at most a fifth of a block is unused.
class Arena {
public:
  Arena() = default;
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // 64-byte aligned, contents undefined. bad_alloc.
  Block* take(std::int64_t bytes);
  void give_back(Block* block);

private:
  struct KeptBlock : Block {
    std::uint32_t size_class = 0;
    KeptBlock *next_free = nullptr, *before = nullptr; // before: of free blocks mapped alone, the one given back after it
    std::uint64_t given_back = 0;                      // when, likewise
  };
  static constexpr std::uint32_t kClasses = 4 * 48;
  static constexpr std::int64_t kRegionBytes = std::int64_t{1} << 20;
  static constexpr std::int64_t kLargestInRegion = kRegionBytes / 16;
  static constexpr std::int64_t kAlwaysKept = std::int64_t{32} << 20; // of free blocks mapped alone

  static std::uint32_t class_of(std::int64_t bytes);
  static std::int64_t bytes_of_class(std::uint32_t size_class);
  KeptBlock* fresh_block();
  void* cut(std::int64_t bytes);
  void* map(std::int64_t bytes);
  void use(std::int64_t bytes);  // of a block mapped alone
  void unlink(KeptBlock* block); // a free block mapped alone
  void unmap(KeptBlock* block);
  void unmap_oldest();
  void unmap_free();

  std::array<KeptBlock*, kClasses> free_{};   // by class, the last given back first
  std::array<KeptBlock*, kClasses> oldest_{}; // the last of these, where they are mapped alone
  std::uint64_t given_back_ = 0;              // so many so far
  std::vector<void*> regions_;
  char* cut_from_ = nullptr;
  std::int64_t cut_left_ = 0;
  std::vector<KeptBlock*> descriptions_;                               // slabs of descriptions of blocks
  KeptBlock* fresh_ = nullptr;                                         // without memory
  std::int64_t mapped_in_use_ = 0, mapped_free_ = 0, mapped_most_ = 0; // in use at once
};

} // namespace cairn::ops::cpu
