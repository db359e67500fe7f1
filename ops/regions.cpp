// See regions.h.
#include "ops/regions.h"

#include <fmt/format.h>

#include <algorithm>

namespace cairn::ops {

namespace {

// Quotients rounded down and up, of numbers of any sign by positive ones.
std::int64_t floor_of(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
std::int64_t ceiling_of(std::int64_t a, std::int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }

Range common(const Range& a, const Range& b) {
  const std::int64_t begin = std::clamp(b.begin, a.begin, a.end);
  return {begin, std::clamp(b.end, begin, a.end)};
}

} // namespace

Box Box::whole(const Shape& shape) {
  Box box;
  box.rank_ = shape.rank();
  for (int i = 0; i < shape.rank(); ++i) box[i] = {0, shape[i]};
  return box;
}

bool Box::empty() const {
  return std::any_of(ranges_.begin(), ranges_.begin() + rank_, [](const Range& range) { return range.empty(); });
}

std::string Box::text() const {
  std::string out;
  for (int i = 0; i < rank_; ++i) out += fmt::format("{}[{} {})", i == 0 ? "" : " ", (*this)[i].begin, (*this)[i].end);
  return out;
}

void Region::padded(int axis, const Reading& reading) {
  const auto i = static_cast<std::size_t>(axis);
  const Range there = box[axis], &wanted = reading.range;
  before[i] = std::clamp<std::int64_t>(there.begin - wanted.begin, 0, wanted.size());
  behind[i] = std::clamp<std::int64_t>(wanted.end - there.end, 0, wanted.size() - before[i]);
  within(axis, reading);
}

void Region::within(int axis, const Reading& reading) {
  const Range cut = common(box[axis], reading.range);
  // What is read next to the end of the operand may be a gap.
  loosen(reading.fit == Fit::borders && cut != reading.range ? Fit::loose : reading.fit);
  box[axis] = cut;
}

void Region::stretched(int axes, const Box& to, int of) {
  for (int i = 0; i < axes; ++i)
    if (box[i] != Range{0, 1}) within(i, to[of - axes + i]);
}

std::vector<Region> regions_of(const Call& call, const ResultTypes& results, unsigned result, const Box& box) {
  const RegionRule* const rule = call.op.regions;
  std::vector<Region> needed;
  needed.reserve(call.inputs.size());
  for (const Tensor& t : call.inputs) needed.emplace_back(t.shape, rule == nullptr ? Fit::loose : Fit::every);
  if (box.empty()) {
    for (Region& region : needed) region.unseen();
  } else if (rule != nullptr) {
    rule->narrow({call, results, result, box, needed});
  }
  return needed;
}

// --- windows

Reading read_by_windows(const Range& range, const Windows& windows, int axis) {
  if (range.empty()) return {};
  const auto i = static_cast<std::size_t>(axis);
  const std::int64_t stride = windows.stride[i], kernel = windows.kernel[i], dilation = windows.dilation[i];
  const std::int64_t first = range.begin * stride - windows.padding[i];
  const std::int64_t last = (range.end - 1) * stride - windows.padding[i] + dilation * (kernel - 1);
  // Windows without gaps next to each other, or windows whose gaps are filled by the next ones.
  const bool one = range.size() == 1;
  const bool together = (dilation == 1 || kernel == 1) && (one || stride <= kernel);
  const bool filled = stride == 1 && range.size() >= dilation;
  return {{first, last + 1}, together || filled ? Fit::every : Fit::borders};
}

Reading windows_that_read(const Range& range, const Windows& windows, int axis, std::int64_t count) {
  if (range.empty()) return {};
  const auto i = static_cast<std::size_t>(axis);
  const std::int64_t stride = windows.stride[i], padding = windows.padding[i], dilation = windows.dilation[i];
  const std::int64_t reach = dilation * (windows.kernel[i] - 1);
  const Range all{ceiling_of(range.begin + padding - reach, stride), floor_of(range.end - 1 + padding, stride) + 1};
  // A window with gaps may step over a short range.
  return {common({0, count}, all), reach == 0 || range.size() >= dilation ? Fit::every : Fit::loose};
}

Reading read_by_bins(const Range& range, std::int64_t size, std::int64_t count) {
  if (range.empty()) return {};
  return {{bin(range.begin, size, count).begin, bin(range.end - 1, size, count).end}};
}

// --- steps and cycles

Reading read_by_steps(const Range& range, std::int64_t start, std::int64_t step) {
  if (range.empty()) return {};
  return {{start + range.begin * step, start + (range.end - 1) * step + 1},
          step == 1 || range.size() == 1 ? Fit::every : Fit::borders};
}

Reading steps_within(const Range& range, std::int64_t start, std::int64_t step, std::int64_t count) {
  return {common({0, count}, {ceiling_of(range.begin - start, step), ceiling_of(range.end - start, step)})};
}

Reading read_around(const Range& range, std::int64_t shift, std::int64_t size) {
  if (range.empty() || size == 0) return {};
  if (range.size() >= size) return {{0, size}};
  std::int64_t begin = (range.begin - shift % size) % size;
  if (begin < 0) begin += size;
  if (begin + range.size() <= size) return {{begin, begin + range.size()}};
  return {{0, size}, Fit::borders}; // the end and the beginning
}

// --- other shapes

void narrow_reshaped(Region& region, const Shape& operand, const Shape& result, const Box& box) {
  for (int i = 0, j = 0; i < operand.rank() || j < result.rank();) {
    const int first = i, first_of_result = j;
    std::int64_t elements = i < operand.rank() ? operand[i++] : 1, of_result = j < result.rank() ? result[j++] : 1;
    while (elements != of_result) {
      if (elements < of_result)
        elements *= operand[i++];
      else
        of_result *= result[j++];
    }
    // The first and the last element of the part, in row-major order.
    std::int64_t begin = 0, last = 0, part = 1, taken = 1;
    for (int k = first_of_result; k < j; ++k) {
      begin = begin * result[k] + box[k].begin;
      last = last * result[k] + box[k].end - 1;
      part *= box[k].size();
    }
    bool apart = false; // they differ along an axis before
    for (int k = first; k < i; ++k) {
      elements /= operand[k];
      if (!apart) region.within(k, Range{begin / elements, last / elements + 1});
      apart = apart || begin / elements != last / elements;
      begin %= elements;
      last %= elements;
      taken *= region.box[k].size();
    }
    if (taken != part) region.loosen(Fit::loose);
  }
}

} // namespace cairn::ops
