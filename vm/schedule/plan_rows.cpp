// Options are arrays of numbers, so that what is of use is told of eight at once. The row is gone through in blocks of a few
// vectors. Of each of them the least of all options is found in registers, without a branch that depends on sizes: options differ
// in where they start and end, and processors foresee badly where short loops end.
#include "vm/schedule/plan_rows.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace cairn::schedule {
namespace {

using FourFloats = float __attribute__((vector_size(16)));
using EightFloats = float __attribute__((vector_size(32)));
using EightNumbers = std::int32_t __attribute__((vector_size(32)));
using EightShorts = std::int16_t __attribute__((vector_size(16)));
using EightSizes = std::int64_t __attribute__((vector_size(64)));

constexpr std::size_t kMostGroups = kInFrontOfRow / kRowGroup; // of a block
constexpr std::size_t kLanes = 8;                              // of options

// Added to a block, from somewhere in the middle on, they leave out its first sizes.
constexpr std::array<float, 2 * kInFrontOfRow> kLeftOut = [] {
  std::array<float, 2 * kInFrontOfRow> addends = {};
  for (std::size_t i = 0; i < kInFrontOfRow; ++i) addends[i] = std::numeric_limits<float>::infinity();
  return addends;
}();

// For each set of eight, which they are.
constexpr std::array<std::array<std::int16_t, kLanes>, 256> kMembers = [] {
  std::array<std::array<std::int16_t, kLanes>, 256> members = {};
  for (std::size_t set = 0; set < members.size(); ++set)
    for (std::int16_t i = 0, count = 0; static_cast<std::size_t>(i) < kLanes; ++i)
      if ((set >> i & 1) != 0) members[set][count++] = i;
  return members;
}();

// Within arrays vectors lie anywhere.
template <class Vector, class Number> [[gnu::always_inline]] inline void load(Vector& to, const Number* place) {
  std::memcpy(&to, place, sizeof to);
}
template <class Vector, class Number> [[gnu::always_inline]] inline void store(Number* place, const Vector& from) {
  std::memcpy(place, &from, sizeof from);
}

} // namespace

struct RowLoops {
  // Writes down which of eight, from `first` on, are in the set.
  [[gnu::always_inline]] static inline std::uint32_t* note(std::uint32_t* to, unsigned set, std::size_t first) {
    EightShorts within;
    load(within, kMembers[set].data());
    const EightNumbers members = __builtin_convertvector(within, EightNumbers) + static_cast<std::int32_t>(first);
    store(to, members);
    return to + __builtin_popcount(set);
  }

  // Those of use in a block: those that start within it, and all others.
  struct OfUse {
    std::uint32_t *from_start, *whole;
  };
  [[gnu::always_inline]] static inline OfUse choose(RowOptions& options, std::size_t at, std::size_t size, float most) {
    const EightNumbers low = {1, 2, 4, 8, 16, 32, 64, 128};
    const EightNumbers first = static_cast<std::int32_t>(at) - EightNumbers{};
    const EightNumbers end = static_cast<std::int32_t>(at + size) - EightNumbers{};
    const EightFloats bound = most - EightFloats{};
    OfUse of_use = {options.from_start_.data(), options.of_use_.data()};
    EightNumbers start, stop;
    EightFloats least;
    for (std::size_t i = 0; i < options.count_; i += kLanes) {
      load(start, &options.start_[i]);
      load(stop, &options.stop_[i]);
      load(least, &options.least_[i]);
      const EightNumbers taken = (start < end) & (stop >= first) & (least < bound), whole = start <= first;
      EightNumbers bits = (taken & whole & low) | (taken & ~whole & (low << 8));
      bits |= __builtin_shufflevector(bits, bits, 4, 5, 6, 7, 0, 1, 2, 3);
      bits |= __builtin_shufflevector(bits, bits, 2, 3, 0, 1, 6, 7, 4, 5);
      bits |= __builtin_shufflevector(bits, bits, 1, 0, 3, 2, 5, 4, 7, 6);
      const unsigned sets = static_cast<unsigned>(bits[0]);
      of_use.whole = note(of_use.whole, sets & 255, i);
      of_use.from_start = note(of_use.from_start, sets >> 8, i);
    }
    return of_use;
  }

