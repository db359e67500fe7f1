// Regions that operators declare, against what their kernels do: inputs are changed outside and inside of the regions, and
// results compared.
#include "ops/regions.h"
#include "test/devices/samples.h"
#include "test/ops/testing.h"

#include <algorithm>
#include <optional>
#include <set>

using namespace samples;
using cairn::ops::test::World;

namespace {

// An operand in row-major order; a number has one.
struct GivenOperand {
  Tensor description;
  std::vector<double> numbers;
};

struct Case {
  OperatorId id;
  Attributes attributes;
  std::vector<GivenOperand> operands;
  ResultTypes results;

  const Operator& op() const { return operator_of(id); }
};

std::vector<Tensor> tensors_of(World& world, const std::vector<GivenOperand>& operands) {
  std::vector<Tensor> tensors;
  for (const GivenOperand& o : operands)
    tensors.push_back(o.description.weak ? weak_number(o.numbers[0], o.description.exact)
                                         : world.tensor(o.description.shape, o.numbers, o.description.dtype));
  return tensors;
}

// What samples leave out: dilation, and windows, strides and padding that differ along axes.
void vary(Maker& maker, Sample& sample) {
  std::vector<Attribute>& values = sample.attributes.values;
  const auto each_axis = [&](std::int64_t least, std::int64_t choices) {
    std::vector<std::int64_t> list;
    for (int i = 2; i < sample.inputs[0].shape.rank(); ++i) list.push_back(least + maker.below(choices));
    return Attribute::of_list(std::move(list));
  };
  switch (sample.op) {
  case OperatorId::convolve:
  case OperatorId::convolve_add_tied:
    values[0] = each_axis(1, 3), values[1] = each_axis(0, 3), values[2] = each_axis(1, 2);
    return;
  case OperatorId::transpose_convolve:
    values[0] = each_axis(1, 3), values[1] = each_axis(0, 2), values[2] = each_axis(1, 2);
    return;
  case OperatorId::max_pool:
  case OperatorId::average_pool:
    values[0] = each_axis(2, 2), values[1] = each_axis(1, 4), values[2] = each_axis(0, 2);
    return;
  default:
    return;
  }
}

// False: what was varied does not fit.
bool make(World& world, Maker& maker, OperatorId id, Case& made) {
  Sample sample = maker.make(id);
  if (maker.one_in(2)) vary(maker, sample);
  if (id == OperatorId::variance && sample.attributes.values.size() > 2) sample.attributes.values.pop_back();
  // Whole numbers, which elements of all types may be equal to.
  for (std::size_t n = 0; n < sample.inputs.size(); ++n)
    if (sample.inputs[n].weak) sample.inputs[n].number = 2 + static_cast<double>(n);
  made = {id, sample.attributes, {}, {}};
  const std::vector<Tensor> tensors = placed(world.rt, sample, *world.cpu);
  for (const Tensor& t : tensors)
    made.operands.push_back({description(t), t.weak ? std::vector<double>{t.number} : world.rt.read_numbers(t)});
  try {
    made.op().infer({made.op(), tensors, made.attributes, world.cpu.get()}, made.results);
  } catch (const OperatorError&) {
    return false;
  }
  // The variance of one element is nothing, whatever that is.
  return id != OperatorId::variance || made.results[0].shape.elements() != tensors[0].elements();
}

std::vector<Region> regions_of(World& world, const Case& c, unsigned result, const Box& box) {
  std::vector<Tensor> descriptions; // regions are known before there are elements
  for (const GivenOperand& o : c.operands) descriptions.push_back(o.description);
  return cairn::ops::regions_of({c.op(), descriptions, c.attributes, world.cpu.get()}, c.results, result, box);
}

// f(position in row-major order, coordinates) of each element.
template <class F> void each_element(const Shape& shape, F&& f) {
  const std::int64_t n = shape.elements();
  for (std::int64_t at = 0; at < n; ++at) {
    std::array<std::int64_t, kMostAxes> place{};
    std::int64_t rest = at;
    for (int i = shape.rank(); i-- > 0; rest /= shape[i]) place[static_cast<std::size_t>(i)] = rest % shape[i];
    f(static_cast<std::size_t>(at), place);
  }
}

bool within(const Box& box, const std::array<std::int64_t, kMostAxes>& place) {
  for (int i = 0; i < box.rank(); ++i)
    if (const std::int64_t at = place[static_cast<std::size_t>(i)]; at < box[i].begin || at >= box[i].end) return false;
  return true;
}

// The result's elements in a box.
std::vector<double> part(World& world, const Case& c, const std::vector<GivenOperand>& operands, unsigned result, const Box& box,
                         std::uint64_t key) {
  Attributes attributes = c.attributes;
  attributes.key = key;
  std::vector<Tensor> tensors = tensors_of(world, operands);
  std::array<Tensor, kMostResults> out;
  world.rt.apply(c.op(), tensors, {}, attributes, out);
  const std::vector<double> all = world.rt.read_numbers(out[result]);
  std::vector<double> some;
  each_element(out[result].shape, [&](std::size_t at, const auto& place) {
    if (within(box, place)) some.push_back(all[at]);
  });
  return some;
}

bool same(const std::vector<double>& a, const std::vector<double>& b) {
  return std::ranges::equal(a, b, [](double x, double y) {
    return (std::isnan(x) && std::isnan(y)) || (x == y && std::signbit(x) == std::signbit(y));
  });
}

Box random_box(Maker& maker, const Shape& shape) {
  Box box = Box::whole(shape);
  for (int i = 0; i < shape.rank(); ++i) {
    if (maker.one_in(4)) continue;
    box[i].begin = maker.below(shape[i]);
    box[i].end = box[i].begin + 1 + (maker.one_in(2) ? 0 : maker.below(shape[i] - box[i].begin));
  }
  return box;
}

constexpr double kChanges[] = {std::numeric_limits<double>::quiet_NaN(), 1000, -1000, 0.25, 1, 0};
constexpr double kNumbers[] = {1, 100, 2, 5, 120, 3};
constexpr std::size_t kWays = std::size(kChanges);

// Of operands with indices: which one it is, and how many elements there are for them.
std::optional<IndexBound> indices_of(const Case& c) {
  if (c.op().indices == nullptr) return {};
  std::vector<Tensor> descriptions;
  for (const GivenOperand& each : c.operands) descriptions.push_back(each.description);
  return c.op().indices({c.op(), descriptions, c.attributes, nullptr});
}

// Another number for operand n: an index that is there, or a number that the operator takes.
double changed(Maker& maker, const Case& c, std::size_t n, double was, std::size_t way) {
  if (const std::optional<IndexBound> bound = indices_of(c); bound && bound->operand == n)
    return static_cast<double>((static_cast<std::int64_t>(was) + 1 + maker.below(bound->size)) % bound->size);
  return c.operands[n].description.weak ? kNumbers[way] : kChanges[way];
}

// Numbers from which a change may show where it does not from the first ones: a choice goes the other way.
void set_numbers(Maker& maker, Case& c, int attempt) {
  double like = 1; // or as the number beside it
  for (const GivenOperand& o : c.operands)
    if (o.description.weak) like = o.numbers[0];
  const std::optional<IndexBound> bound = indices_of(c);
  for (std::size_t n = 0; n < c.operands.size(); ++n) {
    GivenOperand& o = c.operands[n];
    if (attempt == 0 || (bound && bound->operand == n)) continue;
    if (o.description.weak) {
      if (c.op().signature.letters()[n] == 'I') o.numbers[0] = attempt % 2;
      continue;
    }
    for (double& number : o.numbers)
      number = attempt == 1 ? 0 : attempt == 2 ? like : static_cast<double>(maker.below(64)) / 8 - 3;
  }
}

class Change {
public:
  Change(World& world, Maker& maker, const Case& c, unsigned result, const Box& box)
      : world_(world), maker_(maker), result_(result), box_(box) {
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      Case& base = bases_.emplace_back(c);
      set_numbers(maker, base, attempt);
      keys_.push_back(attempt == 0 ? c.attributes.key : static_cast<std::uint64_t>(attempt) * 977);
      parts_.emplace_back();
    }
  }

