// Applications of every operator of the registry to random tensors of all types and layouts: what tests run on one device and on
// another.
#pragma once

#include "ops/convert.h"
#include "ops/operator_ids.h"
#include "ops/operators/registry.h"
#include "ops/operators/runtime.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace samples {

using namespace cairn::ops;

// A tensor before it is on a device. Its elements come as the host has them; then the layout is changed by views.
struct Input {
  DType dtype = DType::f32;
  Shape shape; // on the host
  std::vector<char> bytes;
  int first = -1, second = -1; // axes exchanged afterwards
  bool cut = false;            // the first element along the last axis left out afterwards
  bool weak = false;
  double number = 0;
};

struct Sample {
  OperatorId op;
  std::vector<Input> inputs;
  Attributes attributes;
};

// Large samples are beyond all thresholds from which work is divided or given to a library, and of odd sizes.
enum class Extent : std::uint8_t { small, large };

class Maker {
public:
  explicit Maker(std::uint32_t seed, Extent extent = Extent::small) : random_(seed), large_(extent == Extent::large) {}

  // Of one of sampled_ids(). std::logic_error where nobody has written here what the operator takes.
  Sample make(OperatorId id);

  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(random_() % static_cast<std::uint32_t>(n)); }
  bool one_in(int n) { return below(n) == 0; }

private:
  Shape shape(int rank);
  Shape shape() { return shape(static_cast<int>(large_ ? 1 + below(4) : below(5))); }
  // A size of `small`, or an odd one about `large`.
  std::int64_t about(std::int64_t small, std::int64_t large) {
    return large_ ? large + large / 16 * 2 + 2 * below(large / 8 + 1) : small;
  }
  Shape shrunk(const Shape& of);
  DType dtype() { return static_cast<DType>(below(kDTypes)); }
  DType floating() { return std::array{DType::f32, DType::f64, DType::bf16}[static_cast<std::size_t>(below(3))]; }
  Input tensor(DType type, const Shape& shape);
  Input tensor_or_number(DType type, const Shape& shape);
  Input dense(DType type, const Shape& shape);
  Input bytes(const Shape& shape, std::int64_t n); // below n
  static Attribute list(const Shape& sizes) { return list_of({sizes.begin(), sizes.end()}); }
  static Attribute list_of(std::vector<std::int64_t> sizes) { return Attribute::of_list(std::move(sizes)); }
  static Attribute integer(std::int64_t i) { return Attribute::of_integer(i); }
  static Attribute number(double d) { return Attribute::of_number(d); }
  // Integers below n, of some type.
  Input indices(const Shape& shape, std::int64_t n);
  void reduction(Sample& sample);
  void reduction_vjp(Sample& sample, unsigned inputs);
  bool make_element(OperatorId id, Sample& sample);
  bool make_any(OperatorId id, Sample& sample);
  bool over_space(OperatorId id, Sample& sample);

  std::mt19937 random_;
  bool large_;
};

inline Shape Maker::shape(int rank) {
  Shape s;
  constexpr std::array<std::array<std::int64_t, 4>, 4> kLarge = {{{40001}, {101, 301}, {11, 31, 97}, {3, 11, 31, 31}}};
  if (large_ && rank > 0) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(rank); ++i)
      s.push_back(about(0, kLarge[static_cast<std::size_t>(rank - 1)][i]));
    return s;
  }
  for (int i = 0; i < rank; ++i) s.push_back(one_in(12) ? 0 : one_in(5) ? 1 : one_in(20) ? 40 + below(40) : 1 + below(7));
  return s;
}

// One that is broadcast to the shape.
inline Shape Maker::shrunk(const Shape& of) {
  Shape s;
  for (int i = static_cast<int>(one_in(3) ? below(of.rank() + 1) : 0); i < of.rank(); ++i) s.push_back(one_in(4) ? 1 : of[i]);
  return s;
}

