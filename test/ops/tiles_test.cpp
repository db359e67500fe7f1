// Arithmetic of regions along one axis against positions that are counted out, and tiles that are computed from nothing but the
// regions of their operands.
#include "ops/regions.h"
#include "test/ops/testing.h"

#include <algorithm>
#include <set>

using namespace cairn::ops;
using namespace cairn::ops::test;

namespace {

Windows windows_of(std::int64_t kernel, std::int64_t stride, std::int64_t padding, std::int64_t dilation) {
  Windows w;
  w.axes = 1;
  w.kernel[2] = kernel;
  w.stride[2] = stride;
  w.padding[2] = padding;
  w.dilation[2] = dilation;
  return w;
}

template <class F> void each_window(F&& f) {
  for (std::int64_t kernel = 1; kernel <= 3; ++kernel)
    for (std::int64_t stride = 1; stride <= 4; ++stride)
      for (std::int64_t padding = 0; padding <= 2; ++padding)
        for (std::int64_t dilation = 1; dilation <= 3; ++dilation) f(windows_of(kernel, stride, padding, dilation));
}

template <class F> void each_range(std::int64_t size, F&& f) {
  for (std::int64_t begin = 0; begin < size; ++begin)
    for (std::int64_t end = begin + 1; end <= size; ++end) f(Range{begin, end});
}

std::set<std::int64_t> positions_of(std::int64_t window, const Windows& w) {
  std::set<std::int64_t> positions;
  for (std::int64_t i = 0; i < w.kernel[2]; ++i) positions.insert(window * w.stride[2] - w.padding[2] + i * w.dilation[2]);
  return positions;
}

// The least range around the positions; where each of them is read, they are all of it.
void check(const Reading& reading, const std::set<std::int64_t>& positions) {
  REQUIRE_FALSE(positions.empty());
  CHECK(reading.range == Range{*positions.begin(), *positions.rbegin() + 1});
  if (reading.fit == Fit::every) CHECK(reading.range.size() == static_cast<std::int64_t>(positions.size()));
}

Tensor applied_in(World& world, OperatorId op, std::vector<Tensor> inputs, const Attributes& attributes) {
  Tensor out;
  world.rt.apply(operator_of(op), inputs, {}, attributes, {&out, 1});
  return out;
}

Tensor cut(World& world, const Tensor& t, const Box& box) {
  std::vector<std::int64_t> starts, sizes;
  for (int i = 0; i < box.rank(); ++i) {
    starts.push_back(box[i].begin);
    sizes.push_back(box[i].size());
  }
  return applied_in(world, OperatorId::crop, {t}, with({list(starts), list(sizes)}));
}

// The operand's region as a tensor of its own, with padding where it reaches over the operand's borders.
Tensor cut_and_padded(World& world, const Tensor& t, const Region& region, double padding) {
  std::vector<std::int64_t> before, behind;
  for (std::size_t i = 0; i < static_cast<std::size_t>(t.rank()); ++i) {
    before.push_back(region.before[i]);
    behind.push_back(region.behind[i]);
  }
  return applied_in(world, OperatorId::pad, {cut(world, t, region.box)}, with({list(before), list(behind), number(padding)}));
}

std::vector<Region> regions_of(World& world, OperatorId op, std::vector<Tensor> inputs, const Attributes& attributes,
                               const Box& box) {
  const Call call{operator_of(op), inputs, attributes, world.cpu.get()};
  ResultTypes results;
  call.op.infer(call, results);
  return cairn::ops::regions_of(call, results, 0, box);
}

Tensor counted_up(World& world, const Shape& shape) {
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < shape.elements(); ++i) numbers.push_back(static_cast<double>(i * 37 % 101) - 50); // sums are exact
  return world.tensor(shape, numbers);
}

