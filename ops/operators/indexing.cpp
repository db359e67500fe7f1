// Elements by their indices: rows of a table, elements along an axis, the reverse of both, and indices as vectors of 0 and 1.
#include "ops/cpu/elements/indexing.h"
#include "ops/cpu/elements/adding.h"

#include "ops/operators/definitions.h"
#include "ops/operators/region_rules.h"
#include "ops/operators/registry.h"
#include "ops/pointwise.h"

#include <fmt/format.h>

namespace cairn::ops {

namespace {

void check_integers(const Call& call, unsigned operand) {
  const Tensor& t = call.inputs[operand];
  if (t.weak ? !t.exact : is_floating(t.dtype))
    throw OperatorError(fmt::format("{}: indices are integers, not {}", shown_name(call.op),
                                    t.weak ? std::string("other numbers")
                                           : fmt::format("{}; (cast t 'i64) makes indices of them", name_of(t.dtype))));
}

int axis_of(const Call& call) { return axis_in(shown_name(call.op), call.attributes[0].integer(), call.inputs[0].rank()); }

IndexBound along_axis(const Call& call) { return {1, call.inputs[0].shape[axis_of(call)]}; }

// --- embedding

void infer_embedding(const Call& call, ResultTypes& results) {
  const Tensor &table = call.inputs[0], &indices = call.inputs[1];
  check_integers(call, 1);
  if (table.rank() == 0) throw OperatorError("embedding: a tensor of shape () has no rows");
  results[0].dtype = table.dtype;
  results[0].shape = indices.shape;
  for (int i = 1; i < table.rank(); ++i) results[0].shape.push_back(table.shape[i]);
}

IndexBound rows_of_table(const Call& call) { return {1, call.inputs[0].shape[0]}; }

void embedding_vjp_rule(const VjpCall& call) {
  if (!rules::wanted(call, 0)) return;
  if (call.onto != nullptr) {
    *call.onto = {&operator_of(OperatorId::add_rows), {call.cotangents[0], call.inputs[1]}, 2, {}};
    return;
  }
  call.results[0] = call.runtime.apply(OperatorId::embedding_vjp, {call.cotangents[0], call.inputs[1]},
                                       rules::attributes({Attribute::of_list(call.inputs[0].shape.sizes())}));
}

void infer_embedding_vjp(const Call& call, ResultTypes& results) {
  results[0].dtype = call.inputs[0].dtype;
  results[0].shape = Shape{std::span<const std::int64_t>(call.attributes[0].list())};
}

IndexBound rows_of_sum(const Call& call) { return {2, call.inputs[0].shape[0]}; }

// An addition, and two elements read and one written, of the rows alone that are added to.
Cost cost_of_rows(const Call& call, const ResultTypes&) {
  const auto elements = static_cast<double>(call.inputs[1].elements());
  return {elements, 3 * elements * static_cast<double>(bytes_of(call.inputs[1].dtype))};
}

IndexBound rows_of_result(const Call& call) { return {1, call.attributes[0].list()[0]}; }

// --- gather

// Of whole rows that are meant by a vector of indices, as index_add takes them: (3) along axis 0 of (5 2).
std::string advice_on_indices(const Call& call, int axis) {
  const Tensor &t = call.inputs[0], &indices = call.inputs[1];
  if (indices.rank() != 1 || t.rank() < 2) return "";
  std::string stretched = "i";
  for (int i = 0; i < t.rank(); ++i)
    if (i != axis) stretched = fmt::format("(unsqueeze {} {})", stretched, i);
  Shape shape = t.shape;
  shape[axis] = indices.shape[0];
  return fmt::format("; a vector i of indices is stretched to all of them by (expand-tensor {} '{})", stretched, shape.text());
}

void infer_gather(const Call& call, ResultTypes& results) {
  const Tensor &t = call.inputs[0], &indices = call.inputs[1];
  check_integers(call, 1);
  const int axis = axis_of(call);
  bool fits = t.rank() == indices.rank();
  for (int i = 0; fits && i < t.rank(); ++i) fits = i == axis || indices.shape[i] <= t.shape[i];
  if (!fits)
    throw OperatorError(fmt::format("{}: indices of shape {} do not go with a tensor of shape {} along axis {}{}",
                                    shown_name(call.op), indices.shape.text(), t.shape.text(), axis,
                                    advice_on_indices(call, axis)));
  results[0].dtype = t.dtype;
  results[0].shape = indices.shape;
}

void gather_vjp(const VjpCall& call) {
  if (!rules::wanted(call, 0)) return;
  const Tensor& c = call.cotangents[0];
  call.results[0] = call.runtime.apply(OperatorId::scatter_add,
                                       {rules::zeros(call.runtime, c, call.inputs[0].shape), call.inputs[1], c}, call.attributes);
}

// --- scatter-add

void infer_scatter_add(const Call& call, ResultTypes& results) {
  const Tensor &base = call.inputs[0], &indices = call.inputs[1], &source = call.inputs[2];
  infer_gather(call, results);
  if (!(source.shape == indices.shape))
    throw OperatorError(fmt::format("scatter-add: indices of shape {} do not go with elements of shape {}", indices.shape.text(),
                                    source.shape.text()));
  results[0].dtype = promoted(base.dtype, source.dtype);
  results[0].shape = base.shape;
}

void scatter_add_vjp(const VjpCall& call) {
  if (rules::wanted(call, 0)) call.results[0] = rules::fit(call.runtime, call.cotangents[0], call.inputs[0]);
  if (rules::wanted(call, 2))
    call.results[2] =
        rules::fit(call.runtime, call.runtime.apply(OperatorId::gather, {call.cotangents[0], call.inputs[1]}, call.attributes),
                   call.inputs[2]);
}

void scatter_add_jvp(const JvpCall& call) {
  call.results[0] = apply(OperatorId::scatter_add,
                          {rules::tangent_or_zeros(call, 0), call.inputs[1], rules::tangent_or_zeros(call, 2)}, call.attributes);
}

// --- one-hot

void infer_one_hot(const Call& call, ResultTypes& results) {
  check_integers(call, 0);
  results[0].shape = call.inputs[0].shape;
  results[0].shape.push_back(call.attributes[0].integer());
  results[0].dtype = static_cast<DType>(rules::integer_or(call.attributes, 1, static_cast<std::int64_t>(DType::f32)));
}

IndexBound below_size(const Call& call) { return {0, call.attributes[0].integer()}; }

// --- regions: whatever an index may say

void narrow_embedding(const RegionCall& call) {
  Region &table = call.needed[0], &indices = call.needed[1];
  const int axes = indices.box.rank();
  for (int i = 0; i < axes; ++i) indices.within(i, call.box[i]);
  for (int i = 1; i < table.box.rank(); ++i) table.within(i, call.box[axes + i - 1]);
  table.loosen(Fit::loose);
}

// A part of a table, from rows that are added by indices.
void narrow_rows_made(const Box& box, Region& rows) {
  const int leading = rows.box.rank() - (box.rank() - 1);
  for (int i = 1; i < box.rank(); ++i) rows.within(leading + i - 1, box[i]);
  rows.loosen(Fit::loose);
}
void narrow_embedding_vjp(const RegionCall& call) { narrow_rows_made(call.box, call.needed[0]); }
void narrow_add_rows(const RegionCall& call) {
  regions::narrow_but(call.needed[0], call.box, 0);
  narrow_rows_made(call.box, call.needed[1]);
}

void narrow_gather(const RegionCall& call) {
  regions::narrow_but(call.needed[0], call.box, 1u << axis_of(call.call));
  regions::narrow_but(call.needed[1], call.box, 0);
  call.needed[0].loosen(Fit::loose);
}

// Along other axes there may be fewer indices than elements.
void narrow_scatter_add(const RegionCall& call) {
  regions::narrow_but(call.needed[0], call.box, 0);
  for (Region& region : call.needed.subspan(1)) {
    regions::narrow_but(region, call.box, 1u << axis_of(call.call));
    region.loosen(Fit::loose);
  }
}

void narrow_one_hot(const RegionCall& call) { regions::narrow_but(call.needed[0], call.box, 0); }

constexpr RegionRule kRowsByIndex = {"indices at its place, all rows of the table", narrow_embedding},
                     kRowsMade = {"all rows and indices", narrow_embedding_vjp},
                     kRowsAdded = {"its place, all rows and indices", narrow_add_rows},
                     kGathered = {"indices at its place, all along the axis", narrow_gather},
                     kScattered = {"its place, all indices and elements along the axis", narrow_scatter_add},
                     kOneHot = {"its place", narrow_one_hot};

} // namespace

namespace definitions {

constinit const Definition embedding = {.infer = infer_embedding,
                                        .regions = &kRowsByIndex,
                                        .kernel = cpu::embedding,
                                        .vjp = embedding_vjp_rule,
                                        .keep = keep_input(1),
                                        .vjp_memory = VjpMemory::onto,
                                        .indices = rows_of_table};
constinit const Definition add_rows = {.infer = rules::infer_same,
                                       .regions = &kRowsAdded,
                                       .kernel = cpu::add_rows,
                                       .may_overwrite = keep_input(0),
                                       .indices = rows_of_sum,
                                       .cost = cost_of_rows};
constinit const Definition embedding_vjp = {
    .infer = infer_embedding_vjp, .regions = &kRowsMade, .kernel = cpu::embedding_vjp, .indices = rows_of_result};
constinit const Definition gather = {.infer = infer_gather,
                                     .regions = &kGathered,
                                     .kernel = cpu::gather,
                                     .vjp = gather_vjp,
                                     .keep = keep_input(1),
                                     .indices = along_axis};
constinit const Definition scatter_add = {.infer = infer_scatter_add,
                                          .regions = &kScattered,
                                          .kernel = cpu::scatter_add,
                                          .vjp = scatter_add_vjp,
                                          .jvp = scatter_add_jvp,
                                          .keep = keep_input(1),
                                          .indices = along_axis};
constinit const Definition one_hot = {.infer = infer_one_hot, .regions = &kOneHot, .kernel = cpu::one_hot, .indices = below_size};

} // namespace definitions

} // namespace cairn::ops
