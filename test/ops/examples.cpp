// See examples.h. A new operator that has derivatives gets its row here.
#include "test/ops/examples.h"

namespace cairn::ops::test {

namespace {

Operand the(double d) {
  Operand o;
  o.number = d;
  return o;
}

void unary(std::vector<Example>& all, OperatorId op, double low, double high, bool smooth = true) {
  all.push_back(Example{op, {in({3, 4}, low, high)}, {}, smooth});
  all.push_back(Example{op, {permuted(in({2, 3, 2}, low, high), {2, 0, 1})}, {}, smooth});
  all.push_back(Example{op, {in({}, low, high)}, {}, smooth});
}

void binary(std::vector<Example>& all, OperatorId op, double low, double high, bool smooth = true) {
  all.push_back(Example{op, {in({3, 4}, low, high), in({3, 4}, low, high)}, {}, smooth});
  all.push_back(Example{op, {in({3, 1, 2}, low, high), in({4, 1}, low, high)}, {}, smooth});
  all.push_back(Example{op, {permuted(in({2, 3}, low, high), {1, 0}), in({3, 2}, low, high)}, {}, smooth});
  all.push_back(Example{op, {in({5}, low, high), the(0.75)}, {}, smooth});
  all.push_back(Example{op, {the(1.25), in({5}, low, high)}, {}, smooth});
}

} // namespace

std::vector<Example> examples(Device& elsewhere) {
  using O = OperatorId;
  std::vector<Example> all;
  for (const O op : {O::add, O::sub, O::mul}) binary(all, op, -2, 2);
  binary(all, O::div, 0.5, 2);
  binary(all, O::expt, 0.3, 2);
  binary(all, O::atan2, 0.3, 2);
  binary(all, O::max, -2, 2, false);
  binary(all, O::min, -2, 2, false);
  all.push_back(Example{O::where, {flags({3, 4}), in({3, 4}), in({4})}, {}});
  all.push_back(Example{O::where, {flags({4}), in({3, 1}), the(2)}, {}});
  all.push_back(Example{O::where, {flags({4}), the(1), in({2, 4})}, {}});

  for (const O op : {O::weighted_sum, O::weighted_square_sum}) {
    all.push_back(Example{op, {in({3, 4}), in({3, 4}), the(.75), the(-.5)}, {}});
    all.push_back(Example{op, {the(0), in({3, 2}), in({2}), in({3, 1})}, {}});
    all.push_back(Example{op, {permuted(in({2, 3}), {1, 0}), in({3, 2}), the(2), the(.25)}, {}});
  }
  all.push_back(Example{O::add_deviations, {in({2, 3, 4}), in({3, 1}), in({2, 3, 4}), in({3, 1}), in({3, 1})}, {}});
  all.push_back(Example{O::add_deviations, {permuted(in({2, 3}), {1, 0}), in({3, 2}), in({2}), in({3, 2}), in({3, 1})}, {}});
  all.push_back(Example{O::adam_step, {in({3, 4}), in({3, 4}), in({3, 4}, .5, 2), the(1), the(.1), the(.75)}, {}});
  all.push_back(Example{
      O::adam_update,
      {in({3, 4}), in({3, 4}), in({3, 4}, .5, 2), in({3, 4}), the(.9), the(.1), the(.75), the(.25), the(1), the(.1), the(.75)},
      {}});
  all.push_back(Example{
      O::adam_update,
      {in({3, 2}), the(0), the(.5), in({3, 2}), the(.9), in({2}), the(.75), in({3, 1}, .1, 1), in({2}), the(.1), in({2}, .5, 1)},
      {}});
  all.push_back(Example{
      O::adam_step, {permuted(in({2, 3}), {1, 0}), in({3, 2}), in({3, 2}, .5, 2), in({2}), in({3, 1}), in({2}, .5, 1)}, {}});

  for (const O op :
       {O::neg, O::exp, O::sin, O::cos, O::atan, O::tanh, O::sigmoid, O::gelu, O::silu, O::softplus, O::square, O::erf})
    unary(all, op, -2, 2);
  for (const O op : {O::sqrt, O::log}) unary(all, op, 0.3, 3);
  for (const O op : {O::tan, O::asin, O::acos}) unary(all, op, -0.8, 0.8);
  for (const O op : {O::abs, O::relu, O::leaky_relu}) unary(all, op, -2, 2, false);
  all.push_back(Example{O::leaky_relu, {in({7})}, {number(0.2)}, false});

  const auto f64 = integer(static_cast<std::int64_t>(DType::f64));
  all.push_back(Example{O::cast, {in({2, 3})}, {f64}});
  const Attribute there = Attribute::of_device(elsewhere);
  all.push_back(Example{O::to_device, {in({2, 3})}, {there}});
  for (const O op : {O::contiguous, O::own}) all.push_back(Example{op, {permuted(in({2, 3}), {1, 0})}, {}});
  all.push_back(Example{O::view, {in({2, 6})}, {list({3, -1, 2})}});
  all.push_back(Example{O::view, {permuted(in({2, 6}), {1, 0})}, {list({12})}});
  all.push_back(Example{O::transpose, {in({2, 3, 4})}, {absent(), absent()}});
  all.push_back(Example{O::transpose, {in({2, 3, 4})}, {integer(0), integer(-1)}});
  all.push_back(Example{O::permute, {in({2, 3, 4})}, {list({2, 0, 1})}});
  all.push_back(Example{O::narrow, {in({4, 3})}, {integer(0), integer(1), integer(2)}});
  all.push_back(Example{O::expand, {in({3, 1})}, {list({2, 3, 4})}});
  all.push_back(Example{O::concat, {in({2, 3}), in({2, 1}), in({2, 2})}, {integer(1)}});
  all.push_back(Example{O::concat, {in({2, 3}), permuted(in({3, 1}), {1, 0})}, {integer(0)}});
  all.push_back(Example{O::pad, {in({2, 3})}, {list({1, 0}), list({2, -1}), number(3)}});
  all.push_back(Example{O::pad, {in({4})}, {list({-1}), list({2})}});

  for (const O op : {O::sum, O::mean, O::max_over}) {
    const bool smooth = op != O::max_over;
    all.push_back(Example{op, {in({3, 4})}, {}, smooth});
    all.push_back(Example{op, {in({2, 3, 4})}, {list({1})}, smooth});
    all.push_back(Example{op, {in({2, 3, 4})}, {list({0, -1}), integer(1)}, smooth});
    all.push_back(Example{op, {permuted(in({2, 3, 4}), {1, 2, 0})}, {list({2})}, smooth});
  }
  all.push_back(Example{O::sum_to, {in({2, 3, 4})}, {list({3, 1})}});

  all.push_back(Example{O::matmul, {in({3, 4}), in({4, 2})}, {}});
  all.push_back(Example{O::matmul, {in({4}), in({4})}, {}});
  all.push_back(Example{O::matmul, {in({4}), in({4, 3})}, {}});
  all.push_back(Example{O::matmul, {in({3, 4}), in({4})}, {}});
  all.push_back(Example{O::matmul, {in({2, 3, 4}), in({4, 2})}, {}});
  all.push_back(Example{O::matmul, {in({2, 3, 4}), in({4})}, {}});
  all.push_back(Example{O::matmul, {in({3}), in({2, 3, 2})}, {}});
  all.push_back(Example{O::matmul, {in({2, 1, 3, 2}), in({3, 2, 2})}, {}});
  all.push_back(Example{O::matmul, {permuted(in({3, 4}), {1, 0}), permuted(in({2, 3}), {1, 0})}, {}});
  for (const O op : {O::softmax, O::log_softmax}) {
    all.push_back(Example{op, {in({3, 4})}, {}});
    all.push_back(Example{op, {in({3, 4, 2})}, {integer(1)}});
  }
  add_examples_of_elements(all);
  add_network_examples(all);
  return all;
}

} // namespace cairn::ops::test
