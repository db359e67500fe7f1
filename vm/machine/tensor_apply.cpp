// Operators applied to values: forward levels are taken off, the outermost first; what is left is computed at once and recorded
// if the tape has any of it.
#include "ops/operator_ids.h"
#include "ops/operators/lossy.h"
#include "ops/operators/registry.h"
#include "ops/operators/runtime.h"
#include "ops/pieces.h"
#include "vm/machine/derivative_rules.h"
#include "vm/machine/engine.h"
#include "vm/machine/errors.h"
#include "vm/machine/recorded.h"
#include "vm/machine/tensor_operands.h"
#include "vm/value/tensor_object.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace cairn::machine::tensors {

using ops::OperatorId;
using ops::Tensor;
using rules::Owned;
using tape::TensorRecord;

namespace {

// What an operator gives, owned until somebody takes it. Without memory of its own: making it costs as much as the rest of a
// small operation.
class Results {
public:
  explicit Results(Heap& heap) : heap_(&heap) {}
  Results(Results&& o) noexcept : heap_(o.heap_), count_(std::exchange(o.count_, 0)), values_(o.values_) {}
  Results& operator=(Results&&) = delete;
  ~Results() {
    for (unsigned i = 0; i < count_; ++i) heap_->release(values_[i]);
  }
  void add(Value v) { values_[count_++] = v; }
  unsigned size() const { return count_; }
  Value operator[](unsigned i) const { return values_[i]; }
  Value take(unsigned i) { return std::exchange(values_[i], value::kUnspecified); }

private:
  Heap* heap_;
  unsigned count_ = 0;
  std::array<Value, ops::kMostResults> values_; // as many as there are
};

Results applied(Engine& engine, const ops::Operator& op, const Operands& operands);

double real(Value v) { return v.is_integer() ? static_cast<double>(v.integer()) : v.flonum(); }

// --- no forward levels

Results plain(Engine& engine, const ops::Operator& op, const Operands& operands) {
  value::Heap& heap = engine.heap();
  ops::Runtime& runtime = engine.tensors().runtime;
  std::size_t n = operands.inputs.size();
  Tape* tape = op.vjp != nullptr ? engine.runs.back().tape : nullptr;
  std::shared_ptr<TensorRecord> record;
  if (tape != nullptr) {
    std::vector<std::uint32_t> nodes(n, tape::kNone);
    bool any = false;
    for (std::size_t i = 0; i < n; ++i)
      if (operands.differentiable(i)) {
        nodes[i] = node_of(*tape, operands.inputs[i]);
        any = any || nodes[i] != tape::kNone;
      }
    if (any) {
      record = std::make_shared<TensorRecord>(heap);
      record->operands = std::move(nodes);
    }
  }
  std::vector<Tensor> inputs;
  inputs.reserve(n);
  for (std::size_t i = 0; i < n; ++i) {
    if (i % 4096 == 4095) engine.meter().poll(); // the program chooses how many there are
    Value v = operands.differentiable(i) ? operands.inputs[i] : engine.primal(operands.inputs[i]);
    if (value::is_tensor(v))
      inputs.push_back(elements_of(engine, v));
    else
      inputs.push_back(weak(engine, v));
  }
  std::array<Tensor, ops::kMostResults> outputs;
  // Memory of an operand that goes with this instruction: its object gives the elements up, so that theirs is the only reference.
  std::array<bool, 64> given, aside; // as many as there are inputs
  for (std::size_t i = 0; i < std::min(n, given.size()); ++i) {
    Value v = operands.inputs[i];
    given[i] = op.may_overwrite && (operands.consumed >> i & 1) != 0 && value::is_tensor(v) && v.other()->count == 1 &&
               (record == nullptr || !ops::keeps_input(op, i));
    aside[i] = given[i] && value::is_aside(v);
    if (aside[i]) value::end_aside(*value::as_tensor_object(v));
    if (given[i]) value::as_tensor_object(v)->tensor.storage = {};
  }
  if (record != nullptr)
    for (Tensor& t : inputs) t.home = t.device(); // what is not kept remains as a description
  unsigned results = 0;
  const bool unread = operands.unread && op.view == nullptr && ops::result_stays_unread(op); // a view costs nothing
  try {
    results = unread ? runtime.zeros_in_place_of(op, inputs, operands.attributes, outputs)
                     : runtime.apply(op, inputs, {given.data(), std::min(n, given.size())}, operands.attributes, outputs);
  } catch (...) { // stopped or refused memory, it may be done again
    for (std::size_t i = 0; i < std::min(n, given.size()); ++i)
      if (given[i]) {
        value::as_tensor_object(operands.inputs[i])->tensor.storage = inputs[i].storage;
        if (aside[i]) value::put_aside(*value::as_tensor_object(operands.inputs[i]));
      }
    throw;
  }
  if (op.view != nullptr || op.id == OperatorId::to_device) outputs[0].number = ops::mark_of(inputs[0]);
  engine.note_work([&] {
    const ops::Cost cost =
        unread ? ops::Cost{} : ops::Runtime::modelled_cost({op, inputs, operands.attributes, nullptr}, {outputs.data(), results});
    std::int64_t bytes = 0;
    for (const Tensor& t : inputs) bytes += t.weak ? 0 : t.bytes();
    for (unsigned i = 0; i < results; ++i) bytes += outputs[i].bytes();
    return std::pair(engine.modelled_ticks(1, cost), static_cast<std::uint64_t>(bytes));
  });
  for (unsigned i = 0; i < results; ++i) check_nan(engine, shown_name(op), outputs[i]);
  Results out(heap);
  for (unsigned i = 0; i < results; ++i) {
    if (record != nullptr)
      out.add(heap.make_tensor(outputs[i]));
    else
      out.add(heap.make_tensor(std::move(outputs[i])));
  }
  if (record != nullptr &&
      std::any_of(outputs.begin(), outputs.begin() + results, [](const Tensor& t) { return ops::is_floating(t.dtype); })) {
    record->op = &op;
    record->attributes = operands.attributes;
    record->results = results;
    record->serial = value::object_of(out[0])->serial;
    tensors::record(engine, *tape, std::move(record), inputs, {outputs.data(), results});
  }
  return out;
}

// --- forward levels

// Terms of forward rules are values of the machine, so what a rule computes is recorded and differentiated like anything else.
class ValueAlgebra final : public ops::Algebra {
public:
  explicit ValueAlgebra(Engine& engine) : engine_(engine) {}
  std::uint64_t apply(OperatorId id, std::span<const std::uint64_t> terms, const ops::Attributes& attributes) override {
    Operands operands;
    for (std::uint64_t t : terms) operands.inputs.push_back({t});
    operands.attributes = attributes;
    const ops::Operator& op = ops::operator_of(id);
    std::size_t at = 0;
    for (const ops::OperandSpec& spec : op.signature) {
      if (!spec.is_one_tensor()) continue;
      if (spec.kind == ops::OperandSpec::Kind::constant && at < terms.size()) operands.constants |= std::uint64_t{1} << at;
      ++at;
    }
    bool numbers = std::none_of(operands.inputs.begin(), operands.inputs.end(), is_tensor_like);
    if (numbers) return number_only(id, operands.inputs).bits;
    return applied(engine_, op, operands).take(0).bits;
  }
  std::uint64_t number(double d) override { return value::flonum(d).bits; }
  void retain(std::uint64_t term) override { Heap::retain(Value{term}); }
  void release(std::uint64_t term) override { engine_.heap().release(Value{term}); }

private:
  // Between numbers alone operators are the machine's arithmetic.
  Value number_only(OperatorId id, std::span<const Value> v) {
    using bytecode::Opcode;
    auto two = [&](Opcode op) { return engine_.binary(op, v[0], v[1]); };
    auto one = [&](Opcode op) { return engine_.unary(op, v[0]); };
    switch (id) {
#define X(id, ...)                                                                                                               \
  case OperatorId::id:                                                                                                           \
    return two(Opcode::id);
      CAIRN_POINTWISE_BINARY(X)
#undef X
#define X(id, ...)                                                                                                               \
  case OperatorId::id:                                                                                                           \
    return one(Opcode::id);
      CAIRN_NUMBER_UNARY(X)
#undef X
    case OperatorId::less:
      return value::flonum(engine_.less(v[0], v[1]) ? 1 : 0);
    case OperatorId::less_equal:
      return value::flonum(engine_.less_equal(v[0], v[1]) ? 1 : 0);
    case OperatorId::equal:
      return value::flonum(engine_.number_equal(v[0], v[1]) ? 1 : 0);
    case OperatorId::where:
      return Heap::retain(engine_.to_double(v[0]) != 0 ? v[1] : v[2]);
    default:
      throw ProgramError(fmt::format("{}: expected a tensor, got {}", shown_name(ops::operator_of(id)), engine_.describe(v[0])));
    }
  }
  Engine& engine_;
};

// One part of a bundle of this tag (owned); of anything else the value itself.
Value part_of(Engine& engine, Value v, std::uint64_t tag, bool tangent) {
  if (value::tag_of(v) != tag) return Heap::retain(v);
  value::Bundle* b = value::as_bundle(v);
  return engine.read_field(engine.runs.back().tape, b, tangent ? 1 : 0, tangent ? b->tangent : b->primal);
}

const Tensor& primal_tensor(const Engine& engine, Value v) { return value::tensor_of(engine.primal(v)); }

Results forward(Engine& engine, const ops::Operator& op, const Operands& operands, std::uint64_t tag) {
  value::Heap& heap = engine.heap();
  std::size_t n = operands.inputs.size();
  Operands primals = operands;
  primals.consumed = 0;
  Values held(heap);
  held.list.reserve(n);
  for (Value& v : primals.inputs) {
    v = part_of(engine, v, tag, false);
    held.add(v);
  }
  Results outputs = applied(engine, op, primals);
  if (op.vjp == nullptr) return outputs;
  Values tangents(heap); // by input; unspecified: none
  tangents.list.reserve(n);
  for (std::size_t i = 0; i < n; ++i)
    tangents.add(operands.differentiable(i) && value::tag_of(operands.inputs[i]) == tag
                     ? part_of(engine, operands.inputs[i], tag, true)
                     : value::kUnspecified);
  ValueAlgebra algebra(engine);
  Values sums(heap);
  if (op.jvp != nullptr) {
    auto term = [&](Value v) { return ops::Term(algebra, Heap::retain(v).bits); };
    std::vector<ops::Term> in, out, t, made(outputs.size(), ops::Term(0.0));
    for (Value v : primals.inputs) in.push_back(term(v));
    for (unsigned k = 0; k < outputs.size(); ++k) out.push_back(term(outputs[k]));
    t.reserve(n);
    std::vector<const ops::Term*> present;
    for (Value v : tangents.list) {
      t.push_back(v == value::kUnspecified ? ops::Term(0.0) : term(v));
      present.push_back(v == value::kUnspecified ? nullptr : &t.back());
    }
    op.jvp({algebra, op, in, out, present, operands.attributes, made});
    for (ops::Term& m : made) sums.add(m.algebra() == nullptr ? value::flonum(m.literal()) : Value{m.take()});
  } else {
    // Linear in each operand.
    for (std::size_t i = 0; i < n; ++i) {
      if (tangents.list[i] == value::kUnspecified) continue;
      Operands part = primals;
      part.inputs[i] = tangents.list[i];
      Results made = applied(engine, op, part);
      for (unsigned k = 0; k < made.size(); ++k) {
        if (sums.list.size() <= k) {
          sums.add(made.take(k));
          continue;
        }
        const Value both[] = {sums.list[k], made[k]};
        Value sum = apply(engine, OperatorId::add, both);
        heap.release(std::exchange(sums.list[k], sum));
      }
    }
  }
  Results bundles(heap);
  for (unsigned k = 0; k < outputs.size(); ++k) {
    const Tensor& y = primal_tensor(engine, outputs[k]);
    if (!ops::is_floating(y.dtype) || k >= sums.list.size()) {
      bundles.add(outputs.take(k));
      continue;
    }
    Owned t(heap, std::exchange(sums.list[k], value::kUnspecified));
    if (!is_tensor_like(t.v)) { // the same number everywhere
      Owned zeros(heap, zeros_like(engine, outputs[k]));
      const Value both[] = {zeros.v, t.v};
      Value full = apply(engine, OperatorId::add, both);
      heap.release(std::exchange(t.v, full));
    } else if (const Tensor& given = primal_tensor(engine, t.v); !(given.shape == y.shape)) {
      Operands expand;
      expand.inputs = {t.v};
      expand.attributes.values.push_back(ops::Attribute::of_list(y.shape.sizes()));
      Value full = applied(engine, ops::operator_of(OperatorId::expand), expand).take(0);
      heap.release(std::exchange(t.v, full));
    }
    if (primal_tensor(engine, t.v).dtype != y.dtype) { // of an operand of a narrower type
      Value wide = fitted(engine, t.v, outputs[k], "a tangent");
      heap.release(std::exchange(t.v, wide));
    }
    Value primal = outputs.take(k);
    bundles.add(heap.make_bundle(tag, primal, t.take()));
  }
  return bundles;
}

Results applied(Engine& engine, const ops::Operator& op, const Operands& operands) {
  std::uint64_t tag = 0;
  for (std::size_t i = 0; i < operands.inputs.size(); ++i)
    if (operands.differentiable(i)) tag = std::max(tag, value::tag_of(operands.inputs[i]));
  return tag == 0 ? plain(engine, op, operands) : forward(engine, op, operands, tag);
}

} // namespace

