// See recorded.h.
#include "vm/machine/recorded.h"
#include "ops/operator_ids.h"
#include "ops/operators/registry.h"
#include "ops/regions.h"
#include "vm/bytecode/tensors.h"
#include "vm/machine/errors.h"
#include "vm/machine/places.h"
#include "vm/machine/tensor_operands.h"
#include "vm/value/charged.h"
#include "vm/value/children.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace cairn::machine::tensors {

using bytecode::TensorProcedure;
using ops::OperatorError;
using ops::Tensor;
using value::Frame;
using value::Owned;

namespace {

enum RecordedSlot : std::uint8_t { kMark, kType, kSizes, kResidence, kOperator, kOperands, kResult, kPlace, kRecordedSlots };
static_assert(kRecordedSlots == kRecordedLength);

constexpr std::string_view kMarkName = "%recorded", kKeyName = "%key", kStopName = "stop-gradient";

bool begins_with(Value v, std::uint64_t length, std::string_view symbol) {
  if (!value::is_vector(v) || value::as_vector(v)->length != length) return false;
  const Value first = value::as_vector(v)->items()[0];
  return value::is_symbol(first) && value::as_text(first)->view() == symbol;
}

const Value* slots_of_recorded(Value v) { return value::as_vector(v)->items(); }

// Owned; all but the mark is still to be put there.
Value new_recorded(Heap& heap) {
  value::Vector* const v = heap.make_vector(kRecordedSlots);
  for (std::uint64_t k = 0; k < kRecordedSlots; ++k) v->items()[k] = value::kUnspecified;
  Owned made(heap, value::of_other(v));
  v->items()[kMark] = heap.make_symbol(kMarkName);
  return made.take();
}

// (starts sizes before behind)
Value value_of_region(Heap& heap, const ops::Region& region) {
  std::array<std::vector<std::int64_t>, 4> columns;
  for (int i = 0; i < region.box.rank(); ++i) {
    columns[0].push_back(region.box[i].begin);
    columns[1].push_back(region.box[i].size());
    columns[2].push_back(region.before[static_cast<std::size_t>(i)]);
    columns[3].push_back(region.behind[static_cast<std::size_t>(i)]);
  }
  Owned list(heap, value::kNull);
  for (std::size_t k = columns.size(); k-- > 0;) list.push(list_of(heap, columns[k]));
  return list.take();
}

// What an operator is asked about operands of which some are recorded: descriptions of tensors, and numbers.
std::vector<Tensor> described(Engine& engine, const Operands& operands) {
  std::vector<Tensor> inputs;
  inputs.reserve(operands.inputs.size());
  for (const Value v : operands.inputs) {
    if (is_recorded(v)) {
      inputs.push_back(description_of_recorded(engine, v));
    } else if (const Value p = engine.primal(v); value::is_tensor(p)) {
      Tensor t = value::tensor_of(p);
      t.home = t.device();
      inputs.push_back(ops::description(std::move(t)));
    } else {
      inputs.push_back(weak(engine, v));
    }
  }
  return inputs;
}

// Operators that programs can say, by the names that recorded tensors give them.
const ops::Operator& operator_named(Engine& engine, std::string_view who, Value name) {
  static const std::unordered_map<std::string_view, const ops::Operator*> all = [] {
    std::unordered_map<std::string_view, const ops::Operator*> map;
    for (const ops::Operator& op : ops::all_operators())
      if (!op.name.starts_with('%') || !shown_name(op).starts_with('%')) map.emplace(op.name, &op);
    return map;
  }();
  const auto found = value::is_symbol(name) ? all.find(value::as_text(name)->view()) : all.end();
  if (!value::is_symbol(name))
    throw ProgramError(fmt::format("{}: expected the name of an operator, a symbol, got {}", who, engine.describe(name)));
  if (found == all.end())
    throw ProgramError(fmt::format("{}: there is no operator `{}`; docs/operators.md lists them", who, engine.describe(name)));
  return *found->second;
}

// A list of operands, as many as the signature takes. Borrowed; numbers on a tape are read from their pairs.
class Listed {
public:
  Listed(Engine& engine, std::string_view who, const ops::Operator& op, Value list, bool given_up) : read_(engine.heap()) {
    for (Value at = list; at.is_pair(); at = at.pair()->cdr) {
      if (values_.size() == op.signature.most()) break;
      const Value v = at.pair()->car;
      given_up = given_up && at.pair()->count == 1;
      if (value::is_tensor(v)) {
        if (given_up) consumed_ |= std::uint64_t{1} << values_.size();
        values_.push_back(v);
      } else {
        read_.add(engine.read_field(engine.runs.back().tape, at.pair(), 0, v));
        values_.push_back(read_.list.back());
      }
      list = at.pair()->cdr;
    }
    if (list != value::kNull || values_.size() < op.signature.least())
      throw ProgramError(fmt::format("{}: expected a list of {} to {} operands of {}", who, op.signature.least(),
                                     op.signature.most(), shown_name(op)));
  }
  std::span<const Value> values() const { return values_; }
  std::uint64_t consumed() const { return consumed_; }

private:
  value::OwnedValues read_;
  std::vector<Value> values_;
  std::uint64_t consumed_ = 0;
};

} // namespace

