// The table of builtins.
#include "compiler/front/builtins.h"

#include "vm/bytecode/instruction.h"
#include "vm/bytecode/tensors.h"

#include <fmt/format.h>

#include <deque>
#include <unordered_map>
#include <vector>

namespace cairn::compiler {

namespace {

constexpr Builtin kInstructions[] = {
    {"+", "+", 0, kMany, Shape::sum},
    {"*", "*", 0, kMany, Shape::sum},
    {"-", "-", 1, kMany, Shape::difference},
    {"/", "/", 1, kMany, Shape::difference},
    {"max", "max", 1, kMany, Shape::extremum},
    {"min", "min", 1, kMany, Shape::extremum},
    {"=", "=", 1, kMany, Shape::comparison},
    {"<", "<", 1, kMany, Shape::comparison},
    {">", ">", 1, kMany, Shape::comparison},
    {"<=", "<=", 1, kMany, Shape::comparison},
    {">=", ">=", 1, kMany, Shape::comparison},
    {"quotient", "quotient", 2, 2, Shape::direct},
    {"remainder", "remainder", 2, 2, Shape::direct},
    {"modulo", "modulo", 2, 2, Shape::direct},
    {"atan", "atan", 1, 2, Shape::arctangent},
    {"magnitude", "abs", 1, 1, Shape::direct},
    {"exact->inexact", "exact->inexact", 1, 1, Shape::direct},
    {"inexact", "exact->inexact", 1, 1, Shape::direct},
    {"exact", "inexact->exact", 1, 1, Shape::direct},
    {"zero?", "=", 1, 1, Shape::sign_test},
    {"positive?", ">", 1, 1, Shape::sign_test},
    {"negative?", "<", 1, 1, Shape::sign_test},
    {"1+", "+", 1, 1, Shape::step},
    {"-1+", "-", 1, 1, Shape::step},
    {"cons", "cons", 2, 2, Shape::direct},
    {"car", "car", 1, 1, Shape::direct},
    {"cdr", "cdr", 1, 1, Shape::direct},
    {"list", "cons", 0, kMany, Shape::list},
    {"cons*", "cons", 1, kMany, Shape::cons_star},
    {"vector", "vector", 0, kMany, Shape::direct},
    {"vector-ref", "vector-ref", 2, 2, Shape::direct},
    {"vector-length", "vector-length", 1, 1, Shape::direct},
    {"vector-update", "vector-update", 3, 3, Shape::direct},
    {"make-vector", "make-vector", 1, 2, Shape::fill},
    {"make-string", "make-string", 1, 2, Shape::fill},
    {"list->vector", "list->vector", 1, 1, Shape::direct},
    {"eq?", "eqv?", 2, 2, Shape::direct},
    {"eqv?", "eqv?", 2, 2, Shape::direct},
    {"null?", "null?", 1, 1, Shape::direct},
    {"pair?", "pair?", 1, 1, Shape::direct},
    {"vector?", "vector?", 1, 1, Shape::direct},
    {"procedure?", "procedure?", 1, 1, Shape::direct},
    {"number?", "number?", 1, 1, Shape::direct},
    {"complex?", "number?", 1, 1, Shape::direct},
    {"real?", "number?", 1, 1, Shape::direct},
    {"integer?", "integer?", 1, 1, Shape::direct},
    {"exact?", "exact?", 1, 1, Shape::direct},
    {"boolean?", "boolean?", 1, 1, Shape::direct},
    {"symbol?", "symbol?", 1, 1, Shape::direct},
    {"string?", "string?", 1, 1, Shape::direct},
    {"char?", "char?", 1, 1, Shape::direct},
    {"not", "not", 1, 1, Shape::direct},
    {"apply", "apply", 2, kMany, Shape::apply},
    {"error", "%error", 1, kMany, Shape::error},
    {"%error", "%error", 1, 1, Shape::direct},
};

struct Table {
  std::vector<Builtin> all;
  std::deque<std::string> selectors; // owns the names of caar ... cddddr
  std::unordered_map<std::string_view, const Builtin*> by_name;

  Table() {
    all.assign(std::begin(kInstructions), std::end(kInstructions));
    for (unsigned length = 2; length <= 4; ++length)
      for (unsigned bits = 0; bits < 1u << length; ++bits) {
        std::string& name = selectors.emplace_back("c");
        for (unsigned i = length; i-- > 0;) name += (bits >> i & 1) != 0 ? 'd' : 'a';
        name += 'r';
        all.push_back({name, name, 1, 1, Shape::selector});
      }
    auto direct = [this](std::string_view name, unsigned least, unsigned most) {
      for (const Builtin& b : all)
        if (b.name == name) return;
      all.push_back({name, name, least, most, Shape::direct});
    };
    for (const auto& f : bytecode::kNumberFunctions)
      if (f.name.front() != '%') direct(f.name, f.operands, f.operands);
    for (const auto& p : bytecode::kPrimitives) direct(p.name, p.least, p.most);
    for (const auto& t : bytecode::tensor_operators())
      if (t.name.front() != '%') direct(t.name, t.least, t.most);
    for (const auto& r : bytecode::kRunOperators) direct(r.name, r.parameters, r.parameters);
    for (const Builtin& b : all) by_name.emplace(b.name, &b);
  }
};

const Table& table() {
  static const Table t;
  return t;
}

} // namespace

std::span<const Builtin> all_builtins() { return table().all; }

const Builtin* find_builtin(std::string_view name) {
  auto it = table().by_name.find(name);
  return it == table().by_name.end() ? nullptr : it->second;
}

std::string arity_text(unsigned least, unsigned most) {
  auto arguments = [](unsigned n) { return n == 1 ? "argument" : "arguments"; };
  if (most == kMany) return fmt::format("takes at least {} {}", least, arguments(least));
  if (least == most) return least == 0 ? "takes no arguments" : fmt::format("takes {} {}", least, arguments(least));
  return fmt::format("takes {} {} {} arguments", least, most == least + 1 ? "or" : "to", most);
}

} // namespace cairn::compiler
