// Derivatives of every operator of the registry, on the examples: reverse rules against differences of values, forward rules
// against reverse rules, second derivatives against differences of first ones.
#include "ops/cpu/device/device.h"
#include "ops/operators/registry.h"
#include "ops/operators/rule_cost.h"
#include "ops/operators/runtime.h"
#include "test/ops/examples.h"

#include <set>

using namespace cairn::ops;
using namespace cairn::ops::test;

namespace {

struct DerivativeCase {
  World& world;
  const Example& example;
  Attributes attributes;
  std::vector<std::vector<double>> numbers; // of each operand

  DerivativeCase(World& w, const Example& e, std::mt19937_64& random) : world(w), example(e), attributes(with(e.attributes)) {
    for (const Operand& o : e.operands) numbers.push_back(numbers_of(o, random));
  }

  bool differentiable(std::size_t i) const { return is_differentiated(example.operands[i]); }
  std::vector<Tensor> inputs(const std::vector<std::vector<double>>& at) const {
    std::vector<Tensor> out;
    for (std::size_t i = 0; i < at.size(); ++i) out.push_back(tensor_of(world, example.operands[i], at[i]));
    return out;
  }
  Tensor value(const std::vector<std::vector<double>>& at) const { return applied(world.rt, example.op, inputs(at), attributes); }
  // A direction in which operand i may be changed, as the operand is given to the operator.
  Tensor direction(std::size_t i, const std::vector<double>& numbers_of_it) const {
    std::vector<std::vector<double>> at = numbers;
    at[i] = numbers_of_it;
    Tensor t = inputs(at)[i];
    return t.weak ? world.tensor({}, numbers_of_it) : t;
  }
};

double dot(const std::vector<double>& a, const std::vector<double>& b, double* size = nullptr) {
  REQUIRE(a.size() == b.size());
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += a[i] * b[i];
    if (size != nullptr) *size += std::fabs(a[i] * b[i]);
  }
  return sum;
}

// The parts of the cotangent, with only what the rule asked to keep.
std::vector<Tensor> reversed(const DerivativeCase& c, const Tensor& cotangent) {
  const Operator& op = operator_of(c.example.op);
  std::vector<Tensor> inputs = c.inputs(c.numbers);
  std::vector<Tensor> outputs = {applied(c.world.rt, op.id, inputs, c.attributes)};
  bool wanted[16] = {};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    wanted[i] = c.differentiable(i);
    if ((op.keep & keep_input(static_cast<unsigned>(i))) == 0 && !inputs[i].weak) inputs[i] = description(inputs[i]);
  }
  if ((op.keep & kKeepOutput) == 0) outputs[0] = description(outputs[0]);
  std::vector<Tensor> results(inputs.size());
  op.vjp(VjpCall{c.world.rt, op, inputs, outputs, std::span<const Tensor>(&cotangent, 1), c.attributes,
                 std::span<const bool>(wanted, inputs.size()), results});
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    CHECK(results[i].empty() == !c.differentiable(i));
    if (!results[i].empty()) {
      CHECK(results[i].shape == inputs[i].shape);
      CHECK(results[i].dtype == DType::f64);
    }
  }
  return results;
}

// As the numbers of the operand, undoing the permutation.
std::vector<double> in_order_of_operand(const DerivativeCase& c, std::size_t i, Tensor t) {
  const auto& order = c.example.operands[i].order;
  if (!order.empty()) {
    std::vector<std::int64_t> back(order.size());
    for (std::size_t k = 0; k < order.size(); ++k) back[static_cast<std::size_t>(order[k])] = static_cast<std::int64_t>(k);
    t = applied(c.world.rt, OperatorId::permute, {t}, with({list(back)}));
  }
  return c.world.rt.read_numbers(t);
}

