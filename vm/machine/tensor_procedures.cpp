// Between tensors and the other values of a program: lists and numbers. Both ways are differentiable: a tensor is packed from
// places of numbers, and unpacked into new ones.
#include "ops/operators/lossy.h"
#include "ops/pieces.h"
#include "ops/streaming/backing.h"
#include "vm/bytecode/tensors.h"
#include "vm/machine/boxes.h"
#include "vm/machine/derivative_rules.h"
#include "vm/machine/engine.h"
#include "vm/machine/errors.h"
#include "vm/machine/places.h"
#include "vm/machine/recorded.h"
#include "vm/machine/tensor_operands.h"
#include "vm/machine/tiled.h"
#include "vm/text/number.h"
#include "vm/value/charged.h"
#include "vm/value/tensor_object.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace cairn::machine::tensors {

using bytecode::TensorProcedure;
using ops::DType;
using ops::Shape;
using ops::Tensor;
using rules::Owned;
using tape::TensorRecord;

namespace {

// Owned values that go together, as many as a program wants.
struct Numbers {
  explicit Numbers(Heap& h) : heap(h), list(h) {}
  ~Numbers() {
    for (Value v : list) heap.release(v);
  }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;
  Heap& heap;
  value::ChargedVector<Value> list;
};

constexpr std::int64_t kMany = 1 << 14; // elements between two looks at whether to go on

bool is_sequence(Value v) { return v.is_pair() || v == value::kNull || value::is_vector(v); }

std::int64_t length_of(const Engine& engine, Value v) {
  if (value::is_vector(v)) return static_cast<std::int64_t>(value::as_vector(v)->length);
  std::int64_t n = 0;
  for (; v.is_pair(); v = v.pair()->cdr)
    if (++n % kMany == 0) engine.meter().poll();
  if (v != value::kNull) throw ProgramError(fmt::format("list->tensor: expected a list of numbers, got {}", engine.describe(v)));
  return n;
}

// Nested lists of numbers: the shape that all of them must have, and the numbers in order. Lists may be shared, so there may be
// many more numbers than objects.
class Nested {
public:
  Nested(Engine& engine, Value root) : engine_(engine), root_(root) {
    for (Value v = root; is_sequence(v);) {
      std::int64_t n = length_of(engine_, v);
      shape_.push_back(n);
      if (n == 0) break;
      v = value::is_vector(v) ? value::as_vector(v)->items()[0] : v.pair()->car;
    }
  }
  const Shape& shape() const { return shape_; }
  // Calls f(owner, slot, number) for each; the owner of a number that stands in no list is null. False: f returned false, and no
  // more are looked at.
  template <class F> bool for_each(F&& f) {
    bool all = shape_.rank() == 0 ? number(nullptr, 0, root_, f) : level(root_, 0, f);
    if (all) engine_.meter().spend(static_cast<std::uint64_t>(count_ % kMany));
    return all;
  }

private:
  // Not deeper than a tensor has axes.
  template <class F> bool level(Value v, int axis, F&& f) {
    if (++lists_ % kMany == 0)
      engine_.meter().spend(static_cast<std::uint64_t>(kMany) * sizeof(Value)); // those that hold nothing are shared too
    if (!is_sequence(v) || length_of(engine_, v) != shape_[axis])
      throw ProgramError(fmt::format("list->tensor: lists of {} were expected on axis {}, got {}{}", shape_[axis], axis,
                                     engine_.describe(v), hint_of_operand("", v)));
    auto element = [&](value::Object* owner, std::uint32_t slot, Value e) {
      return axis + 1 < shape_.rank() ? level(e, axis + 1, f) : number(owner, slot, e, f);
    };
    if (value::is_vector(v)) {
      value::Vector* items = value::as_vector(v);
      for (std::uint64_t i = 0; i < items->length; ++i)
        if (!element(items, static_cast<std::uint32_t>(i), items->items()[i])) return false;
    } else {
      for (; v.is_pair(); v = v.pair()->cdr)
        if (!element(v.pair(), 0, v.pair()->car)) return false;
    }
    return true;
  }
  template <class F> bool number(value::Object* owner, std::uint32_t slot, Value v, F&& f) {
    if (++count_ % kMany == 0) engine_.meter().spend(static_cast<std::uint64_t>(kMany));
    if (!engine_.is_number(v) || is_tensor_like(v))
      throw ProgramError(
          fmt::format("list->tensor: expected a number, got {}{}", engine_.describe(v), hint_of_operand("an element", v)));
    return f(owner, slot, v);
  }
  Engine& engine_;
  Value root_;
  Shape shape_;
  std::int64_t count_ = 0, lists_ = 0;
};

// Doubles that go into a new tensor a piece at a time, which is then brought to its type.
class Filler {
public:
  Filler(Engine& engine, const Shape& shape, DType type, ops::Device& device)
      : engine_(engine), type_(type), tensor_(engine.tensors().runtime.empty(DType::f64, shape, device)), piece_(engine.heap()) {
    piece_.reserve(static_cast<std::size_t>(std::min(shape.elements(), ops::kPieceElements)));
  }
  void put(double d) {
    piece_.push_back(d);
    if (static_cast<std::int64_t>(piece_.size()) == ops::kPieceElements) flush();
  }
  Tensor take() {
    flush();
    if (type_ == DType::f64) return std::move(tensor_);
    return engine_.tensors().runtime.cast(tensor_, type_);
  }

private:
  void flush() {
    auto bytes = static_cast<std::int64_t>(piece_.size() * sizeof(double));
    if (bytes == 0) return;
    engine_.meter().spend(static_cast<std::uint64_t>(bytes));
    tensor_.device()->copy_in(tensor_.storage->block_to_write(), at_, piece_.data(), bytes);
    at_ += bytes;
    piece_.clear();
  }
  Engine& engine_;
  const DType type_;
  Tensor tensor_;
  value::ChargedVector<double> piece_;
  std::int64_t at_ = 0;
};

// A tensor of these numbers (borrowed).
Value pack(Engine& engine, std::span<const Value> numbers, const Shape& shape, DType type, ops::Device& device) {
  Heap& heap = engine.heap();
  Tape* tape = engine.runs.back().tape;
  std::uint64_t tag = 0;
  for (Value v : numbers) tag = std::max(tag, value::tag_of(v));
  if (tag != 0) {
    Numbers primals(heap), tangents(heap);
    for (Value v : numbers)
      for (std::uint32_t slot : {0u, 1u}) {
        value::ChargedVector<Value>& to = slot == 0 ? primals.list : tangents.list;
        to.push_back(value::kUnspecified);
        if (value::tag_of(v) == tag) {
          value::Bundle* b = value::as_bundle(v);
          to.back() = engine.read_field(tape, b, slot, slot == 0 ? b->primal : b->tangent);
        } else {
          to.back() = slot == 0 ? Heap::retain(v) : value::flonum(0);
        }
      }
    Owned primal(heap, pack(engine, primals.list, shape, type, device));
    if (!ops::is_floating(type)) return primal.take();
    Owned tangent(heap, pack(engine, tangents.list, shape, type, device));
    Value p = primal.take(), t = tangent.take();
    return heap.make_bundle(tag, p, t);
  }
  std::shared_ptr<TensorRecord> record;
  if (tape != nullptr && ops::is_floating(type) &&
      std::any_of(numbers.begin(), numbers.end(), [&](Value v) { return tape->has(v); })) {
    record = std::make_shared<TensorRecord>(heap);
    record->kind = TensorRecord::Kind::pack;
    record->operands.reserve(numbers.size());
    record->account();
    for (Value v : numbers) record->operands.push_back(tape->has(v) ? v.tape_node() : tape::kNone);
  }
  Tensor t = translated("list->tensor", [&] {
    Filler filler(engine, shape, type, device);
    for (Value v : numbers) filler.put(engine.to_double(v));
    return filler.take();
  });
  Owned made(heap, heap.make_tensor(t));
  if (record != nullptr) {
    record->serial = value::object_of(made.v)->serial;
    record->outputs = tape::KeptTensors({{ops::description(t)}});
    tape->add_tensor(std::move(record));
  }
  return made.take();
}

// The elements of a tensor in order (owned).
void unpack(Engine& engine, Value v, Numbers& out) {
  Heap& heap = engine.heap();
  Tape* tape = engine.runs.back().tape;
  if (value::is_bundle(v)) {
    value::Bundle* b = value::as_bundle(v);
    Numbers primals(heap), tangents(heap);
    unpack(engine, b->primal, primals);
    unpack(engine, b->tangent, tangents);
    for (std::size_t i = 0; i < primals.list.size(); ++i) {
      out.list.push_back(value::kUnspecified);
      Value p = std::exchange(primals.list[i], value::kUnspecified), t = std::exchange(tangents.list[i], value::kUnspecified);
      out.list.back() = heap.make_bundle(b->tag, p, t);
    }
    return;
  }
  const Tensor& t = elements_of(engine, v);
  bool floating = ops::is_floating(t.dtype);
  std::uint32_t node = tape != nullptr && floating ? tape->lift_tensor(value::object_of(v)->serial) : tape::kNone;
  if (node != tape::kNone) {
    if (t.elements() > tape::kNone) throw value::BudgetExceeded("a tape does not hold so many numbers");
    auto record = std::make_shared<TensorRecord>(heap);
    record->kind = TensorRecord::Kind::unpack;
    record->count = static_cast<std::uint32_t>(t.elements());
    record->operands = {node};
    record->inputs = tape::KeptTensors({{ops::description(t)}});
    record->attributes.values = {ops::Attribute::of_device(*t.device())};
    record->serial = heap.next_serial;
    tape->add_tensor(std::move(record));
  }
  // Integers that are too large for exact ones become flonums, as elsewhere.
  auto whole = [](double d) {
    bool fits = d >= static_cast<double>(value::kLeastInteger) && d <= static_cast<double>(value::kMostInteger);
    return fits ? value::integer_unchecked(static_cast<std::int64_t>(d)) : value::flonum(d);
  };
  // All room at once, so that nothing is copied when it grows; beyond any memory it is refused either way.
  out.list.reserve(static_cast<std::size_t>(std::min(t.elements(), std::int64_t{1} << 40)));
  for (ops::Pieces piece(t.shape); piece.there(); piece.next()) {
    engine.meter().spend(static_cast<std::uint64_t>(piece.elements()));
    std::vector<double> data = translated("tensor->list", [&] { return engine.tensors().runtime.read_numbers(piece.of(t)); });
    for (double d : data) out.list.push_back(node != tape::kNone ? tape->leaf(d) : floating ? value::flonum(d) : whole(d));
  }
}

// Nested lists of the numbers, which they take over.
Value listed(Engine& engine, const Shape& shape, Numbers& numbers) {
  Heap& heap = engine.heap();
  if (shape.rank() == 0) return std::exchange(numbers.list[0], value::kUnspecified);
  Numbers level(heap);
  std::swap(level.list, numbers.list);
  std::int64_t made = 0;
  // From the innermost axis outwards; an axis of size 0 makes empty lists, and what is outside of it may still have a size.
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    constexpr std::int64_t kMost = std::int64_t{1}
                                   << 48; // beyond any memory: sizes beside an axis of size 0 may multiply to anything
    std::int64_t outer = 1;
    for (int i = 0; i < axis; ++i) outer = shape[i] != 0 && outer > kMost / shape[i] ? kMost : outer * shape[i];
    Numbers lists(heap);
    lists.list.reserve(static_cast<std::size_t>(outer));
    for (std::int64_t i = 0; i < outer; ++i) {
      if (++made % kMany == 0) engine.meter().poll();
      lists.list.push_back(value::kNull);
      for (std::int64_t k = shape[axis]; k-- > 0;) {
        if (++made % kMany == 0) engine.meter().poll();
        Value list = heap.cons(value::kUnspecified, value::kNull);
        list.pair()->car = std::exchange(level.list[static_cast<std::size_t>(i * shape[axis] + k)], value::kUnspecified);
        list.pair()->cdr = std::exchange(lists.list.back(), list);
      }
    }
    std::swap(level.list, lists.list);
  }
  return std::exchange(level.list[0], value::kUnspecified);
}

