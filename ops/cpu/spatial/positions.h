// Kernels over the spatial positions of [batch, channels, d1, ..., dk]: what they do at each, for a block of channels at a time.
#pragma once

#include "ops/cpu/device/pace.h"
#include "ops/cpu/device/workers.h"
#include "ops/cpu/loops/groups.h"
#include "ops/windows.h"

namespace cairn::ops::cpu {

inline constexpr std::int64_t kBlock = 128; // channels at once

struct Range {
  std::int64_t begin, end;
};
using Box = std::array<Range, kMostSpatial>;

// What is done at a position takes about as long as so many elements.
inline constexpr std::int64_t kPositionTakes = 32;

template <class F> void each(const Box& box, Pace& pace, F&& f) {
  Sizes at{};
  for (at[0] = box[0].begin; at[0] < box[0].end; ++at[0])
    for (at[1] = box[1].begin; at[1] < box[1].end; ++at[1])
      for (at[2] = box[2].begin; at[2] < box[2].end; ++at[2]) {
        pace.did(kPositionTakes);
        f(at);
      }
}

inline char* address(const SpatialView& v, std::int64_t n, const Sizes& at, std::int64_t channel) {
  return v.at(n, at[0], at[1], at[2], channel);
}

// f(batch, position, first channel, channels, pace) over all positions of a tensor.
template <class F> void over(const SpatialView& to, F&& f) {
  const std::int64_t positions = to.positions();
  const std::int64_t grain = std::max<std::int64_t>(1, kElementsInline / 8 / std::max<std::int64_t>(1, to.channels));
  parallel_for(to.batch * positions, grain, [&](std::int64_t begin, std::int64_t end) {
    Pace pace;
    for (std::int64_t unit = begin; unit < end; ++unit) {
      std::int64_t index = unit % positions;
      Sizes at{};
      for (std::size_t i = kMostSpatial; i-- > 0; index /= to.sizes[i]) at[i] = index % to.sizes[i];
      for (std::int64_t channel = 0; channel < to.channels; channel += kBlock)
        f(unit / positions, at, channel, std::min(kBlock, to.channels - channel), pace);
    }
  });
}

} // namespace cairn::ops::cpu
