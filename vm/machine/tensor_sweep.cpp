// Reverse mode over tensors: the rule of one record at a time. Cotangents are added up in place where nobody else has their
// memory.
#include "ops/operators/lossy.h"
#include "ops/operators/registry.h"
#include "ops/operators/runtime.h"
#include "vm/machine/derivative_rules.h"
#include "vm/machine/engine.h"
#include "vm/machine/tensor_operands.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

namespace cairn::machine::tensors {

using ops::Device;
using ops::DType;
using ops::Tensor;
using tape::TensorRecord;

void accumulate(Engine& engine, Tape& tape, std::uint32_t node, Tensor cotangent) {
  auto [at, fresh] = tape.tensor_cotangents.try_emplace(node, std::move(cotangent)); // moved only where there was none
  if (!fresh) engine.tensors().runtime.accumulate(at->second, std::move(cotangent));
}

namespace {

// The cotangent of a node that nobody needs any more after this; empty: absent.
Tensor taken(Tape& tape, std::uint32_t node) {
  auto it = tape.tensor_cotangents.find(node);
  if (it == tape.tensor_cotangents.end()) return {};
  Tensor t = std::move(it->second);
  tape.tensor_cotangents.erase(it);
  return t;
}

// Adds the parts that are there to the cotangents of their nodes. Until then the work can be stopped and done again: `used` are
// what it began with, and they go now.
void add_parts(Engine& engine, Tape& tape, std::span<const std::uint32_t> nodes, std::span<Tensor> parts,
               std::span<Tensor> used) {
  std::uint64_t work = 0;
  std::optional<value::ChargedMap<std::uint32_t, const Tensor*>> first_parts; // by node, of many
  constexpr std::size_t kFew = 16;
  if (parts.size() > kFew && engine.meter().limits_work()) first_parts.emplace(engine.heap());
  // The part before the i-th that has the same node.
  auto part_before = [&](std::size_t i) -> const Tensor* {
    if (first_parts) {
      engine.meter().poll();
      auto [at, fresh] = first_parts->try_emplace(nodes[i], &parts[i]);
      return fresh ? nullptr : at->second;
    }
    for (std::size_t k = 0; k < i; ++k)
      if (nodes[k] == nodes[i] && !parts[k].empty()) return &parts[k];
    return nullptr;
  };
  for (std::size_t i = 0; i < parts.size() && engine.meter().limits_work(); ++i) {
    if (parts[i].empty() || parts[i].weak) continue;
    const auto found = tape.tensor_cotangents.find(nodes[i]);
    const Tensor* to = found != tape.tensor_cotangents.end() ? &found->second : part_before(i);
    if (to != nullptr) work += ops::Runtime::work_to_accumulate(*to, parts[i]);
  }
  engine.meter().foresee(work);
  engine.meter().hold();
  for (Tensor& t : used) t = {};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].empty()) continue;
    if (parts[i].weak)
      tape.accumulate(nodes[i], parts[i].number);
    else
      accumulate(engine, tape, nodes[i], std::exchange(parts[i], {}));
  }
}

// Adds a part that is zero but for some elements to the sum that the node has, stopped and done again as add_parts().
void add_onto(Engine& engine, Tape& tape, std::uint32_t node, ops::AddedOnto part, std::span<Tensor> used) {
  Tensor& sum = tape.tensor_cotangents.at(node);
  if (engine.meter().limits_work()) engine.meter().foresee(ops::Runtime::work_to_add_onto(sum, part));
  engine.meter().hold();
  for (Tensor& t : used) t = {};
  engine.tensors().runtime.add_onto(sum, std::move(part));
}

// May the first operand's part be added onto a sum? That hangs on what has been swept alone, and on the device.
bool adds_onto_sum(const Tape& tape, const TensorRecord& r, std::span<const Tensor> inputs) {
  if (r.op->vjp_memory != ops::VjpMemory::onto || r.operands[0] == tape::kNone) return false;
  const auto sum = tape.tensor_cotangents.find(r.operands[0]);
  return sum != tape.tensor_cotangents.end() && ops::Runtime::can_add_onto(sum->second, inputs[0]);
}

const Tensor& computed_again(Engine& engine, Tape& tape, std::uint32_t node);

