// Transposing from rows into what lies across them, by squares of four elements a side.
#pragma once

#include <cstdint>
#include <cstring>

namespace cairn::ops {

// Rows [0, count), `apart` from each other: the elements of one column go to `next()`, side by side, one column after
// the other for so many columns. More rows than the processor follows are asked for ahead.
template <class T, class Next>
void across_rows(const T* from, std::int64_t apart, std::int64_t count, std::int64_t columns, Next next) {
  constexpr std::int64_t kSide = 4, kLine = 64 / sizeof(T), kAhead = 4 * kLine;
  typedef T Four __attribute__((vector_size(kSide * sizeof(T))));
  const std::int64_t whole = count / kSide * kSide;
  std::int64_t i = 0;
  for (; i + kSide <= columns; i += kSide) {
    if (i % kLine == 0 && i + kAhead < columns)
      for (std::int64_t row = 0; row < count; ++row) __builtin_prefetch(from + row * apart + i + kAhead);
    T* at[kSide];
    for (int j = 0; j < kSide; ++j) at[j] = next();
    for (std::int64_t row = 0; row < whole; row += kSide) {
      Four r[kSide];
      for (int j = 0; j < kSide; ++j) std::memcpy(&r[j], from + (row + j) * apart + i, sizeof(Four));
      const Four a = __builtin_shufflevector(r[0], r[1], 0, 4, 1, 5), b = __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7);
      const Four c = __builtin_shufflevector(r[2], r[3], 0, 4, 1, 5), d = __builtin_shufflevector(r[2], r[3], 2, 6, 3, 7);
      const Four square[kSide] = {__builtin_shufflevector(a, c, 0, 1, 4, 5), __builtin_shufflevector(a, c, 2, 3, 6, 7),
                                  __builtin_shufflevector(b, d, 0, 1, 4, 5), __builtin_shufflevector(b, d, 2, 3, 6, 7)};
      for (int j = 0; j < kSide; ++j) std::memcpy(at[j] + row, &square[j], sizeof(Four));
    }
    for (std::int64_t row = whole; row < count; ++row)
      for (int j = 0; j < kSide; ++j) at[j][row] = from[row * apart + i + j];
  }
  for (; i < columns; ++i) {
    T* const at = next();
    for (std::int64_t row = 0; row < count; ++row) at[row] = from[row * apart + i];
  }
}

} // namespace cairn::ops