Tensor weak(const Engine& engine, Value v) {
  Value p = engine.primal(v);
  return ops::weak_number(real(p), p.is_integer());
}

std::uint32_t node_of(Tape& tape, Value v) {
  if (v.is_taped()) return tape.has(v) ? v.tape_node() : tape::kNone;
  if (!value::is_tensor(v) || !ops::is_floating(value::tensor_of(v).dtype)) return tape::kNone;
  return tape.lift_tensor(value::as_tensor_object(v)->serial);
}

namespace {

// Whether the operator takes numbers in the place of tensors, and has numbers alone there.
bool has_numbers_alone(const Engine& engine, const ops::Operator& op, std::span<const Value> given) {
  bool any = false;
  for (std::size_t i = 0; i < std::min(op.signature.size(), given.size()); ++i) {
    if (!op.signature[i].or_number) continue;
    if (!engine.is_number(given[i])) return false;
    any = true;
  }
  return any;
}

Value applied_to(Engine& engine, OperatorId id, std::span<const Value> given, std::uint64_t consumed, bool unread) {
  const ops::Operator& op = ops::operator_of(id);
  if (has_numbers_alone(engine, op, given)) {
    Values tensors(engine.heap());
    for (std::size_t i = 0; i < given.size(); ++i)
      tensors.add(op.signature[i].or_number ? tensor_of_number(engine, given[i]) : Heap::retain(given[i]));
    const Owned result(engine.heap(), applied_to(engine, id, tensors.list, 0, unread));
    return number_of_tensor(engine, result.v);
  }
  if (any_recorded(op, given)) return translated("", [&] { return record(engine, op, given); });
  Results results = translated("", [&] {
    Operands operands = taken_apart(engine, op, given, consumed);
    operands.unread = unread;
    const value::Charged listed(engine.heap(), engine.heap().scratch, bytes_beside(operands.inputs.size()));
    return applied(engine, op, operands);
  });
  if (results.size() == 1) return results.take(0);
  Value list = value::kNull;
  for (unsigned i = results.size(); i-- > 0;)
    list = engine.heap().cons(results.take(i), list); // which takes over both, also where it fails
  return list;
}

} // namespace