  template <class Vector, std::size_t groups>
  [[gnu::always_inline]] static inline void lower_block(const RowOptions& options, const OfUse& of_use, const float* rows,
                                                        float* row, std::size_t at, float before) {
    constexpr std::size_t kOfVector = sizeof(Vector) / sizeof(float), kVectors = groups * kRowGroup / kOfVector;
    Vector least[kVectors];
    Vector later, earlier, missing;
    const Vector most = before - Vector{};
#pragma GCC unroll 10
    for (std::size_t i = 0; i < kVectors; ++i) {
      load(least[i], row + at + i * kOfVector);
      least[i] = most < least[i] ? most : least[i];
    }
    for (const std::uint32_t* next = options.from_start_.data(); next != of_use.from_start; ++next) {
      const float cost = options.cost_[*next];
      const float* const of_later = rows + options.later_[*next] + at;
      const float* const of_earlier = rows + options.earlier_[*next] + at;
      const float* const left_out = &kLeftOut[kInFrontOfRow - (static_cast<std::size_t>(options.start_[*next]) - at)];
#pragma GCC unroll 10
      for (std::size_t i = 0; i < kVectors; ++i) {
        load(later, of_later + i * kOfVector);
        load(earlier, of_earlier + i * kOfVector);
        load(missing, left_out + i * kOfVector);
        const Vector sum = cost + later + earlier + missing;
        least[i] = sum < least[i] ? sum : least[i];
      }
    }
    for (const std::uint32_t* next = options.of_use_.data(); next != of_use.whole; ++next) {
      const float cost = options.cost_[*next];
      const float* const of_later = rows + options.later_[*next] + at;
      const float* const of_earlier = rows + options.earlier_[*next] + at;
#pragma GCC unroll 10
      for (std::size_t i = 0; i < kVectors; ++i) {
        load(later, of_later + i * kOfVector);
        load(earlier, of_earlier + i * kOfVector);
        const Vector sum = cost + later + earlier;
        least[i] = sum < least[i] ? sum : least[i];
      }
    }
#pragma GCC unroll 10
    for (std::size_t i = 0; i < kVectors; ++i) store(row + at + i * kOfVector, least[i]);
  }

  template <class Vector>
  [[gnu::always_inline]] static inline void lower(RowOptions& options, float* rows, float* row, std::size_t storage) {
    EightNumbers starts = static_cast<std::int32_t>(storage) - EightNumbers{}, start;
    for (std::size_t i = 0; i < options.count_; i += kLanes) {
      load(start, &options.start_[i]);
      starts = start < starts ? start : starts;
    }
    std::size_t first = storage;
    for (std::size_t i = 0; i < kLanes; ++i) first = std::min(first, static_cast<std::size_t>(starts[i]));
    first = first / kRowGroup * kRowGroup;
    float before = first == 0 ? std::numeric_limits<float>::infinity() : row[first - 1];
    for (std::size_t at = first, size; at < storage; at += size) {
      // A last block of one group would take as long to choose for as a large one.
      const std::size_t left = (storage - at) / kRowGroup,
                        groups = left <= kMostGroups ? left : std::min(kMostGroups - 1, left - 2);
      size = groups * kRowGroup;
      const OfUse of_use = choose(options, at, size, std::min(row[at], before));
      switch (groups) {
      case 1:
        lower_block<Vector, 1>(options, of_use, rows, row, at, before);
        break;
      case 2:
        lower_block<Vector, 2>(options, of_use, rows, row, at, before);
        break;
      case 3:
        lower_block<Vector, 3>(options, of_use, rows, row, at, before);
        break;
      case 4:
        lower_block<Vector, 4>(options, of_use, rows, row, at, before);
        break;
      default:
        lower_block<Vector, kMostGroups>(options, of_use, rows, row, at, before);
      }
      before = row[at + size - 1];
    }
  }

  // Rounded up, and at most `storage`.
  [[gnu::always_inline]] static inline void load_cells(EightNumbers& to, const std::uint64_t* bytes, std::uint64_t more,
                                                       unsigned octave, std::int32_t storage) {
    EightSizes sizes;
    load(sizes, bytes);
    sizes = (sizes + static_cast<std::int64_t>(more + (std::uint64_t{1} << octave) - 1)) >> static_cast<std::int64_t>(octave);
    const EightSizes most = storage - EightSizes{};
    sizes = sizes < most ? sizes : most;
    to = __builtin_convertvector(sizes, EightNumbers);
  }
  [[gnu::always_inline]] static inline void raise(EightNumbers& to, const EightNumbers& least) { to = to < least ? least : to; }

