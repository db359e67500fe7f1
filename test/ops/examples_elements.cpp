// Examples for the operators of ops/operators_elements.def; see examples.h.
#include "test/ops/examples.h"

namespace cairn::ops::test {

namespace {

Operand indices(Shape shape, std::int64_t below) {
  Operand o = in(shape);
  o.below = below;
  return o;
}
// Matrices far from singular.
Operand matrices(Shape shape) {
  Operand o = in(shape, -1, 1);
  o.diagonal = 4;
  return o;
}

} // namespace

void add_examples_of_elements(std::vector<Example>& all) {
  using O = OperatorId;
  auto add = [&](O op, std::vector<Operand> operands, std::vector<Attribute> attributes = {}, bool smooth = true) {
    all.push_back(Example{op, std::move(operands), std::move(attributes), smooth});
  };
  auto unary = [&](O op, double low, double high, bool smooth = true) {
    add(op, {in({3, 4}, low, high)}, {}, smooth);
    add(op, {permuted(in({2, 3, 2}, low, high), {2, 0, 1})}, {}, smooth);
    add(op, {in({}, low, high)}, {}, smooth);
  };
  for (const O op : {O::sinh, O::cosh, O::asinh, O::expm1, O::gelu_tanh}) unary(op, -2, 2);
  unary(O::acosh, 1.2, 3);
  unary(O::atanh, -0.8, 0.8);
  unary(O::log1p, -0.6, 2);
  for (const O op : {O::sign, O::floor, O::ceiling, O::truncate, O::round}) unary(op, -2, 2, false);
  unary(O::elu, -2, 2, false);
  add(O::elu, {in({7})}, {number(0.3)}, false);

  add(O::embedding, {in({5, 3}), indices({2, 4}, 5)});
  add(O::embedding, {permuted(in({2, 3, 5}), {2, 1, 0}), indices({4}, 5)});
  add(O::embedding, {in({4}), indices({3}, 4)});
  for (const O op : {O::with_part, O::add_part}) {
    add(op, {in({3, 5}), in({2, 2})}, {list({1, 3})});
    add(op, {permuted(in({2, 3, 4}), {1, 2, 0}), permuted(in({2, 1, 3}), {2, 0, 1})}, {list({0, 1, 1})});
    add(op, {in({4}), in({4})}, {list({0})});
    add(op, {in({}), in({})}, {list({})});
  }
  add(O::gather, {in({3, 5}), indices({2, 4}, 5)}, {integer(1)});
  add(O::gather, {permuted(in({3, 4, 2}), {1, 0, 2}), indices({6, 3, 2}, 4)}, {integer(-3)});
  add(O::scatter_add, {in({3, 5}), indices({2, 4}, 5), in({2, 4})}, {integer(1)});
  add(O::scatter_add, {in({4, 3}), indices({6, 3}, 4), permuted(in({3, 6}), {1, 0})}, {integer(0)});

  for (const O op : {O::min_over, O::prod, O::norm, O::logsumexp, O::variance}) {
    const bool smooth = op != O::min_over;
    add(op, {in({3, 4}, 0.3, 2)}, {}, smooth);
    add(op, {in({2, 3, 4}, 0.3, 2)}, {list({1})}, smooth);
    add(op, {in({2, 3, 4}, 0.3, 2)}, {list({0, -1}), integer(1)}, smooth);
    add(op, {permuted(in({2, 3, 4}, 0.3, 2), {1, 2, 0})}, {list({2})}, smooth);
  }
  // Where elements are 0, some derivatives are not; nor is there anything to divide by.
  add(O::prod, {in({2}, 0, 0)});
  add(O::prod, {in({2, 3}, 0, 0)}, {list({0})});
  add(O::prod_along, {in({3}, 0, 0), in({3})});
  add(O::prod_along, {in({2, 3}), permuted(in({3, 2}), {1, 0}), in({2, 3})}, {list({-1}), integer(1)});
  add(O::norm, {in({3, 4})}, {list({1}), absent(), number(3)}, false);
  add(O::norm, {in({3, 4})}, {list({0}), absent(), number(1)}, false);
  add(O::variance, {in({3, 4})}, {list({1}), absent(), integer(1)});
  add(O::fused_softmax, {in({2, 3, 4}), flags({3, 4})}, {number(0.7)});
  add(O::fused_softmax, {permuted(in({4, 3}), {1, 0}), flags({4})}, {number(-1.5)});

  add(O::cross_entropy_loss, {in({4, 5}), indices({4}, 5)});
  add(O::cross_entropy_loss, {permuted(in({3, 2}), {1, 0}), indices({2}, 3)});
  add(O::mean_squared_error, {in({3, 4}), in({3, 4})});
  add(O::mean_squared_error, {permuted(in({3, 4}), {1, 0}), in({4, 3})});
  add(O::binary_cross_entropy, {in({3, 4}, 0.1, 0.9), in({3, 4}, 0, 1)});
  add(O::binary_cross_entropy_with_logits, {in({3, 4}), in({3, 4}, 0, 1)});
  add(O::dropout, {in({5, 4})}, {number(0.4)});
  add(O::dropout_planewise, {permuted(in({2, 3, 2, 2}), {0, 3, 1, 2})}, {number(0.4)});
  add(O::dropout, {permuted(in({2, 3, 5}), {1, 0, 2})}, {number(0.4), list({1, 0, 3}), list({4, 2, 9})});
  add(O::dropout_planewise, {in({2, 3, 4})}, {number(0.4), list({1, 2, 3}), list({3, 6, 9})});

  add(O::stack, {in({2, 3}), in({2, 3}), permuted(in({3, 2}), {1, 0})}, {integer(1)});
  add(O::stack, {in({2, 3}), in({2, 3})}, {integer(-1)});
  add(O::chunk, {in({5, 3})}, {integer(0), integer(2), integer(1)});
  add(O::slice, {in({7, 2})}, {integer(0), integer(1), integer(6), integer(2)});
  add(O::slice, {permuted(in({2, 5, 3}), {1, 2, 0})}, {integer(-3), integer(0), integer(5), integer(3)});
  add(O::slice, {in({2, 4})}, {integer(1), integer(1), integer(3), absent()});
  add(O::slice, {in({2, 4})}, {integer(1), integer(3), integer(4), integer(9)});
  add(O::crop, {in({4, 5})}, {list({1, 0}), list({2, 3})});
  add(O::tile, {in({2, 3})}, {list({2, 3})});
  add(O::tile, {in({2, 1, 3})}, {list({1, 4, 2})});
  add(O::flip, {in({3, 4})}, {list({-1})});
  add(O::flip, {permuted(in({3, 4, 2}), {2, 0, 1})}, {list({0, 2})});
  add(O::roll, {in({3, 4})}, {list({-1, 6}), list({0, 1})});
  for (const O op : {O::lower_triangle, O::upper_triangle}) {
    add(op, {in({2, 3, 4})});
    add(op, {in({3, 4})}, {integer(-1)});
  }
  add(O::cumulative_sum, {in({3, 4})}, {integer(0)});
  add(O::cumulative_sum, {in({2, 3, 4})}, {integer(-1)});
  add(O::sort, {in({3, 5})}, {}, false);
  add(O::sort, {in({5, 3})}, {integer(0)}, false);
  add(O::top_k, {in({3, 5})}, {integer(2)}, false);
  add(O::top_k, {in({5, 3})}, {integer(3), integer(0)}, false);

  add(O::cholesky, {matrices({3, 3})});
  add(O::cholesky, {matrices({2, 4, 4})});
  add(O::triangular_solve, {matrices({3, 3}), in({3, 2})});
  add(O::triangular_solve, {matrices({2, 3, 3}), in({2, 3, 2})}, {integer(0)});
  add(O::solve, {matrices({3, 3}), in({3, 2})});
  add(O::solve, {permuted(matrices({2, 3, 3}), {0, 2, 1}), in({2, 3, 1})});
  add(O::determinant, {in({3, 3})});
  add(O::determinant, {matrices({2, 2, 2})});
  add(O::determinant, {in({3, 3}, 0.5, 0.5)}); // of rank 1
  add(O::determinant, {in({2, 2}, 0, 0)});
  add(O::determinant_along, {in({3, 3}), in({3, 3})});
  add(O::determinant_along, {in({2, 3, 3}, 0.5, 0.5), permuted(in({2, 3, 3}), {0, 2, 1}), in({2, 3, 3})});
}

} // namespace cairn::ops::test