template <class F> void each_case(F&& f) {
  World world;
  CountingLedger other_ledger;
  const auto elsewhere = make_cpu_device(other_ledger);
  std::mt19937_64 random(7);
  for (const Example& e : examples(*elsewhere)) {
    const std::string name(operator_of(e.op).name);
    std::string shapes;
    for (const Operand& o : e.operands) shapes += o.number ? " number" : " " + o.shape.text();
    CAPTURE(name);
    CAPTURE(shapes);
    const DerivativeCase c(world, e, random);
    f(c, random);
  }
}

// Where a rule makes the cotangents of the operands that are wanted, given the only reference to that of the result.
struct Made {
  std::vector<bool> over; // by operand: in the memory of the result's
  std::vector<std::int64_t> bytes;
  std::int64_t most = 0; // held at once beside what was there before
};

Made made_by_rule(const DerivativeCase& c, const std::vector<bool>& wanted) {
  const Operator& op = operator_of(c.example.op);
  std::vector<Tensor> inputs = c.inputs(c.numbers);
  std::array<Tensor, kMostResults> outputs = all_applied(c.world.rt, op.id, inputs, c.attributes);
  std::array<Tensor, kMostResults> cotangents;
  cotangents[0] = applied(c.world.rt, OperatorId::neg, {outputs[0]});
  const std::size_t results = static_cast<std::size_t>(
      std::find_if(outputs.begin(), outputs.end(), [](const Tensor& t) { return t.empty(); }) - outputs.begin());
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!keeps_input(op, i) && !inputs[i].weak) inputs[i] = description(inputs[i]);
  for (std::size_t i = 0; i < results; ++i)
    if (i != 0 || (op.keep & kKeepOutput) == 0) outputs[i] = description(outputs[i]);
  const Storage* const memory = cotangents[0].storage.get();
  std::vector<Tensor> parts(inputs.size());
  bool flags[16] = {};
  std::copy(wanted.begin(), wanted.end(), flags);
  CountingLedger& ledger = c.world.ledger;
  const std::int64_t before = ledger.held;
  ledger.most = before;
  op.vjp(VjpCall{c.world.rt,
                 op,
                 inputs,
                 {outputs.data(), results},
                 {cotangents.data(), results},
                 c.attributes,
                 std::span<const bool>(flags, inputs.size()),
                 parts,
                 {cotangents.data(), results}});
  Made made;
  made.most = ledger.most - before;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    made.over.push_back(wanted[i] && parts[i].storage.get() == memory);
    made.bytes.push_back(wanted[i] ? parts[i].bytes() : 0);
  }
  return made;
}

} // namespace

TEST_CASE("every differentiable operator has an example") {
  CountingLedger ledger;
  const auto cpu = make_cpu_device(ledger);
  std::set<OperatorId> shown;
  for (const Example& e : examples(*cpu)) shown.insert(e.op);
  for (const Operator& op : all_operators()) {
    const std::string name(op.name);
    CAPTURE(name);
    CHECK((op.vjp != nullptr) == shown.contains(op.id));
  }
}

