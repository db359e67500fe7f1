// Attention: softmax of the products of queries and keys, times values. The operator has the bits of no composition of others,
// but is one, which the forward rule is made of; the reverse rule is one kernel that computes the weights again.
#include "ops/cpu/matrices/attention.h"
#include "ops/operators/definitions.h"
#include "ops/operators/region_rules.h"
#include "ops/operators/registry.h"
#include "ops/operators/runtime.h"
#include "ops/pointwise.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

namespace cairn::ops {

namespace {

cpu::Attention read(const Attributes& attributes) { return {attributes[0].number(), attributes[1].integer() != 0}; }

Shape leading(const Shape& shape) { return Shape(shape.sizes().first(static_cast<std::size_t>(shape.rank() - 2))); }
Shape with_matrix(Shape shape, std::int64_t rows, std::int64_t columns) {
  shape.push_back(rows);
  shape.push_back(columns);
  return shape;
}
std::int64_t from_end(const Shape& shape, int axis) { return shape[shape.rank() - axis]; }

void infer_attend(const Call& call, ResultTypes& results) {
  const Shape &q = call.inputs[0].shape, &k = call.inputs[1].shape, &v = call.inputs[2].shape;
  const auto refuse = [&] {
    return OperatorError(fmt::format("attend: queries of shape {}, keys of shape {} and values of shape {} do not go together",
                                     q.text(), k.text(), v.text()));
  };
  if (std::min({q.rank(), k.rank(), v.rank()}) < 2 || from_end(q, 1) != from_end(k, 1) || from_end(k, 2) != from_end(v, 2))
    throw refuse();
  Shape out;
  try {
    out = broadcast("attend", broadcast("attend", leading(q), leading(k)), leading(v));
  } catch (const OperatorError&) {
    throw refuse();
  }
  DType type = call.inputs[0].dtype;
  for (const Tensor& t : call.inputs) type = promoted(type, t.dtype);
  results[0].dtype = promoted_with_number(type, false);
  results[0].shape = with_matrix(out, from_end(q, 2), from_end(v, 1));
}

void attend_kernel(const KernelCall& call) {
  cpu::attend(read(call.attributes), call.outputs[0], call.inputs[0], call.inputs[1], call.inputs[2]);
}

// --- internal: (cotangent, q, k, v); parts with the leading axes of the cotangent

void infer_attend_vjp(const Call& call, ResultTypes& results) {
  const Tensor& c = call.inputs[0];
  results.count = 3;
  for (unsigned i = 0; i < 3; ++i) {
    const Shape& like = call.inputs[i + 1].shape;
    results[i].dtype = c.dtype;
    results[i].shape = with_matrix(leading(c.shape), from_end(like, 2), from_end(like, 1));
  }
}

void attend_vjp_kernel(const KernelCall& call) {
  const auto in = call.inputs, out = call.outputs;
  cpu::attend_vjp(read(call.attributes), {out[0], out[1], out[2]}, in[0], in[1], in[2], in[3]);
}

void attend_reverse(const VjpCall& call) {
  if (!rules::wanted(call, 0) && !rules::wanted(call, 1) && !rules::wanted(call, 2)) return;
  const cpu::Attention attention = read(call.attributes);
  Tensor operands[] = {call.cotangents[0], call.inputs[0], call.inputs[1], call.inputs[2]};
  std::array<Tensor, kMostResults> parts;
  call.runtime.apply(operator_of(OperatorId::attend_vjp), operands, {},
                     rules::attributes({Attribute::of_number(attention.scale), Attribute::of_flag(attention.causal)}), parts);
  for (unsigned i = 0; i < 3; ++i)
    if (rules::wanted(call, i)) call.results[i] = rules::fit(call.runtime, parts[i], call.inputs[i]);
}

// --- regions. Rows that do not see a key have it with a weight of 0, which is no number times one that is infinite: so all keys
// are needed by each row.

void narrow_members(const RegionCall& call) {
  const int leading = call.box.rank() - 2;
  for (Region& region : call.needed) region.stretched(region.box.rank() - 2, call.box, leading);
}
void narrow_rows(Region& region, const RegionCall& call) { region.within(region.box.rank() - 2, call.box[call.box.rank() - 2]); }
void narrow_columns(Region& region, const RegionCall& call) {
  region.within(region.box.rank() - 1, call.box[call.box.rank() - 1]);
}

void narrow_attend(const RegionCall& call) {
  narrow_members(call);
  narrow_rows(call.needed[0], call);
  narrow_columns(call.needed[2], call);
  // Rows that see one key or none do not ask which it is.
  if (read(call.call.attributes).causal || from_end(call.call.inputs[1].shape, 2) < 2)
    for (Region& region : call.needed) region.loosen(Fit::loose);
}

// (cotangent, q, k, v). The cotangents of keys and values are sums over all queries.
void narrow_attend_vjp(const RegionCall& call) {
  narrow_members(call);
  if (call.result == 0)
    for (Region& region : call.needed.first(2)) narrow_rows(region, call);
  if (call.result == 2) {
    narrow_columns(call.needed[0], call);
    call.needed[3].unseen();
  }
  for (Region& region : call.needed) region.loosen(Fit::loose);
}

constexpr RegionRule kRegionsOfAttention = {"its row of queries, all keys, all values of its column", narrow_attend},
                     kRegionsOfAttentionVjp = {"rows of queries and cotangents, all keys and values", narrow_attend_vjp};

// --- forward, by the composition

Term product(const Term& a, const Term& b) { return apply(OperatorId::matmul, {a, b}); }
Term transposed(const Term& t) { return apply(OperatorId::transpose, {t}); }

// -inf where a row does not see. Terms have no shapes: what is 1 or not is 1 everywhere together.
Term without_later(const Term& scores) {
  const Term ones = max(equal(scores, scores), apply(OperatorId::not_equal, {scores, scores}));
  return where(apply(OperatorId::lower_triangle, {ones}), scores, -std::numeric_limits<double>::infinity());
}

void attend_jvp(const JvpCall& call) {
  const Term &q = call.inputs[0], &k = call.inputs[1], &v = call.inputs[2];
  const cpu::Attention attention = read(call.attributes);
  const Term scaled = q * attention.scale;
  const Term scores = product(scaled, transposed(k));
  const Term weights = apply(OperatorId::softmax, {attention.causal ? without_later(scores) : scores});
  std::optional<Term> sum;
  const auto add = [&](const Term& part) { sum = sum ? *sum + part : part; };
  if (call.tangents[0] != nullptr) add(product(*call.tangents[0] * attention.scale, transposed(k)));
  if (call.tangents[1] != nullptr) add(product(scaled, transposed(*call.tangents[1])));
  if (sum) {
    const Term moved = weights * *sum;
    const Term all = apply(OperatorId::sum, {moved}, rules::attributes({Attribute::of_list({-1}), Attribute::of_flag(true)}));
    sum = product(moved - weights * all, v);
  }
  if (call.tangents[2] != nullptr) add(product(weights, *call.tangents[2]));
  if (sum) call.results[0] = *sum;
}

// --- cost, of the pairs of a row and what it sees; exponentials count as some twenty operations

double pairs(const Shape& out, std::int64_t keys, bool causal) {
  const auto rows = static_cast<double>(from_end(out, 2)), n = static_cast<double>(keys), whole = std::min(rows, n);
  double members = 1;
  for (int i = 0; i + 2 < out.rank(); ++i) members *= static_cast<double>(out[i]);
  return members * (causal ? whole * (whole + 1) / 2 + (rows - whole) * n : rows * n);
}

double bytes_moved(const Call& call, const ResultTypes& results) {
  double bytes = 0;
  for (const Tensor& t : call.inputs) bytes += static_cast<double>(t.elements()) * static_cast<double>(bytes_of(t.dtype));
  for (unsigned i = 0; i < results.count; ++i)
    bytes += static_cast<double>(results.types[i].shape.elements()) * static_cast<double>(bytes_of(results.types[i].dtype));
  return bytes;
}

Cost cost_of_attend(const Call& call, const ResultTypes& results) {
  const Shape &k = call.inputs[1].shape, &v = call.inputs[2].shape;
  const double n = pairs(results.types[0].shape, from_end(k, 2), read(call.attributes).causal);
  const auto width = static_cast<double>(from_end(k, 1)), of_v = static_cast<double>(from_end(v, 1));
  return Cost{25 * n, bytes_moved(call, results), 2 * n * (width + of_v)};
}

Cost cost_of_attend_vjp(const Call& call, const ResultTypes& results) {
  const Shape &k = call.inputs[2].shape, &v = call.inputs[3].shape;
  const double n = pairs(call.inputs[0].shape, from_end(k, 2), read(call.attributes).causal);
  const auto width = static_cast<double>(from_end(k, 1)), of_v = static_cast<double>(from_end(v, 1));
  return Cost{30 * n, bytes_moved(call, results), 2 * n * (3 * width + 2 * of_v)};
}

} // namespace

namespace definitions {

constinit const Definition attend = {.infer = infer_attend,
                                     .regions = &kRegionsOfAttention,
                                     .kernel = attend_kernel,
                                     .vjp = attend_reverse,
                                     .jvp = attend_jvp,
                                     .keep = keep_input(0) | keep_input(1) | keep_input(2),
                                     .cost = cost_of_attend};
constinit const Definition attend_vjp = {
    .infer = infer_attend_vjp, .regions = &kRegionsOfAttentionVjp, .kernel = attend_vjp_kernel, .cost = cost_of_attend_vjp};

} // namespace definitions

} // namespace cairn::ops