bool is_recorded(Value v) { return begins_with(v, kRecordedSlots, kMarkName); }

bool same_recorded(Engine& engine, Value x, Value y) {
  if (!is_operand(x) || !is_operand(y)) return false;
  auto described = [&](Value v) {
    return is_recorded(v) ? description_of_recorded(engine, v) : value::tensor_of(engine.primal(v));
  };
  const Tensor a = described(x), b = described(y);
  if (a.dtype != b.dtype || a.shape != b.shape) return false;
  refuse_recorded(engine, "eqv?");
}

bool is_recorded_comparison(Value v) { return is_recorded(v) && dtype_of_value(slots_of_recorded(v)[kType]) == ops::DType::u8; }

bool any_recorded(const ops::Operator& op, std::span<const Value> operands) {
  std::size_t i = 0;
  for (const ops::OperandSpec& spec : op.signature) {
    if (i >= operands.size()) break;
    const Value v = operands[i++];
    if (is_recorded(v)) return true;
    if (spec.kind != ops::OperandSpec::Kind::tensors) continue;
    if (value::is_vector(v)) {
      const value::Vector* const items = value::as_vector(v);
      if (std::any_of(items->items(), items->items() + items->length, is_recorded)) return true;
    }
    for (Value at = v; at.is_pair(); at = at.pair()->cdr)
      if (is_recorded(at.pair()->car)) return true;
  }
  return false;
}

void refuse_recorded(const Engine& engine, std::string_view who) {
  const std::string library = located(engine, "").message; // a procedure of it, which whoever locates the error will name
  std::string instead;
  for (const auto& [name, tensor] : {std::pair("sumall: ", "sum"), std::pair("max-value: ", "max-over")})
    if (library == name) instead = fmt::format("`({} t)` is a tensor; otherwise ", tensor);
  throw print::RecordedError::of_elements(library.empty() ? fmt::format("{}: ", who) : "", instead);
}

namespace {

// Calls stops(recording), the text of a recording, for what stands for an input of one and can be reached, each once, until that
// holds; whether it did. All that is recorded is made of such inputs.
template <class F> bool any_recording_in(Engine& engine, Value v, F&& stops) {
  constexpr std::uint64_t kBetweenPolls = 4096;
  Heap& heap = engine.accounts();
  std::uint64_t seen = 0;
  value::ChargedStack<value::Object*> pending(heap);
  value::ChargedSet<const value::Object*> met{value::ChargedAllocator<const value::Object*>(heap)};
  const auto push = [&](value::Object* o) {
    if (o != nullptr && (o->count == 1 || met.insert(o).second)) pending.push_back(o);
  };
  bool stopped = false;
  const auto look = [&](Value held) {
    if (stopped || !held.is_object()) return;
    if (is_recorded(held) && value::is_string(slots_of_recorded(held)[kResult]))
      stopped = stops(slots_of_recorded(held)[kResult]);
    push(value::object_of(held));
  };
  look(v);
  while (!stopped && !pending.empty()) {
    if (++seen % kBetweenPolls == 0) engine.meter().poll();
    value::Object* const o = pending.back();
    pending.pop_back();
    value::for_each_child(o, [&](Value held, std::uint32_t) { look(held); });
    if (o->kind == value::Kind::frame) push(static_cast<Frame*>(o)->parent);
    if (o->kind != value::Kind::capsule) continue;
    const auto* const capsule = static_cast<const Capsule*>(static_cast<value::NativeObject*>(o)->native);
    look(capsule->value);
    for (const Run& run : capsule->runs) push(run.top);
  }
  return stopped;
}

} // namespace

