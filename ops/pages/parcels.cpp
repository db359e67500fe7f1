// Parcels in the order of memory, each with its neighbours, and the free ones in bins by what they are good for.
#include "ops/pages/parcels.h"

#include "ops/pages/pages.h"

#include <algorithm>
#include <utility>

namespace cairn::ops {
namespace {

constexpr std::int64_t kPage = Pages::kBytes;
constexpr std::int64_t page_behind(std::int64_t at) { return (at + kPage - 1) / kPage * kPage; }
constexpr std::int64_t page_before(std::int64_t at) { return at / kPage * kPage; }
std::int64_t whole_pages(const Parcel& parcel) {
  return std::max<std::int64_t>(page_before(parcel.end()) - page_behind(parcel.begin), 0) / kPage;
}

} // namespace

void Parcels::provide(std::int64_t parcels) {
  for (; unused_count_ < parcels; ++unused_count_) {
    Parcel& parcel = all_.emplace_back();
    parcel.next_part = unused_;
    unused_ = &parcel;
  }
}

Parcel* Parcels::made(std::int64_t begin, std::int64_t bytes) {
  Parcel* const parcel = std::exchange(unused_, unused_->next_part);
  --unused_count_;
  *parcel = Parcel{};
  parcel->begin = begin;
  parcel->bytes = bytes;
  return parcel;
}

void Parcels::unmake(Parcel* parcel) noexcept {
  parcel->next_part = std::exchange(unused_, parcel);
  ++unused_count_;
}

void Parcels::insert(Parcel* parcel) noexcept {
  parcel->free = true;
  free_bytes_ += parcel->bytes;
  if (parcel->in_chunk) return small_.insert(parcel, parcel->bytes);
  sizes_.insert(parcel, parcel->bytes);
  const std::int64_t begin = page_behind(parcel->begin), end = page_before(parcel->end());
  if (begin > end) return; // all of it lies inside one page
  if (begin > parcel->begin) heads_.insert(parcel, begin - parcel->begin);
  if (end > begin) pages_.insert(parcel, end - begin);
  if (parcel->end() > end) tails_.insert(parcel, parcel->end() - end);
  free_pages_ += (end - begin) / kPage;
}

void Parcels::remove(Parcel* parcel) noexcept {
  parcel->free = false;
  free_bytes_ -= parcel->bytes;
  if (parcel->in_chunk) return small_.remove(parcel);
  free_pages_ -= whole_pages(*parcel);
  for (SizeBins* bins : {&sizes_, &heads_, &pages_, &tails_}) bins->remove(parcel);
}

// The parcel takes in the one behind it; neither is in the bins.
void Parcels::join_behind(Parcel* parcel) noexcept {
  Parcel* const gone = parcel->behind;
  parcel->bytes += gone->bytes;
  join(parcel->after, gone->after);
  join(parcel->known, gone->known);
  parcel->behind = gone->behind;
  (gone->behind != nullptr ? gone->behind->before : last_) = parcel;
  unmake(gone);
}

void Parcels::join_neighbours(Parcel* parcel) noexcept {
  const auto joins = [](const Parcel* one, const Parcel* next) {
    return one != nullptr && next != nullptr && one->in_chunk == next->in_chunk && !next->opens_chunk;
  };
  if (joins(parcel, parcel->behind) && parcel->behind->free) {
    remove(parcel->behind);
    join_behind(parcel);
  }
  if (joins(parcel->before, parcel) && parcel->before->free) {
    parcel = parcel->before;
    remove(parcel);
    join_behind(parcel);
  }
  if (parcel->opens_chunk && parcel->bytes == kChunk) {
    parcel->in_chunk = parcel->opens_chunk = false;
    return join_neighbours(parcel); // among those of large blocks
  }
  insert(parcel);
}

void Parcels::add(std::int64_t bytes) {
  Parcel* const parcel = made(this->bytes(), bytes);
  parcel->before = last_;
  if (last_ != nullptr) last_->behind = parcel;
  last_ = parcel;
  join_neighbours(parcel);
}

// Takes a part out of a free parcel, which becomes that part; what remains before and behind it stays free.
Parcel* Parcels::cut(Parcel* parcel, std::int64_t begin, std::int64_t bytes) noexcept {
  remove(parcel);
  const auto split = [&](Parcel* one, std::int64_t at) { // gives the part behind
    Parcel* const rest = made(at, one->end() - at);
    rest->in_chunk = one->in_chunk;
    rest->after = one->after;
    rest->known = one->known;
    one->bytes = at - one->begin;
    rest->before = one;
    rest->behind = one->behind;
    (one->behind != nullptr ? one->behind->before : last_) = rest;
    one->behind = rest;
    return rest;
  };
  if (begin + bytes < parcel->end()) insert(split(parcel, begin + bytes));
  if (begin > parcel->begin) {
    Parcel* const front = parcel;
    parcel = split(front, begin);
    insert(front);
  }
  parcel->next_part = nullptr;
  return parcel;
}

// Whole pages begin where a page does if they can, so that they are whole pages when they are given back.
Parcel* Parcels::take(std::int64_t bytes) {
  Parcel* const found = sizes_.find(bytes);
  if (found == nullptr) return nullptr;
  const std::int64_t aligned = page_behind(found->begin);
  return cut(found, bytes % kPage == 0 && aligned + bytes <= found->end() ? aligned : found->begin, bytes);
}

Parcel* Parcels::take_small(std::int64_t bytes) {
  Parcel* found = small_.find(bytes);
  if (found == nullptr) {
    found = take(kChunk);
    if (found == nullptr) return nullptr;
    found->in_chunk = found->opens_chunk = true;
    insert(found);
  }
  return cut(found, found->begin, bytes);
}

Parcel* Parcels::take_anywhere(std::int64_t bytes) {
  if (Parcel* parcel = take(bytes)) return parcel;
  Parcel* const found = small_.find(bytes);
  return found == nullptr ? nullptr : cut(found, found->begin, bytes);
}

std::int64_t Parcels::parts_needed(std::int64_t bytes) const {
  return 2 * (std::min(Pages::whole(bytes), pages_.count()) + 2); // each is cut out of the middle of another at worst
}

// Whole pages serve everything, ends of free parcels only what fits, so these are used up first: two that are together a page
// more than the rest behind whole pages, one or two for the rest, and at last a page of its own for the rest.
std::optional<Parcels::Ends> Parcels::ends_for(std::int64_t bytes) const {
  const std::int64_t pages = bytes / kPage, rest = bytes % kPage;
  const auto both = [&](std::int64_t sum) -> std::optional<Ends> {
    Parcel* const head = heads_.largest();
    if (head == nullptr) return {};
    const std::int64_t head_bytes = std::min(heads_.size_of(head), sum - SizeBins::kUnit);
    Parcel* const tail = tails_.find(sum - head_bytes);
    if (tail == nullptr) return {};
    return Ends{head, tail, head_bytes, sum - head_bytes};
  };
  if (pages > 0 && free_pages_ >= pages - 1)
    if (const auto ends = both(rest + kPage)) return ends;
  if (free_pages_ < pages) return {};
  if (rest == 0) return Ends{};
  Parcel *const head = heads_.find(rest), *const tail = tails_.find(rest);
  if (head != nullptr && (tail == nullptr || heads_.size_of(head) <= tails_.size_of(tail))) return Ends{head, nullptr, rest, 0};
  if (tail != nullptr) return Ends{nullptr, tail, 0, rest};
  if (const auto ends = both(rest)) return ends;
  if (free_pages_ > pages) return Ends{};
  return {};
}

Parcel* Parcels::take_parts(std::int64_t bytes) {
  const std::optional<Ends> found = ends_for(bytes);
  if (!found) return nullptr;
  auto [head, tail, head_bytes, tail_bytes] = *found;
  Parcel *first = nullptr, *last = nullptr;
  const auto append = [&](Parcel* part) {
    (last != nullptr ? last->next_part : first) = part;
    last = part;
  };
  if (head != nullptr) {
    Parcel* const part = cut(head, page_behind(head->begin) - head_bytes, head_bytes);
    if (tail == head) tail = part->behind; // what lay behind is a parcel of its own now
    append(part);
  }
  if (tail != nullptr) tail = cut(tail, page_before(tail->end()), tail_bytes);
  for (std::int64_t wanted = bytes - head_bytes - tail_bytes; wanted > 0;) {
    Parcel* const run = pages_.largest();
    Parcel* const part = cut(run, page_behind(run->begin), std::min(pages_.size_of(run), wanted));
    wanted -= part->bytes;
    append(part);
  }
  if (tail != nullptr) append(tail);
  return first;
}

void Parcels::give_back(Parcel* parcel, const Tickets& after, const Tickets& known) noexcept {
  parcel->after = after;
  parcel->known = known;
  join_neighbours(parcel);
}

} // namespace cairn::ops
