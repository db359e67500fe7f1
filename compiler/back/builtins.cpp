// The builtin names the front uses and the instructions behind them, and lambdas that stand for builtins used as values.

#include "compiler/back/tree.h"

#include "vm/bytecode/tensors.h"

#include <algorithm>
#include <unordered_map>

namespace cairn::compiler::back {
namespace {

std::unordered_map<std::string_view, Builtin> make_table() {
  std::unordered_map<std::string_view, Builtin> table;
  for (const CoreInstruction& i : kCoreInstructions) table.emplace(i.name, Builtin{i.name, i.op, i.least, i.most, i.swapped});
  for (const bytecode::NumberFunction& f : bytecode::kNumberFunctions)
    table.emplace(f.name, Builtin{f.name, f.op, f.operands, f.operands});
  for (std::size_t i = 0; i < std::size(bytecode::kPrimitives); ++i) {
    const bytecode::PrimitiveInfo& p = bytecode::kPrimitives[i];
    table.emplace(p.name, Builtin{p.name, Opcode::primitive, p.least, p.most, false, static_cast<std::uint16_t>(i)});
  }
  for (std::uint16_t i = 0; i < bytecode::tensor_operators().size(); ++i) {
    const bytecode::TensorInfo& t = bytecode::tensor_operators()[i];
    if (bytecode::is_called_by_name(i)) table.emplace(t.name, Builtin{t.name, Opcode::tensor, t.least, t.most, false, i});
  }
  return table;
}

Node* call_builtin(Tree& tree, const Builtin& b, Vector<Node*> operands) {
  Node* call = tree.operation(b.op, std::move(operands), {}, b.index);
  call->swapped = b.swapped;
  return call;
}

} // namespace

const Builtin* find_builtin(std::string_view name) {
  static const std::unordered_map<std::string_view, Builtin> table = make_table();
  auto found = table.find(name);
  return found == table.end() ? nullptr : &found->second;
}

std::uint32_t find_run_operator(std::string_view name) {
  for (std::uint32_t i = 0; i < std::size(bytecode::kRunOperators); ++i)
    if (bytecode::kRunOperators[i].name == name) return i;
  return kNone;
}

namespace {

// In a lambda with rest list `rest`: a call with as many of its elements as there are and the builtin takes, `taken` of them seen
// so far.
Node* with_optional(Tree& tree, const Builtin& b, const Vector<VarId>& vars, VarId rest, unsigned taken) {
  auto left = [&](unsigned after) {
    Node* list = tree.local(rest, {});
    for (unsigned i = 0; i < after; ++i) list = tree.operation(Opcode::cdr, {list}, {});
    return list;
  };
  Vector<Node*> operands;
  for (VarId v : vars) operands.push_back(tree.local(v, {}));
  for (unsigned i = 0; i < taken; ++i) operands.push_back(tree.operation(Opcode::car, {left(i)}, {}));
  Node* otherwise = nullptr;
  if (b.least + taken == b.most) {
    Node* complaint = tree.operation(
        Opcode::cons,
        {tree.constant(make_string(std::string(b.name) + ": too many arguments"), {}), tree.constant(make_null(), {})}, {});
    otherwise = tree.operation(Opcode::fail, {complaint}, {});
  } else {
    otherwise = with_optional(tree, b, vars, rest, taken + 1);
  }
  Node* choice = tree.make(Node::Kind::if_, {});
  choice->children = {tree.operation(Opcode::is_null, {left(taken)}, {}), call_builtin(tree, b, std::move(operands)), otherwise};
  return choice;
}

} // namespace

// Optional operands of a builtin become a rest list that is taken apart, so that a wrapper checks its arity like any procedure.
Node* make_wrapper(Tree& tree, const Builtin& b) {
  Node* lambda = tree.make(Node::Kind::lambda, {});
  lambda->name = b.name;
  lambda->library = true;
  Vector<Node*> operands;
  if (b.op == Opcode::vector) {
    lambda->rest = tree.fresh("elements");
    operands.push_back(tree.local(lambda->rest, {}));
    lambda->children = {tree.operation(Opcode::list_vector, std::move(operands), {})};
    return lambda;
  }
  for (unsigned i = 0; i < b.least; ++i) {
    lambda->vars.push_back(tree.fresh("x"));
    operands.push_back(tree.local(lambda->vars.back(), {}));
  }
  if (b.most == b.least) {
    lambda->children = {call_builtin(tree, b, std::move(operands))};
    return lambda;
  }
  lambda->rest = tree.fresh("more");
  lambda->children = {with_optional(tree, b, lambda->vars, lambda->rest, 0)};
  return lambda;
}

} // namespace cairn::compiler::back
