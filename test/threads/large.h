// Applications of the operators that do more with an element than look at it, large enough for kernels to ask, in the middle of
// their work, whether they were cancelled, and to want scratch memory. What tests of cancellation and of scratch memory run,
// forwards and backwards.
#pragma once

#include "ops/operator_ids.h"
#include "ops/operators/registry.h"
#include "ops/operators/runtime.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace large {

using namespace cairn::ops;

// Counts what is held, and lends kernels as much scratch memory as it is told.
struct Account : Ledger {
  std::int64_t held = 0, room_left = Meter::kUnlimited, scratch = 0;
  Meter kept;
  void charge(std::int64_t bytes, std::int64_t /*beside*/) override { held += bytes; }
  Meter* meter() override { return &kept; }
  std::int64_t headroom() override { return room_left; }
  void note_scratch(std::int64_t bytes) override { scratch = std::max(scratch, bytes); }
};

inline Attribute integer(std::int64_t i) { return Attribute::of_integer(i); }
inline Attribute number(double d) { return Attribute::of_number(d); }
inline Attribute list(std::vector<std::int64_t> sizes) { return Attribute::of_list(std::move(sizes)); }
inline Attributes with(std::vector<Attribute> values, std::uint64_t key = 7) {
  Attributes a;
  a.values = std::move(values);
  a.key = key;
  return a;
}
inline Attribute type(DType t) { return integer(static_cast<std::int64_t>(t)); }

// Operands.
inline Tensor random(Runtime& r, std::vector<std::int64_t> sizes, DType t = DType::f32) {
  return r.apply(OperatorId::random_uniform, {}, with({list(std::move(sizes)), type(t), {}}));
}
inline Tensor cast(Runtime& r, const Tensor& x, DType t) { return r.apply(OperatorId::cast, {x}, with({type(t)})); }
inline Tensor times(Runtime& r, const Tensor& x, double factor) {
  return r.apply(OperatorId::mul, {x, weak_number(factor, false)});
}
// Integers below n.
inline Tensor indices(Runtime& r, std::vector<std::int64_t> sizes, std::int64_t n) {
  return cast(r, times(r, random(r, std::move(sizes)), static_cast<double>(n) * .999), DType::i64);
}
inline Tensor transposed(Runtime& r, const Tensor& x) { return r.apply(OperatorId::transpose, {x}, with({{}, {}})); }
// One number that is everywhere.
inline Tensor stretched(Runtime& r, std::vector<std::int64_t> sizes, DType t = DType::f32) {
  const std::vector<std::int64_t> ones(sizes.size(), 1);
  const Tensor one = r.apply(OperatorId::fill, {}, with({list(ones), number(1), type(t), {}}));
  return r.apply(OperatorId::expand, {one}, with({list(std::move(sizes))}));
}
// A matrix that Cholesky factors, and that is not singular.
inline Tensor definite(Runtime& r, std::int64_t n) {
  const Tensor x = random(r, {n, n}, DType::f64);
  const Tensor places =
      cast(r, r.apply(OperatorId::cumulative_sum, {stretched(r, {n}, DType::i64)}, with({integer(0)})), DType::i64);
  const Tensor unit = r.apply(OperatorId::one_hot, {r.apply(OperatorId::sub, {places, weak_number(1, true)})},
                              with({integer(n), type(DType::f64)}));
  return r.apply(OperatorId::add, {times(r, unit, static_cast<double>(n)), x});
}

struct Case {
  std::string name;
  OperatorId op;
  std::function<std::vector<Tensor>(Runtime&)> operands;
  Attributes attributes;
  bool reverse = true; // its rule is worth running too
};