// Every tile of so many rows and columns of the result, made by `of_tile` from the first operand's padded region, against the
// whole.
template <class OfTile>
void check_tiles(World& world, OperatorId op, const std::vector<Tensor>& inputs, const Attributes& attributes, double padding,
                 OfTile&& of_tile) {
  const Tensor whole = applied_in(world, op, inputs, attributes);
  for (std::int64_t row = 0; row < whole.shape[2]; row += 2)
    for (std::int64_t column = 0; column < whole.shape[3]; column += 3) {
      Box box = Box::whole(whole.shape);
      box[2] = {row, std::min(row + 2, whole.shape[2])};
      box[3] = {column, std::min(column + 3, whole.shape[3])};
      CAPTURE(box.text());
      const Region region = regions_of(world, op, inputs, attributes, box)[0];
      const Tensor tile = of_tile(cut_and_padded(world, inputs[0], region, padding));
      REQUIRE(tile.shape == cut(world, whole, box).shape);
      CHECK(world.rt.read_numbers(tile) == world.rt.read_numbers(cut(world, whole, box)));
    }
}

} // namespace

TEST_CASE("a range of windows reads from the first place of its first to the last of its last") {
  each_window([](const Windows& w) {
    each_range(5, [&](const Range& range) {
      std::set<std::int64_t> all;
      for (std::int64_t i = range.begin; i < range.end; ++i) all.merge(positions_of(i, w));
      check(read_by_windows(range, w, 2), all);
    });
  });
}

TEST_CASE("the windows that read a range are those between the first and the last of them") {
  constexpr std::int64_t kWindows = 5;
  each_window([](const Windows& w) {
    each_range(9, [&](const Range& range) {
      std::set<std::int64_t> reading;
      for (std::int64_t i = 0; i < kWindows; ++i)
        if (std::ranges::any_of(positions_of(i, w), [&](std::int64_t at) { return at >= range.begin && at < range.end; }))
          reading.insert(i);
      const Reading found = windows_that_read(range, w, 2, kWindows);
      for (const std::int64_t i : reading) CHECK((i >= found.range.begin && i < found.range.end));
      if (found.fit == Fit::every) CHECK(found.range.size() == static_cast<std::int64_t>(reading.size()));
    });
  });
}

TEST_CASE("bins that read a range are bins of exchanged sizes") {
  for (std::int64_t size = 1; size <= 9; ++size)
    for (std::int64_t count = 1; count <= 9; ++count) {
      each_range(count, [&](const Range& range) {
        std::set<std::int64_t> all;
        for (std::int64_t i = range.begin; i < range.end; ++i)
          for (std::int64_t at = bin(i, size, count).begin; at < bin(i, size, count).end; ++at) all.insert(at);
        check(read_by_bins(range, size, count), all);
      });
      each_range(size, [&](const Range& range) {
        std::set<std::int64_t> reading;
        for (std::int64_t i = 0; i < count; ++i)
          if (bin(i, size, count).begin < range.end && bin(i, size, count).end > range.begin) reading.insert(i);
        check(read_by_bins(range, count, size), reading);
      });
    }
}

TEST_CASE("steps and cycles read what they count out") {
  for (std::int64_t start = 0; start < 4; ++start)
    for (std::int64_t step = 1; step < 4; ++step) {
      each_range(4, [&](const Range& range) {
        std::set<std::int64_t> all;
        for (std::int64_t i = range.begin; i < range.end; ++i) all.insert(start + i * step);
        check(read_by_steps(range, start, step), all);
      });
      each_range(12, [&](const Range& range) {
        std::set<std::int64_t> inside;
        for (std::int64_t i = 0; i < 3; ++i)
          if (start + i * step >= range.begin && start + i * step < range.end) inside.insert(i);
        const Range found = steps_within(range, start, step, 3).range;
        if (inside.empty())
          CHECK(found.empty());
        else
          CHECK(found == Range{*inside.begin(), *inside.rbegin() + 1});
      });
    }
  for (std::int64_t shift = -7; shift <= 7; ++shift)
    each_range(10, [&](const Range& range) {
      std::set<std::int64_t> all;
      for (std::int64_t i = range.begin; i < range.end; ++i) all.insert(((i - shift) % 5 + 5) % 5);
      check(read_around(range, shift, 5), all);
    });
}