Value symbol(Engine& engine, std::string_view text) { return engine.heap().make_symbol(text); }

Value list_to_tensor(Engine& engine, std::span<const Value> operands) {
  DType type = DType::f32;
  TensorWorld& world = engine.tensors();
  ops::Device* device = &world.runtime.default_device();
  if (operands.size() > 1 && operands[1] != value::kFalse) {
    auto given = dtype_of_value(operands[1]);
    if (!given)
      throw ProgramError(fmt::format("list->tensor: expected a type of elements: one of u8 i8 i16 i32 i64 f32 f64 bf16, got {}{}",
                                     engine.describe(operands[1]), hint_of_operand("a type of elements", operands[1])));
    type = *given;
  }
  if (operands.size() > 2 && operands[2] != value::kFalse) {
    std::string_view name = residence_of_value(operands[2]);
    if (name.empty()) throw ProgramError(fmt::format("list->tensor: expected a residence, got {}", engine.describe(operands[2])));
    device = &world.device(name);
  }
  return translated("list->tensor", [&] {
    Nested nested(engine, operands[0]);
    Tape* tape = engine.runs.back().tape;
    if (tape == nullptr) { // numbers go straight into the tensor, unless one is of forward mode
      Filler filler(engine, nested.shape(), type, *device);
      bool plain = nested.for_each([&](value::Object*, std::uint32_t, Value v) {
        if (!v.is_flonum() && !v.is_integer()) return false;
        filler.put(v.is_integer() ? static_cast<double>(v.integer()) : v.flonum());
        return true;
      });
      if (plain) return engine.heap().make_tensor(filler.take());
    }
    Numbers numbers(engine.heap());
    Nested(engine, operands[0]).for_each([&](value::Object* owner, std::uint32_t slot, Value v) {
      numbers.list.push_back(value::kUnspecified);
      numbers.list.back() = owner != nullptr ? engine.read_field(tape, owner, slot, v) : Heap::retain(v);
      return true;
    });
    return pack(engine, numbers.list, nested.shape(), type, *device);
  });
}

