// Applications of operators on elements whose operands need care (samples.h).
#pragma once

#include "samples.h"

namespace samples {

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

} // namespace samples