inline std::vector<Case> cases() {
  using enum OperatorId;
  const auto one = [](std::vector<std::int64_t> sizes, DType t = DType::f32) {
    return [=](Runtime& r) { return std::vector{random(r, sizes, t)}; };
  };
  const auto two = [](std::vector<std::int64_t> a, std::vector<std::int64_t> b, DType t = DType::f32) {
    return [=](Runtime& r) { return std::vector{random(r, a, t), random(r, b, t)}; };
  };
  const auto across = [](std::vector<std::int64_t> sizes, DType t = DType::f32) {
    return [=](Runtime& r) { return std::vector{transposed(r, random(r, sizes, t))}; };
  };
  const auto rows = list({1}), columns = list({0}), all = list({0, 1});
  const std::vector<std::int64_t> grid = {1000, 1000}, line = {2, 400'000};
  std::vector<Case> c = {
      {"sum of all", sum, one(grid), with({all, {}}), false},
      {"sum of rows", sum, one(line), with({rows, {}}), false},
      {"sum of columns", sum, one(grid), with({columns, {}}), false},
      {"sum of what lies across", sum, across(grid), with({all, {}}), false},
      {"sum of integers", sum,
       [](Runtime& r) {
         return std::vector{indices(r, {1000, 1000}, 9)};
       },
       with({all, {}}), false},
      {"max-over", max_over, one(line), with({rows, {}})},
      {"argmax", argmax, one(line), with({integer(1), {}}), false},
      {"norm", norm, one(line), with({rows, {}, number(3)})},
      {"variance", variance, one(line), with({rows, {}, {}})},
      {"logsumexp", logsumexp, one(line), with({rows, {}})},
      {"prod", prod, one({4, 400'000}, DType::f64), with({rows, {}})},
      {"exp", exp, one(grid), {}},
      {"sum with what lies across",
       add,
       [](Runtime& r) {
         return std::vector{random(r, {1000, 1000}), transposed(r, random(r, {1000, 1000}))};
       },
       {}},
      {"cast", OperatorId::cast, one(grid), with({type(DType::i32)}), false},
      {"contiguous", contiguous, across(grid), {}, false},
      {"concat-tensors", concat, two(grid, grid), with({integer(0)}), false},
      {"tile", tile, one({500, 500}), with({list({2, 2})})},
      {"embedding",
       embedding,
       [](Runtime& r) {
         return std::vector{random(r, {1000, 64}), indices(r, {20'000}, 1000)};
       },
       {}},
      {"gather", gather,
       [](Runtime& r) {
         return std::vector{random(r, {2, 400'000}), indices(r, {2, 400'000}, 400'000)};
       },
       with({integer(1)})},
      {"scatter-add", scatter_add,
       [](Runtime& r) {
         return std::vector{random(r, {2, 400'000}), indices(r, {2, 400'000}, 400'000), random(r, {2, 400'000})};
       },
       with({integer(1)})},
      {"one-hot", one_hot, [](Runtime& r) { return std::vector{indices(r, {400'000}, 2)}; }, with({integer(2), {}}), false},
      {"cross-entropy-loss",
       cross_entropy_loss,
       [](Runtime& r) {
         return std::vector{random(r, {4, 200'000}), indices(r, {4}, 200'000)};
       },
       {}},
      {"mean-squared-error", mean_squared_error, two(line, line), {}},
      {"sort", OperatorId::sort, one(line), with({{}})},
      {"sort of what lies across", OperatorId::sort, one({400'000, 2}), with({integer(0)})},
      {"argsort", argsort, one(line, DType::f64), with({{}}), false},
      {"top-k of few", top_k, one(line), with({integer(5), {}})},
      {"top-k of many", top_k, one(line), with({integer(90'000), {}})},
      {"cumulative-sum of rows", cumulative_sum, one(line), with({integer(1)})},
      {"cumulative-sum of columns", cumulative_sum, one(grid), with({integer(0)})},
      {"softmax of rows", softmax, one(line), with({{}})},
      {"softmax of columns", softmax, one(grid), with({integer(0)})},
      {"log-softmax", log_softmax, one(line), with({{}})},
      {"fused-scale-mask-softmax", fused_softmax,
       [](Runtime& r) {
         return std::vector{random(r, {2, 400'000}), indices(r, {2, 400'000}, 2)};
       },
       with({number(.5)})},
      {"attend", attend,
       [](Runtime& r) {
         return std::vector{random(r, {2, 500, 40}), random(r, {2, 600, 40}), random(r, {2, 600, 30})};
       },
       with({number(.1), {}})},
      {"attend to what is not later", attend,
       [](Runtime& r) {
         return std::vector{random(r, {500, 40}), random(r, {500, 40}), random(r, {500, 30})};
       },
       with({number(.1), integer(1)})},
      {"matmul", matmul, two({300, 300}, {300, 300}), {}},
      {"matmul of doubles", matmul, two({200, 200}, {200, 200}, DType::f64), {}},
      {"matmul of integers",
       matmul,
       [](Runtime& r) {
         return std::vector{indices(r, {150, 150}, 9), indices(r, {150, 150}, 9)};
       },
       {},
       false},
      {"matrix times vector", matmul, two({1000, 1000}, {1000, 1}), {}},
      {"outer product", matmul, two({1000, 1}, {1, 1000}), {}},
      {"cholesky", cholesky, [](Runtime& r) { return std::vector{definite(r, 200)}; }, {}},
      {"solve",
       solve,
       [](Runtime& r) {
         return std::vector{definite(r, 150), random(r, {150, 150}, DType::f64)};
       },
       {}},
      {"triangular-solve", triangular_solve,
       [](Runtime& r) {
         return std::vector{definite(r, 150), random(r, {150, 150}, DType::f64)};
       },
       with({{}})},
      {"determinant", determinant, [](Runtime& r) { return std::vector{definite(r, 150)}; }, {}},
      {"convolve", convolve, two({2, 16, 40, 40}, {16, 16, 3, 3}), with({{}, {}, {}, {}})},
      {"convolve with strides", convolve, two({2, 16, 61, 61}, {3, 16, 5, 5}), with({list({2, 2}), {}, {}, {}})},
      {"convolve in double", convolve, two({2, 16, 40, 40}, {16, 16, 3, 3}, DType::f64), with({{}, {}, {}, {}})},
      {"max-pool", max_pool, one({2, 8, 120, 120}), with({list({3, 3}), {}, {}})},
      {"average-pool", average_pool, one({2, 8, 120, 120}), with({list({3, 3}), {}, {}, {}})},
      {"interpolate-linear", interpolate_linear, one({2, 8, 60, 60}), with({list({130, 130}), {}})},
      {"interpolate-nearest of a line", interpolate_nearest, one({1, 1, 2000}), with({list({400'000})})},
      {"batch-normalization-training", batch_normalization_training,
       [](Runtime& r) {
         return std::vector{random(r, {64, 2, 60, 60}), random(r, {2}), random(r, {2})};
       },
       with({{}})},
      {"group-normalization", group_normalization,
       [](Runtime& r) {
         return std::vector{random(r, {2, 4, 300, 300}), random(r, {4}), random(r, {4})};
       },
       with({integer(2), {}})},
      {"layer-normalization", layer_normalization,
       [](Runtime& r) {
         return std::vector{random(r, {2, 400'000}), random(r, {400'000}), random(r, {400'000})};
       },
       with({{}})},
      {"rand", random_uniform, [](Runtime&) { return std::vector<Tensor>(); }, with({list({1000, 1000}), {}, {}}), false},
      {"randn", random_normal, [](Runtime&) { return std::vector<Tensor>(); }, with({list({1000, 1000}), {}, {}}), false},
      {"dropout", dropout, one(grid), with({number(.5)})},
  };
  return c;
}

inline std::vector<Tensor> forwards(Runtime& r, const Case& c, std::vector<Tensor> operands) {
  std::vector<Tensor> results(kMostResults);
  results.resize(r.apply(operator_of(c.op), operands, {}, c.attributes, results));
  return results;
}

// The rule's results at cotangents of ones.
inline std::vector<Tensor> backwards(Runtime& r, const Case& c, const std::vector<Tensor>& operands,
                                     const std::vector<Tensor>& results) {
  const Operator& op = operator_of(c.op);
  std::vector<Tensor> cotangents, parts(operands.size());
  for (const Tensor& t : results) {
    const std::vector<std::int64_t> sizes(t.shape.begin(), t.shape.end());
    cotangents.push_back(is_floating(t.dtype) ? r.apply(OperatorId::fill, {}, with({list(sizes), number(1), type(t.dtype), {}}))
                                              : Tensor{});
  }
  const auto wanted = std::make_unique<bool[]>(operands.size());
  for (std::size_t i = 0; i < operands.size(); ++i) wanted[i] = is_floating(operands[i].dtype);
  op.vjp({r, op, operands, results, cotangents, c.attributes, {wanted.get(), operands.size()}, parts});
  return parts;
}

inline std::vector<char> bytes_of(Runtime& r, const std::vector<Tensor>& tensors) {
  std::vector<char> all;
  for (const Tensor& t : tensors) {
    if (t.empty() || t.weak) continue;
    const std::size_t at = all.size();
    all.resize(at + static_cast<std::size_t>(t.bytes()));
    r.read(t, all.data() + at);
  }
  return all;
}

} // namespace large
