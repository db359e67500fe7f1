// Small dense linear algebra: Cholesky factors, solutions of linear equations, determinants. Rules are products and solutions
// again (Giles, "Collected matrix derivative results", 2008).
#include "ops/cpu/matrices/linear_algebra.h"

#include "ops/operators/definitions.h"
#include "ops/operators/directions.h"
#include "ops/operators/region_rules.h"
#include "ops/operators/registry.h"
#include "ops/operators/runtime.h"
#include "ops/pointwise.h"

#include <fmt/format.h>

namespace cairn::ops {

namespace {

// So that reverse rules read like forward ones.
struct Reverse {
  Runtime& runtime;
  Tensor operator()(OperatorId op, std::initializer_list<Tensor> operands, const Attributes& attributes = {}) const {
    return runtime.apply(op, operands, attributes);
  }
};

void check_square(const Call& call) {
  const Shape& a = call.inputs[0].shape;
  if (a.rank() < 2 || a[a.rank() - 1] != a[a.rank() - 2])
    throw OperatorError(fmt::format("{}: a tensor of shape {} is no square matrix", shown_name(call.op), a.text()));
}

void infer_square(const Call& call, ResultTypes& results) {
  check_square(call);
  rules::infer_same(call, results);
  results[0].dtype = floating_of(results[0].dtype);
}

void infer_solve(const Call& call, ResultTypes& results) {
  check_square(call);
  const Tensor &a = call.inputs[0], &b = call.inputs[1];
  bool fits = a.rank() == b.rank();
  for (int i = 0; fits && i + 1 < a.rank(); ++i) fits = a.shape[i] == b.shape[i];
  if (!fits)
    throw OperatorError(fmt::format(
        "{}: shapes {} and {} do not go together{}", shown_name(call.op), a.shape.text(), b.shape.text(),
        b.rank() + 1 == a.rank() ? "; right sides are columns of matrices: (unsqueeze b -1) makes one of a vector" : ""));
  results[0].dtype = floating_of(promoted(a.dtype, b.dtype));
  results[0].shape = b.shape;
}

// Each column is solved for by itself.
void narrow_solve(const RegionCall& call) {
  const int columns = call.box.rank() - 1;
  for (Region& region : call.needed)
    for (int i = 0; i + 1 < columns; ++i) region.within(i, call.box[i]);
  call.needed[1].within(columns, call.box[columns]);
  for (Region& region : call.needed) region.loosen(Fit::loose); // of triangles only some
}
constexpr RegionRule kRegionsOfSolve = {"whole matrices of a stack, of right sides the same columns", narrow_solve};

Attributes flag(bool b) { return rules::attributes({Attribute::of_flag(b)}); }
Attributes diagonal(std::int64_t d) { return rules::attributes({Attribute::of_integer(d)}); }

Term transposed(const Term& t) { return apply(OperatorId::transpose, {t}); }
Term product(const Term& a, const Term& b) { return apply(OperatorId::matmul, {a, b}); }
OperatorId triangle(bool lower) { return lower ? OperatorId::lower_triangle : OperatorId::upper_triangle; }

// --- cholesky. What is below the diagonal, and half of what is on it: half the sum of the triangles with and without the
// diagonal.

void cholesky_vjp(const VjpCall& call) {
  if (!rules::wanted(call, 0)) return;
  const Reverse apply{call.runtime};
  using O = OperatorId;
  const Tensor &c = call.cotangents[0], &l = call.outputs[0], half = weak_number(0.5, false);
  const Tensor upper = apply(O::transpose, {l}), moved = apply(O::matmul, {upper, c});
  const Tensor part =
      apply(O::mul, {half, apply(O::add, {apply(O::lower_triangle, {moved}), apply(O::lower_triangle, {moved}, diagonal(-1))})});
  const Tensor left = apply(O::triangular_solve, {upper, part}, flag(false));
  const Tensor both = apply(O::triangular_solve, {upper, apply(O::transpose, {left})}, flag(false));
  const Tensor made = apply(O::mul, {half, apply(O::add, {both, apply(O::transpose, {both})})});
  call.results[0] = rules::fit(call.runtime, made, call.inputs[0]);
}

void cholesky_jvp(const JvpCall& call) {
  const Term &l = call.outputs[0], &t = *call.tangents[0];
  auto solved = [&](const Term& b) { return apply(OperatorId::triangular_solve, {l, b}); };
  const Term x = solved(transposed(solved(0.5 * (t + transposed(t)))));
  const Term part = 0.5 * (apply(OperatorId::lower_triangle, {x}) + apply(OperatorId::lower_triangle, {x}, diagonal(-1)));
  call.results[0] = product(l, part);
}

// --- triangular-solve and solve

bool is_lower(const Attributes& attributes) { return rules::integer_or(attributes, 0, 1) != 0; }

void triangular_solve_kernel(const KernelCall& call) { cpu::triangular_solve(call, is_lower(call.attributes)); }

template <bool triangular> void solve_vjp(const VjpCall& call) {
  if (!rules::wanted(call, 0) && !rules::wanted(call, 1)) return;
  const Reverse apply{call.runtime};
  using O = OperatorId;
  const bool lower = is_lower(call.attributes);
  const Tensor of_transposed = apply(O::transpose, {call.inputs[0]});
  const Tensor right = triangular ? apply(O::triangular_solve, {of_transposed, call.cotangents[0]}, flag(!lower))
                                  : apply(O::solve, {of_transposed, call.cotangents[0]});
  if (rules::wanted(call, 1)) call.results[1] = rules::fit(call.runtime, right, call.inputs[1]);
  if (!rules::wanted(call, 0)) return;
  Tensor left = apply(O::neg, {apply(O::matmul, {right, apply(O::transpose, {call.outputs[0]})})});
  if (triangular) left = apply(triangle(lower), {left});
  call.results[0] = rules::fit(call.runtime, left, call.inputs[0]);
}

template <bool triangular> void solve_jvp(const JvpCall& call) {
  const Term *ta = call.tangents[0], *tb = call.tangents[1];
  Term right = tb != nullptr ? *tb : Term(0.0);
  if (ta != nullptr) {
    const Term moved = product(triangular ? apply(triangle(is_lower(call.attributes)), {*ta}) : *ta, call.outputs[0]);
    right = tb != nullptr ? right - moved : -moved;
  }
  call.results[0] = apply(call.op.id, {call.inputs[0], right}, call.attributes);
}

// --- determinant

void infer_determinant(const Call& call, ResultTypes& results) {
  check_square(call);
  const Shape& a = call.inputs[0].shape;
  results[0].dtype = floating_of(call.inputs[0].dtype);
  results[0].shape = Shape(a.sizes().first(static_cast<std::size_t>(a.rank() - 2)));
}

void infer_determinant_vjp(const Call& call, ResultTypes& results) {
  results[0].dtype = call.inputs[0].dtype;
  results[0].shape = call.inputs[1].shape;
}

void infer_determinant_along(const Call& call, ResultTypes& results) {
  rules::check_directions(call);
  infer_determinant(call, results);
  for (const Tensor& t : call.inputs) results[0].dtype = promoted(results[0].dtype, t.dtype);
}

void determinant_vjp_kernel(const KernelCall& call) {
  cpu::determinant_vjp(call, static_cast<unsigned>(rules::integer_or(call.attributes, 0, 0)));
}

// Of determinant, and of its derivatives along directions.
void determinant_vjp_rule(const VjpCall& call) {
  for (unsigned i = 0; i < call.inputs.size(); ++i)
    if (rules::wanted(call, i)) {
      const Attributes which = rules::attributes({Attribute::of_integer(i)});
      call.results[i] = rules::fit(call.runtime, rules::with_cotangent(call, OperatorId::determinant_vjp, which), call.inputs[i]);
    }
}

void determinant_jvp(const JvpCall& call) { rules::along_directions(call, OperatorId::determinant_along); }

// Some n^3 for each n by n matrix, n^2 for each column of what is solved for.
Cost cost_of_matrices(const Call& call, const ResultTypes& results) {
  const Shape& a = call.inputs[0].shape;
  const auto n = static_cast<double>(a[a.rank() - 1]), elements = static_cast<double>(a.elements()),
             right = call.inputs.size() > 1 ? static_cast<double>(call.inputs[1].elements()) : 0.0;
  return Cost{n * (elements + 2 * right), (elements + 2 * right) * static_cast<double>(bytes_of(results.types[0].dtype))};
}

} // namespace

namespace definitions {

constinit const Definition cholesky = {.infer = infer_square,
                                       .regions = &regions::matrices,
                                       .kernel = cpu::cholesky,
                                       .vjp = cholesky_vjp,
                                       .jvp = cholesky_jvp,
                                       .keep = kKeepOutput,
                                       .cost = cost_of_matrices};
constinit const Definition triangular_solve = {.infer = infer_solve,
                                               .regions = &kRegionsOfSolve,
                                               .kernel = triangular_solve_kernel,
                                               .vjp = solve_vjp<true>,
                                               .jvp = solve_jvp<true>,
                                               .keep = keep_input(0) | kKeepOutput,
                                               .cost = cost_of_matrices};
constinit const Definition solve = {.infer = infer_solve,
                                    .regions = &kRegionsOfSolve,
                                    .kernel = cpu::solve,
                                    .vjp = solve_vjp<false>,
                                    .jvp = solve_jvp<false>,
                                    .keep = keep_input(0) | kKeepOutput,
                                    .cost = cost_of_matrices};
constinit const Definition determinant = {.infer = infer_determinant,
                                          .regions = &regions::matrices,
                                          .kernel = cpu::determinant,
                                          .vjp = determinant_vjp_rule,
                                          .jvp = determinant_jvp,
                                          .keep = keep_input(0),
                                          .cost = cost_of_matrices};
constinit const Definition determinant_along = {.infer = infer_determinant_along,
                                                .regions = &regions::matrices,
                                                .kernel = cpu::determinant_along,
                                                .vjp = determinant_vjp_rule,
                                                .jvp = determinant_jvp,
                                                .keep = kKeepInputs,
                                                .cost = cost_of_matrices};
constinit const Definition determinant_vjp = {
    .infer = infer_determinant_vjp, .regions = &regions::matrices, .kernel = determinant_vjp_kernel};

} // namespace definitions

} // namespace cairn::ops