  // Does the part depend on this element?
  bool shows(std::size_t operand, std::size_t at) {
    for (std::size_t attempt = 0; attempt < kAttempts; ++attempt) {
      const Case& base = bases_[attempt];
      if (!parts_[attempt]) parts_[attempt] = part(world_, base, base.operands, result_, box_, keys_[attempt]);
      for (std::size_t way = 0; way < kWays; ++way) {
        std::vector<GivenOperand> other = base.operands;
        double& number = other[operand].numbers[at];
        number = changed(maker_, base, operand, number, way);
        if (!same(*parts_[attempt], part(world_, base, other, result_, box_, keys_[attempt]))) return true;
      }
    }
    return false;
  }

private:
  static constexpr int kAttempts = 12;
  World& world_;
  Maker& maker_;
  unsigned result_;
  const Box& box_;
  std::vector<Case> bases_;
  std::vector<std::uint64_t> keys_;
  std::vector<std::optional<std::vector<double>>> parts_;
};

// Does something show at each border of the region?
void check_borders(Change& change, const GivenOperand& o, std::size_t n, const Region& region) {
  for (int axis = 0; axis < region.box.rank(); ++axis)
    for (const std::int64_t border : {region.box[axis].begin, region.box[axis].end - 1}) {
      bool shown = false;
      each_element(o.description.shape, [&](std::size_t at, const auto& place) {
        if (!shown && place[static_cast<std::size_t>(axis)] == border && within(region.box, place)) shown = change.shows(n, at);
      });
      CAPTURE(axis);
      CAPTURE(border);
      CHECK(shown);
    }
}

