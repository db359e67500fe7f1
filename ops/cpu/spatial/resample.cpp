// See resample.h. Both directions are sums of neighbours times weights, which are products of one weight for each axis: the
// reverse rule has the transposed tables.
#include "ops/cpu/spatial/resample.h"

#include "ops/cpu/device/scratch.h"
#include "ops/cpu/spatial/positions.h"

#include <algorithm>

namespace cairn::ops::cpu {

namespace {

// Along one axis, for each position written: the positions read, which lie together, and their weights.
struct Table {
  Array<Range> read;
  Array<std::size_t> first; // of the weights
  Array<double> weights;

  void add(std::int64_t begin, std::initializer_list<double> given) {
    read.push_back({begin, begin + static_cast<std::int64_t>(given.size())});
    first.push_back(weights.size());
    weights.insert(weights.end(), given);
  }
  double weight(std::int64_t to, std::int64_t from) const {
    const auto i = static_cast<std::size_t>(to);
    return weights[first[i] + static_cast<std::size_t>(from - read[i].begin)];
  }
};
using Tables = std::array<Table, kMostSpatial>;

Table table_of(Resampling how, std::int64_t in, std::int64_t out) {
  Table table;
  Pace pace;
  for (std::int64_t i = 0; i < out; ++i) {
    pace.did(kPositionTakes);
    const Neighbours found = neighbours(how, i, in, out);
    const double beyond = static_cast<double>(found.beyond) / static_cast<double>(found.unit);
    if (found.beyond == 0)
      table.add(found.low, {1});
    else
      table.add(found.low, {1 - beyond, beyond});
  }
  return table;
}

// By the positions read. Those that a position is read by lie together, since positions rise.
Table transposed(const Table& table, std::int64_t in) {
  const auto out = static_cast<std::int64_t>(table.read.size());
  Table back;
  std::int64_t begin = 0, end = 0;
  Pace pace;
  for (std::int64_t i = 0; i < in; ++i) {
    pace.did(kPositionTakes);
    while (begin < out && table.read[static_cast<std::size_t>(begin)].end <= i) ++begin;
    end = std::max(begin, end);
    while (end < out && table.read[static_cast<std::size_t>(end)].begin <= i) ++end;
    back.add(begin, {});
    back.read.back().end = end;
    for (std::int64_t o = begin; o < end; ++o) back.weights.push_back(table.weight(o, i));
    pace.did(end - begin);
  }
  return back;
}

template <class T> void weighted(const Tables& tables, const View& out, const View& in) {
  const SpatialView to(out), from(in);
  over(to, [&](std::int64_t n, const Sizes& at, std::int64_t channel, std::int64_t count, Pace& pace) {
    alignas(64) T sums[kBlock] = {}, staged[kBlock];
    Box box{};
    for (std::size_t i = 0; i < kMostSpatial; ++i) box[i] = tables[i].read[static_cast<std::size_t>(at[i])];
    bool first = true;
    each(box, pace, [&](const Sizes& read) {
      load(kComputeOf<T>, first ? sums : staged, from.dtype, address(from, n, read, channel), from.channel_stride, count);
      if constexpr (!std::is_same_v<T, pointwise::Integer>) { // of integers nearest ones alone, which nothing is done to
        double weight = 1;
        for (std::size_t i = 0; i < kMostSpatial; ++i) weight *= tables[i].weight(at[i], read[i]);
        const T factor = static_cast<T>(weight);
        if (first)
          for (std::int64_t i = 0; i < count; ++i) sums[i] *= factor;
        else
          for (std::int64_t i = 0; i < count; ++i) sums[i] += factor * staged[i];
      }
      first = false;
    });
    store(kComputeOf<T>, sums, to.dtype, address(to, n, at, channel), to.channel_stride, count);
  });
}

void weighted(const Tables& tables, const View& out, const View& in) {
  switch (compute_of(out.dtype)) {
  case Compute::f32:
    return weighted<float>(tables, out, in);
  case Compute::f64:
    return weighted<double>(tables, out, in);
  case Compute::i64:
    return weighted<pointwise::Integer>(tables, out, in);
  }
}

} // namespace

void resample(Resampling how, const View& out, const View& in) {
  if (out.elements() == 0) return; // sizes that nobody has memory for
  const Sizes from = spatial_sizes(in.shape), to = spatial_sizes(out.shape);
  Tables tables;
  for (std::size_t i = 0; i < kMostSpatial; ++i) tables[i] = table_of(how, from[i], to[i]);
  weighted(tables, out, in);
}

void resample_vjp(Resampling how, const View& out, const View& cotangent) {
  if (out.elements() == 0) return;
  const Sizes of_input = spatial_sizes(out.shape), of_result = spatial_sizes(cotangent.shape);
  Tables tables;
  for (std::size_t i = 0; i < kMostSpatial; ++i) tables[i] = transposed(table_of(how, of_input[i], of_result[i]), of_input[i]);
  weighted(tables, out, cotangent);
}

} // namespace cairn::ops::cpu