inline Input Maker::tensor(DType type, const Shape& shape) {
  Input in;
  in.dtype = type;
  in.shape = shape;
  if (shape.rank() > 1 && one_in(3)) {
    in.first = static_cast<int>(below(shape.rank()));
    in.second = static_cast<int>(below(shape.rank()));
    std::swap(in.shape[in.first], in.shape[in.second]);
  }
  if (shape.rank() > 0 && in.first < 0 && one_in(4)) {
    in.cut = true;
    ++in.shape[shape.rank() - 1];
  }
  in.bytes.resize(static_cast<std::size_t>(in.shape.elements() * bytes_of(type)));
  for (std::int64_t i = 0; i < in.shape.elements(); ++i) {
    const double d = one_in(4) ? static_cast<double>(below(5)) - 2 : std::uniform_real_distribution(-3.0, 3.0)(random_);
    switch (type) {
#define X(name, other, cpp, size)                                                                                                \
  case DType::name: {                                                                                                            \
    const cpp element = converted<cpp>(d);                                                                                       \
    std::memcpy(in.bytes.data() + i * size, &element, size);                                                                     \
    break;                                                                                                                       \
  }
      CAIRN_DTYPES(X)
#undef X
    }
  }
  return in;
}

inline Input Maker::dense(DType type, const Shape& shape) {
  for (;;)
    if (Input in = tensor(type, shape); !in.cut) return in;
}

inline Input Maker::bytes(const Shape& shape, std::int64_t n) {
  Input in;
  in.dtype = DType::u8;
  in.shape = shape;
  in.bytes.resize(static_cast<std::size_t>(shape.elements()));
  for (char& byte : in.bytes) byte = static_cast<char>(below(n));
  return in;
}

inline Input Maker::tensor_or_number(DType type, const Shape& shape) {
  if (!one_in(5)) return tensor(type, shape);
  Input in;
  in.weak = true;
  in.number = one_in(2) ? static_cast<double>(below(7)) - 3 : std::uniform_real_distribution(-3.0, 3.0)(random_);
  return in;
}

inline void Maker::reduction(Sample& sample) {
  const Shape s = shape();
  sample.inputs = {tensor(dtype(), s)};
  std::vector<std::int64_t> axes;
  for (int i = 0; i < s.rank(); ++i)
    if (one_in(2)) axes.push_back(one_in(2) ? i : i - s.rank());
  sample.attributes.values = {one_in(4) ? Attribute{} : list_of(axes), integer(below(2))};
}

inline Input Maker::indices(const Shape& shape, std::int64_t n) {
  Input in = tensor(one_in(2) ? DType::i64 : DType::u8, shape);
  const std::int64_t bytes = bytes_of(in.dtype);
  std::fill(in.bytes.begin(), in.bytes.end(), char(0));
  for (std::size_t i = 0; i < in.bytes.size(); i += static_cast<std::size_t>(bytes)) in.bytes[i] = static_cast<char>(below(n));
  return in;
}

// (cotangent, x) or (cotangent, x, y) for a reduction of x.
inline void Maker::reduction_vjp(Sample& sample, unsigned inputs) {
  reduction(sample);
  const Input x = tensor(floating(), shape(static_cast<int>(1 + below(3))));
  Shape s = x.shape, kept;
  if (x.first >= 0) std::swap(s[x.first], s[x.second]);
  if (x.cut) --s[s.rank() - 1];
  for (int i = 0; i + 1 < s.rank(); ++i) kept.push_back(s[i]);
  kept.push_back(1);
  sample.inputs = {tensor(x.dtype, kept), x};
  if (inputs == 3) sample.inputs.push_back(tensor(x.dtype, kept));
  sample.attributes.values = {list_of({-1}), integer(1)};
}

