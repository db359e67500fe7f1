// Memory of a device, one arena for all its streams: it grows by pages, and a large block takes any pages that are free, mapped
// side by side where they do not follow one another. So no block fails while as many pages are free as it needs, and nothing is
// ever moved. What is given back may be taken again at once: it carries the tickets of those who used it, which whoever uses it
// next waits for (ops/ordering.h).
//
// One page may be mapped at several addresses. Which memory a block is, PagedBlock::physical tells.
#pragma once

#include "ops/pages/aliases.h"
#include "ops/pages/pages.h"
#include "ops/pages/parcels.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <vector>

namespace cairn::ops {

struct PagedBlock : TrackedBlock {
  Parcel* parts = nullptr;
  std::list<Alias> alias;      // one, where there are several parts
  std::byte* memory = nullptr; // where the first page is

  // Calls visit(begin, end) for the bytes [from, from + count), at pages' own addresses: uses of two blocks, at once or one after
  // the other, are of the same memory if and only if these overlap.
  template <class Visit> void physical(std::int64_t from, std::int64_t count, Visit&& visit) const {
    const auto first = reinterpret_cast<std::uintptr_t>(memory);
    for (const Parcel* part = parts; part != nullptr && count > 0; part = part->next_part) {
      if (from < part->bytes) {
        const std::int64_t here = std::min(count, part->bytes - from);
        const std::uintptr_t begin = first + static_cast<std::uintptr_t>(part->begin + from);
        visit(begin, begin + static_cast<std::uintptr_t>(here));
        count -= here;
        from += here;
      }
      from -= part->bytes;
    }
  }
};

class PagedArena {
public:
  // `alignment`: a multiple of SizeBins::kUnit.
  PagedArena(Pages& pages, Progress& progress, std::int64_t alignment);

  // Null: there are no pages, or no addresses for them. Nothing is lost then, nor when it throws bad_alloc or Cancelled.
  PagedBlock* take(std::int64_t bytes);
  void give_back(PagedBlock* block) noexcept;

  std::int64_t taken_bytes() const { return parcels_.bytes() - parcels_.free_bytes(); } // by blocks, each rounded up a little
  std::int64_t page_bytes() const { return parcels_.bytes(); }                          // of all pages that there are
  std::int64_t free_pages() const { return parcels_.free_pages(); }

private:
  Parcel* in_one_piece(std::int64_t bytes);
  bool grow(std::int64_t pages);
  void put_back(Parcel* parts) noexcept;

  Pages& pages_;
  std::int64_t alignment_;
  Parcels parcels_;
  Aliases aliases_;
  std::deque<PagedBlock> blocks_;   // all that have ever been
  std::vector<PagedBlock*> unused_; // those that name no memory; has room for all
};

} // namespace cairn::ops