// The operands of a record, with those that a lean tape does not keep: all, or only those that the reverse rule asks for.
void fill_operands(Engine& engine, Tape& tape, const TensorRecord& r, std::span<Tensor> inputs, bool all) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Tensor& t = inputs[i];
    if (t.storage || t.weak || r.operands[i] == tape::kNone || !(all || r.asks_for(i)) || t.elements() == 0) continue;
    t = computed_again(engine, tape, r.operands[i]);
  }
}

// Whether the sweep will ask once more for a result that was computed again, as far as the next operations tell: their rules may,
// and whoever computes their results, and views show it.
bool is_wanted_again(const Tape& tape, std::uint32_t node) {
  const auto records = tape.tensors();
  const auto behind =
      std::upper_bound(records.begin(), records.end(), node, [](std::uint32_t n, const auto& r) { return n < r->node; });
  const TensorRecord& maker = **(behind - 1);
  if (maker.results != 1 || maker.asks_for_result(0) || records.end() - behind > tape::kLooksAhead) return true;
  return std::any_of(behind, records.end(), [&](const auto& r) {
    for (std::size_t i = 0; i < r->operands.size(); ++i) {
      if (r->operands[i] != node) continue;
      if (r->kind != TensorRecord::Kind::apply || r->op->view != nullptr) return true;
      if (r->asks_for(i)) return true;
      if (!tape.computed_again.contains(r->node)) return true;
    }
    return false;
  });
}

// A result that a lean tape does not keep: its operator applied once more. It stays until the sweep has passed that operation, or
// nobody wants it any more.
const Tensor& computed_again(Engine& engine, Tape& tape, std::uint32_t node) {
  if (const auto found = tape.computed_again.find(node); found != tape.computed_again.end()) return found->second;
  const TensorRecord* const maker = tape.maker_of(node);
  if (maker == nullptr || maker->kind != TensorRecord::Kind::apply) throw ProgramError("a tensor that no tape keeps");
  std::vector<Tensor> inputs = maker->inputs.all();
  fill_operands(engine, tape, *maker, inputs, true);
  std::array<Tensor, ops::kMostResults> outputs;
  const unsigned results = engine.tensors().runtime.apply(*maker->op, inputs, {}, maker->attributes, outputs);
  for (unsigned i = 0; i < results; ++i) {
    tape.computed_again.insert_or_assign(maker->node + i, std::move(outputs[i]));
    tape.computed_last.push_back(maker->node + i);
  }
  for (const std::uint32_t operand : maker->operands)
    if (operand != tape::kNone && tape.computed_again.contains(operand) && !is_wanted_again(tape, operand))
      tape.computed_again.erase(operand);
  return tape.computed_again.at(node);
}

// Of a tensor whose cotangent is to be what an error does to it, only operations that measure that, and views.
bool adds_to_cotangent(const Tensor& input, const Tensor& output) {
  const double mark = ops::mark_of(input);
  return mark >= 0 || mark == ops::kMeasured || ops::mark_of(output) < 0;
}

