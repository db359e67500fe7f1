// Indices of keys in ascending order. Keys are sorted by their digits, from the last to the first; lines of a few by counting how
// many are below each of them.
#pragma once

#include "ops/cpu/device/pace.h"
#include "ops/cpu/loops/isa.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

namespace cairn::ops::cpu {

inline constexpr std::int64_t kFewKeys = 128; // that are counted
inline constexpr std::int64_t kKeyGroup = 16; // lines of them have room for a multiple of it

// A key and where it was.
template <class Key, class Index> struct Entry {
  Index index;
  Key key;
  friend bool operator<(const Entry& a, const Entry& b) {
    if constexpr (sizeof(Key) + sizeof(Index) == sizeof(std::uint64_t)) // one comparison, as no branch foresees it
      return a.both() < b.both();
    else
      return a.key < b.key || (a.key == b.key && a.index < b.index);
  }
  std::uint64_t both() const { return std::uint64_t{key} << 32 | index; }
};

template <class Key> Key key_of(Key key) { return key; }
template <class Key, class Index> Key key_of(const Entry<Key, Index>& entry) { return entry.key; }

// By the last `digits` bytes of keys; equal ones stay in their order. The result is in a or in b.
template <int digits, class Count, class T> T* sorted_by_digits(T* a, T* b, std::int64_t n) {
  constexpr int kValues = 256;
  std::array<std::array<Count, kValues>, digits> counts{};
  in_stretches(n, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto key = key_of(a[i]);
      for (int digit = 0; digit < digits; ++digit) ++counts[static_cast<std::size_t>(digit)][key >> 8 * digit & 255];
    }
  });
  for (int digit = 0; digit < digits; ++digit) {
    auto& starts = counts[static_cast<std::size_t>(digit)];
    if (starts[key_of(a[0]) >> 8 * digit & 255] == static_cast<Count>(n)) continue; // all have the same
    Count start = 0;
    for (Count& count : starts) {
      const Count here = count;
      count = start;
      start += here;
    }
    in_stretches(n, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) b[starts[key_of(a[i]) >> 8 * digit & 255]++] = a[i];
    });
    std::swap(a, b);
  }
  return a;
}

// out: how many of n <= kFewKeys keys are below each of them. Keys up to the next multiple of kKeyGroup are read.
template <class Key> struct Ranks {
  CAIRN_INLINE static void run(void* out, const void* const* in, std::int64_t n, double /*parameter*/) {
    using Signed = std::make_signed_t<Key>; // what all vectors compare
    constexpr Key kSign = Key{1} << (8 * sizeof(Key) - 1);
    const auto* keys = static_cast<const Key*>(in[0]);
    auto* ranks = static_cast<Key*>(out);
    const std::int64_t whole = (n + kKeyGroup - 1) / kKeyGroup * kKeyGroup; // no rest that is no vector
    alignas(64) Signed all[kFewKeys];
    for (std::int64_t i = 0; i < whole; ++i) {
      all[i] = static_cast<Signed>(keys[i] ^ kSign);
      ranks[i] = 0;
    }
    for (std::int64_t j = 0; j < n; ++j) {
      const Signed one = all[j];
      CAIRN_EACH
      for (std::int64_t i = 0; i < whole; ++i) ranks[i] += one < all[i] ? Key{1} : Key{0};
    }
  }
};

// out: for each key a byte, 1 where it is below in[1].
template <class Key> struct Below {
  CAIRN_INLINE static void run(void* out, const void* const* in, std::int64_t n, double /*parameter*/) {
    auto* below = static_cast<std::uint8_t*>(out);
    const auto* keys = static_cast<const Key*>(in[0]);
    const Key bound = *static_cast<const Key*>(in[1]);
    CAIRN_EACH
    for (std::int64_t i = 0; i < n; ++i) below[i] = keys[i] < bound ? 1 : 0;
  }
};

// The indices of all keys in ascending order. a, b: n each.
template <int digits, class Key, class Index>
void indices_in_order(const Key* keys, std::int64_t n, Index* indices, Entry<Key, Index>* a, Entry<Key, Index>* b) {
  if (n <= kFewKeys) {
    alignas(64) Key ranks[kFewKeys];
    std::uint8_t equal[kFewKeys] = {}; // so far; they come behind each other
    const void* const in[] = {keys};
    Compiled<Ranks<Key>>::chosen()(ranks, in, n, 0);
    for (std::int64_t i = 0; i < n; ++i) indices[ranks[i] + equal[ranks[i]]++] = static_cast<Index>(i);
    return;
  }
  in_stretches(n, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) a[i] = {static_cast<Index>(i), keys[i]};
  });
  const Entry<Key, Index>* const sorted = sorted_by_digits<digits, Index>(a, b, n);
  in_stretches(n, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) indices[i] = sorted[i].index;
  });
}

// More than so many are sorted out of all: what is done with candidates is not asked whether it was cancelled.
inline constexpr std::int64_t kMostSought = 32 << 10;
// Room for those among which the first `count` are sought.
inline std::int64_t candidates_for(std::int64_t count) { return std::max<std::int64_t>(4 * count, 32); }

// The indices of the first `count` keys in ascending order; count <= n. Most keys are only compared with the last of the best so
// far, many at once.
template <class Key, class Index>
void first_indices(const Key* keys, std::int64_t n, std::int64_t count, Index* indices, Entry<Key, Index>* candidates) {
  constexpr std::int64_t kAtOnce = 512, kWord = 8;
  if (count == 0) return;
  const std::int64_t most = candidates_for(count);
  std::int64_t found = std::min(n, most);
  for (std::int64_t i = 0; i < found; ++i) candidates[i] = {static_cast<Index>(i), keys[i]};
  Key bound = 0;
  const auto cut = [&] {
    std::nth_element(candidates, candidates + (count - 1), candidates + found);
    bound = candidates[count - 1].key;
    found = count;
  };
  std::int64_t at = found;
  cut();
  Pace pace;
  while (at < n) {
    const std::int64_t here = std::min(kAtOnce, n - at);
    pace.did(here);
    alignas(64) std::uint8_t below[kAtOnce];
    const void* const in[] = {keys + at, &bound};
    Compiled<Below<Key>>::chosen()(below, in, here, 0);
    std::fill(below + here, below + (here + kWord - 1) / kWord * kWord, std::uint8_t{0});
    for (std::int64_t i = 0; i < here; i += kWord) {
      std::uint64_t word = 0; // the byte of the first key is the lowest
      std::memcpy(&word, below + i, kWord);
      for (; word != 0; word &= word - 1) {
        const std::int64_t index = at + i + std::countr_zero(word) / 8;
        if (!(keys[index] < bound)) continue; // any more; and an equal one comes later
        candidates[found++] = {static_cast<Index>(index), keys[index]};
        if (found == most) {
          cut();
          pace.did(4 * most);
        }
      }
    }
    at += here;
  }
  cut();
  std::sort(candidates, candidates + count);
  for (std::int64_t i = 0; i < count; ++i) indices[i] = candidates[i].index;
}

} // namespace cairn::ops::cpu
