// What CUDA's unified memory makes of launches, as modelled. Pages of 64 KiB are in the memory or below, never both: what leaves
// is copied back whether it was changed or not. One engine moves them, so what makes room and what comes take turns. Kernels use
// blocks from their first page to their last, so pages of one block leave in the order of their blocks, the least recently used
// first.
#pragma once

#include "ops/plans/memory.h"

#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace cairn::ops::plans {

class UnifiedMemory {
public:
  static constexpr std::uint64_t kPage = std::uint64_t{64} << 10;
  // Pages of a block that came, or pages that left for it.
  struct Move {
    Name name = 0;
    bool in = false;
    std::uint64_t bytes = 0;
    Picoseconds begin = 0, end = 0;
  };
  struct Moved {
    std::uint64_t bytes_in = 0, bytes_out = 0;
    std::uint64_t faults = 0, evictions = 0, write_backs = 0; // pages; blocks of which some left, and those of them with elements
    std::uint64_t peak = 0;                                   // bytes
  };

  // `prefetched`: a launch's operands are asked for as a whole in front of it, else each page when the kernel stops at it.
  UnifiedMemory(const Memory& memory, bool prefetched, std::function<void(const Move&)> each = {});

  // `filled`: it has elements, which are below.
  void made(Name name, std::uint64_t bytes, bool filled);
  // By whoever writes elements below.
  void fill(Name name);
  void dropped(Name name);
  // The next launch, behind the one before and not before `from`: when it begins. None: its operands have no room.
  std::optional<Picoseconds> launch(Picoseconds duration, std::span<const Access> accesses, Picoseconds from = 0);

  // Some of its pages are not here.
  bool lacks(Name name) const { return blocks_.at(name).here != blocks_.at(name).pages; }

  // For whoever asks ahead of launches. There is such a block, and some of its elements are below.
  bool is_missing(Name name) const;
  // It comes when the engine is free. False: there is no room beside the last launch's operands.
  bool ask_for(Name name);
  Picoseconds execute() const { return execute_; } // when the last launch ends
  Picoseconds engine() const { return engine_; }   // when what is asked for has come
  const Moved& moved() const { return moved_; }

private:
  struct Paged {
    std::uint64_t pages = 0, here = 0;
    bool filled = false;
    Picoseconds arrives = 0;
    std::list<Name>::iterator place; // if any page is here
  };
  bool is_in_use(Name name) const;
  void touch(Paged& block);
  bool make_room(Name name, std::uint64_t pages, Picoseconds& at);
  bool come(Name name, Paged& block, Picoseconds latency, Picoseconds& at);

  Memory memory_;
  bool prefetched_;
  std::function<void(const Move&)> each_;
  std::uint64_t free_; // pages
  std::unordered_map<Name, Paged> blocks_;
  std::list<Name> order_;    // of what has pages here, the least recently used first
  std::vector<Name> in_use_; // by the launch in work
  Picoseconds execute_ = 0, engine_ = 0;
  Moved moved_;
};

} // namespace cairn::ops::plans