bool holds_recorded(Engine& engine, Value v, Value recording) {
  return any_recording_in(engine, v, [&](Value one) { return one == recording; });
}

// Whoever records holds the text of the recording until what it was given has returned.
void refuse_escaping(Engine& engine, Value irritants) {
  std::size_t inside = engine.runs.size();
  while (inside > 0 && engine.runs[inside - 1].kind != RunKind::guarded) --inside;
  if (inside == 0) return;
  const auto begun_inside = [&](Value recording) {
    bool held = false;
    for (std::size_t i = inside - 1; i < engine.runs.size(); ++i)
      for (Frame* f = engine.runs[i].top; f != nullptr && !held; f = f->parent)
        value::for_each_child(f, [&](Value v, std::uint32_t) { held = held || v == recording; });
    return held;
  };
  if (any_recording_in(engine, irritants, begun_inside))
    throw print::RecordedError("this error has an irritant that holds a tensor of which only type and sizes are known, since a "
                               "procedure given to `tiled` "
                               "runs once on sizes alone, and its handler is outside of that: handle it within that procedure, "
                               "or give the sizes, (size t)");
}

Value stopped(Engine& engine, Value recorded) {
  Heap& heap = engine.heap();
  Owned operands(heap, value::kNull);
  operands.push(Heap::retain(recorded));
  Owned made(heap, new_recorded(heap));
  Value* const slots = value::as_vector(made.v)->items();
  for (const RecordedSlot same : {kType, kSizes, kResidence}) slots[same] = Heap::retain(slots_of_recorded(recorded)[same]);
  slots[kOperator] = heap.make_symbol(kStopName);
  slots[kOperands] = operands.take();
  slots[kResult] = value::integer(0);
  slots[kPlace] = value::integer(number_of_place(engine));
  return made.take();
}

Tensor description_of_recorded(Engine& engine, Value recorded) {
  const Value* const slots = slots_of_recorded(recorded);
  std::vector<std::int64_t> sizes;
  const std::optional<ops::DType> type = dtype_of_value(slots[kType]);
  if (!type || !naturals(slots[kSizes], sizes) || residence_of_value(slots[kResidence]).empty())
    throw ProgramError("a recorded tensor has a type, sizes and a residence, this one is none");
  Tensor t;
  t.dtype = *type;
  for (const std::int64_t size : sizes) t.shape.push_back(size);
  ops::set_contiguous(t);
  t.home = &engine.tensors().device(residence_of_value(slots[kResidence]));
  return t;
}

Value value_of_key(Engine& engine, std::uint64_t key) {
  value::Vector* const v = engine.heap().make_vector(3);
  for (std::uint64_t i = 0; i < 3; ++i) v->items()[i] = value::kUnspecified;
  Owned made(engine.heap(), value::of_other(v));
  v->items()[0] = engine.heap().make_symbol(kKeyName);
  v->items()[1] = value::integer(static_cast<std::int64_t>(key >> 32));
  v->items()[2] = value::integer(static_cast<std::int64_t>(key & 0xFFFFFFFFu));
  return made.take();
}

bool key_of_value(Value v, std::uint64_t& key) {
  if (!begins_with(v, 3, kKeyName)) return false;
  const Value *const high = value::as_vector(v)->items() + 1, *const low = high + 1;
  if (!high->is_integer() || !low->is_integer()) return false;
  key = static_cast<std::uint64_t>(high->integer()) << 32 | (static_cast<std::uint64_t>(low->integer()) & 0xFFFFFFFFu);
  return true;
}

namespace {

// As the library says it in the slot for a place, which what stands for an input has not.
bool is_array_in_file(Value v) { return is_recorded(v) && slots_of_recorded(v)[kPlace] == value::integer(-2); }

ops::ResultTypes results_of(Engine& engine, const ops::Operator& op, std::span<const Value> given, std::span<const Tensor> inputs,
                            const ops::Attributes& attributes) {
  try {
    return ops::Runtime::inferred({op, inputs, attributes, &engine.tensors().runtime.default_device()});
  } catch (const OperatorError& e) {
    if (std::ranges::none_of(given, is_array_in_file)) throw;
    throw OperatorError(std::string(e.what()) + "; other sizes of an array in a file, such as (batch channels height width), are "
                                                "written into its list, (list path type from sizes)");
  }
}

} // namespace

