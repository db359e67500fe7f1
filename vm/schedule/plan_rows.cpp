// The row is gone through in blocks of a few vectors. Of each of them the least of all options is found in registers, without a
// branch that depends on sizes: options differ in where they start and end, and processors foresee badly where short loops end.
#include "vm/schedule/plan_rows.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace cairn::schedule {
namespace {

using FourFloats = float __attribute__((vector_size(16)));
using EightFloats = float __attribute__((vector_size(32)));

constexpr std::size_t kMostGroups = kInFrontOfRow / kRowGroup; // of a block

// Added to a block, from somewhere in the middle on, they leave out its first sizes.
constexpr std::array<float, 2 * kInFrontOfRow> kLeftOut = [] {
  std::array<float, 2 * kInFrontOfRow> addends = {};
  for (std::size_t i = 0; i < kInFrontOfRow; ++i) addends[i] = std::numeric_limits<float>::infinity();
  return addends;
}();

// Within a row vectors lie anywhere.
template <class Vector> [[gnu::always_inline]] inline void load(Vector& to, const float* place) {
  std::memcpy(&to, place, sizeof to);
}

template <class Vector, std::size_t groups>
[[gnu::always_inline]] inline void lower_block(float* row, std::size_t at, float before,
                                               const RowOption* const* from, const RowOption* const* whole,
                                               const RowOption* const* to) {
  constexpr std::size_t kLanes = sizeof(Vector) / sizeof(float), kVectors = groups * kRowGroup / kLanes;
  Vector least[kVectors];
  Vector later, earlier, missing;
  const Vector most = before - Vector{};
  for (std::size_t i = 0; i < kVectors; ++i) {
    load(least[i], row + at + i * kLanes);
    least[i] = most < least[i] ? most : least[i];
  }
  for (; from != whole; ++from) {
    const RowOption& option = **from;
    const float* const left_out = &kLeftOut[kInFrontOfRow - (option.start - at)];
    for (std::size_t i = 0; i < kVectors; ++i) {
      load(later, option.later + at + i * kLanes);
      load(earlier, option.earlier + at + i * kLanes);
      load(missing, left_out + i * kLanes);
      const Vector sum = option.cost + later + earlier + missing;
      least[i] = sum < least[i] ? sum : least[i];
    }
  }
  for (; from != to; ++from) {
    const RowOption& option = **from;
    for (std::size_t i = 0; i < kVectors; ++i) {
      load(later, option.later + at + i * kLanes);
      load(earlier, option.earlier + at + i * kLanes);
      const Vector sum = option.cost + later + earlier;
      least[i] = sum < least[i] ? sum : least[i];
    }
  }
  for (std::size_t i = 0; i < kVectors; ++i) std::memcpy(row + at + i * kLanes, &least[i], sizeof least[i]);
}

template <class Vector>
[[gnu::always_inline]] inline void lower_row(float* row, std::size_t storage, std::span<const RowOption> options,
                                             const RowOption** at_hand) {
  std::size_t first = storage;
  for (const RowOption& option : options) first = std::min<std::size_t>(first, option.start);
  first = first / kRowGroup * kRowGroup;
  float before = first == 0 ? std::numeric_limits<float>::infinity() : row[first - 1];
  for (std::size_t at = first, size; at < storage; at += size) {
    // A last block of one group would take as long to choose for as a large one.
    const std::size_t left = (storage - at) / kRowGroup,
                      groups = left <= kMostGroups ? left : std::min(kMostGroups - 1, left - 2);
    size = groups * kRowGroup;
    // Those that start within the block come first, from its middle to the left, then the others, to the right.
    const RowOption** from = at_hand + options.size();
    const RowOption** to = from;
    const float most = std::min(row[at], before);
    for (const RowOption& option : options) {
      const bool of_use = (option.start < at + size) & (option.stop >= at) & (option.least < most), whole = option.start <= at;
      *to = from[-1] = &option;
      to += static_cast<std::ptrdiff_t>(of_use & whole);
      from -= static_cast<std::ptrdiff_t>(of_use & !whole);
    }
    const RowOption** const middle = at_hand + options.size();
    switch (groups) {
    case 1:
      lower_block<Vector, 1>(row, at, before, from, middle, to);
      break;
    case 2:
      lower_block<Vector, 2>(row, at, before, from, middle, to);
      break;
    case 3:
      lower_block<Vector, 3>(row, at, before, from, middle, to);
      break;
    case 4:
      lower_block<Vector, 4>(row, at, before, from, middle, to);
      break;
    default:
      lower_block<Vector, kMostGroups>(row, at, before, from, middle, to);
    }
    before = row[at + size - 1];
  }
}

using LowerRow = void (*)(float*, std::size_t, std::span<const RowOption>, const RowOption**);

void lower_by_fours(float* row, std::size_t storage, std::span<const RowOption> options, const RowOption** at_hand) {
  lower_row<FourFloats>(row, storage, options, at_hand);
}

// Processors differ in instructions here, not in bits: sums and minima are the same in vectors of each length.
#if defined(__x86_64__)
[[gnu::target("avx2")]] void lower_by_eights(float* row, std::size_t storage, std::span<const RowOption> options,
                                             const RowOption** at_hand) {
  lower_row<EightFloats>(row, storage, options, at_hand);
}

const LowerRow kLowerRow = __builtin_cpu_supports("avx2") ? lower_by_eights : lower_by_fours;
#else
const LowerRow kLowerRow = lower_by_fours;
#endif

} // namespace

void RowLoop::lower(float* row, std::size_t storage, std::span<const RowOption> options) {
  at_hand_.resize(std::max(at_hand_.size(), 2 * options.size() + 2));
  kLowerRow(row, storage, options, at_hand_.data() + 1);
}

} // namespace cairn::schedule