// `parts`: room for those of all operands, and behind them for the operands.
void sweep_operator(Engine& engine, Tape& tape, const TensorRecord& r, std::span<const Tensor> outputs,
                    std::span<Tensor> cotangents, std::span<Tensor> parts) {
  ops::Runtime& runtime = engine.tensors().runtime;
  std::size_t n = r.inputs.size();
  const value::Charged listed(engine.heap(), engine.heap().scratch, bytes_beside(n));
  std::array<bool, 4> few{}; // operands; only lists have more
  std::unique_ptr<bool[]> many;
  if (n > few.size()) many = std::make_unique<bool[]>(n);
  const std::span<bool> wanted(many != nullptr ? many.get() : few.data(), n);
  const std::span<Tensor> inputs = parts.subspan(n);
  r.inputs.read(inputs);
  for (std::size_t i = 0; i < n; ++i) wanted[i] = tape.varies(r.operands[i]) && adds_to_cotangent(inputs[i], outputs[0]);
  const bool measured = ops::multiplies_with_cotangent(r.op->lossy) && wanted[1] && ops::mark_of(inputs[1]) == ops::kMeasured;
  std::array<Tensor, 2> smaller;
  const bool in_place = r.smaller.size() != 0 && !r.is_lossy(); // of all that the rule asks for
  const bool normalized = r.is_lossy() && r.op->normalized != nullptr;
  if (r.smaller.size() != 0) r.smaller.read(smaller);
  if (!in_place) fill_operands(engine, tape, r, inputs, false);
  if (normalized)
    smaller[0] = ops::decoded(runtime, std::exchange(smaller[0], {}), inputs[0], r.encoded_small);
  else if (r.is_lossy() && wanted[1])
    inputs[0] = ops::decoded(runtime, std::exchange(smaller[0], {}), inputs[0], r.encoded_small);
  if (measured) {
    parts[1] = ops::error_variance({runtime, *r.op, inputs, outputs, cotangents, r.attributes, wanted, {}});
    wanted[1] = false;
  }
  ops::AddedOnto onto;
  r.op->vjp({runtime,
             *r.op,
             inputs,
             outputs,
             cotangents,
             r.attributes,
             wanted,
             {parts.data(), n},
             cotangents,
             in_place || normalized ? smaller.data() : nullptr,
             adds_onto_sum(tape, r, inputs) ? &onto : nullptr});
  if (onto.op != nullptr) {
    check_nan(engine, shown_name(*r.op), cotangents[0], ": reverse sweep");
    add_onto(engine, tape, r.operands[0], std::move(onto), cotangents);
    return;
  }
  if (measured) wanted[1] = true;
  for (std::size_t i = 0; i < n; ++i) {
    if (!wanted[i]) parts[i] = {};
    if (parts[i].empty()) continue;
    check_nan(engine, shown_name(*r.op), parts[i], ": reverse sweep");
    if (inputs[i].weak && !parts[i].weak) parts[i] = ops::weak_number(runtime.read_number(parts[i]), false);
    // The cotangent of what streams streams too, or those of all parameters would fill the device.
    if (Device* const home = inputs[i].device();
        home != nullptr && home->wrapped() != nullptr && home->wrapped() == parts[i].device())
      parts[i] = runtime.moved_to(std::exchange(parts[i], {}), *home);
  }
  add_parts(engine, tape, r.operands, {parts.data(), n}, cotangents);
}

void sweep_pack(Engine& engine, Tape& tape, const TensorRecord& r, const Tensor& cotangent) {
  const value::Charged charged(engine.heap(), engine.heap().scratch,
                               cotangent.elements() * static_cast<std::int64_t>(sizeof(double)));
  std::vector<double> numbers = engine.tensors().runtime.read_numbers(cotangent);
  engine.meter().hold();
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (r.operands[i] != tape::kNone) tape.accumulate(r.operands[i], numbers[i]);
}

// The cotangents of the numbers behind the record, as a tensor like the one they came from.
void sweep_unpack(Engine& engine, Tape& tape, const TensorRecord& r) {
  const Tensor like = r.inputs.all()[0];
  if (ops::mark_of(like) < 0) return;
  value::ChargedVector<double> numbers(r.count, engine.heap());
  bool any = false;
  for (std::uint32_t i = 0; i < r.count; ++i) {
    double c = tape.cotangent(r.node + r.results + i);
    if (tape::is_absent(c)) continue;
    any = true;
    numbers[i] = c;
  }
  if (!any) return;
  ops::Runtime& runtime = engine.tensors().runtime;
  Tensor wide = runtime.from_host(DType::f64, like.shape, *r.attributes[0].device(), numbers.data());
  if (like.dtype != DType::f64) wide = runtime.cast(wide, like.dtype);
  add_parts(engine, tape, r.operands, {&wide, 1}, {});
}

// The rule of an operator of the host's. What it is given and gives are no objects of the program: serials stay.
void sweep_host(Engine& engine, Tape& tape, const TensorRecord& r, const Tensor& cotangent) {
  const HostProcedure& host = engine.options.hosts[r.count];
  value::Heap& heap = engine.heap();
  std::uint64_t serial = heap.next_serial;
  Values arguments(heap), given(heap);
  const std::vector<Tensor> inputs = r.inputs.all();
  for (const Tensor& t : inputs) arguments.add(t.weak ? number_of(t) : heap.make_tensor(t));
  given.add(heap.make_tensor(r.outputs.all()[0]));
  given.add(heap.make_tensor(cotangent));
  Values parts(heap);
  parts.list.assign(inputs.size(), value::kUnspecified);
  host.reverse(arguments.list, given.list[0], given.list[1], parts.list);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Value part = parts.list[i];
    if (part == value::kUnspecified || r.operands[i] == tape::kNone || ops::mark_of(inputs[i]) < 0) continue;
    if (inputs[i].weak) {
      if (!part.is_flonum() && !part.is_integer())
        throw ProgramError(fmt::format("{}: its reverse rule: the cotangent of argument {}: expected a number, got {}", host.name,
                                       i + 1, engine.describe(part)));
      tape.accumulate(r.operands[i], engine.to_double(part));
      continue;
    }
    rules::Owned fit(heap, fitted(engine, part, arguments.list[i], (host.name + ": its reverse rule: a cotangent").c_str()));
    const Tensor& t = value::tensor_of(fit.v);
    check_nan(engine, host.name, t, ": reverse sweep");
    accumulate(engine, tape, r.operands[i], t);
  }
  heap.next_serial = serial;
}