// Those of ops/operators_elements.def whose operands need care, and their internal ones.
inline bool Maker::make_element(OperatorId id, Sample& sample) {
  std::vector<Attribute>& values = sample.attributes.values;
  const DType type = floating();
  const auto some = [&](int rank) { // no axis is empty
    Shape s = shape(rank);
    for (int i = 0; i < rank; ++i) s[i] = std::max<std::int64_t>(1, s[i]);
    return s;
  };
  const Shape s = some(2 + static_cast<int>(below(2)));
  const std::int64_t axis = below(s.rank());
  const int line = static_cast<int>(axis);
  const std::int64_t n = large_ ? about(0, 21) : 1 + below(5), stack = about(2, 9), classes = about(6, 1001), rows = about(n, 65);
  switch (id) {
  case OperatorId::embedding:
    sample.inputs = {tensor(dtype(), s), indices(large_ ? Shape{about(0, 301)} : shape(), s[0])};
    return true;
  case OperatorId::embedding_vjp:
    sample.inputs = {tensor(type, Shape{stack, 3, classes}), indices(Shape{stack, 3}, 7)};
    values = {list_of({7, classes})};
    return true;
  case OperatorId::add_rows:
    sample.inputs = {tensor(type, Shape{7, classes}), tensor(type, Shape{stack, 3, classes}), indices(Shape{stack, 3}, 7)};
    return true;
  case OperatorId::with_part:
  case OperatorId::add_part: {
    Shape part = s;
    std::vector<std::int64_t> starts;
    for (int i = 0; i < s.rank(); ++i) {
      starts.push_back(below(s[i] + 1));
      part[i] = s[i] == starts.back() ? 0 : 1 + below(s[i] - starts.back());
    }
    sample.inputs = {tensor(type, s), tensor(type, part)};
    values = {list_of(std::move(starts))};
    return true;
  }
  case OperatorId::add_within: {
    Shape part = s;
    std::vector<std::int64_t> starts, steps;
    for (int i = 0; i < s.rank(); ++i) {
      steps.push_back(1 + below(2));
      starts.push_back(below(s[i] + 1));
      const std::int64_t room = s[i] - starts.back();
      part[i] = room == 0 ? 0 : 1 + below((room - 1) / steps.back() + 1);
    }
    sample.inputs = {tensor(type, s), tensor(type, part)};
    values = {list_of(std::move(starts)), list_of(std::move(steps))};
    return true;
  }
  case OperatorId::quotient:
  case OperatorId::remainder:
  case OperatorId::modulo:
    sample.inputs = {tensor(dtype(), s), tensor_or_number(dtype(), s)};
    if (sample.inputs[1].weak) sample.inputs[1].number = 2; // which every type holds
    return true;
  case OperatorId::gather:
  case OperatorId::scatter_add: {
    Shape shorter = s;
    shorter[line] = about(below(6), 21);
    sample.inputs = {tensor(dtype(), s), indices(shorter, s[line])};
    if (id == OperatorId::scatter_add) sample.inputs.push_back(tensor(dtype(), shorter));
    values = {integer(one_in(2) ? axis : axis - s.rank())};
    return true;
  }
  case OperatorId::one_hot:
    sample.inputs = {indices(shape(static_cast<int>(below(4))), n)};
    values = {integer(n), one_in(2) ? Attribute{} : integer(static_cast<std::int64_t>(dtype()))};
    return true;
  case OperatorId::prod:
  case OperatorId::norm:
  case OperatorId::logsumexp:
  case OperatorId::variance:
    reduction(sample);
    if (id == OperatorId::norm && one_in(2)) values.push_back(number(3));
    if (id == OperatorId::variance && one_in(2)) values.push_back(integer(1));
    return true;
  case OperatorId::prod_along:
    for (std::int64_t i = 2 + below(2); i > 0; --i) sample.inputs.push_back(tensor(type, s));
    values = {list_of({axis}), integer(below(2))};
    return true;
  case OperatorId::prod_vjp:
  case OperatorId::variance_vjp:
    reduction_vjp(sample, 2);
    return true;
  case OperatorId::norm_vjp:
  case OperatorId::logsumexp_vjp:
    reduction_vjp(sample, 3);
    return true;
  case OperatorId::argmax:
  case OperatorId::argmin:
    sample.inputs = {tensor(dtype(), s)};
    values = {one_in(3) ? Attribute{} : integer(axis), integer(below(2))};
    return true;
  case OperatorId::cross_entropy_loss:
  case OperatorId::cross_entropy_vjp:
    if (id == OperatorId::cross_entropy_vjp) sample.inputs.push_back(tensor(type, Shape{}));
    sample.inputs.push_back(tensor(type, Shape{rows, classes}));
    sample.inputs.push_back(indices(Shape{rows}, 6));
    return true;
  case OperatorId::mean_squared_error:
  case OperatorId::binary_cross_entropy:
  case OperatorId::binary_cross_entropy_with_logits:
    sample.inputs = {tensor(type, s), tensor(type, s)};
    return true;
  case OperatorId::mean_squared_error_vjp:
  case OperatorId::binary_cross_entropy_vjp:
  case OperatorId::binary_cross_entropy_with_logits_vjp:
    sample.inputs = {tensor(type, Shape{}), tensor(type, s), tensor(type, s)};
    values = {integer(below(2))};
    return true;
  case OperatorId::fused_softmax:
    sample.inputs = {tensor(dtype(), s), one_in(5) ? tensor_or_number(DType::u8, Shape{}) : tensor(DType::u8, shrunk(s))};
    values = {number(0.5)};
    return true;
  case OperatorId::fused_softmax_vjp:
    sample.inputs = {tensor(type, s), tensor(type, s)};
    values = {number(0.5)};
    return true;
  case OperatorId::dropout:
  case OperatorId::dropout_planewise:
    sample.inputs = {tensor(dtype(), s)};
    values = {number(0.3)};
    sample.attributes.key = random_();
    return true;
  case OperatorId::stack:
    for (std::int64_t i = 0; i < n; ++i) sample.inputs.push_back(tensor(dtype(), s));
    values = {integer(below(s.rank() + 1))};
    return true;
  case OperatorId::chunk:
    sample.inputs = {tensor(dtype(), s)};
    values = {integer(axis), integer(n), integer(below(n))};
    return true;
  case OperatorId::slice: {
    const std::int64_t start = below(s[line] + 1);
    sample.inputs = {tensor(dtype(), s)};
    values = {integer(axis), integer(start), integer(start + below(s[line] - start + 1)), integer(1 + below(3))};
    return true;
  }
  case OperatorId::crop: {
    Shape starts = s, sizes = s;
    for (int i = 0; i < s.rank(); ++i) {
      starts[i] = below(s[i] + 1);
      sizes[i] = below(s[i] - starts[i] + 1);
    }
    sample.inputs = {tensor(dtype(), s)};
    values = {list(starts), list(sizes)};
    return true;
  }
  case OperatorId::tile: {
    std::vector<std::int64_t> times;
    for (int i = 0; i < s.rank(); ++i) times.push_back(below(4));
    sample.inputs = {tensor(dtype(), s)};
    values = {list_of(times)};
    return true;
  }
  case OperatorId::flip:
    sample.inputs = {tensor(dtype(), s)};
    values = {one_in(2) ? list_of({axis}) : list_of({0, -1})};
    return true;
  case OperatorId::roll:
    sample.inputs = {tensor(dtype(), s)};
    values = {list_of({below(20) - 10, 1}), list_of({0, -1})};
    return true;
  case OperatorId::lower_triangle:
  case OperatorId::upper_triangle:
    sample.inputs = {tensor(dtype(), s)};
    if (one_in(2)) values = {integer(below(7) - 3)};
    return true;
  case OperatorId::cumulative_sum:
  case OperatorId::cumulative_sum_vjp:
  case OperatorId::sort:
  case OperatorId::argsort:
    sample.inputs = {tensor(dtype(), s)};
    values = {integer(axis)};
    return true;
  case OperatorId::sort_vjp:
    sample.inputs = {tensor(type, s), tensor(type, s)};
    values = {integer(axis)};
    return true;
  case OperatorId::top_k:
  case OperatorId::top_k_places:
    sample.inputs = {tensor(dtype(), s)};
    values = {integer(below(s[line] + 1)), integer(axis)};
    return true;
  case OperatorId::top_k_vjp: {
    Shape fewer = s;
    fewer[line] = below(s[line] + 1);
    sample.inputs = {tensor(type, fewer), tensor(type, s)};
    values = {integer(fewer[line]), integer(axis)};
    return true;
  }
  case OperatorId::cholesky:
  case OperatorId::determinant:
    sample.inputs = {tensor(type, Shape{stack, n, n})};
    return true;
  case OperatorId::determinant_along:
    sample.inputs = {tensor(type, Shape{stack, n, n}), tensor(type, Shape{stack, n, n})};
    return true;
  case OperatorId::determinant_vjp:
    sample.inputs = {tensor(type, Shape{stack}), tensor(type, Shape{stack, n, n}), tensor(type, Shape{stack, n, n})};
    values = {integer(below(2))};
    return true;
  case OperatorId::triangular_solve:
  case OperatorId::solve:
    sample.inputs = {tensor(type, Shape{stack, n, n}), tensor(type, Shape{stack, n, 3})};
    if (id == OperatorId::triangular_solve && one_in(2)) values = {integer(below(2))};
    return true;
  default:
    return false;
  }
}

