// Operands of tensor operators: from values of the program to what an operator's rules see.
#include "vm/machine/tensor_operands.h"
#include "ops/operators/registry.h"
#include "ops/random.h"
#include "vm/machine/engine.h"
#include "vm/machine/errors.h"
#include "vm/machine/recorded.h"
#include "vm/value/tensor_object.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace cairn::machine::tensors {

namespace {

// NAME: operand 2: expected ..., got ...
[[noreturn]] void wrong(const Engine& engine, const ops::Operator& op, std::size_t i, const char* expected, Value got) {
  // A type is known by what it is; which operand it was, who has called `ones` would count otherwise than `fill` does.
  const bool counted = !std::string_view(expected).starts_with("a type of elements");
  // A number in the place of a type or a residence, which stand before the key of what draws random numbers.
  const bool keyed = std::ranges::any_of(
      op.signature, [](const ops::OperandSpec& s) { return s.kind == ops::OperandSpec::Kind::key && s.optional; });
  const bool before_key = keyed && (!counted || std::string_view(expected) == "a residence") && engine.is_number(got);
  throw ProgramError(
      fmt::format("{}: {}expected {}, got {}{}{}", shown_name(op), counted ? fmt::format("operand {}: ", i + 1) : "", expected,
                  engine.describe(got), hint_of_operand(expected, got),
                  before_key ? fmt::format("; a key is the last operand, ({} sizes 'f32 'cpu key)", shown_name(op)) : ""));
}

bool to_integer(const Engine& engine, Value v, std::int64_t& out) {
  Value p = engine.primal(v);
  if (p.is_integer()) {
    out = p.integer();
    return true;
  }
  if (!p.is_flonum() || p.flonum() != std::trunc(p.flonum()) || std::fabs(p.flonum()) > 9007199254740992.0) return false;
  out = static_cast<std::int64_t>(p.flonum());
  return true;
}

// Calls f for each element of a list or vector; false if it is neither.
template <class F> bool for_each_element(Value list, F&& f) {
  if (value::is_vector(list)) {
    const value::Vector* v = value::as_vector(list);
    for (std::uint64_t i = 0; i < v->length; ++i) f(v->items()[i]);
    return true;
  }
  for (; list.is_pair(); list = list.pair()->cdr) f(list.pair()->car);
  return list == value::kNull;
}

bool integers(const Engine& engine, Value v, std::vector<std::int64_t>& out) {
  std::int64_t n = 0;
  if (engine.is_number(v)) {
    bool good = to_integer(engine, v, n);
    out.push_back(n);
    return good;
  }
  bool all = true;
  bool is_list = for_each_element(v, [&](Value element) {
    all = all && engine.is_number(element) && to_integer(engine, element, n);
    out.push_back(n);
  });
  return is_list && all;
}

std::string_view name_in(Value v) {
  return value::is_symbol(v) || value::is_string(v) ? value::as_text(v)->view() : std::string_view();
}

} // namespace

bool naturals(Value list, std::vector<std::int64_t>& out) {
  for (; list.is_pair(); list = list.pair()->cdr) {
    const Value v = list.pair()->car;
    if (!v.is_integer() || v.integer() < 0 || out.size() == static_cast<std::size_t>(ops::kMostAxes)) return false;
    out.push_back(v.integer());
  }
  return list == value::kNull;
}

Value list_of(Heap& heap, std::span<const std::int64_t> numbers) {
  Value list = value::kNull;
  for (std::size_t i = numbers.size(); i-- > 0;) list = heap.cons(value::integer(numbers[i]), list);
  return list;
}

std::optional<ops::DType> dtype_of_value(Value v) { return ops::dtype_named(name_in(v)); }
std::string_view residence_of_value(Value v) { return name_in(v); }

Operands taken_apart(Engine& engine, const ops::Operator& op, std::span<const Value> operands, std::uint64_t consumed) {
  Operands out;
  out.inputs.reserve(operands.size());
  std::size_t i = 0;
  auto input = [&](Value v, bool differentiable) {
    std::size_t at = out.inputs.size();
    if (at < 64 && !differentiable) out.constants |= std::uint64_t{1} << at;
    if (at < 64 && i < 64 && operands[i] == v) out.consumed |= (consumed >> i & 1) << at;
    out.inputs.push_back(v);
  };
  using Kind = ops::OperandSpec::Kind;
  for (const auto [kind, optional, or_number] : op.signature) {
    bool there = i < operands.size() && (kind != Kind::key || optional);
    Value v = there ? operands[i] : value::kFalse;
    if (kind == Kind::key) {
      std::int64_t key = 0;
      if (v == value::kFalse)
        out.attributes.key = engine.random_bits();
      else if (std::uint64_t recorded = 0; key_of_value(v, recorded))
        out.attributes.key = recorded;
      else if (engine.is_number(v) && to_integer(engine, v, key))
        out.attributes.key = ops::random::bits_of_key(key, ops::random::Use::tensor, 0);
      else
        wrong(engine, op, i, "a key, which is an integer", v);
      i += optional ? 1 : 0;
      continue;
    }
    switch (kind) {
    case Kind::tensor:
      if (!is_operand(v)) wrong(engine, op, i, "a tensor", v);
      input(v, true);
      break;
    case Kind::tensor_or_number:
    case Kind::constant:
      if (!is_operand(v) && !engine.is_number(v)) wrong(engine, op, i, "a tensor or a number", v);
      input(v, kind == Kind::tensor_or_number);
      break;
    case Kind::tensors: {
      bool all = true;
      bool is_list = for_each_element(v, [&](Value element) {
        all = all && is_operand(element);
        input(element, true);
      });
      if (!is_list || !all) wrong(engine, op, i, "a list of tensors", v);
      break;
    }
    default: {
      ops::Attribute a;
      bool good = true;
      const char* expected = "";
      // In the place of an operand that may be left out #f stands for that.
      if (optional && there && v == value::kFalse && kind != Kind::flag) there = false;
      if (there) {
        switch (kind) {
        case Kind::integer: {
          expected = "an integer";
          std::int64_t integer = 0;
          good = engine.is_number(v) && to_integer(engine, v, integer);
          a = ops::Attribute::of_integer(integer);
          break;
        }
        case Kind::integers: {
          expected = "a list of integers";
          std::vector<std::int64_t> list;
          good = integers(engine, v, list);
          a = ops::Attribute::of_list(std::move(list));
          break;
        }
        case Kind::number:
          expected = "a number";
          good = engine.is_number(v) && !is_tensor_like(v);
          if (good) a = ops::Attribute::of_number(engine.to_double(v));
          break;
        case Kind::flag:
          // As a condition, 0 would count as true; and a number may be meant for the operand behind this one. Whatever takes its
          // axes first asks here whether these stay.
          expected = op.signature[1].is_attribute() && op.signature[1].optional ? "#t or #f, whether axes stay" : "#t or #f";
          good = value::is_boolean(v);
          a = ops::Attribute::of_flag(v == value::kTrue);
          break;
        case Kind::type:
          expected = "a type of elements: one of u8 i8 i16 i32 i64 f32 f64 bf16";
          if (auto type = dtype_of_value(v))
            a = ops::Attribute::of_type(*type);
          else
            good = false;
          break;
        case Kind::residence:
          expected = "a residence";
          good = !name_in(v).empty();
          if (good) a = ops::Attribute::of_device(engine.tensors().device(name_in(v)));
          break;
        default:
          good = false;
        }
      }
      if (!good) wrong(engine, op, i, expected, v);
      out.attributes.values.push_back(std::move(a));
    }
    }
    ++i;
  }
  return out;
}

} // namespace cairn::machine::tensors