Value apply(Engine& engine, OperatorId op, std::span<const Value> operands, std::uint64_t consumed) {
  return applied_to(engine, op, operands, consumed, false);
}

Value apply_unread(Engine& engine, OperatorId op, std::span<const Value> operands) {
  return applied_to(engine, op, operands, 0, true);
}

namespace {

std::optional<OperatorId> operator_behind(bytecode::Opcode op) {
  using bytecode::Opcode;
  switch (op) {
#define X(id, ...)                                                                                                               \
  case Opcode::id:                                                                                                               \
    return OperatorId::id;
    CAIRN_POINTWISE_BINARY(X)
    CAIRN_NUMBER_UNARY(X)
#undef X
  case Opcode::quotient:
    return OperatorId::quotient;
  case Opcode::remainder:
    return OperatorId::remainder;
  case Opcode::modulo:
    return OperatorId::modulo;
  case Opcode::lt:
    return OperatorId::less;
  case Opcode::le:
    return OperatorId::less_equal;
  case Opcode::num_eq:
    return OperatorId::equal;
  default:
    return {};
  }
}

} // namespace

std::optional<OperatorId> operator_behind(bytecode::Primitive primitive) {
  using bytecode::Primitive;
  switch (primitive) {
  case Primitive::floor:
    return OperatorId::floor;
  case Primitive::ceiling:
    return OperatorId::ceiling;
  case Primitive::truncate:
    return OperatorId::truncate;
  case Primitive::round:
    return OperatorId::round;
  default:
    return {};
  }
}

