// Regions: which part of each operand a part of a result is made of. Each operator declares it beside its shape rule
// (Definition::regions), for whoever makes results piece by piece. Parts are boxes, a range of positions along each axis. Here
// are boxes and the arithmetic that takes one back through windows, bins, steps, stretched and merged axes; the rules that
// families share are in ops/operators/region_rules.h.
#pragma once

#include "ops/operator.h"
#include "ops/windows.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::ops {

// Positions from `begin` up to but without `end` along an axis.
struct Range {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
  bool empty() const { return end <= begin; }
  bool operator==(const Range&) const = default;
};

// A range along each axis of a tensor. Without axes it is the one element that there is.
class Box {
public:
  Box() = default;
  static Box whole(const Shape& shape);
  int rank() const { return rank_; }
  Range& operator[](int axis) { return ranges_[static_cast<std::size_t>(axis)]; }
  const Range& operator[](int axis) const { return ranges_[static_cast<std::size_t>(axis)]; }
  bool empty() const;
  bool operator==(const Box&) const = default;
  // [0 2) [1 3)
  std::string text() const;

private:
  std::int32_t rank_ = 0;
  std::array<Range, kMostAxes> ranges_{};
};

// How closely a region encloses the elements that are looked at. What is outside of it is never looked at.
enum class Fit : std::uint8_t {
  every,   // each of its elements is, or may be: it depends on the numbers
  borders, // some are at each of its borders, with gaps between
  loose    // nobody has said
};

// Positions along one axis of an operand; they may lie beyond its ends.
struct Reading {
  Range range;
  Fit fit = Fit::every;
};

// What of an operand is looked at. It begins as the whole operand, and rules narrow it axis by axis, each once.
class Region {
public:
  explicit Region(const Shape& operand, Fit fit = Fit::every) : fit(fit), box(Box::whole(operand)) {}

  // Positions beyond the ends are padding: `before` and `behind` count them.
  void padded(int axis, const Reading& reading);
  // Nothing is beyond the ends.
  void within(int axis, const Reading& reading);
  void within(int axis, const Range& range) { within(axis, Reading{range}); }
  // The operand's first `axes` axes are aligned at the last of the first `of` axes of the box, and stretched where their size is
  // 1.
  void stretched(int axes, const Box& to, int of);
  // Elements are not looked at: at most the shape is.
  void unseen() { seen = false; }
  void loosen(Fit to) { fit = fit < to ? to : fit; }
  bool empty() const { return !seen || box.empty(); }

  Fit fit;
  bool seen = true;
  Box box; // of elements that are there
  std::array<std::int64_t, kMostAxes> before{}, behind{};
};

// What a rule is asked: of the inputs only the descriptions may be looked at.
struct RegionCall {
  const Call& call;
  const ResultTypes& results;
  unsigned result;          // which of them
  const Box& box;           // a part of that result, not empty
  std::span<Region> needed; // by input: whole operands, to be narrowed
};
struct RegionRule {
  std::string_view text; // as the page of operators shows it
  void (*narrow)(const RegionCall& call);
};

// For each input, what of it a part of a result is made of. Of an operator that declares nothing, which the registry has none of,
// whole operands.
std::vector<Region> regions_of(const Call& call, const ResultTypes& results, unsigned result, const Box& box);

// --- along one axis. A range of results, and what it reads:

// by windows that slide over spatial axis `axis` (of three, as in Windows),
Reading read_by_windows(const Range& range, const Windows& windows, int axis);
// as the reverse: the windows, of so many, that read any of these positions.
Reading windows_that_read(const Range& range, const Windows& windows, int axis, std::int64_t count);

// One of `count` bins that divide `size` positions evenly; neighbours may share one. As the reverse, the bins that read a
// position are those of the same formula with sizes exchanged.
inline Range bin(std::int64_t i, std::int64_t size, std::int64_t count) {
  return {i * size / count, ((i + 1) * size + count - 1) / count};
}
Reading read_by_bins(const Range& range, std::int64_t size, std::int64_t count);

// Every step-th position from `start` on; as the reverse, those of `count` steps that lie in the range.
Reading read_by_steps(const Range& range, std::int64_t start, std::int64_t step);
Reading steps_within(const Range& range, std::int64_t start, std::int64_t step, std::int64_t count);
// Positions modulo `size`, moved back by `shift`.
Reading read_around(const Range& range, std::int64_t shift, std::int64_t size);

// --- several axes

// A part of a tensor seen under another shape. Stretches of axes with the same number of elements correspond; in each the region
// is the least run of elements, in row-major order, around the part, or the box around it.
void narrow_reshaped(Region& region, const Shape& operand, const Shape& result, const Box& box);

} // namespace cairn::ops
