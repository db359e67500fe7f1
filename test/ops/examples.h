// Example operands for every differentiable operator: what its derivatives are checked on.
#pragma once

#include "test/ops/testing.h"

namespace cairn::ops::test {

struct Operand {
  Shape shape;
  double low = -2, high = 2;
  std::optional<double> number;    // a number of the program
  std::vector<std::int64_t> order; // the operand is a permuted view: not row-major
  bool flags = false;              // of type u8, 0 or 1: never differentiated
  std::int64_t below = 0;          // indices, of type i64, below this: never differentiated
  double diagonal = 0;             // added to the diagonal of matrices
};

inline Operand in(Shape shape, double low = -2, double high = 2) {
  Operand o;
  o.shape = shape;
  o.low = low;
  o.high = high;
  return o;
}
inline Operand permuted(Operand o, std::vector<std::int64_t> order) {
  o.order = std::move(order);
  return o;
}
inline Operand flags(Shape shape) {
  Operand o = in(shape, 0, 2);
  o.flags = true;
  return o;
}

// Its elements, one behind the other.
inline std::vector<double> numbers_of(const Operand& o, std::mt19937_64& random) {
  if (o.number) return {*o.number};
  std::vector<double> numbers = numbers_between(random, o.shape.elements(), o.low, o.high);
  if (o.flags)
    for (double& d : numbers) d = d < 1 ? 0 : 1;
  if (o.below != 0)
    for (double& d : numbers) d = static_cast<double>(random() % static_cast<std::uint64_t>(o.below));
  if (o.diagonal != 0) {
    const std::int64_t n = o.shape[o.shape.rank() - 1];
    for (std::size_t k = 0; k < numbers.size(); ++k)
      if (static_cast<std::int64_t>(k) % (n * n) % (n + 1) == 0) numbers[k] += o.diagonal;
  }
  return numbers;
}
inline bool is_differentiated(const Operand& o) { return !o.flags && o.below == 0; }
// What the operator is given for these elements: a number, or a tensor, of `floating` if it is differentiated.
inline Tensor tensor_of(World& world, const Operand& o, const std::vector<double>& numbers, DType floating = DType::f64) {
  if (o.number) return weak_number(numbers[0], false);
  Tensor t = world.tensor(o.shape, numbers, o.flags ? DType::u8 : o.below != 0 ? DType::i64 : floating);
  return o.order.empty() ? t : applied(world.rt, OperatorId::permute, {t}, with({list(o.order)}));
}

struct Example {
  OperatorId op;
  std::vector<Operand> operands;
  std::vector<Attribute> attributes;
  bool smooth = true; // has a second derivative near here
};

// `elsewhere`: a second device.
std::vector<Example> examples(Device& elsewhere);
// Those of ops/operators_networks.def.
void add_network_examples(std::vector<Example>& all);

// Those of ops/operators_elements.def (examples_elements.cpp).
void add_examples_of_elements(std::vector<Example>& all);

} // namespace cairn::ops::test