  [[gnu::always_inline]] static inline void add(RowOptions& options, const Holds& holds, std::int32_t storage) {
    const EightNumbers steps = EightNumbers{0, 1, 2, 3, 4, 5, 6, 7} * holds.later_step;
    const EightNumbers from = holds.from - EightNumbers{};
    for (std::size_t i = 0; i < holds.count; i += kLanes) {
      const std::size_t to = options.count_ + i;
      EightNumbers keep, start, of_later, of_earlier;
      load_cells(keep, holds.keep + i, 0, holds.octave, storage);
      load_cells(start, holds.running + i, holds.behind, holds.octave, storage);
      load(of_later, holds.later.least + i);
      load(of_earlier, holds.earlier.least + i);
      raise(start, from);
      raise(start, of_later + keep); // which is more than `keep` itself
      raise(start, of_earlier);
      store(&options.start_[to], start);
      load(of_later, holds.later.enough + i);
      load(of_earlier, holds.earlier.enough + i);
      EightNumbers stop = of_later + keep;
      raise(stop, of_earlier);
      raise(stop, start);
      store(&options.stop_[to], stop);
      EightFloats cost, later, earlier;
      load(cost, holds.cost + i);
      load(later, holds.later.cost + i);
      load(earlier, holds.earlier.cost + i);
      store(&options.cost_[to], cost);
      const EightFloats least = cost + later + earlier;
      store(&options.least_[to], least);
      const EightNumbers later_rows = holds.later_row + static_cast<std::int32_t>(i) * holds.later_step + steps - keep;
      store(&options.later_[to], later_rows);
      EightNumbers earlier_rows;
      load(earlier_rows, holds.earlier_rows + i);
      earlier_rows += holds.earlier_base;
      store(&options.earlier_[to], earlier_rows);
    }
    options.count_ += holds.count;
  }
};

namespace {

using Lower = void (*)(RowOptions&, float*, float*, std::size_t);
using AddHolds = void (*)(RowOptions&, const Holds&, std::int32_t);

void lower_by_fours(RowOptions& options, float* rows, float* row, std::size_t storage) {
  RowLoops::lower<FourFloats>(options, rows, row, storage);
}
void add_by_fours(RowOptions& options, const Holds& holds, std::int32_t storage) { RowLoops::add(options, holds, storage); }

// Processors differ in instructions here, not in bits: sums and minima are the same in vectors of each length.
#if defined(__x86_64__)
[[gnu::target("avx2,popcnt")]] void lower_by_eights(RowOptions& options, float* rows, float* row, std::size_t storage) {
  RowLoops::lower<EightFloats>(options, rows, row, storage);
}
[[gnu::target("avx2,popcnt")]] void add_by_eights(RowOptions& options, const Holds& holds, std::int32_t storage) {
  RowLoops::add(options, holds, storage);
}

const bool kByEights = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt");
const Lower kLower = kByEights ? lower_by_eights : lower_by_fours;
const AddHolds kAddHolds = kByEights ? add_by_eights : add_by_fours;
#else
const Lower kLower = lower_by_fours;
const AddHolds kAddHolds = add_by_fours;
#endif

} // namespace

void RowOptions::clear(std::size_t most) {
  count_ = 0;
  if (start_.size() >= most + kLanes) return;
  for (std::vector<std::int32_t>* numbers : {&start_, &stop_, &later_, &earlier_}) numbers->resize(most + kLanes);
  for (std::vector<float>* numbers : {&least_, &cost_}) numbers->resize(most + kLanes);
  for (std::vector<std::uint32_t>* numbers : {&of_use_, &from_start_}) numbers->resize(most + kLanes);
}

void RowOptions::add(const Holds& holds, std::int32_t storage) { kAddHolds(*this, holds, storage); }

void RowOptions::lower(float* rows, std::size_t row, std::size_t storage) {
  if (count_ == 0) return;
  std::fill_n(start_.begin() + static_cast<std::ptrdiff_t>(count_), kLanes, static_cast<std::int32_t>(storage));
  kLower(*this, rows, rows + row, storage);
  count_ = 0;
}

} // namespace cairn::schedule