TEST_CASE("reverse rules make cotangents where their operators say") {
  std::set<VjpMemory> met;
  each_case([&](const DerivativeCase& c, std::mt19937_64&) {
    const Operator& op = operator_of(c.example.op);
    const Tensor y = c.value(c.numbers);
    const std::vector<Operand>& operands = c.example.operands;
    // Where an operand is not row-major, whether a cotangent is as well hangs on the layouts of all.
    const bool in_order = std::ranges::all_of(operands, [](const Operand& o) { return o.order.empty(); });
    std::vector<std::vector<bool>> choices;
    std::vector<bool> all;
    for (std::size_t i = 0; i < operands.size(); ++i) all.push_back(c.differentiable(i));
    choices.push_back(all);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (!all[i]) continue;
      choices.emplace_back(operands.size(), false);
      choices.back()[i] = true;
    }
    for (const std::vector<bool>& wanted : choices) {
      const Made made = made_by_rule(c, wanted);
      std::size_t first = wanted.size(), last = 0, over = 0;
      std::int64_t own = 0, larger = 0;
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (!wanted[i]) continue;
        first = std::min(first, i);
        last = i;
        over += made.over[i] ? 1 : 0;
        own += made.over[i] ? 0 : made.bytes[i];
        if (made.bytes[i] != y.bytes()) larger = y.bytes(); // until it is summed
      }
      CAPTURE(first);
      CAPTURE(last);
      met.insert(op.vjp_memory);
      const bool fits = made.bytes[last] == y.bytes();
      switch (op.vjp_memory) {
      case VjpMemory::own:
      case VjpMemory::onto: // where there is a sum: another test
        break;
      case VjpMemory::shares:
        for (std::size_t i = first; i <= last; ++i) CHECK(made.over[i] == (wanted[i] && made.bytes[i] == y.bytes()));
        CHECK(made.most == own);
        break;
      case VjpMemory::parts:
        for (std::size_t i = first; i <= last; ++i) CHECK(made.over[i]);
        CHECK(made.most == 0);
        break;
      case VjpMemory::last_over: {
        if (!in_order) break;
        if (fits) CHECK(over == 1);
        CHECK(made.most <= own + (first == last ? 0 : larger));
        break;
      }
      case VjpMemory::first_over:
        CHECK(over == (wanted[0] ? 1 : 0));
        CHECK(made.over[0] == wanted[0]);
        break;
      }
    }
  });
  CHECK(met.size() == 6);
}

TEST_CASE("what a reverse rule is told to take is what it spends") {
  std::size_t compared = 0;
  each_case([&](const DerivativeCase& c, std::mt19937_64&) {
    const Operator& op = operator_of(c.example.op);
    if (op.vjp == nullptr || op.id == OperatorId::to_device) return; // what is on another device anyway
    std::vector<Tensor> inputs = c.inputs(c.numbers);
    const std::array<Tensor, kMostResults> made = all_applied(c.world.rt, op.id, inputs, c.attributes);
    std::vector<Tensor> outputs;
    for (const Tensor& t : made)
      if (!t.empty()) outputs.push_back(t);
    for (std::size_t results = outputs.size(); results > 0; results -= results > 1 ? results - 1 : 1) { // all, or the first alone
      std::vector<Tensor> cotangents = outputs, parts(inputs.size());
      bool given[kMostResults] = {};
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        given[i] = i < results;
        if (!given[i]) cotangents[i] = {};
      }
      bool wanted[16] = {};
      for (std::size_t i = 0; i < inputs.size(); ++i) wanted[i] = c.differentiable(i);
      const std::span<const bool> flags(wanted, inputs.size());
      AddedOnto onto;
      Tensor sum = op.vjp_memory == VjpMemory::onto ? c.world.rt.cast(inputs[0], inputs[0].dtype) : Tensor();
      Meter meter;
      {
        const Meter::Installed installed(&meter);
        op.vjp(VjpCall{c.world.rt,
                       op,
                       inputs,
                       outputs,
                       cotangents,
                       c.attributes,
                       flags,
                       parts,
                       {},
                       nullptr,
                       Runtime::can_add_onto(sum, inputs[0]) ? &onto : nullptr});
        if (onto.op != nullptr) c.world.rt.add_onto(sum, std::move(onto));
      }
      std::vector<Tensor> described;
      for (const Tensor& t : inputs) described.push_back(t.weak ? t : description(t));
      std::vector<Tensor> described_results;
      for (const Tensor& t : outputs) described_results.push_back(description(t));
      Meter unheard;
      const Meter::Installed installed(&unheard);
      const std::int64_t held = c.world.ledger.held;
      const auto told =
          cost_of_rule({op, described, c.attributes, nullptr}, described_results, {given, outputs.size()}, flags, {});
      REQUIRE(told.has_value());
      CHECK(told->operations == meter.operations());
      CHECK(told->cost.flops == meter.spent().flops);
      CHECK(told->cost.bytes == meter.spent().bytes);
      CHECK(told->cost.products == meter.spent().products);
      CHECK(unheard.work() == 0);
      CHECK(c.world.ledger.held == held);
      ++compared;
    }
  });
  CHECK(compared > 100);
}

