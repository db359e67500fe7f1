// See running_sum.h. Lines that go across memory are taken beside each other: whole rows of elements are added to a row of sums.
#include "ops/cpu/lines/running_sum.h"

#include "ops/cpu/device/pace.h"
#include "ops/cpu/device/workers.h"
#include "ops/cpu/loops/isa.h"
#include "ops/cpu/loops/panels.h"

#include <algorithm>
#include <bit>
#include <type_traits>

namespace cairn::ops::cpu {

namespace {

using pointwise::Integer;

constexpr std::int64_t kLeastSummed = 8;  // fewer beside each other make no vectors
constexpr std::int64_t kMostLines = 512;  // whose sums stay in the closest cache
constexpr std::int64_t kTogether = 4;     // lines that are closest: an addition waits for the one before it in its line
constexpr std::int64_t kShortSums = 2048; // elements of them that are worth a panel
constexpr std::int64_t kFewPanels = 8;    // rather narrow ones, so that threads find enough

// sums += row; out = sums
template <class T> struct AddRow {
  static constexpr bool kFloating = std::is_floating_point_v<T> || std::is_same_v<T, Bf16>;
  using Sum = std::conditional_t<kFloating, double, Integer>;
  using Result = std::conditional_t<kFloating, T, std::int64_t>;

  CAIRN_INLINE static void run(void* out, const void* const* in, std::int64_t n, double /*parameter*/) {
    auto* to = static_cast<Result*>(out);
    const auto* x = static_cast<const T*>(in[0]);
    auto* sums = static_cast<Sum*>(const_cast<void*>(in[1]));
    CAIRN_EACH
    for (std::int64_t i = 0; i < n; ++i) {
      sums[i] = sums[i] + converted<Sum>(x[i]);
      to[i] = converted<Result>(sums[i]);
    }
  }
};

Loop add_row(DType type) {
  switch (type) {
#define X(name, other, T, bytes)                                                                                                 \
  case DType::name:                                                                                                              \
    return Compiled<AddRow<T>>::chosen();
    CAIRN_DTYPES(X)
#undef X
  }
  return nullptr;
}

void across(Panels& panels, std::int64_t n, bool from_last, const View& out, const View& x) {
  std::int64_t lines = std::min(kMostLines, panels.neighbours());
  panels.cut(lines);
  while (panels.count() < kFewPanels && lines > kLeastSummed) panels.cut(lines = (lines + 1) / 2);
  const Loop add = add_row(x.dtype);
  const std::int64_t direction = from_last ? -1 : 1;
  const std::int64_t to_step = direction * panels.along(0) * bytes_of(out.dtype),
                     from_step = direction * panels.along(1) * bytes_of(x.dtype);
  parallel_for(panels.count(), std::max<std::int64_t>(1, kElementsInline / 8 / (n * lines)),
               [&](std::int64_t begin, std::int64_t end) {
                 Pace pace;
                 for (std::int64_t p = begin; p < end; ++p) {
                   const Panels::Panel panel = panels[p];
                   alignas(64) std::int64_t sums[kMostLines] = {};
                   // As doubles, -0: the sum of nothing that leaves the sign of what is added first.
                   if (is_floating(x.dtype)) std::fill_n(sums, panel.lines, std::bit_cast<std::int64_t>(-0.0));
                   char* to = panel.at[0] - (from_last ? (n - 1) * to_step : 0);
                   const char* from = panel.at[1] - (from_last ? (n - 1) * from_step : 0);
                   for (std::int64_t i = 0; i < n; ++i, to += to_step, from += from_step) {
                     const void* const in[] = {from, sums};
                     add(to, in, panel.lines, 0);
                     pace.did(panel.lines);
                   }
                 }
               });
}

struct Steps {
  std::int64_t along, across;
};

// sums of lines beside each other, none of which waits for another.
template <class T, std::int64_t lines>
void sum_lines(typename AddRow<T>::Result* to, Steps to_steps, const T* from, Steps from_steps, std::int64_t n) {
  using Sum = typename AddRow<T>::Sum;
  Sum sums[lines];
  for (Sum& sum : sums) sum = AddRow<T>::kFloating ? Sum(-0.0) : Sum(0);
  in_stretches(n, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i, to += to_steps.along, from += from_steps.along)
      for (std::int64_t l = 0; l < lines; ++l) {
        sums[l] = sums[l] + converted<Sum>(from[l * from_steps.across]);
        to[l * to_steps.across] = converted<typename AddRow<T>::Result>(sums[l]);
      }
  });
}

template <class T> void line_by_line(Panels& panels, std::int64_t n, bool from_last) {
  using Result = typename AddRow<T>::Result;
  const std::int64_t most = std::clamp<std::int64_t>(kShortSums / n, kTogether, kMostLines);
  panels.cut(most);
  const std::int64_t direction = from_last ? -1 : 1, first = from_last ? n - 1 : 0;
  const Steps to_steps{direction * panels.along(0), panels.across(0)}, from_steps{direction * panels.along(1), panels.across(1)};
  parallel_for(
      panels.count(), std::max<std::int64_t>(1, kElementsInline / 8 / (n * most)), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t p = begin; p < end; ++p) {
          const Panels::Panel panel = panels[p];
          auto* to = reinterpret_cast<Result*>(panel.at[0]) + first * panels.along(0);
          auto* from = reinterpret_cast<const T*>(panel.at[1]) + first * panels.along(1);
          std::int64_t line = 0;
          for (; line + kTogether <= panel.lines; line += kTogether)
            sum_lines<T, kTogether>(to + line * to_steps.across, to_steps, from + line * from_steps.across, from_steps, n);
          for (; line < panel.lines; ++line)
            sum_lines<T, 1>(to + line * to_steps.across, to_steps, from + line * from_steps.across, from_steps, n);
        }
      });
}

} // namespace

void running_sum(int axis, bool from_last, const View& out, const View& x) {
  if (out.elements() == 0) return;
  Panels panels(axis, {&out, &x});
  if (panels.neighbours() >= kLeastSummed && panels.across(0) == 1 && panels.across(1) == 1)
    return across(panels, out.shape[axis], from_last, out, x);
  switch (x.dtype) {
#define X(name, other, T, bytes)                                                                                                 \
  case DType::name:                                                                                                              \
    return line_by_line<T>(panels, out.shape[axis], from_last);
    CAIRN_DTYPES(X)
#undef X
  }
}

} // namespace cairn::ops::cpu