TEST_CASE("a box stays a box under another shape where axes are kept, and where it is a run of elements") {
  const auto reshaped = [](const Shape& operand, const Shape& result, std::initializer_list<Range> ranges) {
    Box box = Box::whole(result);
    int axis = 0;
    for (const Range& range : ranges) box[axis++] = range;
    Region region(operand);
    narrow_reshaped(region, operand, result, box);
    return region;
  };
  const Region kept = reshaped({4, 3, 5}, {2, 2, 1, 3, 5}, {{1, 2}, {0, 2}, {0, 1}, {1, 2}, {2, 4}});
  CHECK(kept.box.text() == "[2 4) [1 2) [2 4)");
  CHECK(kept.fit == Fit::every);
  const Region merged = reshaped({3, 4}, {12}, {{4, 8}});
  CHECK(merged.box.text() == "[1 2) [0 4)");
  CHECK(merged.fit == Fit::every);
  const Region within_row = reshaped({3, 4}, {12}, {{5, 7}});
  CHECK(within_row.box.text() == "[1 2) [1 3)");
  CHECK(within_row.fit == Fit::every);
  const Region over_rows = reshaped({3, 4}, {12}, {{3, 6}});
  CHECK(over_rows.box.text() == "[0 2) [0 4)");
  CHECK(over_rows.fit == Fit::loose);
  const Region columns = reshaped({12}, {3, 4}, {{0, 3}, {1, 2}});
  CHECK(columns.box.text() == "[1 10)");
  CHECK(columns.fit == Fit::loose);
}

TEST_CASE("an empty part is made of nothing") {
  World world;
  Box nothing = Box::whole({4, 4});
  nothing[1] = {2, 2};
  for (const Region& region :
       regions_of(world, OperatorId::add, {counted_up(world, {4, 4}), counted_up(world, {4})}, {}, nothing))
    CHECK(region.empty());
}

TEST_CASE("a tile has padding where its region reaches over a border, and nowhere else") {
  World world;
  const Tensor x = counted_up(world, {2, 4, 9, 8});
  for (std::int64_t stride = 1; stride <= 3; ++stride)
    for (std::int64_t padding = 0; padding <= 4; ++padding)
      for (std::int64_t dilation = 1; dilation <= 2; ++dilation) {
        CAPTURE(stride);
        CAPTURE(padding);
        CAPTURE(dilation);
        const Tensor w = counted_up(world, {4, 2, 3, 2});
        const auto attributes = [&](std::int64_t of_call) {
          return with({list({stride}), list({of_call}), list({dilation}), integer(2)});
        };
        check_tiles(world, OperatorId::convolve, {x, w}, attributes(padding), 0, [&](const Tensor& padded) {
          return applied_in(world, OperatorId::convolve, {padded, w}, attributes(0));
        });
      }
  for (std::int64_t stride = 1; stride <= 3; ++stride)
    for (std::int64_t padding = 0; padding <= 2; ++padding) {
      CAPTURE(stride);
      CAPTURE(padding);
      const auto attributes = [&](std::int64_t of_call) { return with({list({3}), list({stride}), list({of_call})}); };
      check_tiles(world, OperatorId::max_pool, {x}, attributes(padding), -kInfinity,
                  [&](const Tensor& padded) { return applied_in(world, OperatorId::max_pool, {padded}, attributes(0)); });
      check_tiles(world, OperatorId::average_pool, {x}, attributes(padding), 0,
                  [&](const Tensor& padded) { return applied_in(world, OperatorId::average_pool, {padded}, attributes(0)); });
    }
}
