// The table of builtins.
#include "compiler/front/builtins.h"

#include "compiler/instructions.h"
#include "vm/bytecode/instruction.h"
#include "vm/bytecode/tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cairn::compiler {

namespace {

// Calls of these are expanded.
constexpr Builtin kExpanded[] = {
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
    {"atan", "atan", 1, 2, Shape::arctangent},
    {"zero?", "=", 1, 1, Shape::sign_test},
    {"positive?", ">", 1, 1, Shape::sign_test},
    {"negative?", "<", 1, 1, Shape::sign_test},
    {"1+", "+", 1, 1, Shape::step},
    {"-1+", "-", 1, 1, Shape::step},
    {"list", "cons", 0, kMany, Shape::list},
    {"cons*", "cons", 1, kMany, Shape::cons_star},
    {"make-vector", "make-vector", 1, 2, Shape::fill},
    {"make-string", "make-string", 1, 2, Shape::fill},
    {"apply", "apply", 2, kMany, Shape::apply},
    {"error", "%error", 1, kMany, Shape::error},
};

// Other names of core builtins: name, core.
constexpr std::pair<std::string_view, std::string_view> kOtherNames[] = {
    {"magnitude", "abs"}, {"inexact", "exact->inexact"}, {"exact", "inexact->exact"},
    {"eq?", "eqv?"},      {"complex?", "number?"},       {"real?", "number?"},
};

struct Table {
  std::vector<Builtin> all;
  std::deque<std::string> selectors; // owns the names of caar ... cddddr
  std::unordered_map<std::string_view, const Builtin*> by_name;

  Table() {
    all.assign(std::begin(kExpanded), std::end(kExpanded));
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
    for (const CoreInstruction& i : kCoreInstructions) direct(i.name, i.least, i.most == kAnyNumber ? kMany : i.most);
    for (const auto& f : bytecode::kNumberFunctions)
      if (f.name.front() != '%') direct(f.name, f.operands, f.operands);
    for (const auto& p : bytecode::kPrimitives) direct(p.name, p.least, p.most);
    const std::span tensor_operators = bytecode::tensor_operators();
    for (std::size_t i = 0; i < tensor_operators.size(); ++i)
      if (bytecode::is_called_by_name(i)) direct(tensor_operators[i].name, tensor_operators[i].least, tensor_operators[i].most);
    for (const auto& r : bytecode::kRunOperators) direct(r.name, r.parameters, r.parameters);
    for (const auto& [name, core] : kOtherNames) {
      auto found = std::find_if(all.begin(), all.end(), [core = core](const Builtin& b) { return b.name == core; });
      const Builtin other{name, core, found->least, found->most, Shape::direct};
      all.push_back(other);
    }
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