Value binary(Engine& engine, bytecode::Opcode op, Value x, Value y, std::uint64_t consumed) {
  std::optional<OperatorId> id = operator_behind(op);
  if (!id)
    throw ProgramError(fmt::format("{}: expected a number, got {}", bytecode::kOpcodes[static_cast<std::size_t>(op)].name,
                                   engine.describe(is_tensor_like(x) ? x : y)));
  const Value operands[] = {x, y};
  return apply(engine, *id, operands, consumed);
}

Value unary(Engine& engine, bytecode::Opcode op, Value x, std::uint64_t consumed) {
  std::optional<OperatorId> id = operator_behind(op);
  return id ? apply(engine, *id, {&x, 1}, consumed) : Heap::retain(x); // exact->inexact
}

namespace {

void look_for_nan(Engine& engine, std::string_view who, const Tensor& t, std::string_view where) {
  for (ops::Pieces piece(t.shape); piece.there(); piece.next()) {
    std::vector<double> numbers = engine.tensors().runtime.read_numbers(piece.of(t));
    auto found = std::find_if(numbers.begin(), numbers.end(), [](double d) { return d != d; });
    if (found != numbers.end()) throw NotANumber(who, where, piece.first() + (found - numbers.begin()), t.shape);
  }
}

} // namespace

