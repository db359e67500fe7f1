// See host_operator.h. The reverse rule is called by the sweep (vm/machine/tensor_sweep.cpp).
#include "vm/runs/host_operator.h"

#include "vm/machine/derivative_rules.h"
#include "vm/machine/tensor_operands.h"

#include <fmt/format.h>

#include <algorithm>

namespace cairn::runs {

using machine::Engine;
using machine::HostProcedure;
using machine::ProgramError;
using machine::rules::Owned;
using machine::tensors::Values;
using tape::TensorRecord;
using value::Heap;
using value::Value;

namespace {

// The tensor that the host returned, as an object of the program.
Value tensor_of_host(Engine& engine, const HostProcedure& procedure, const char* what, Value given, const ops::Tensor* like) {
  Owned guard(engine.heap(), given);
  bool fits = value::is_tensor(given) && value::tensor_of(given).storage;
  if (fits && like != nullptr)
    fits = value::tensor_of(given).shape == like->shape && value::tensor_of(given).dtype == like->dtype;
  if (!fits)
    throw ProgramError(fmt::format("{}: {}: expected a tensor{} from the host, got {}", procedure.name, what,
                                   like != nullptr ? " of shape " + like->shape.text() : "", engine.describe(given)));
  return engine.heap().make_tensor(value::tensor_of(given));
}

void record(Engine& engine, tape::Tape& tape, const HostProcedure& procedure, std::span<const Value> arguments, Value result) {
  auto r = std::make_shared<TensorRecord>(engine.heap());
  std::vector<ops::Tensor> inputs;
  bool any = false;
  for (Value v : arguments) {
    r->operands.push_back(machine::tensors::node_of(tape, v));
    any = any || r->operands.back() != tape::kNone;
    inputs.push_back(value::is_tensor(v) ? value::tensor_of(v) : machine::tensors::weak(engine, v));
  }
  const ops::Tensor& y = value::tensor_of(result);
  if (!any || !ops::is_floating(y.dtype)) return;
  if (!procedure.reverse)
    throw ProgramError(procedure.name + ": the host gave it no reverse rule, and a derivative through it is asked for");
  r->kind = TensorRecord::Kind::host;
  r->count = static_cast<std::uint32_t>(&procedure - engine.options.hosts.data());
  r->serial = result.other()->serial;
  r->inputs = tape::KeptTensors(inputs);
  r->outputs = tape::KeptTensors({&y, 1});
  tape.add_tensor(std::move(r));
}

Value part_of(Value v, std::uint64_t tag, bool tangent) {
  if (!value::is_bundle(v) || value::as_bundle(v)->tag != tag) return tangent ? value::kUnspecified : v;
  return tangent ? value::as_bundle(v)->tangent : value::as_bundle(v)->primal;
}

} // namespace

Value call_operator(Engine& engine, const HostProcedure& procedure, std::span<const Value> arguments,
                    const std::function<Value()>& logged) {
  Heap& heap = engine.heap();
  tape::Tape* tape = engine.runs.back().tape;
  std::uint64_t tag = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    Value v = arguments[i];
    if (!engine.is_number(v) && !machine::tensors::is_tensor_like(v))
      throw ProgramError(
          fmt::format("{}: argument {}: expected a tensor or a number, got {}", procedure.name, i + 1, engine.describe(v)));
    if (value::is_bundle(v)) tag = std::max(tag, value::as_bundle(v)->tag);
  }
  auto is_dual = [](Value v) { return v.is_taped() || value::is_bundle(v); };
  bool nested = tag != 0 && (tape != nullptr || std::any_of(arguments.begin(), arguments.end(), [&](Value v) {
                               return is_dual(part_of(v, tag, false)) || is_dual(part_of(v, tag, true));
                             }));
  if (nested)
    throw ProgramError(procedure.name + ": the host knows its first derivatives only, and a derivative of those is asked for");

  // What the host sees is not of the program: serials stay.
  std::uint64_t serial = heap.next_serial;
  Values primals(heap);
  for (Value v : arguments)
    primals.add(engine.is_number(v) && !machine::tensors::is_tensor_like(v) ? Heap::retain(engine.primal(v))
                                                                            : machine::tensors::alias(engine, engine.primal(v)));
  Owned given(heap, logged ? logged() : procedure.call(primals.list));
  heap.next_serial = serial;
  Owned result(heap, tensor_of_host(engine, procedure, "its result", given.take(), nullptr));
  if (tag == 0) {
    if (tape != nullptr) record(engine, *tape, procedure, arguments, result.v);
    return result.take();
  }
  if (!ops::is_floating(value::tensor_of(result.v).dtype)) return result.take();
  if (!procedure.forward)
    throw ProgramError(procedure.name + ": the host gave it no forward rule, and a derivative through it is asked for");
  std::vector<Value> tangents;
  for (Value v : arguments) tangents.push_back(part_of(v, tag, true));
  serial = heap.next_serial;
  Owned made(heap, procedure.forward(primals.list, result.v, tangents));
  heap.next_serial = serial;
  Owned tangent(heap, tensor_of_host(engine, procedure, "its forward rule", made.take(), &value::tensor_of(result.v)));
  Value y = result.take();
  return heap.make_bundle(tag, y, tangent.take());
}

} // namespace cairn::runs
