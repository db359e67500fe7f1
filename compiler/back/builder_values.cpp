// Expressions as atoms: operands are evaluated from left to right into variables, calls of known procedures become direct.

#include "compiler/back/builder_state.h"

namespace cairn::compiler::back {

Vector<Atom> Builder::values(const Vector<Node*>& nodes, std::size_t from, BasicBlock& out) {
  Vector<Atom> atoms;
  for (std::size_t i = from; i < nodes.size() && !out.ended; ++i) atoms.push_back(value(nodes[i], out));
  return atoms;
}

// The value of n as an atom; where it never returns, out is ended and the atom means nothing.
Atom Builder::value(const Node* n, BasicBlock& out) {
  poll();
  switch (n->kind) {
  case Node::Kind::constant:
    return literal(n->datum);
  case Node::Kind::local:
    return lookup(n->var);
  case Node::Kind::builtin:
    return builtin_value(*n);
  case Node::Kind::global:
    return global_value(n, out);
  case Node::Kind::lambda:
    return make_closures({}, {n}, out);
  case Node::Kind::operation:
    return operation_of(n, out);
  case Node::Kind::call:
    return call(n, out);
  case Node::Kind::set_global:
    define(*n, out);
    return null_atom();
  case Node::Kind::sequence:
    for (std::size_t i = 0; i + 1 < n->children.size() && !out.ended; ++i) value(n->children[i], out);
    return out.ended ? null_atom() : value(n->children.back(), out);
  case Node::Kind::if_:
  case Node::Kind::let:
    break;
  }
  BasicBlock inner;
  convert(n, inner, false);
  return splice(std::move(inner), out);
}

bool Builder::yields(const BasicBlock& b) {
  if (!b.ended) return true;
  const Statement& s = b.statements.back();
  for (const BasicBlock& arm : s.blocks)
    if (yields(arm)) return true;
  for (const Label& l : s.labels)
    if (yields(l.body)) return true;
  return false;
}

// The statements of a block become part of another; if it ends in a branch, the branch gets a result.
Atom Builder::splice(BasicBlock inner, BasicBlock& out) {
  bool ended = inner.ended && !yields(inner);
  if (inner.ended && !ended) {
    Statement& s = inner.statements.back();
    s.terminal = false;
    s.dest = variable("");
    inner.result = variable_atom(s.dest);
  }
  for (Statement& s : inner.statements) out.statements.push_back(std::move(s));
  out.ended = ended;
  return inner.result;
}

Atom Builder::global_value(const Node* n, BasicBlock& out) {
  bool known = globals_.known_lambda(n->global) != nullptr;
  if (known && globals_.safe(n->global, form_)) return global_function(n->global);
  if (known) {
    check(n, out);
    return global_function(n->global);
  }
  Statement s = operation(Opcode::global, n->origin, "");
  s.index = n->global;
  return append(out, std::move(s));
}

void Builder::check(const Node* n, BasicBlock& out) {
  Statement s;
  s.op = Opcode::check_global;
  s.index = n->global;
  s.origin = origin_of(n->origin);
  out.statements.push_back(std::move(s));
}

Atom Builder::operation_of(const Node* n, BasicBlock& out) {
  Vector<Atom> operands = values(n->children, 0, out);
  if (out.ended) return null_atom();
  if (n->swapped) std::swap(operands[0], operands[1]);
  if (n->op == Opcode::fail) {
    Statement s;
    s.op = Opcode::fail;
    s.index = n->index;
    s.origin = origin_of(n->origin);
    s.operands = std::move(operands);
    s.terminal = true;
    end(out, std::move(s));
    return null_atom();
  }
  Statement s = operation(n->op, n->origin, "");
  s.index = n->index;
  s.keeps_frame = in_entry_;
  s.operands = std::move(operands);
  return append(out, std::move(s));
}

Atom Builder::call(const Node* n, BasicBlock& out) {
  const Node* f = n->children[0];
  Statement s = operation(Opcode::call, n->origin, "");
  s.keeps_frame = in_entry_;
  std::size_t count = n->children.size() - 1;
  const Node* lambda = nullptr;
  const LocalFunction* local = nullptr;
  if (f->kind == Node::Kind::global) {
    lambda = globals_.known_lambda(f->global);
    if (lambda && accepts(*lambda, count)) {
      if (!globals_.safe(f->global, form_)) check(f, out);
      s.index = global_function_index(f->global);
      s.keeps_frame = in_entry_ || (!f_.library && ends_in_library_.contains(f->global));
    } else {
      lambda = nullptr;
    }
  } else if (f->kind == Node::Kind::local && level_ > 0) {
    auto found = functions_.find(f->var);
    if (found != functions_.end() && accepts(*found->second.lambda, count)) {
      local = &found->second;
      lambda = local->lambda;
      s.index = local->index;
    }
  }
  if (!lambda) {
    s.op = Opcode::call_value;
    // A derivative operator never ends in a user's loop; errors in it are reported at the user's call. Only `resume` replaces
    // its caller.
    std::uint32_t run_operator = f->kind == Node::Kind::builtin && f->op != Opcode::host ? find_run_operator(f->name) : kNone;
    bool resumes = run_operator == static_cast<std::uint32_t>(bytecode::RunOperator::resume);
    s.keeps_frame = in_entry_ || (run_operator != kNone && !resumes && !f_.library);
    s.operands = values(n->children, 0, out);
    return out.ended ? null_atom() : append(out, std::move(s));
  }
  s.operands = known_operands(*lambda, n, out);
  if (out.ended) return null_atom();
  if (local) {
    Vector<Atom> extra;
    for (VarId v : local->lifted) extra.push_back(lookup(v));
    s.operands.insert(s.operands.begin() + static_cast<std::ptrdiff_t>(lambda->vars.size()), extra.begin(), extra.end());
    if (local->needs_closure) s.operands.push_back(env_.at(f->var));
  }
  return append(out, std::move(s));
}

// Operands of a call to a known lambda, those of its rest parameter in a new list.
Vector<Atom> Builder::known_operands(const Node& lambda, const Node* call, BasicBlock& out) {
  Vector<Atom> atoms = values(call->children, 1, out);
  if (out.ended || lambda.rest == kNone) return atoms;
  Atom list = null_atom();
  while (atoms.size() > lambda.vars.size()) {
    Statement s = operation(Opcode::cons, call->origin, "");
    s.operands = {atoms.back(), list};
    list = append(out, std::move(s));
    atoms.pop_back();
  }
  atoms.push_back(list);
  return atoms;
}

} // namespace cairn::compiler::back
