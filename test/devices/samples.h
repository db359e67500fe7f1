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
  case OperatorId::own:
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
    values = {number(one_in(2) ? 0 : 0.125), integer(below(2))};
    return true;
  case OperatorId::max_bits:
  case OperatorId::min_bits:
    for (int i = 0; i < 2; ++i) {
      sample.inputs.push_back(tensor(floating(), one_in(2) ? s : shrunk(s)));
      if (i != 0 && one_in(4)) sample.inputs.back() = tensor_or_number(floating(), s);
    }
    return true;
  case OperatorId::first_bytes: {
    const std::int64_t all = s.elements();
    sample.inputs = {dense(DType::u8, Shape{all})};
    values = {integer(below(all + 1))};
    return true;
  }
  case OperatorId::decode_bounded: // of what is no encoding: zeros
    sample.inputs = {bytes(Shape{s.elements()}, 256)};
    values = {list(Shape{s.elements()}), integer(static_cast<std::int64_t>(floating())), integer(one_in(2) ? 1 : 0)};
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
    // What is behind the bytes of an encoding is undefined (test/ops/lossy_test.cpp).
    if (const auto id = static_cast<OperatorId>(i); id != OperatorId::to_device && id != OperatorId::encode_bounded)
      ids.push_back(id);
  return ids;
}

} // namespace samples

#include "samples_elements.h"
#include "samples_over_space.h"