void check_some(Change& change, Maker& maker, const GivenOperand& o, std::size_t n, const Region& region) {
  for (int count = 0; count < 3; ++count) {
    std::int64_t at = 0;
    for (int i = 0; i < region.box.rank(); ++i) {
      const Range& range = region.box[i];
      const std::int64_t place = maker.one_in(3)   ? range.begin + maker.below(range.size())
                                 : maker.one_in(2) ? range.begin
                                                   : range.end - 1;
      at = at * o.description.shape[i] + place;
    }
    CAPTURE(at);
    CHECK(change.shows(n, static_cast<std::size_t>(at)));
  }
}

struct Judge {
  World& world;
  Maker& maker;
  std::set<std::string>* loose; // names of those with regions that promise no more; null: closeness is not tried

  void sound(const Case& c, unsigned result, const Box& box, const std::vector<Region>& regions) {
    const std::vector<double> expected = part(world, c, c.operands, result, box, c.attributes.key);
    for (std::size_t way = 0; way < (loose != nullptr ? kWays : 2); ++way) {
      std::vector<GivenOperand> other = c.operands;
      for (std::size_t n = 0; n < other.size(); ++n)
        each_element(other[n].description.shape, [&](std::size_t at, const auto& place) {
          if (regions[n].empty() || !within(regions[n].box, place))
            other[n].numbers[at] = changed(maker, c, n, other[n].numbers[at], way);
        });
      CHECK(same(expected, part(world, c, other, result, box, c.attributes.key)));
    }
  }

  void tight(const Case& c, unsigned result, const Box& box, const std::vector<Region>& regions) {
    Change change(world, maker, c, result, box);
    const std::optional<IndexBound> bound = indices_of(c);
    for (std::size_t n = 0; n < regions.size(); ++n) {
      const Region& region = regions[n];
      if (region.empty() || (bound && bound->operand == n)) continue; // indices decide what else is looked at
      CAPTURE(n);
      CAPTURE(region.box.text());
      if (region.fit == Fit::every) check_some(change, maker, c.operands[n], n, region);
      if (region.fit == Fit::borders) check_borders(change, c.operands[n], n, region);
      if (region.fit == Fit::loose) loose->insert(std::string(c.op().name));
    }
  }

  void judge(const Case& c) {
    for (unsigned result = 0; result < c.results.count; ++result) {
      const Shape& shape = c.results.types[result].shape;
      if (shape.elements() == 0) continue;
      for (int round = 0; round < (loose != nullptr ? 3 : 1); ++round) {
        const Box box = random_box(maker, shape);
        const std::vector<Region> regions = regions_of(world, c, result, box);
        CAPTURE(result);
        CAPTURE(box.text());
        for (std::size_t n = 0; n < regions.size(); ++n) {
          const Shape& of = c.operands[n].description.shape;
          REQUIRE(regions[n].box.rank() == of.rank());
          for (int i = 0; i < of.rank(); ++i) {
            REQUIRE(regions[n].box[i].begin >= 0);
            REQUIRE(regions[n].box[i].begin <= regions[n].box[i].end);
            REQUIRE(regions[n].box[i].end <= of[i]);
          }
        }
        sound(c, result, box, regions);
        if (loose != nullptr) tight(c, result, box, regions);
      }
    }
  }
};

} // namespace

TEST_CASE("every operator declares the regions of its operands") {
  for (unsigned i = 0; i < kAllOperators; ++i) {
    const Operator& op = operator_of(static_cast<OperatorId>(i));
    CAPTURE(op.name);
    REQUIRE(op.regions != nullptr);
    CHECK_FALSE(op.regions->text.empty());
  }
}

TEST_CASE("a part of a result is made of the regions declared, and of all that a close region holds") {
  std::set<std::string> loose;
  for (const OperatorId id : sampled_ids()) {
    CAPTURE(operator_of(id).name);
    World world;
    Maker maker(static_cast<std::uint32_t>(id) + 5);
    Judge judge{world, maker, &loose};
    for (int round = 0; round < 40; ++round) {
      CAPTURE(round);
      Case c{};
      if (make(world, maker, id, c)) judge.judge(c);
    }
  }
  std::string names;
  for (const std::string& name : loose)
    if (!name.starts_with('%')) names += name + " ";
  // All others of programs' operators are exact. Of these, numbers or indices decide which elements of a line matter; the gap of
  // a window may meet the operand's border, and weights padding alone; triangles, and the only element of a line, have parts that
  // do not matter; a run of elements is no box, nor is what a part leaves of what it replaces.
  CHECK(names == "argmax argmin argsort attend average-pool cholesky convolve convolve-add-tied determinant embedding "
                 "fused-scale-mask-softmax gather log-softmax lower-triangle max-pool scatter-add softmax solve sort top-k "
                 "transpose-convolve triangular-solve upper-triangle view with-part ");
}

TEST_CASE("no element outside of a region changes a part of large results either") {
  for (const OperatorId id : sampled_ids()) {
    CAPTURE(operator_of(id).name);
    World world;
    Maker maker(static_cast<std::uint32_t>(id) + 5, Extent::large);
    Judge judge{world, maker, nullptr};
    Case c{};
    if (make(world, maker, id, c)) judge.judge(c);
  }
}
