// See extents.h.
#include "ops/cpu/device/extents.h"

#include "ops/cpu/device/pages.h"
#include "ops/forbidden.h"

#include <algorithm>
#include <new>

#include <sys/mman.h>

namespace cairn::ops::cpu {

namespace {

constexpr std::int64_t kUnit = 4096;
constexpr std::int64_t kLeastChunk = std::int64_t{64} << 20, kMostChunk = std::int64_t{1} << 30;
constexpr std::int64_t kSmallPages = std::int64_t{4} << 20;  // at the start of the first chunk: small programs stay small
constexpr std::int64_t kAlwaysKept = std::int64_t{32} << 20; // of touched pages that nobody uses
constexpr int kLooks = 16;                                   // at extents of a class some of which are too small

std::int64_t rounded_up(std::int64_t bytes, std::int64_t unit) { return (bytes + unit - 1) / unit * unit; }

// The largest class that an extent has room for.
std::uint32_t class_within(std::int64_t bytes) { return class_for(bytes + 1) - 1; }

void* map(std::int64_t bytes) {
  void* memory = mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

// At a multiple of large pages; null if the system has no room.
char* map_aligned(std::int64_t bytes) {
  auto* const wide = static_cast<char*>(map(bytes + kHugePage));
  if (wide == nullptr) return nullptr;
  const std::int64_t before =
      (kHugePage - static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(wide) % kHugePage)) % kHugePage;
  if (before != 0) munmap(wide, static_cast<std::size_t>(before));
  if (before != kHugePage) munmap(wide + before + bytes, static_cast<std::size_t>(kHugePage - before));
  return wide + before;
}

// The large pages [first, last) of a chunk that lie in a piece of it as a whole.
struct WholePages {
  WholePages(const char* chunk, const Block& piece) {
    const std::int64_t from = static_cast<const char*>(piece.data) - chunk;
    first = rounded_up(from, kHugePage) / kHugePage;
    last = (from + piece.bytes) / kHugePage;
  }
  std::int64_t first, last;
};

} // namespace

Extents::~Extents() {
  for (const Chunk& chunk : chunks_) {
    permit(chunk.memory, chunk.bytes);
    munmap(chunk.memory, static_cast<std::size_t>(chunk.bytes));
  }
}

Block* Extents::take(std::int64_t bytes) {
  if (bytes > bytes_of_class(kSizeClasses - 1)) throw std::bad_alloc();
  bytes = rounded_up(bytes, kUnit);
  Extent* const rest = extents_.take();
  Extent* extent = fitting(bytes);
  try {
    if (extent == nullptr) extent = fresh_chunk(bytes);
  } catch (...) {
    extents_.give_back(rest);
    throw;
  }
  if (extent->bytes > bytes)
    split(extent, bytes, rest);
  else
    extents_.give_back(rest);
  unlink(extent);
  permit(extent->data, extent->bytes);
  in_use_ += extent->bytes;
  most_ = std::max(most_, in_use_);
  touch(extent);
  return extent;
}

void Extents::give_back(Block* block) noexcept {
  auto* extent = static_cast<Extent*>(block);
  forbid(extent->data, extent->bytes);
  in_use_ -= extent->bytes;
  if (extent->below != nullptr && extent->below->is_free) extent = join(extent->below, extent);
  if (extent->above != nullptr && extent->above->is_free) extent = join(extent, extent->above);
  link(extent, newest_);
  // What was in use at once will be so again, in the next step of a training; a quarter more since sizes never fit exactly.
  const std::int64_t kept = std::max(in_use_ + kAlwaysKept, most_ + most_ / 4);
  if (touched_ > kept && has_idle_pages(extent)) let_go_of_idle(kept);
}

// Of the least class in which there is one: large extents are kept for large blocks.
Extents::Extent* Extents::fitting(std::int64_t bytes) const {
  std::uint32_t of = class_within(bytes);
  int looks = kLooks;
  for (Extent* extent = free_[of]; extent != nullptr && looks-- > 0; extent = extent->next_free)
    if (extent->bytes >= bytes) return extent;
  while (++of < kSizeClasses)
    if (free_[of] != nullptr) return free_[of];
  return nullptr;
}

Extents::Extent* Extents::fresh_chunk(std::int64_t bytes) {
  Extent* const extent = extents_.take();
  try {
    std::int64_t size =
        std::max(rounded_up(bytes, kHugePage), std::clamp(rounded_up(mapped_ / 2, kHugePage), kLeastChunk, kMostChunk));
    Chunk& chunk = chunks_.emplace_back();
    chunk.place = std::prev(chunks_.end());
    try {
      chunk.touched.resize(static_cast<std::size_t>(size / kHugePage));
      chunk.memory = map_aligned(size);
      if (chunk.memory == nullptr) {
        let_go_of_idle(0);
        size = rounded_up(bytes, kHugePage);
        chunk.memory = map_aligned(size);
      }
      if (chunk.memory == nullptr) throw std::bad_alloc();
    } catch (...) {
      chunks_.pop_back();
      throw;
    }
    chunk.bytes = size;
    forbid(chunk.memory, size);
    const std::int64_t small = mapped_ == 0 ? std::min(kSmallPages, size) : 0;
    advise_large_pages(chunk.memory + small, size - small);
    mapped_ += size;
    extent->data = chunk.memory;
    extent->bytes = size;
    extent->chunk = &chunk;
    extent->below = extent->above = nullptr;
  } catch (...) {
    extents_.give_back(extent);
    throw;
  }
  link(extent, nullptr);
  return extent;
}

void Extents::unmap(Chunk& chunk) {
  permit(chunk.memory, chunk.bytes);
  munmap(chunk.memory, static_cast<std::size_t>(chunk.bytes));
  mapped_ -= chunk.bytes;
  chunks_.erase(chunk.place);
}

// Of a free extent the first so many bytes; the rest is as old.
void Extents::split(Extent* extent, std::int64_t bytes, Extent* rest) {
  rest->data = static_cast<char*>(extent->data) + bytes;
  rest->bytes = extent->bytes - bytes;
  rest->chunk = extent->chunk;
  rest->below = extent;
  rest->above = extent->above;
  if (rest->above != nullptr) rest->above->below = rest;
  extent->above = rest;
  Extent* const older = extent->older;
  unlink(extent);
  extent->bytes = bytes;
  link(extent, older);
  link(rest, extent);
}

// Neighbours of which neither, or one, is free; what they become is not.
Extents::Extent* Extents::join(Extent* below, Extent* above) {
  if (below->is_free) unlink(below);
  if (above->is_free) unlink(above);
  below->bytes += above->bytes;
  below->above = above->above;
  if (below->above != nullptr) below->above->below = below;
  extents_.give_back(above);
  return below;
}

void Extents::link(Extent* extent, Extent* older) {
  extent->is_free = true;
  Extent*& first = free_[class_within(extent->bytes)];
  extent->last_free = nullptr;
  extent->next_free = first;
  if (first != nullptr) first->last_free = extent;
  first = extent;
  extent->older = older;
  extent->newer = older != nullptr ? older->newer : oldest_;
  (extent->newer != nullptr ? extent->newer->older : newest_) = extent;
  (older != nullptr ? older->newer : oldest_) = extent;
}

void Extents::unlink(Extent* extent) {
  extent->is_free = false;
  (extent->last_free != nullptr ? extent->last_free->next_free : free_[class_within(extent->bytes)]) = extent->next_free;
  if (extent->next_free != nullptr) extent->next_free->last_free = extent->last_free;
  (extent->older != nullptr ? extent->older->newer : oldest_) = extent->newer;
  (extent->newer != nullptr ? extent->newer->older : newest_) = extent->older;
}

void Extents::touch(const Extent* extent) {
  Chunk& chunk = *extent->chunk;
  const std::int64_t from = static_cast<const char*>(extent->data) - chunk.memory;
  for (std::int64_t page = from / kHugePage; page * kHugePage < from + extent->bytes; ++page) {
    auto touched = chunk.touched[static_cast<std::size_t>(page)];
    if (!touched) touched_ += kHugePage;
    touched = true;
  }
}

bool Extents::has_idle_pages(const Extent* extent) const {
  const Chunk& chunk = *extent->chunk;
  const WholePages pages(chunk.memory, *extent);
  const auto begin = chunk.touched.begin();
  return pages.first < pages.last && std::find(begin + pages.first, begin + pages.last, true) != begin + pages.last;
}

// The sizes that a program asks for change, so what nobody asked for the longest is least worth its memory.
void Extents::let_go_of_idle(std::int64_t kept) {
  for (Extent *extent = oldest_, *newer = nullptr; extent != nullptr && touched_ > kept; extent = newer) {
    newer = extent->newer;
    Chunk& chunk = *extent->chunk;
    const WholePages pages(chunk.memory, *extent);
    for (std::int64_t page = pages.last; page-- > pages.first && touched_ > kept;) {
      auto touched = chunk.touched[static_cast<std::size_t>(page)];
      if (!touched) continue;
      madvise(chunk.memory + page * kHugePage, static_cast<std::size_t>(kHugePage), MADV_DONTNEED);
      touched = false;
      touched_ -= kHugePage;
    }
    if (extent->bytes == chunk.bytes && std::find(chunk.touched.begin(), chunk.touched.end(), true) == chunk.touched.end()) {
      unlink(extent);
      extents_.give_back(extent);
      unmap(chunk);
    }
  }
}

} // namespace cairn::ops::cpu
