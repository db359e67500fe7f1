// Places of keys in ascending order. Keys are sorted by their digits, from the last to the first; lines of a few by counting how
// many are below each of them.
#pragma once

#include "ops/cpu/isa.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace cairn::ops::cpu {

inline constexpr std::int64_t kFewKeys = 64;  // that are counted
inline constexpr std::int64_t kKeyGroup = 16; // lines of them have room for a multiple of it

// A key and where it was.
template <class Key, class Place> struct Entry {
  Key key;
  Place place;
  friend bool operator<(const Entry& a, const Entry& b) { return a.key < b.key || (a.key == b.key && a.place < b.place); }
};

template <class Key> Key key_of(Key key) { return key; }
template <class Key, class Place> Key key_of(const Entry<Key, Place>& entry) { return entry.key; }

// By the last `digits` bytes of keys; equal ones stay in their order. The result is in a or in b.
template <int digits, class Count, class T> T* sorted_by_digits(T* a, T* b, std::int64_t n) {
  constexpr int kValues = 256;
  std::array<std::array<Count, kValues>, digits> counts{};
  for (std::int64_t i = 0; i < n; ++i) {
    const auto key = key_of(a[i]);
    for (int digit = 0; digit < digits; ++digit) ++counts[static_cast<std::size_t>(digit)][key >> 8 * digit & 255];
  }
  for (int digit = 0; digit < digits; ++digit) {
    auto& starts = counts[static_cast<std::size_t>(digit)];
    if (starts[key_of(a[0]) >> 8 * digit & 255] == static_cast<Count>(n)) continue; // all have the same
    Count start = 0;
    for (Count& count : starts) {
      const Count here = count;
      count = start;
      start += here;
    }
    for (std::int64_t i = 0; i < n; ++i) b[starts[key_of(a[i]) >> 8 * digit & 255]++] = a[i];
    std::swap(a, b);
  }
  return a;
}

// out: where each of n <= kFewKeys keys comes to be. Keys up to the next multiple of kKeyGroup are read.
template <class Key> struct Ranks {
  CAIRN_INLINE static void run(void* out, const void* const* in, std::int64_t n, double /*parameter*/) {
    using Signed = std::make_signed_t<Key>; // what all vectors compare
    constexpr Key kSign = Key{1} << (8 * sizeof(Key) - 1);
    auto* ranks = static_cast<Key*>(out);
    const auto* keys = static_cast<const Key*>(in[0]);
    for (std::int64_t group = 0; group < n; group += kKeyGroup) {
      Signed here[kKeyGroup], rank[kKeyGroup] = {};
      for (std::int64_t l = 0; l < kKeyGroup; ++l) here[l] = static_cast<Signed>(keys[group + l] ^ kSign);
      for (std::int64_t j = 0; j < n; ++j) {
        const auto other = static_cast<Signed>(keys[j] ^ kSign);
        const auto from = static_cast<Signed>(j - group); // equal keys come later from there on
        for (std::int64_t l = 0; l < kKeyGroup; ++l)
          rank[l] += (other < here[l] ? 1 : 0) | ((other == here[l] ? 1 : 0) & (from < static_cast<Signed>(l) ? 1 : 0));
      }
      for (std::int64_t l = 0; l < kKeyGroup; ++l) ranks[group + l] = static_cast<Key>(rank[l]);
    }
  }
};

// out: for each group of kKeysAtOnce keys, whether one is below in[1].
inline constexpr std::int64_t kKeysAtOnce = 64;
template <class Key> struct AnyBelow {
  CAIRN_INLINE static void run(void* out, const void* const* in, std::int64_t groups, double /*parameter*/) {
    auto* any = static_cast<std::uint8_t*>(out);
    const auto* keys = static_cast<const Key*>(in[0]);
    const Key bound = *static_cast<const Key*>(in[1]);
    for (std::int64_t g = 0; g < groups; ++g, keys += kKeysAtOnce) {
      Key below = 0;
      for (std::int64_t l = 0; l < kKeysAtOnce; ++l) below |= keys[l] < bound ? Key{1} : Key{0};
      any[g] = below != 0 ? 1 : 0;
    }
  }
};

// The places of all keys in ascending order. a, b: n each.
template <int digits, class Key, class Place>
void places_in_order(const Key* keys, std::int64_t n, Place* places, Entry<Key, Place>* a, Entry<Key, Place>* b) {
  if (n <= kFewKeys) {
    Key ranks[kFewKeys];
    const void* const in[] = {keys};
    Compiled<Ranks<Key>>::chosen()(ranks, in, n, 0);
    for (std::int64_t i = 0; i < n; ++i) places[ranks[i]] = static_cast<Place>(i);
    return;
  }
  for (std::int64_t i = 0; i < n; ++i) a[i] = {keys[i], static_cast<Place>(i)};
  const Entry<Key, Place>* const sorted = sorted_by_digits<digits, Place>(a, b, n);
  for (std::int64_t i = 0; i < n; ++i) places[i] = sorted[i].place;
}

// Room for those among which the first `count` are sought.
inline std::int64_t candidates_for(std::int64_t count) { return std::max<std::int64_t>(2 * count, 32); }

// The places of the first `count` keys in ascending order; count <= n. Most keys are only compared with the largest of the best
// so far, many at once.
template <class Key, class Place>
void first_places(const Key* keys, std::int64_t n, std::int64_t count, Place* places, Entry<Key, Place>* candidates) {
  if (count == 0) return;
  const std::int64_t room = candidates_for(count);
  std::int64_t found = std::min(n, room), at = found;
  for (std::int64_t i = 0; i < found; ++i) candidates[i] = {keys[i], static_cast<Place>(i)};
  Key bound = 0;
  const auto cut = [&] {
    std::nth_element(candidates, candidates + (count - 1), candidates + found);
    bound = candidates[count - 1].key;
    found = count;
  };
  const auto scan = [&](std::int64_t end) {
    for (; at < end; ++at) {
      if (!(keys[at] < bound)) continue; // an equal one comes later
      candidates[found++] = {keys[at], static_cast<Place>(at)};
      if (found == room) cut();
    }
  };
  cut();
  constexpr std::int64_t kGroups = 16;
  while (at < n) {
    const std::int64_t groups = std::min(kGroups, (n - at) / kKeysAtOnce);
    if (groups == 0) {
      scan(n);
      break;
    }
    std::uint8_t any[kGroups];
    const void* const in[] = {keys + at, &bound};
    Compiled<AnyBelow<Key>>::chosen()(any, in, groups, 0);
    for (std::int64_t g = 0; g < groups; ++g) {
      if (any[g] != 0)
        scan(at + kKeysAtOnce);
      else
        at += kKeysAtOnce;
    }
  }
  cut();
  std::sort(candidates, candidates + count);
  for (std::int64_t i = 0; i < count; ++i) places[i] = candidates[i].place;
}

} // namespace cairn::ops::cpu