TEST_CASE("reverse rules agree with differences of values") {
  each_case([](const DerivativeCase& c, std::mt19937_64& random) {
    const Tensor y = c.value(c.numbers);
    const std::vector<double> weights = numbers_between(random, y.elements(), -1, 1);
    const Tensor cotangent = c.world.rt.from_host(DType::f64, y.shape, *y.device(), weights.data());
    const std::vector<Tensor> parts = reversed(c, cotangent);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!c.differentiable(i)) continue;
      const std::vector<double> slope = in_order_of_operand(c, i, parts[i]);
      double largest = 0;
      for (const double d : slope) largest = std::max(largest, std::fabs(d));
      for (std::size_t k = 0; k < slope.size(); ++k) {
        auto at = [&](double shift) {
          std::vector<std::vector<double>> numbers = c.numbers;
          numbers[i][k] += shift;
          return dot(weights, c.world.rt.read_numbers(c.value(numbers)));
        };
        const double h = 1e-5;
        const double difference = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
        CHECK(std::fabs(difference - slope[k]) <= 1e-7 * std::max(largest, 0.01));
      }
    }
  });
}

TEST_CASE("forward rules are adjoint to reverse rules") {
  each_case([](const DerivativeCase& c, std::mt19937_64& random) {
    Runtime& rt = c.world.rt;
    const std::vector<Tensor> inputs = c.inputs(c.numbers);
    Values values(rt);
    Duals duals(&values);
    double by_reverse = 0, size = 0;
    std::vector<Term> terms;
    std::vector<std::uint64_t> handles;
    const Tensor y = c.value(c.numbers);
    const std::vector<double> weights = numbers_between(random, y.elements(), -1, 1);
    const std::vector<Tensor> parts = reversed(c, rt.from_host(DType::f64, y.shape, *y.device(), weights.data()));
    terms.reserve(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      std::optional<Term> tangent;
      if (c.differentiable(i)) {
        const std::vector<double> u = numbers_between(random, static_cast<std::int64_t>(c.numbers[i].size()), -1, 1);
        const Tensor direction = c.direction(i, u);
        by_reverse += dot(rt.read_numbers(parts[i]), rt.read_numbers(direction), &size);
        tangent = values.term(direction);
      }
      terms.push_back(duals.term(values.term(inputs[i]), std::move(tangent)));
      handles.push_back(terms.back().handle());
    }
    const Term out(duals, duals.apply(c.example.op, handles, c.attributes));
    const std::optional<Term>& tangent = duals.tangent(out);
    REQUIRE(tangent);
    Tensor t = values.tensor(*tangent);
    CHECK(t.dtype == DType::f64);
    t = applied(rt, OperatorId::expand, {t}, with({list({y.shape.begin(), y.shape.end()})}));
    const double by_forward = dot(weights, rt.read_numbers(t), &size);
    CHECK(std::fabs(by_forward - by_reverse) <= 1e-12 * size);
    terms.clear();
  });
}