inline Sample Maker::make(OperatorId id) {
  Sample sample{id, {}, {}};
  if (!make_any(id, sample))
    throw std::logic_error(
        std::string("test/devices/samples.h does not say what this operator takes: ").append(operator_of(id).name));
  return sample;
}

inline bool Maker::make_any(OperatorId id, Sample& sample) {
  if (make_element(id, sample)) return true;
  std::vector<Attribute>& values = sample.attributes.values;
  const Operator& op = operator_of(id);
  const Shape s = shape();
  switch (id) {
  case OperatorId::leaky_relu:
  case OperatorId::elu:
    sample.inputs = {tensor(dtype(), s)};
    values = {one_in(2) ? Attribute{} : number(0.25)};
    return true;
  case OperatorId::cast:
    sample.inputs = {tensor(dtype(), s)};
    values = {integer(static_cast<std::int64_t>(dtype()))};
    return true;
  case OperatorId::contiguous:
    sample.inputs = {tensor(dtype(), s)};
    return true;
  case OperatorId::view: {
    sample.inputs = {tensor(dtype(), s)};
    values = {one_in(2) ? list_of({s.elements()}) : list_of({1, s.elements(), 1})};
    return true;
  }
  case OperatorId::transpose: {
    const Shape two = shape(2 + static_cast<int>(below(3)));
    sample.inputs = {tensor(dtype(), two)};
    if (one_in(2)) values = {integer(below(two.rank())), integer(-1 - below(two.rank()))};
    return true;
  }
  case OperatorId::permute: {
    std::vector<std::int64_t> order;
    for (int i = 0; i < s.rank(); ++i) order.push_back(i);
    std::shuffle(order.begin(), order.end(), random_);
    sample.inputs = {tensor(dtype(), s)};
    values = {list_of(order)};
    return true;
  }
  case OperatorId::narrow: {
    const Shape some = shape(1 + static_cast<int>(below(4)));
    const int axis = static_cast<int>(below(some.rank()));
    const std::int64_t from = below(some[axis] + 1);
    sample.inputs = {tensor(dtype(), some)};
    values = {integer(axis), integer(from), integer(below(some[axis] - from + 1))};
    return true;
  }
  case OperatorId::expand:
    sample.inputs = {tensor(dtype(), shrunk(s))};
    values = {list(s)};
    return true;
  case OperatorId::fill:
    values = {list(s), number(2.5), integer(static_cast<std::int64_t>(dtype())), Attribute{}};
    return true;
  case OperatorId::random_uniform:
  case OperatorId::random_normal:
    values = {list(s), integer(static_cast<std::int64_t>(floating())), Attribute{}};
    sample.attributes.key = random_();
    return true;
  case OperatorId::concat: {
    const Shape some = shape(1 + static_cast<int>(below(4)));
    const int axis = static_cast<int>(below(some.rank()));
    for (std::int64_t i = 1 + below(4); i > 0; --i) {
      Shape part = some;
      part[axis] = below(6);
      sample.inputs.push_back(tensor(dtype(), part));
    }
    values = {integer(one_in(2) ? axis : axis - some.rank())};
    return true;
  }
  case OperatorId::pad: {
    std::vector<std::int64_t> before, behind;
    for (int i = 0; i < s.rank(); ++i) {
      const std::int64_t less = below(s[i] + 1);
      before.push_back(one_in(3) ? -less : below(3));
      behind.push_back(one_in(3) ? -(s[i] - less) : below(3));
    }
    sample.inputs = {tensor(dtype(), s)};
    values = {list_of(before), list_of(behind), one_in(2) ? Attribute{} : number(1)};
    return true;
  }
  case OperatorId::sum:
  case OperatorId::mean:
    reduction(sample);
    return true;
  case OperatorId::max_over:
  case OperatorId::max_over_mask:
  case OperatorId::min_over:
  case OperatorId::min_over_mask: {
    do reduction(sample);
    while (sample.inputs[0].shape.elements() == 0 ||
           (sample.inputs[0].cut && sample.inputs[0].shape[sample.inputs[0].shape.rank() - 1] == 1));
    return true;
  }
  case OperatorId::sum_to:
    sample.inputs = {tensor(dtype(), s)};
    values = {list(shrunk(s))};
    return true;
  case OperatorId::matmul: {
    const std::int64_t n = large_ ? about(0, 211) : 1 + below(20),
                       k = large_      ? about(0, 151)
                           : one_in(9) ? 0
                                       : 1 + below(60),
                       m = large_ ? about(0, 201) : 1 + below(20), stack = 1 + below(3);
    const DType type = dtype();
    const Shape left[] = {{n, k}, {k}, {stack, n, k}, {2, 1, n, k}}, right[] = {{k, m}, {k}, {stack, k, m}, {1, 1, k, m}};
    sample.inputs = {tensor(type, left[below(4)]), tensor(one_in(3) ? dtype() : type, right[below(4)])};
    return true;
  }
  case OperatorId::attend:
  case OperatorId::attend_vjp: {
    const std::int64_t queries = large_ ? about(0, 301) : below(20), keys = large_ ? about(0, 281) : below(20),
                       width = large_ ? about(0, 47) : below(9), of_values = large_ ? about(0, 35) : 1 + below(9),
                       stack = 1 + below(3);
    const DType type = id == OperatorId::attend ? dtype() : floating();
    const Shape leading[] = {{}, {stack}, {2, stack}};
    const std::size_t which = below(3);
    const auto matrix = [&](std::int64_t rows, std::int64_t columns, bool stretched) {
      Shape shape = leading[which];
      if (stretched && shape.rank() != 0) shape[0] = 1;
      shape.push_back(rows);
      shape.push_back(columns);
      return shape;
    };
    if (id == OperatorId::attend_vjp) sample.inputs = {tensor(type, matrix(queries, of_values, false))};
    sample.inputs.push_back(tensor(type, matrix(queries, width, false)));
    sample.inputs.push_back(tensor(type, matrix(keys, width, one_in(3))));
    sample.inputs.push_back(tensor(one_in(3) ? floating() : type, matrix(keys, of_values, one_in(3))));
    values = {number(0.5), integer(below(2))};
    return true;
  }
  case OperatorId::softmax:
  case OperatorId::log_softmax:
  case OperatorId::softmax_vjp:
  case OperatorId::log_softmax_vjp: {
    const Shape some = shape(1 + static_cast<int>(below(4)));
    const DType type = floating();
    for (std::size_t i = 0; i < op.signature.size() - 1; ++i) sample.inputs.push_back(tensor(type, some));
    values = {one_in(2) ? Attribute{} : integer(below(some.rank()))};
    return true;
  }
  case OperatorId::positive_bits:
    sample.inputs = {dense(floating(), s)};
    return true;
  case OperatorId::times_bits:
    sample.inputs = {dense(floating(), s), bytes(Shape{(s.elements() + 7) / 8}, 256)};
    values = {number(one_in(2) ? 0 : 0.125)};
    return true;
  default: {
    if (over_space(id, sample)) return true;
    if (!op.in_shared_layout || op.signature.letters().find_first_not_of("TXIn") != std::string_view::npos) return false;
    const bool internal = static_cast<unsigned>(id) >= kOperators;
    const bool unary = op.signature.letters() == "T";
    const DType type = floating();
    for (const char letter : op.signature.letters()) {
      if (letter == 'n') {
        values = {number(0.125)};
      } else if (letter == 'T') {
        sample.inputs.push_back(tensor(unary ? dtype() : type, s));
      } else {
        sample.inputs.push_back(tensor_or_number(internal ? type : dtype(), internal && one_in(2) ? s : shrunk(s)));
      }
    }
    // A whole number that does not fit the elements beside it is refused.
    const bool unsigned_elements =
        std::ranges::any_of(sample.inputs, [](const Input& in) { return !in.weak && in.dtype == DType::u8; });
    for (Input& in : sample.inputs)
      if (in.weak && unsigned_elements) in.number = std::abs(in.number);
    return true;
  }
  }
}