// What was said of it when it was first asked about: part of the state from then on.
Value device_budget(Engine& engine, Value name) {
  const std::string_view residence = residence_of_value(name);
  if (residence.empty()) throw ProgramError("%device-budget: expected a residence, got " + engine.describe(name));
  ops::Device& device = engine.tensors().device(residence);
  auto& known = engine.device_budgets;
  auto at = std::ranges::find(known, device.name(), [](const auto& one) -> const std::string& { return one.first; });
  if (at == known.end()) {
    const ops::Backing* const backing = device.backing();
    at = known.emplace(known.end(), device.name(), backing == nullptr ? 0 : backing->device_budget_asked());
  }
  return at->second == 0 ? value::kFalse : value::integer(at->second);
}

// A machine without such a file keeps the elements where they are.
Value put_aside(Engine& engine, Value v, bool to_file) {
  const Value primal = engine.primal(v);
  if (value::is_tensor(primal)) {
    primal.other()->flags |= value::kKept;
    if (to_file && engine.may_spill()) {
      engine.use_spill_file();
      value::put_aside(*value::as_tensor_object(primal));
    }
  }
  return Heap::retain(v);
}

// Another place for the tensor, with that mark. Of a measured one the cotangent is a variance, which no rule but identity's may
// be applied to.
Value marked(Engine& engine, Value v, double mark) {
  Heap& heap = engine.heap();
  Tape* const tape = engine.runs.back().tape;
  if (value::is_bundle(v)) {
    value::Bundle* const b = value::as_bundle(v);
    const Owned whole(heap, engine.read_field(tape, b, 0, b->primal));
    Owned primal(heap, marked(engine, whole.v, mark));
    Owned tangent(heap, engine.read_field(tape, b, 1, b->tangent));
    const Value p = primal.take(), t = tangent.take();
    return heap.make_bundle(b->tag, p, t);
  }
  Owned made(heap, alias(engine, v));
  Tensor& t = value::as_tensor_object(made.v)->tensor;
  if (ops::mark_of(t) >= 0) t.number = mark; // what is measured stays that
  const std::uint32_t node = tape != nullptr && ops::is_floating(t.dtype) ? tape->lift_tensor(v.other()->serial) : tape::kNone;
  if (node != tape::kNone) {
    auto record = std::make_shared<TensorRecord>(heap);
    record->kind = TensorRecord::Kind::identity;
    record->serial = made.v.other()->serial;
    record->operands = {node};
    record->outputs = tape::KeptTensors({{ops::description(t)}});
    tape->add_tensor(std::move(record));
  }
  return made.take();
}