Value record(Engine& engine, const ops::Operator& op, std::span<const Value> given) {
  Heap& heap = engine.heap();
  const Operands operands = taken_apart(engine, op, given, 0);
  const value::Charged beside(heap, heap.scratch, bytes_beside(operands.inputs.size()));
  const std::vector<Tensor> inputs = described(engine, operands);
  ops::ResultTypes types = results_of(engine, op, given, inputs, operands.attributes);
  const ops::Device* device = nullptr;
  for (const Tensor& t : inputs)
    if (t.device() != nullptr) device = t.device();

  // Operands as they were given, and of what draws random numbers its key in the place of whatever said which.
  Owned list(heap, value::kNull);
  const auto key = static_cast<std::size_t>(
      std::ranges::find(op.signature, ops::OperandSpec::Kind::key, &ops::OperandSpec::kind) - op.signature.begin());
  for (std::size_t i = key < op.signature.size() ? std::max(given.size(), key + 1) : given.size(); i-- > 0;) {
    if (i == key)
      list.push(value_of_key(engine, operands.attributes.key));
    else
      list.push(i < given.size() ? engine.duplicate(engine.runs.back().tape, given[i]) : value::kFalse);
  }

  Owned results(heap, value::kNull);
  for (unsigned i = types.count; i-- > 0;) {
    Owned made(heap, new_recorded(heap));
    Value* const slots = value::as_vector(made.v)->items();
    const ops::Device* const here = types[i].device != nullptr ? types[i].device : device;
    slots[kType] = heap.make_symbol(ops::name_of(types[i].dtype));
    slots[kSizes] = list_of(heap, types[i].shape.sizes());
    slots[kResidence] = heap.make_symbol(here == nullptr ? engine.tensors().runtime.default_device().name() : here->name());
    slots[kOperator] = heap.make_symbol(op.name);
    slots[kOperands] = Heap::retain(list.v);
    slots[kResult] = value::integer(static_cast<std::int64_t>(i));
    slots[kPlace] = value::integer(number_of_place(engine));
    results.push(made.take());
  }
  if (types.count > 1) return results.take();
  return Heap::retain(results.v.pair()->car);
}

Value procedure_of_recorded(Engine& engine, TensorProcedure which, std::span<const Value> operands) {
  const Value* const slots = slots_of_recorded(operands[0]);
  switch (which) {
  case TensorProcedure::size:
    return Heap::retain(slots[kSizes]);
  case TensorProcedure::element_type:
    return Heap::retain(slots[kType]);
  case TensorProcedure::residence:
    return Heap::retain(slots[kResidence]);
  case TensorProcedure::is_on: {
    const std::string_view device = residence_of_value(operands[1]);
    if (device.empty()) throw ProgramError("tensor-on?: expected a residence, got " + engine.describe(operands[1]));
    return value::boolean(engine.tensors().find(device) == description_of_recorded(engine, operands[0]).home);
  }
  default:
    refuse_recorded(engine, bytecode::tensor_operators()[bytecode::kFirstTensorProcedure + static_cast<unsigned>(which)].name);
  }
}

Value apply_by_name(Engine& engine, std::span<const Value> operands, std::uint64_t consumed) {
  const ops::Operator& op = operator_named(engine, "apply-operator", operands[0]);
  const Listed listed(engine, "apply-operator", op, operands[1], (consumed & 2) != 0);
  return apply(engine, op.id, listed.values(), listed.consumed());
}

Value apply_again(Engine& engine, std::span<const Value> operands, std::uint64_t consumed) {
  constexpr std::string_view kWho = "%apply-recorded";
  const ops::Operator& op = operator_named(engine, kWho, operands[0]);
  const auto how = [&](std::string_view name) {
    return value::is_symbol(operands[3]) && value::as_text(operands[3])->view() == name;
  };
  const bool unread = how("unread");
  const Listed listed(engine, kWho, op, operands[1], !unread && (consumed & 2) != 0);
  if (unread) return apply_unread(engine, op.id, listed.values());
  try {
    return apply(engine, op.id, listed.values(), listed.consumed());
  } catch (const NotANumber& e) {
    const std::string place = place_of(engine, place_of_number(engine, operands[2]));
    throw ProgramError(fmt::format("{}{}: element {} of {} of shape {} is a NaN", e.who,
                                   place.empty() ? "" : fmt::format(" (in {})", place), e.element,
                                   how("tile") ? "a tile" : "the result", e.shape));
  }
}