// Operators of networks. Sizes are at least 1.
inline bool Maker::over_space(OperatorId id, Sample& sample) {
  std::vector<Attribute>& values = sample.attributes.values;
  const DType type = floating();
  const std::int64_t batch = large_ ? 5 : 1 + below(3), axes = 1 + below(3), groups = 1 + below(2);
  const std::int64_t channels = groups * (large_ ? about(0, 17) : 1 + below(4)), outs = about(2, 19);
  Shape x{batch, channels}, with_window{batch, channels};
  std::vector<std::int64_t> sizes, window;
  for (std::int64_t i = 0; i < axes; ++i) {
    sizes.push_back(large_ ? about(0, axes == 1 ? 401 : axes == 2 ? 25 : 9) : 3 + below(5));
    window.push_back(1 + below(3));
    x.push_back(sizes.back());
  }
  const auto weights = [&](std::int64_t first, std::int64_t second) {
    Shape w{first, second};
    for (const std::int64_t size : window) w.push_back(size);
    return w;
  };
  const Shape vector{channels};
  switch (id) {
  case OperatorId::convolve:
  case OperatorId::convolve_add_tied:
    sample.inputs = {tensor(type, x), tensor(type, weights(outs * groups, channels / groups))};
    if (id == OperatorId::convolve_add_tied) sample.inputs.push_back(tensor(type, {outs * groups}));
    values = {list_of({1 + below(2)}), list_of({below(3)}), Attribute{}, integer(groups)};
    return true;
  case OperatorId::transpose_convolve:
    sample.inputs = {tensor(type, x), tensor(type, weights(channels, outs))};
    values = {list_of({1 + below(2)}), Attribute{}, list_of({1 + below(2)}), integer(groups), Attribute{}};
    return true;
  case OperatorId::convolve_vjp_input: {
    // The cotangent has the sizes of a result, which kernels believe.
    const std::int64_t stride = 1 + below(2), padding = below(2);
    std::int64_t dilation = 1 + below(2);
    for (std::size_t i = 0; i < sizes.size(); ++i)
      if (sizes[i] + 2 * padding <= dilation * (window[i] - 1)) dilation = 1;
    Shape cotangent{batch, channels};
    for (std::size_t i = 0; i < sizes.size(); ++i)
      cotangent.push_back((sizes[i] + 2 * padding - dilation * (window[i] - 1) - 1) / stride + 1);
    sample.inputs = {tensor(type, cotangent), tensor(type, weights(channels, outs))};
    values = {list_of({stride}), list_of({padding}), list_of({dilation}), integer(groups), list_of(sizes)};
    return true;
  }
  case OperatorId::convolve_vjp_weights: {
    Shape large = x;
    for (int i = 2; i < large.rank(); ++i) large[i] += window[static_cast<std::size_t>(i - 2)] - 1;
    sample.inputs = {tensor(type, x), tensor(type, large)};
    values = {list_of({1}), list_of({0}), list_of({1}), integer(groups), list_of(window)};
    return true;
  }
  case OperatorId::max_pool:
  case OperatorId::max_pool_places:
  case OperatorId::pick_max:
  case OperatorId::average_pool:
    sample.inputs = {tensor(type, x)};
    if (id == OperatorId::pick_max) sample.inputs.push_back(tensor(type, x));
    values = {list_of({3}), list_of({1 + below(2)}), list_of({1})};
    if (id == OperatorId::average_pool) values.push_back(integer(below(2)));
    return true;
  case OperatorId::max_pool_vjp: {
    Shape small = x;
    for (int i = 2; i < x.rank(); ++i) small[i] = (x[i] - 1) / 2 + 1;
    sample.inputs = {tensor(type, small), tensor(type, x)};
    values = {list_of({3}), list_of({2}), list_of({1})};
    return true;
  }
  case OperatorId::max_pool_vjp_by_places: {
    Shape small = x;
    std::int64_t places = 1;
    for (int i = 2; i < x.rank(); ++i) {
      small[i] = (x[i] - 1) / 2 + 1;
      places *= 2; // those at a border have so many along an axis at least
    }
    sample.inputs = {tensor(type, small), bytes(small, places)};
    values = {list_of({3}), list_of({2}), list_of({1}), list_of(sizes)};
    return true;
  }
  case OperatorId::average_pool_vjp: {
    Shape small = x;
    for (int i = 2; i < x.rank(); ++i) small[i] = (x[i] - 1) / 2 + 1;
    sample.inputs = {tensor(type, small)};
    values = {list_of({3}), list_of({2}), list_of({1}), integer(below(2)), list_of(sizes)};
    return true;
  }
  case OperatorId::adaptive_max_pool_vjp: {
    Shape small = x;
    for (int i = 2; i < x.rank(); ++i) small[i] = 2;
    sample.inputs = {tensor(type, small), tensor(type, x)};
    values = {list_of({2})};
    return true;
  }
  case OperatorId::interpolate_nearest:
  case OperatorId::interpolate_linear:
  case OperatorId::interpolate_nearest_vjp:
  case OperatorId::interpolate_linear_vjp:
    sample.inputs = {tensor(id == OperatorId::interpolate_nearest ? dtype() : type, x)};
    values = {list_of({about(1 + below(9), 21)})};
    if (id == OperatorId::interpolate_linear || id == OperatorId::interpolate_linear_vjp) values.push_back(integer(below(2)));
    return true;
  case OperatorId::adaptive_max_pool:
  case OperatorId::adaptive_pick_max:
  case OperatorId::adaptive_average_pool:
  case OperatorId::adaptive_average_pool_vjp:
    sample.inputs = {tensor(type, x)};
    if (id == OperatorId::adaptive_pick_max) sample.inputs.push_back(tensor(type, x));
    values = {list_of(std::vector<std::int64_t>(static_cast<std::size_t>(axes), about(1 + below(6), 11)))};
    return true;
  case OperatorId::batch_normalization_training:
  case OperatorId::batch_normalization_test:
  case OperatorId::group_normalization:
    sample.inputs = {tensor(type, x), tensor(type, vector), tensor(type, vector)};
    if (id == OperatorId::batch_normalization_test)
      for (int i = 0; i < 2; ++i) sample.inputs.push_back(tensor(DType::u8, vector));
    if (id == OperatorId::group_normalization) values = {integer(groups)};
    values.push_back(number(0.5));
    return true;
  case OperatorId::layer_normalization:
  case OperatorId::rms_normalization:
    sample.inputs = {tensor(type, x), tensor(type, {x[x.rank() - 1]})};
    if (id == OperatorId::layer_normalization) sample.inputs.push_back(tensor(type, {x[x.rank() - 1]}));
    values = {number(0.5)};
    return true;
  case OperatorId::layer_normalization_vjp: {
    Shape scale{x[x.rank() - 1]};
    if (one_in(2)) scale = {x[x.rank() - 2], x[x.rank() - 1]};
    sample.inputs = {tensor(type, x), tensor(type, x), tensor(type, scale)};
    values = {integer(below(2)), number(0.5)};
    return true;
  }
  case OperatorId::batch_normalization_vjp:
    sample.inputs = {tensor(type, x), tensor(type, x), tensor(type, vector)};
    values = {number(0.5)};
    return true;
  case OperatorId::mean_within:
    sample.inputs = {tensor(type, x), tensor(type, one_in(2) ? vector : Shape{x[x.rank() - 1]})};
    values = {integer(one_in(2) ? groups : 0)};
    return true;
  case OperatorId::normalization_vjp:
  case OperatorId::normalized: {
    const std::int64_t kind = below(3);
    const Shape scale = kind < 2 ? vector : Shape{x[x.rank() - 1]};
    if (id == OperatorId::normalization_vjp) sample.inputs.push_back(tensor(type, x));
    sample.inputs.push_back(tensor(type, x));
    sample.inputs.push_back(tensor(type, scale));
    values = {integer(kind), integer(groups), integer(below(2)), number(0.5)};
    return true;
  }
  case OperatorId::along_channels:
    sample.inputs = {tensor(type, vector), tensor(type, x)};
    return true;
  case OperatorId::channel_mean:
    sample.inputs = {tensor(type, x)};
    return true;
  default:
    return false;
  }
}

