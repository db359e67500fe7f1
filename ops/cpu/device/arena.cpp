// See arena.h.
#include "ops/cpu/device/arena.h"

#include "ops/cpu/device/pages.h"
#include "ops/forbidden.h"

#include <algorithm>
#include <bit>
#include <new>

#include <sys/mman.h>

namespace cairn::ops::cpu {

namespace {

constexpr std::int64_t kBlocksInSlab = 64;

} // namespace

// 64, 80, 96, 112, 128, 160, ...
std::int64_t Arena::bytes_of_class(std::uint32_t size_class) {
  return static_cast<std::int64_t>(4 + size_class % 4) << (4 + size_class / 4);
}

std::uint32_t Arena::class_of(std::int64_t bytes) {
  if (bytes <= 64) return 0;
  const auto last = static_cast<std::uint64_t>(bytes) - 1;
  const auto doubling = static_cast<std::uint32_t>(std::bit_width(last)) - 7; // 65..128: 0
  const auto quarter = static_cast<std::uint32_t>(last >> (doubling + 4)) & 3;
  return 4 * doubling + quarter + 1;
}

Arena::~Arena() {
  for (std::uint32_t c = 0; c < kClasses; ++c) {
    if (bytes_of_class(c) <= kLargestInRegion) continue;
    for (const KeptBlock* p = free_[c]; p != nullptr; p = p->next_free) {
      permit(p->data, p->bytes);
      munmap(p->data, static_cast<std::size_t>(p->bytes));
    }
  }
  for (void* region : regions_) {
    permit(region, kRegionBytes);
    munmap(region, static_cast<std::size_t>(kRegionBytes));
  }
  for (KeptBlock* slab : descriptions_) delete[] slab;
}

Arena::KeptBlock* Arena::fresh_block() {
  if (fresh_ == nullptr) {
    descriptions_.reserve(descriptions_.size() + 1);
    auto* slab = new KeptBlock[kBlocksInSlab];
    descriptions_.push_back(slab);
    for (std::int64_t i = kBlocksInSlab; i-- > 0;) {
      slab[i].next_free = fresh_;
      fresh_ = &slab[i];
    }
  }
  KeptBlock* p = fresh_;
  fresh_ = p->next_free;
  return p;
}

void* Arena::map(std::int64_t bytes) {
  auto attempt = [&] {
    return mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  };
  void* memory = attempt();
  if (memory == MAP_FAILED) {
    unmap_free();
    memory = attempt();
  }
  if (memory == MAP_FAILED) throw std::bad_alloc();
  advise_large_pages(memory, bytes);
  return memory;
}

void* Arena::cut(std::int64_t bytes) {
  bytes = (bytes + 63) / 64 * 64;
  if (cut_left_ < bytes) { // what is left of the region stays unused: less than a sixteenth of it
    regions_.reserve(regions_.size() + 1);
    cut_from_ = static_cast<char*>(map(kRegionBytes));
    regions_.push_back(cut_from_);
    cut_left_ = kRegionBytes;
  }
  void* memory = cut_from_;
  cut_from_ += bytes;
  cut_left_ -= bytes;
  return memory;
}

Block* Arena::take(std::int64_t bytes) {
  const std::uint32_t c = class_of(bytes);
  if (c >= kClasses) throw std::bad_alloc();
  const std::int64_t rounded = bytes_of_class(c);
  const bool alone = rounded > kLargestInRegion;
  // A block mapped alone may serve for what is up to a quarter smaller.
  for (std::uint32_t serving = c; serving <= c + (alone ? 1u : 0u) && serving < kClasses; ++serving) {
    KeptBlock* p = free_[serving];
    if (p == nullptr) continue;
    if (alone) {
      unlink(p);
      use(p->bytes);
    } else {
      free_[serving] = p->next_free;
    }
    permit(p->data, p->bytes);
    return p;
  }
  KeptBlock* p = fresh_block();
  try {
    p->data = alone ? map(rounded) : cut(rounded);
  } catch (...) {
    p->next_free = fresh_;
    fresh_ = p;
    throw;
  }
  p->bytes = rounded;
  p->size_class = c;
  if (alone) use(rounded);
  return p;
}

void Arena::use(std::int64_t bytes) {
  mapped_in_use_ += bytes;
  mapped_most_ = std::max(mapped_most_, mapped_in_use_);
}

void Arena::give_back(Block* block) {
  auto* p = static_cast<KeptBlock*>(block);
  forbid(p->data, p->bytes);
  p->next_free = free_[p->size_class];
  free_[p->size_class] = p;
  if (p->bytes <= kLargestInRegion) return;
  p->before = nullptr;
  p->given_back = ++given_back_;
  (p->next_free != nullptr ? p->next_free->before : oldest_[p->size_class]) = p;
  mapped_in_use_ -= p->bytes;
  mapped_free_ += p->bytes;
  // What was in use at once will be so again, in the next step of a training; a quarter more since sizes never fit exactly.
  while (mapped_free_ > kAlwaysKept && mapped_free_ + mapped_in_use_ > mapped_most_ + mapped_most_ / 4) unmap_oldest();
}

void Arena::unlink(KeptBlock* p) {
  (p->before != nullptr ? p->before->next_free : free_[p->size_class]) = p->next_free;
  (p->next_free != nullptr ? p->next_free->before : oldest_[p->size_class]) = p->before;
  mapped_free_ -= p->bytes;
}

void Arena::unmap(KeptBlock* p) {
  unlink(p);
  permit(p->data, p->bytes);
  munmap(p->data, static_cast<std::size_t>(p->bytes));
  p->next_free = fresh_;
  fresh_ = p;
}

// The sizes that a program asks for change, so what nobody asked for the longest is least worth its memory.
void Arena::unmap_oldest() {
  KeptBlock* oldest = nullptr;
  for (KeptBlock* p : oldest_)
    if (p != nullptr && (oldest == nullptr || p->given_back < oldest->given_back)) oldest = p;
  unmap(oldest);
}

void Arena::unmap_free() {
  for (std::uint32_t c = 0; c < kClasses; ++c)
    while (oldest_[c] != nullptr) unmap(oldest_[c]);
}

} // namespace cairn::ops::cpu
