// See exact.h. Elements here are whole numbers as wide as they are, whatever they mean.
#include "ops/cpu/exact/blocks.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace cairn::ops::exact {

namespace {

constexpr std::uint8_t kMasked = 4; // beside the width

template <class T> T element_at(const std::uint8_t* bytes, std::int64_t i) {
  T x;
  std::memcpy(&x, bytes + i * static_cast<std::int64_t>(sizeof x), sizeof x);
  return x;
}
template <class T> void set_element(std::uint8_t* bytes, std::int64_t i, T x) {
  std::memcpy(bytes + i * static_cast<std::int64_t>(sizeof x), &x, sizeof x);
}

template <class T> std::int64_t zeros_of(const std::uint8_t* bytes, std::int64_t count) {
  std::int64_t zeros = 0;
  for (std::int64_t i = 0; i < count; ++i) zeros += element_at<T>(bytes, i) == 0 ? 1 : 0;
  return zeros;
}

// The elements that are not zero, and a bit for each.
template <class T> std::int64_t gather(const std::uint8_t* from, std::int64_t count, std::uint8_t* mask, std::uint8_t* to) {
  std::int64_t n = 0;
  for (std::int64_t i = 0; i < count; i += 8) {
    unsigned bits = 0;
    for (std::int64_t k = 0; k < std::min<std::int64_t>(8, count - i); ++k) {
      const T x = element_at<T>(from, i + k);
      set_element(to, n, x);
      const unsigned is = x != 0 ? 1 : 0;
      n += is;
      bits |= is << k;
    }
    mask[i / 8] = static_cast<std::uint8_t>(bits);
  }
  return n;
}

// The other way round, in place: from the end on, no element is overwritten before it has moved.
template <class T> void scatter(const std::uint8_t* mask, std::uint8_t* bytes, std::int64_t count, std::int64_t n) {
  for (std::int64_t i = count; i-- > 0;) {
    const unsigned is = mask[i / 8] >> (i % 8) & 1U; // no branch, as nobody can foresee it
    n -= is;
    set_element(bytes, i, static_cast<T>(element_at<T>(bytes, n) & static_cast<T>(0 - std::uint64_t{is})));
  }
}

template <class T> void split(const std::uint8_t* from, std::int64_t count, std::uint8_t* planes) {
  for (std::size_t p = 0; p < sizeof(T); ++p) {
    std::uint8_t* const plane = planes + static_cast<std::int64_t>(p) * count;
    for (std::int64_t i = 0; i < count; ++i) plane[i] = static_cast<std::uint8_t>(element_at<T>(from, i) >> (8 * p));
  }
}

template <class T> void join(const std::uint8_t* planes, std::int64_t count, std::uint8_t* to) {
  for (std::int64_t i = 0; i < count; ++i) {
    T x = 0;
    for (std::size_t p = 0; p < sizeof(T); ++p)
      x = static_cast<T>(x | static_cast<T>(static_cast<T>(planes[static_cast<std::int64_t>(p) * count + i]) << (8 * p)));
    set_element(to, i, x);
  }
}

template <class T>
std::uint8_t* write_elements(Workspace& work, const std::uint8_t* from, std::int64_t count, std::uint8_t* to, std::uint8_t* end) {
  constexpr std::int64_t kFewestZeros = 16; // one of so many elements
  if (to == end) return nullptr;
  const std::int64_t zeros = sizeof(T) == 1 ? 0 : zeros_of<T>(from, count);
  const bool masked = zeros * kFewestZeros > count && zeros != count;
  *to++ = static_cast<std::uint8_t>(std::countr_zero(sizeof(T)) | (masked ? kMasked : 0));
  if (masked) {
    const std::int64_t bytes_of_mask = (count + 7) / 8;
    count = gather<T>(from, count, work.mask, work.block);
    from = work.block;
    to = write_stream(work.tables, work.mask, bytes_of_mask, to, end);
  }
  if (sizeof(T) != 1) {
    split<T>(from, count, work.planes);
    from = work.planes;
  }
  for (std::size_t p = 0; p < sizeof(T) && to != nullptr; ++p)
    to = write_stream(work.tables, from + static_cast<std::int64_t>(p) * count, count, to, end);
  return to;
}

template <class T>
const std::uint8_t* read_elements(Workspace& work, const std::uint8_t* from, const std::uint8_t* end, bool masked,
                                  std::uint8_t* to, std::int64_t count) {
  std::int64_t there = count;
  if (masked) {
    if (sizeof(T) == 1) return nullptr;
    const std::int64_t bytes_of_mask = (count + 7) / 8;
    from = read_stream(work.tables, from, end, work.mask, bytes_of_mask);
    there = 0;
    for (std::int64_t i = 0; i < bytes_of_mask; ++i) there += std::popcount(work.mask[i]);
    const bool more = count % 8 != 0 && work.mask[count / 8] >> (count % 8) != 0; // bits than elements
    if (from == nullptr || more) return nullptr;
  }
  for (std::size_t p = 0; p < sizeof(T) && from != nullptr; ++p)
    from = read_stream(work.tables, from, end, work.planes + static_cast<std::int64_t>(p) * there, there);
  if (from == nullptr) return nullptr;
  join<T>(work.planes, there, to);
  if (masked) scatter<T>(work.mask, to, count, there);
  return from;
}

// F with the type of elements of this width, the logarithm of which is given.
template <class F> auto by_width(unsigned log, F&& f) {
  switch (log) {
  case 0:
    return f(std::uint8_t{});
  case 1:
    return f(std::uint16_t{});
  case 2:
    return f(std::uint32_t{});
  default:
    return f(std::uint64_t{});
  }
}

} // namespace

std::uint8_t* write_block(Workspace& work, const std::uint8_t* from, std::int64_t bytes, unsigned width, std::uint8_t* to,
                          std::uint8_t* end) {
  const std::int64_t count = bytes / width, behind = bytes % width;
  to = by_width(static_cast<unsigned>(std::countr_zero(width)),
                [&](auto type) { return write_elements<decltype(type)>(work, from, count, to, end); });
  if (to == nullptr || end - to < behind) return nullptr;
  std::memcpy(to, from + (bytes - behind), static_cast<std::size_t>(behind));
  return to + behind;
}

bool read_block(Workspace& work, const std::uint8_t* from, std::int64_t size, std::uint8_t* to, std::int64_t bytes) {
  const std::uint8_t* const end = from + size;
  if (size == 0 || *from >= 2 * kMasked) return false;
  const unsigned form = *from++, log = form % kMasked;
  const std::int64_t count = bytes >> log, behind = bytes - (count << log);
  from =
      by_width(log, [&](auto type) { return read_elements<decltype(type)>(work, from, end, (form & kMasked) != 0, to, count); });
  if (from == nullptr || end - from != behind) return false;
  std::memcpy(to + (bytes - behind), from, static_cast<std::size_t>(behind));
  return true;
}

} // namespace cairn::ops::exact