// The inputs on a device, in their layouts.
inline std::vector<Tensor> placed(Runtime& runtime, const Sample& sample, Device& device) {
  std::vector<Tensor> tensors;
  for (const Input& in : sample.inputs) {
    if (in.weak) {
      tensors.push_back(weak_number(in.number, in.number == static_cast<double>(static_cast<std::int64_t>(in.number))));
      continue;
    }
    Tensor t = runtime.from_host(in.dtype, in.shape, device, in.bytes.data());
    const auto integers = [](std::initializer_list<std::int64_t> numbers) {
      Attributes attributes;
      for (const std::int64_t n : numbers) attributes.values.push_back(Attribute::of_integer(n));
      return attributes;
    };
    if (in.first >= 0) t = runtime.apply(OperatorId::transpose, {t}, integers({in.first, in.second}));
    if (in.cut) t = runtime.apply(OperatorId::narrow, {t}, integers({-1, 1, in.shape[in.shape.rank() - 1] - 1}));
    tensors.push_back(t);
  }
  return tensors;
}

// All results.
inline std::vector<Tensor> applied(Runtime& runtime, const Sample& sample, std::vector<Tensor> inputs) {
  std::array<Tensor, kMostResults> out;
  const unsigned count = runtime.apply(operator_of(sample.op), inputs, {}, sample.attributes, out);
  return {out.begin(), out.begin() + count};
}

inline std::vector<char> bytes_of_all(Runtime& runtime, std::span<const Tensor> tensors) {
  std::vector<char> bytes;
  for (const Tensor& t : tensors) {
    const std::size_t before = bytes.size();
    bytes.resize(before + static_cast<std::size_t>(t.bytes()));
    runtime.read(t, bytes.data() + before);
  }
  return bytes;
}

struct Free : Ledger {
  void charge(std::int64_t bytes, std::int64_t /*beside*/) override { held += bytes; }
  std::int64_t held = 0;
};

// All operators but the one that the runtime performs itself.
inline std::vector<OperatorId> sampled_ids() {
  std::vector<OperatorId> ids;
  for (unsigned i = 0; i < kAllOperators; ++i)
    if (static_cast<OperatorId>(i) != OperatorId::to_device) ids.push_back(static_cast<OperatorId>(i));
  return ids;
}

} // namespace samples