NotANumber::NotANumber(std::string_view who_made, std::string_view where, std::int64_t number, const ops::Shape& of)
    : ProgramError(fmt::format("{}{}: element {} of the result of shape {} is a NaN", who_made, where, number, of.text())),
      who(who_made), shape(of.text()), element(number) {}

void check_nan(Engine& engine, std::string_view who, const Tensor& t, std::string_view where) {
  if (engine.options.check_nan && ops::is_floating(t.dtype)) [[unlikely]]
    look_for_nan(engine, who, t, where);
}

Value alias(Engine& engine, Value tensor) {
  if (value::is_watched(tensor)) engine.note_read(tensor.other()->serial);
  return engine.heap().make_tensor_like(tensor);
}

Value zeros_like(Engine& engine, Value tensor) {
  const Tensor& like = primal_tensor(engine, tensor);
  ops::Runtime& runtime = engine.tensors().runtime;
  return translated("", [&] {
    using ops::Attribute;
    ops::Device& device = like.device() != nullptr ? *like.device() : runtime.default_device();
    const ops::Attributes what{.values = {Attribute::of_list(like.shape.sizes()), Attribute::of_number(0),
                                          Attribute::of_type(like.dtype), Attribute::of_device(device)}};
    return engine.heap().make_tensor(runtime.apply(OperatorId::fill, {}, what));
  });
}

bool same(Engine& engine, Value a, Value b) {
  const Tensor &x = elements_of(engine, a), &y = elements_of(engine, b);
  if (x.dtype != y.dtype || !(x.shape == y.shape)) return false;
  ops::Runtime& runtime = engine.tensors().runtime;
  auto alike = [](double c, double d) { return value::flonum(c) == value::flonum(d) || (c != c && d != d); };
  for (ops::Pieces piece(x.shape); piece.there(); piece.next()) {
    if (ops::is_floating(x.dtype)) {
      std::vector<double> p = runtime.read_numbers(piece.of(x)), q = runtime.read_numbers(piece.of(y));
      if (!std::equal(p.begin(), p.end(), q.begin(), alike)) return false;
    } else { // a double does not hold all of them
      std::vector<std::byte> p(static_cast<std::size_t>(piece.elements() * ops::bytes_of(x.dtype))), q(p.size());
      runtime.read(piece.of(x), p.data());
      runtime.read(piece.of(y), q.data());
      if (p != q) return false;
    }
  }
  return true;
}

Value fitted(Engine& engine, Value part, Value primal, const char* what) {
  const Tensor& x = primal_tensor(engine, primal);
  auto refuse = [&] {
    throw ProgramError(fmt::format("{} {} does not have the shape of {}{}", what, engine.describe(part), engine.describe(primal),
                                   hint_of_cotangent(what, part)));
  };
  if (!is_tensor_like(part)) { // a number for the only element there is
    if (!engine.is_number(part) || x.elements() != 1) refuse();
    Owned zeros(engine.heap(), zeros_like(engine, primal));
    const Value both[] = {zeros.v, part};
    return apply(engine, OperatorId::add, both);
  }
  const Tensor& t = primal_tensor(engine, part);
  if (!(t.shape == x.shape)) refuse();
  if (t.dtype == x.dtype) return Heap::retain(part);
  Operands cast;
  cast.inputs = {part};
  cast.attributes.values.push_back(ops::Attribute::of_type(x.dtype));
  return applied(engine, ops::operator_of(OperatorId::cast), cast).take(0);
}

} // namespace cairn::machine::tensors
