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
