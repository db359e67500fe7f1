// Every operator of the examples takes views as it takes copies of them that lie in rows: stretched along any of their axes,
// with gaps between rows, in memory of another order. So does its reverse rule, of operands and of the cotangent.
#include "ops/operators/registry.h"
#include "ops/operators/runtime.h"
#include "test/ops/examples.h"

#include <numeric>

using namespace cairn::ops;
using namespace cairn::ops::test;

namespace {

struct Named {
  std::string name;
  Tensor tensor;
};

// Views of the elements of a tensor, or of some of them again and again.
std::vector<Named> views_of(World& w, const Tensor& t) {
  std::vector<Named> views;
  const int rank = t.rank();
  for (unsigned stretched = 1; stretched < 1u << rank; ++stretched) {
    Tensor part = t;
    for (int axis = 0; axis < rank && t.shape[axis] != 0; ++axis)
      if ((stretched >> axis & 1) != 0)
        part = applied(w.rt, OperatorId::narrow, {part}, with({integer(axis), integer(0), integer(1)}));
    if (part.shape == t.shape) continue;
    const std::vector<std::int64_t> sizes(t.shape.begin(), t.shape.end());
    views.push_back({"stretched along axes " + std::to_string(stretched),
                     applied(w.rt, OperatorId::expand, {applied(w.rt, OperatorId::contiguous, {part})}, with({list(sizes)}))});
  }
  if (rank == 0) return views;
  const int last = rank - 1;
  const Tensor twice = applied(w.rt, OperatorId::concat, {t, t}, with({integer(last)}));
  views.push_back(
      {"with gaps", applied(w.rt, OperatorId::narrow, {twice}, with({integer(last), integer(0), integer(t.shape[last])}))});
  std::vector<std::int64_t> order(static_cast<std::size_t>(rank));
  std::iota(order.rbegin(), order.rend(), 0);
  const Tensor turned = applied(w.rt, OperatorId::contiguous, {applied(w.rt, OperatorId::permute, {t}, with({list(order)}))});
  views.push_back({"in another order", applied(w.rt, OperatorId::permute, {turned}, with({list(order)}))});
  return views;
}

// The same elements, in rows.
Tensor in_rows(World& w, const Tensor& t) { return w.tensor(t.shape, w.rt.read_numbers(t), t.dtype); }

struct Outcome {
  std::string fault;
  std::vector<std::vector<double>> numbers;
};

// What the operator makes of them, or what it says.
Outcome values(World& w, const Example& e, const std::vector<Tensor>& inputs) {
  Outcome outcome;
  try {
    for (const Tensor& t : all_applied(w.rt, e.op, inputs, with(e.attributes)))
      if (!t.empty()) outcome.numbers.push_back(w.rt.read_numbers(t));
  } catch (const OperatorError& error) {
    outcome.fault = error.what();
  }
  return outcome;
}

// What its reverse rule makes of the cotangent of the first result.
Outcome parts(World& w, const Example& e, std::vector<Tensor> inputs, const Tensor& cotangent) {
  const Operator& op = operator_of(e.op);
  std::array<Tensor, kMostResults> outputs = all_applied(w.rt, e.op, inputs, with(e.attributes));
  const auto results = static_cast<std::size_t>(std::ranges::count_if(outputs, [](const Tensor& t) { return !t.empty(); }));
  for (std::size_t i = 0; i < results; ++i)
    if (i != 0 || (op.keep & kKeepOutput) == 0) outputs[i] = description(outputs[i]);
  bool wanted[16] = {};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    wanted[i] = is_differentiated(e.operands[i]);
    if (!keeps_input(op, i) && !inputs[i].weak) inputs[i] = description(inputs[i]);
  }
  std::array<Tensor, kMostResults> cotangents;
  cotangents[0] = cotangent;
  std::vector<Tensor> made(inputs.size());
  op.vjp(VjpCall{w.rt,
                 op,
                 inputs,
                 {outputs.data(), results},
                 {cotangents.data(), results},
                 with(e.attributes),
                 std::span<const bool>(wanted, inputs.size()),
                 made});
  Outcome outcome;
  for (const Tensor& t : made) outcome.numbers.push_back(t.empty() ? std::vector<double>() : w.rt.read_numbers(t));
  return outcome;
}

void check_same(const Outcome& one, const Outcome& other, double tolerance) {
  CHECK(one.fault == other.fault);
  REQUIRE(one.numbers.size() == other.numbers.size());
  for (std::size_t k = 0; k < one.numbers.size(); ++k) {
    const std::vector<double>&a = one.numbers[k], &b = other.numbers[k];
    REQUIRE(a.size() == b.size());
    double most = 1;
    for (const double d : b)
      if (std::isfinite(d)) most = std::max(most, std::fabs(d));
    for (std::size_t i = 0; i < a.size(); ++i) {
      const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])) || std::fabs(a[i] - b[i]) <= tolerance * most;
      if (!same) CAPTURE(i);
      CHECK(same);
    }
  }
}

} // namespace

TEST_CASE("operators and their reverse rules take views as they take what lies in rows") {
  World w;
  CountingLedger other_ledger;
  const auto elsewhere = make_cpu_device(other_ledger);
  std::mt19937_64 random(17);
  for (const Example& e : examples(*elsewhere))
    for (const DType type : {DType::f64, DType::f32}) {
      const std::string name(operator_of(e.op).name);
      CAPTURE(name);
      const double tolerance = type == DType::f64 ? 1e-11 : 1e-4;
      std::vector<Tensor> inputs;
      for (const Operand& o : e.operands) inputs.push_back(tensor_of(w, o, numbers_of(o, random), type));
      const auto cotangent_for = [&](const std::vector<Tensor>& given) {
        const Tensor y = applied(w.rt, e.op, given, with(e.attributes));
        return w.tensor(y.shape, numbers_between(random, y.shape.elements(), -1, 1), y.dtype);
      };
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i].weak) continue;
        for (const Named& view : views_of(w, inputs[i])) {
          CAPTURE(i);
          CAPTURE(view.name);
          std::vector<Tensor> given = inputs, copied = inputs;
          given[i] = view.tensor;
          copied[i] = in_rows(w, view.tensor);
          const Outcome of_copy = values(w, e, copied);
          check_same(values(w, e, given), of_copy, tolerance);
          if (!of_copy.fault.empty()) continue;
          const Tensor cotangent = cotangent_for(copied);
          check_same(parts(w, e, given, cotangent), parts(w, e, copied, cotangent), tolerance);
        }
      }
      for (const Named& view : views_of(w, cotangent_for(inputs))) {
        CAPTURE(view.name);
        check_same(parts(w, e, inputs, view.tensor), parts(w, e, inputs, in_rows(w, view.tensor)), tolerance);
      }
    }
}