Value derivative_reads(Engine& engine, std::span<const Value> operands) {
  const ops::Operator& op = operator_named(engine, "%derivative-reads?", operands[0]);
  if (operands[1] == value::kFalse) return value::boolean(!ops::result_stays_unread(op));
  const std::int64_t i = engine.to_index(operands[1], "%derivative-reads?: expected the number of an operand");
  if (i < 0 || i >= static_cast<std::int64_t>(op.signature.most())) return value::kFalse;
  const auto before = static_cast<std::size_t>(std::count_if(op.signature.begin(), op.signature.begin() + i,
                                                             [](const ops::OperandSpec& each) { return each.is_one_tensor(); }));
  return value::boolean(ops::keeps_input(op, before) && op.smaller == nullptr); // of a list all members are kept, or none
}

Value passes_derivative(Engine& engine, std::span<const Value> operands) {
  const ops::Operator& op = operator_named(engine, "%passes-derivative?", operands[0]);
  const std::int64_t i = engine.to_index(operands[1], "%passes-derivative?: expected the number of an operand");
  using Kind = ops::OperandSpec::Kind;
  if (op.vjp == nullptr || i < 0 || i >= static_cast<std::int64_t>(op.signature.most())) return value::kFalse;
  const Kind kind = op.signature[static_cast<std::size_t>(i)].kind;
  return value::boolean(kind == Kind::tensor || kind == Kind::tensor_or_number || kind == Kind::tensors);
}

Value operand_regions(Engine& engine, std::span<const Value> operands) {
  constexpr std::string_view kWho = "operand-regions";
  Heap& heap = engine.heap();
  const ops::Operator& op = operator_named(engine, kWho, operands[0]);
  const Listed listed(engine, kWho, op, operands[1], false);
  return translated(kWho, [&] {
    const Operands apart = taken_apart(engine, op, listed.values(), 0);
    const value::Charged beside(heap, heap.scratch, bytes_beside(apart.inputs.size()));
    const std::vector<Tensor> inputs = described(engine, apart);
    const ops::Call call{op, inputs, apart.attributes, &engine.tensors().runtime.default_device()};
    const ops::ResultTypes types = ops::Runtime::inferred(call);
    const std::int64_t result = engine.to_index(operands[2], "operand-regions: expected the number of a result");
    std::vector<std::int64_t> starts, sizes;
    if (result < 0 || result >= types.count)
      throw OperatorError(fmt::format("{} has {} results, numbered from 0, and none {}", shown_name(op), types.count, result));
    const ops::Shape& shape = types.types[static_cast<std::size_t>(result)].shape;
    bool fits = naturals(operands[3], starts) && naturals(operands[4], sizes) &&
                starts.size() == static_cast<std::size_t>(shape.rank()) && sizes.size() == starts.size();
    ops::Box box = ops::Box::whole(shape);
    for (int i = 0; fits && i < shape.rank(); ++i) {
      const std::int64_t start = starts[static_cast<std::size_t>(i)], size = sizes[static_cast<std::size_t>(i)];
      fits = start <= shape[i] && size <= shape[i] - start;
      box[i] = {start, start + size};
    }
    if (!fits)
      throw OperatorError(fmt::format("expected the starts and the sizes of a part of shape {}, got {} and {}", shape.text(),
                                      engine.describe(operands[3]), engine.describe(operands[4])));
    const std::vector<ops::Region> regions = ops::regions_of(call, types, static_cast<unsigned>(result), box);
    // By operand as they were given: a region, or of a list of tensors the list of theirs.
    std::size_t n = regions.size();
    const auto shown = [&] {
      --n;
      return inputs[n].weak || regions[n].empty() ? value::kFalse : value_of_region(heap, regions[n]);
    };
    Owned list(heap, value::kNull);
    for (std::size_t i = listed.values().size(); i-- > 0;) {
      const ops::OperandSpec& spec = op.signature[i];
      if (spec.kind == ops::OperandSpec::Kind::tensors) {
        Owned members(heap, value::kNull);
        const auto before = static_cast<std::size_t>(std::count_if(
            op.signature.begin(), op.signature.begin() + i, [](const ops::OperandSpec& each) { return each.is_one_tensor(); }));
        while (n > before) members.push(shown()); // an operator takes one list of tensors
        list.push(members.take());
      } else {
        list.push(spec.is_one_tensor() ? shown() : value::kFalse);
      }
    }
    return list.take();
  });
}

} // namespace cairn::machine::tensors
