// See weight_order.h.
#include "ops/libraries/weight_order.h"

#include "ops/libraries/onednn.h"
#include "ops/squares.h"

#include <utility>

namespace cairn::ops::math {

namespace {

constexpr std::int64_t kLine = 16; // floats in a line of the cache

void prefetch(const float* from, std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += kLine) __builtin_prefetch(from + i);
}

} // namespace

std::optional<WeightOrder> WeightOrder::of(const dnnl::memory::desc& weights, int axes, bool turned) {
  const Layout d = layout_of(weights);
  const auto rank = static_cast<std::size_t>(axes) + 2;
  if (!d.strided || d.blocks.size() > 2 || d.sizes.size() != rank || d.padded_sizes != d.sizes) return std::nullopt;
  Channels channels[2];
  std::int64_t within = 1;
  for (std::size_t i = d.blocks.size(); i-- > 0; within *= d.blocks[i]) {
    if (d.block_axes[i] > 1 || channels[d.block_axes[i]].block != 1) return std::nullopt;
    Channels& c = channels[d.block_axes[i]];
    c.block = d.blocks[i];
    c.within = within;
  }
  channels[0].stride = d.strides[0];
  channels[1].stride = d.strides[1];
  WeightOrder order;
  order.small_ = channels[turned ? 1 : 0];
  order.large_ = channels[turned ? 0 : 1];
  order.turned_ = turned;
  order.tap_stride_ = d.strides[rank - 1];
  std::int64_t next = order.tap_stride_;
  for (std::size_t i = rank; i-- > 2; next *= d.sizes[i])
    if (d.sizes[i] != 1 && d.strides[i] != next) return std::nullopt;
  const Channels& closest = order.small_.within == 1 ? order.small_ : order.large_;
  if (closest.within != 1 || closest.block == 1) return std::nullopt;
  return order;
}

void WeightOrder::arrange(const PlainWeights& from, std::int64_t begin, std::int64_t end, float* to) const {
  const std::int64_t taps = from.taps, of_small = from.large * taps, of_block = large_.block * taps;
  const std::int64_t first_tap = turned_ ? (taps - 1) * tap_stride_ : 0, step = turned_ ? -tap_stride_ : tap_stride_;
  for (std::int64_t first = next_block(begin, small_.block); first < end; first += small_.block)
    for (std::int64_t l = 0; l < from.large; l += large_.block) {
      const float* const plain = from.data + first * of_small + l * taps;
      float* const block = to + small_.at(first) + large_.at(l);
      if (small_.within == 1) { // a row goes through the large channels of the block and their taps
        for (std::int64_t s = 0; s < small_.block; ++s) prefetch(plain + s * of_small + of_block, of_block);
        across_rows(plain, of_small, small_.block, of_block, [&, channel = block, k = std::int64_t(0)]() mutable {
          float* const at = channel + first_tap + k * step;
          if (++k == taps) {
            k = 0;
            channel += large_.within;
          }
          return at;
        });
      } else { // a row is the taps of one large channel
        for (std::int64_t s = 0; s < small_.block; ++s) {
          prefetch(plain + (s + 1) * of_small, of_block);
          across_rows(plain + s * of_small, taps, large_.block, taps,
                      [at = block + s * small_.within + first_tap, step]() mutable { return std::exchange(at, at + step); });
        }
      }
    }
}

} // namespace cairn::ops::math