Value mark_error(Engine& engine, Value v, Value bound) {
  const double mark = bound == value::kTrue     ? ops::kMeasured
                      : engine.is_number(bound) ? engine.to_double(engine.primal(bound))
                                                : -1;
  if (bound != value::kTrue && mark != 0 && !(mark > 0 && ops::is_mark(mark)))
    throw ProgramError(fmt::format("allow-error: a bound is 0 or a number from {} to {}, got {}",
                                   text::format_flonum(ops::kLeastBound), text::format_flonum(ops::kMostBound),
                                   engine.describe(bound)));
  return marked(engine, v, mark);
}

// A value that is older than all derivatives that are being taken is a constant to them. Whether a tape records now is not asked,
// as that is not the same in every replay.
bool may_vary(Engine& engine, Value v) {
  std::uint64_t from = kNever;
  for (const Run& run : engine.runs)
    if (const RunState* const state = run.run_state(); state != nullptr) from = std::min(from, state->varies_from());
  if (from == kNever) return false;
  const Value primal = engine.primal(v);
  return !value::is_tensor(v) || !value::is_tensor(primal) || primal.other()->serial >= from;
}

} // namespace

Value tensor_of_number(Engine& engine, Value number) {
  return pack(engine, {&number, 1}, Shape(), number.is_integer() ? DType::i64 : DType::f64,
              engine.tensors().runtime.default_device());
}