void sweep_operator(Engine& engine, Tape& tape, const TensorRecord& r, std::span<const Tensor> outputs,
                    std::span<Tensor> cotangents) {
  const std::size_t n = r.inputs.size();
  if (n <= 2) {
    std::array<Tensor, 4> few;
    sweep_operator(engine, tape, r, outputs, cotangents, {few.data(), 2 * n});
  } else {
    std::vector<Tensor> many(2 * n);
    sweep_operator(engine, tape, r, outputs, cotangents, many);
  }
}

// A record with results. `most`: of them; making room for three takes longer than much of the rest.
template <unsigned most> void sweep_results(Engine& engine, Tape& tape, const TensorRecord& r) {
  std::array<Tensor, most> cotangents;
  bool any = false;
  for (std::uint32_t i = 0; i < r.results; ++i) {
    cotangents[i] = taken(tape, r.node + i);
    any = any || !cotangents[i].empty();
  }
  if (!any) return;
  std::array<Tensor, most> outputs;
  r.outputs.read(outputs);
  // Kernels believe shapes, and a cotangent may come from a file that no machine wrote.
  for (std::uint32_t i = 0; i < r.results; ++i)
    if (!cotangents[i].empty() && (!(cotangents[i].shape == outputs[i].shape) || cotangents[i].dtype != outputs[i].dtype))
      throw ProgramError("a cotangent that is not like its tensor");
  const std::span<Tensor> given(cotangents.data(), r.results);
  try {
    switch (r.kind) {
    case TensorRecord::Kind::apply:
      for (std::uint32_t i = 0; i < r.results; ++i)
        if (r.asks_for_result(i) && !outputs[i].storage && outputs[i].elements() != 0)
          outputs[i] = computed_again(engine, tape, r.node + i);
      sweep_operator(engine, tape, r, {outputs.data(), r.results}, given);
      break;
    case TensorRecord::Kind::host: {
      const ops::Meter::Uninterrupted whole(engine.meter()); // what the host has done cannot be done again
      sweep_host(engine, tape, r, cotangents[0]);
      break;
    }
    case TensorRecord::Kind::identity: {
      Tensor part = cotangents[0];
      add_parts(engine, tape, r.operands, {&part, 1}, given);
      break;
    }
    default:
      sweep_pack(engine, tape, r, cotangents[0]);
    }
  } catch (...) { // stopped, or memory was refused: it will begin with them again
    for (std::uint32_t i = 0; i < r.results; ++i)
      if (!cotangents[i].empty()) tape.tensor_cotangents.insert_or_assign(r.node + i, std::move(cotangents[i]));
    for (const std::uint32_t node : tape.computed_last) tape.computed_again.erase(node); // their work does not count
    tape.computed_last.clear();
    throw;
  }
}

} // namespace

Value number_of(const Tensor& weak) {
  return weak.exact ? value::integer(static_cast<std::int64_t>(weak.number)) : value::flonum(weak.number);
}

void sweep(Engine& engine, Tape& tape) {
  const TensorRecord& r = *tape.last_tensor();
  engine.tensors().set_maker(engine, nullptr);
  translated(r.op != nullptr ? std::string_view(shown_name(*r.op)) : "", [&] {
    if (r.kind == TensorRecord::Kind::unpack) {
      sweep_unpack(engine, tape, r);
      return;
    }
    if (r.results == 1)
      sweep_results<1>(engine, tape, r);
    else
      sweep_results<ops::kMostResults>(engine, tape, r);
  });
  tape.tensor_swept();
}

} // namespace cairn::machine::tensors