TEST_CASE("forward rules of forward rules agree with differences") {
  each_case([](const DerivativeCase& c, std::mt19937_64& random) {
    if (!c.example.smooth) return;
    Runtime& rt = c.world.rt;
    // All operands move along u, and the slope along u is differentiated along v.
    std::vector<std::vector<double>> u, v;
    for (const auto& numbers : c.numbers) {
      u.push_back(numbers_between(random, static_cast<std::int64_t>(numbers.size()), -1, 1));
      v.push_back(numbers_between(random, static_cast<std::int64_t>(numbers.size()), -1, 1));
    }
    auto slope = [&](double shift) {
      std::vector<std::vector<double>> at = c.numbers;
      for (std::size_t i = 0; i < at.size(); ++i)
        if (c.differentiable(i))
          for (std::size_t k = 0; k < at[i].size(); ++k) at[i][k] += shift * v[i][k];
      const std::vector<Tensor> inputs = c.inputs(at);
      Values values(rt);
      Duals duals(&values);
      std::vector<Term> terms;
      std::vector<std::uint64_t> handles;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        std::optional<Term> tangent;
        if (c.differentiable(i)) tangent = values.term(c.direction(i, u[i]));
        terms.push_back(duals.term(values.term(inputs[i]), tangent));
        handles.push_back(terms.back().handle());
      }
      const Term out(duals, duals.apply(c.example.op, handles, c.attributes));
      const Tensor t = values.tensor(*duals.tangent(out));
      return rt.read_numbers(
          applied(rt, OperatorId::expand, {t},
                  with({list({values.tensor(duals.value(out)).shape.begin(), values.tensor(duals.value(out)).shape.end()})})));
    };
    std::vector<double> second;
    {
      const std::vector<Tensor> inputs = c.inputs(c.numbers);
      Values values(rt);
      Duals inner(&values);
      Duals outer(&inner);
      std::vector<Term> terms;
      std::vector<std::uint64_t> handles;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (!c.differentiable(i)) {
          terms.push_back(outer.term(inner.term(values.term(inputs[i]), std::nullopt), std::nullopt));
        } else {
          const Term x = inner.term(values.term(inputs[i]), values.term(c.direction(i, v[i])));
          terms.push_back(outer.term(x, inner.term(values.term(c.direction(i, u[i])), std::nullopt)));
        }
        handles.push_back(terms.back().handle());
      }
      const Term out(outer, outer.apply(c.example.op, handles, c.attributes));
      const std::optional<Term> both = inner.tangent(*outer.tangent(out));
      const Tensor y = values.tensor(inner.value(outer.value(out)));
      if (both)
        second = rt.read_numbers(
            applied(rt, OperatorId::expand, {values.tensor(*both)}, with({list({y.shape.begin(), y.shape.end()})})));
      else
        second.assign(static_cast<std::size_t>(y.elements()), 0);
      terms.clear();
    }
    const double h = 1e-4;
    const std::vector<double> a = slope(2 * h), b = slope(h), d = slope(-h), e = slope(-2 * h);
    double largest = 0.1;
    for (const double x : second) largest = std::max(largest, std::fabs(x));
    for (std::size_t k = 0; k < second.size(); ++k)
      CHECK(std::fabs((8 * (b[k] - d[k]) - (a[k] - e[k])) / (12 * h) - second[k]) <= 1e-7 * largest);
  });
}

TEST_CASE("derivatives have the types of what they are derivatives of") {
  each_case([](const DerivativeCase& c, std::mt19937_64& /*random*/) {
    Runtime& rt = c.world.rt;
    const Operator& op = operator_of(c.example.op);
    for (const DType type : {DType::f32, DType::bf16}) {
      std::vector<Tensor> inputs = c.inputs(c.numbers);
      bool wanted[16] = {};
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        wanted[i] = c.differentiable(i);
        if (!inputs[i].weak && is_floating(inputs[i].dtype))
          inputs[i] = applied(rt, OperatorId::cast, {inputs[i]}, World::types(type));
      }
      const Tensor y = applied(rt, op.id, inputs, c.attributes);
      std::vector<Tensor> parts(inputs.size());
      op.vjp(VjpCall{rt, op, inputs, std::span<const Tensor>(&y, 1), std::span<const Tensor>(&y, 1), c.attributes,
                     std::span<const bool>(wanted, inputs.size()), parts});
      Values values(rt);
      Duals duals(&values);
      std::vector<Term> terms;
      std::vector<std::uint64_t> handles;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (wanted[i]) CHECK(parts[i].dtype == (inputs[i].weak ? y.dtype : type));
        std::optional<Term> tangent;
        if (wanted[i] && !inputs[i].weak) tangent = values.term(inputs[i]);
        terms.push_back(duals.term(values.term(inputs[i]), tangent));
        handles.push_back(terms.back().handle());
      }
      const Term out(duals, duals.apply(op.id, handles, c.attributes));
      // Whoever applies the rule gives the tangent the type of the primal (vm/machine/tensor_apply.cpp).
      CHECK(is_floating(values.tensor(*duals.tangent(out)).dtype));
    }
  });
}
