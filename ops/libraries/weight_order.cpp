// See weight_order.h. Squares of four by four: four elements from each of four rows of the plain weights become four elements of
// neighbouring channels.
#include "ops/libraries/weight_order.h"

#include <cstring>
#include <utility>

namespace cairn::math {

namespace {

constexpr std::int64_t kSide = 4;
constexpr std::int64_t kLine = 16; // floats in a line of the cache
typedef float Four __attribute__((vector_size(kSide * sizeof(float))));

Four load(const float* from) {
  Four v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

void transpose(Four (&r)[kSide]) {
  const Four a = __builtin_shufflevector(r[0], r[1], 0, 4, 1, 5), b = __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7);
  const Four c = __builtin_shufflevector(r[2], r[3], 0, 4, 1, 5), d = __builtin_shufflevector(r[2], r[3], 2, 6, 3, 7);
  r[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
  r[1] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
  r[2] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
  r[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}

// Rows [0, wide) of plain weights, `apart` from each other: the elements at one place of all of them go to `next()`, side by
// side.
template <class Next> void rows(const float* from, std::int64_t apart, std::int64_t wide, std::int64_t count, Next next) {
  std::int64_t i = 0;
  for (; i + kSide <= count; i += kSide) {
    float* at[kSide];
    for (int j = 0; j < kSide; ++j) at[j] = next();
    for (std::int64_t row = 0; row < wide; row += kSide) {
      Four square[kSide];
      for (int j = 0; j < kSide; ++j) square[j] = load(from + (row + j) * apart + i);
      transpose(square);
      for (int j = 0; j < kSide; ++j) std::memcpy(at[j] + row, &square[j], sizeof(Four));
    }
  }
  for (; i < count; ++i) {
    float* const at = next();
    for (std::int64_t row = 0; row < wide; ++row) at[row] = from[row * apart + i];
  }
}

void prefetch(const float* from, std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += kLine) __builtin_prefetch(from + i);
}

} // namespace

std::optional<WeightOrder> WeightOrder::of(const dnnl::memory::desc& weights, int axes, bool turned) {
  const dnnl_memory_desc_t& d = weights.data;
  const dnnl_blocking_desc_t& blocks = d.format_desc.blocking;
  if (d.format_kind != dnnl_blocked || d.offset0 != 0 || blocks.inner_nblks > 2 || d.ndims != axes + 2) return std::nullopt;
  Channels channels[2];
  std::int64_t within = 1;
  for (int i = blocks.inner_nblks; i-- > 0; within *= blocks.inner_blks[i]) {
    if (blocks.inner_idxs[i] > 1 || channels[blocks.inner_idxs[i]].block != 1) return std::nullopt;
    Channels& c = channels[blocks.inner_idxs[i]];
    c.block = blocks.inner_blks[i];
    c.within = within;
  }
  for (int i = 0; i < d.ndims; ++i)
    if (d.padded_dims[i] != d.dims[i]) return std::nullopt;
  channels[0].stride = blocks.strides[0];
  channels[1].stride = blocks.strides[1];
  WeightOrder order;
  order.small_ = channels[turned ? 1 : 0];
  order.large_ = channels[turned ? 0 : 1];
  order.turned_ = turned;
  order.place_stride_ = blocks.strides[d.ndims - 1];
  std::int64_t next = order.place_stride_;
  for (int i = d.ndims; i-- > 2; next *= d.dims[i])
    if (d.dims[i] != 1 && blocks.strides[i] != next) return std::nullopt;
  const Channels& closest = order.small_.within == 1 ? order.small_ : order.large_;
  if (closest.within != 1 || closest.block % kSide != 0) return std::nullopt;
  return order;
}

void WeightOrder::arrange(const PlainWeights& from, std::int64_t begin, std::int64_t end, float* to) const {
  const std::int64_t places = from.places, of_small = from.large * places, of_block = large_.block * places;
  const std::int64_t first_place = turned_ ? (places - 1) * place_stride_ : 0, step = turned_ ? -place_stride_ : place_stride_;
  for (std::int64_t first = begin; first < end; first += small_.block)
    for (std::int64_t l = 0; l < from.large; l += large_.block) {
      const float* const plain = from.data + first * of_small + l * places;
      float* const block = to + small_.at(first) + large_.at(l);
      if (small_.within == 1) { // a row goes through the large channels of the block and their places
        for (std::int64_t s = 0; s < small_.block; ++s) prefetch(plain + s * of_small + of_block, of_block);
        rows(plain, of_small, small_.block, of_block, [&, channel = block, k = std::int64_t(0)]() mutable {
          float* const at = channel + first_place + k * step;
          if (++k == places) {
            k = 0;
            channel += large_.within;
          }
          return at;
        });
      } else { // a row is the places of one large channel
        for (std::int64_t s = 0; s < small_.block; ++s) {
          prefetch(plain + (s + 1) * of_small, of_block);
          rows(plain + s * of_small, places, large_.block, places,
               [at = block + s * small_.within + first_place, step]() mutable { return std::exchange(at, at + step); });
        }
      }
    }
}

} // namespace cairn::math