Value number_of_tensor(Engine& engine, Value tensor) {
  Numbers numbers(engine.heap());
  unpack(engine, tensor, numbers);
  return std::exchange(numbers.list[0], value::kUnspecified);
}

Value procedure(Engine& engine, TensorProcedure which, std::span<const Value> operands, std::uint64_t consumed) {
  if (which >= TensorProcedure::file_size) return file_procedure(engine, which, operands);
  if (is_of_boxes(which)) return procedure_of_boxes(engine, which, operands);
  if (which == TensorProcedure::memory_budget) return engine.budget_asked ? value::integer(engine.state_budget) : value::kFalse;
  if (which == TensorProcedure::file_budget)
    return value::integer(engine.may_spill() || !operands.empty() ? engine.state_spill : 0);
  if (which == TensorProcedure::device_budget) return device_budget(engine, operands[0]);
  if (which == TensorProcedure::note_tiles) return note_tiles(engine, operands);
  if (which == TensorProcedure::text_of_place) return text_of_place(engine, operands[0]);
  if (which == TensorProcedure::shown_operator) return shown_operator(engine, operands[0]);
  if (which == TensorProcedure::may_vary) return value::boolean(may_vary(engine, operands[0]));
  Value v = operands[0];
  if (which == TensorProcedure::put_aside) return put_aside(engine, v, operands[1] != value::kFalse);
  if (which == TensorProcedure::apply_operator) return apply_by_name(engine, operands, consumed);
  if (which == TensorProcedure::apply_recorded) return apply_again(engine, operands, consumed);
  if (which == TensorProcedure::derivative_reads) return derivative_reads(engine, operands);
  if (which == TensorProcedure::operand_regions) return operand_regions(engine, operands);
  if (which == TensorProcedure::passes_derivative) return passes_derivative(engine, operands);
  if (which == TensorProcedure::refuse_recorded) {
    if (operands.size() == 3 && !holds_recorded(engine, operands[1], operands[2])) return value::kUnspecified;
    throw print::RecordedError(value::is_string(v) ? std::string(value::as_text(v)->view()) : engine.describe(v));
  }
  if (which == TensorProcedure::is_recorded) return value::boolean(is_recorded(v));
  if (which == TensorProcedure::is_tensor) return value::boolean(is_operand(v));
  if (which == TensorProcedure::list_to_tensor) return list_to_tensor(engine, operands);
  const char* name = bytecode::tensor_operators()[bytecode::kFirstTensorProcedure + static_cast<unsigned>(which)].name.data();
  if (engine.is_number(v) && (which == TensorProcedure::tensor_to_number || which == TensorProcedure::tensor_to_list))
    return engine.duplicate(engine.runs.back().tape, v); // what is in it already
  if (is_recorded(v)) return procedure_of_recorded(engine, which, operands);
  if (!is_tensor_like(v))
    throw ProgramError(fmt::format("{}: expected a tensor, got {}{}", name, engine.describe(v), hint_of_operand("a tensor", v)));
  if (which == TensorProcedure::mark_error) return mark_error(engine, v, operands[1]);
  const Tensor& t = elements_of(engine, engine.primal(v));
  switch (which) {
  case TensorProcedure::size: {
    Value list = value::kNull;
    for (int axis = t.rank(); axis-- > 0;) list = engine.heap().cons(value::integer(t.shape[axis]), list);
    return list;
  }
  case TensorProcedure::element_type:
    return symbol(engine, ops::name_of(t.dtype));
  case TensorProcedure::is_on: {
    std::string_view device = residence_of_value(operands[1]);
    if (device.empty()) throw ProgramError(fmt::format("{}: expected a residence, got {}", name, engine.describe(operands[1])));
    return value::boolean(engine.tensors().find(device) == t.device());
  }
  case TensorProcedure::residence:
    return symbol(engine, t.device()->name());
  case TensorProcedure::tensor_to_number:
    if (t.elements() != 1)
      throw ProgramError(fmt::format("tensor->number: a tensor of shape {} has not one element", t.shape.text()));
    [[fallthrough]];
  default: {
    Numbers numbers(engine.heap());
    unpack(engine, v, numbers);
    return listed(engine, which == TensorProcedure::tensor_to_number ? Shape() : t.shape, numbers);
  }
  }
}

} // namespace cairn::machine::tensors
