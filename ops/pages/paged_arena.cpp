// What can be had in one piece is; then pages that are free are mapped side by side; then there are new ones.
#include "ops/pages/paged_arena.h"

#include <algorithm>

namespace cairn::ops {
namespace {

// The pages that parts lie in, as few runs as there are.
std::vector<PageRun> runs_of(const Parcel* parts) {
  std::vector<PageRun> runs;
  for (const Parcel* part = parts; part != nullptr; part = part->next_part) {
    const std::int64_t page = part->begin / Pages::kBytes, count = Pages::whole(part->end()) - page;
    if (!runs.empty() && runs.back().page + runs.back().count == page)
      runs.back().count += count;
    else
      runs.push_back({page, count});
  }
  return runs;
}

} // namespace

PagedArena::PagedArena(Pages& pages, Progress& progress, std::int64_t alignment)
    : pages_(pages), alignment_(alignment), aliases_(pages, progress) {}

Parcel* PagedArena::in_one_piece(std::int64_t bytes) {
  parcels_.provide(3);
  return bytes <= Parcels::kLargestSmall ? parcels_.take_small(bytes) : parcels_.take(bytes);
}

bool PagedArena::grow(std::int64_t pages) {
  const std::int64_t there = parcels_.bytes() / Pages::kBytes;
  if (pages > aliases_.lowest() - there) return false;
  parcels_.provide(1);
  if (!pages_.make(there, pages)) return false;
  parcels_.add(pages * Pages::kBytes);
  return true;
}

PagedBlock* PagedArena::take(std::int64_t bytes) {
  if (bytes > pages_.addresses() * Pages::kBytes) return nullptr; // also keeps what follows from overflowing
  const std::int64_t taken = (std::max<std::int64_t>(bytes, 1) + alignment_ - 1) / alignment_ * alignment_;
  const bool small = taken <= Parcels::kLargestSmall;
  if (unused_.empty()) {
    if (unused_.capacity() <= blocks_.size()) unused_.reserve(2 * (blocks_.size() + 1));
    unused_.push_back(&blocks_.emplace_back());
  }

  Parcel* parts = nullptr;
  std::list<Alias> alias;
  for (bool may_map = !small; (parts = in_one_piece(taken)) == nullptr;) {
    if (may_map) {
      parcels_.provide(parcels_.parts_needed(taken));
      parts = parcels_.take_parts(taken);
      if (parts != nullptr) {
        try {
          alias = aliases_.map(runs_of(parts), parcels_.bytes() / Pages::kBytes);
        } catch (...) {
          put_back(parts);
          throw;
        }
        if (!alias.empty()) break;
        put_back(parts);
        may_map = false;
      }
    }
    // New pages: as few as would do in one piece, or with others.
    std::int64_t pages = Pages::whole((small ? Parcels::kChunk : taken) - parcels_.free_at_end());
    if (may_map) pages = std::min(pages, Pages::whole(taken) - parcels_.free_pages());
    if (!grow(pages)) {
      parts = parcels_.take_anywhere(taken);
      if (parts == nullptr) return nullptr;
      break;
    }
  }

  PagedBlock* const block = unused_.back();
  unused_.pop_back();
  *block = PagedBlock{};
  const std::int64_t begin = alias.empty() ? parts->begin : alias.front().at * Pages::kBytes + parts->begin % Pages::kBytes;
  block->data = pages_.begin() + begin;
  block->bytes = bytes;
  block->taken = taken;
  block->parts = parts;
  block->memory = pages_.begin();
  block->alias = std::move(alias);
  for (const Parcel* part = parts; part != nullptr; part = part->next_part) {
    join(block->earlier, part->after);
    join(block->earlier_known, part->known);
  }
  return block;
}

void PagedArena::put_back(Parcel* parts) noexcept {
  while (parts != nullptr) {
    Parcel* const next = parts->next_part;
    parcels_.give_back(parts, parts->after, parts->known);
    parts = next;
  }
}

void PagedArena::give_back(PagedBlock* block) noexcept {
  Tickets after{}, known{};
  Ordering::uses(*block, after, known);
  for (Parcel* part = block->parts; part != nullptr;) {
    Parcel* const next = part->next_part;
    parcels_.give_back(part, after, known);
    part = next;
  }
  if (!block->alias.empty()) aliases_.retire(std::move(block->alias), after);
  unused_.push_back(block);
}

} // namespace cairn::ops
