// One function is built at a time (a queue, so that lambdas nested in lambdas need no recursion); inside a function,
// recursion follows the nesting of the tree. Tests become control flow here: `and`, `or`, `not` and nested ifs
// never make a boolean.

#include "compiler/back/builder.h"

#include "compiler/back/free_variables.h"
#include "compiler/back/tail_safety.h"

#include <deque>
#include <functional>
#include <unordered_map>

namespace cairn::compiler::back {
namespace {

// What an arm of a branch does at the end of the block it is given.
struct Arm {
  std::function<void(Block&)> emit;
  bool small = false; // may be emitted twice
};

class Builder {
public:
  Builder(Tree& tree, const Globals& globals, std::vector<LocalUse> locals, int level)
      : tree_(tree), globals_(globals), use_(std::move(locals)), level_(level), global_functions_(tree.forms.size(), kNone),
        ends_in_library_(ends_in_library(tree, globals, globals.size())) {}

  Unit build() {
    unit_.entry = reserve();
    build_entry();
    while (!pending_.empty()) {
      Pending p = std::move(pending_.front());
      pending_.pop_front();
      build_function(p);
    }
    return std::move(unit_);
  }

private:
  struct Pending {
    std::uint32_t index = 0;
    const Node* lambda = nullptr;
    std::uint32_t form = 0;
    std::uint32_t self_global = kNone;
    VarId self = kNone;
    std::vector<VarId> lifted; // extra parameters
    std::vector<VarId> captures;
    std::vector<VarId> members; // of the closure group, in order; empty for an anonymous lambda
    std::uint32_t member = 0;
  };

  std::uint32_t reserve() {
    unit_.functions.emplace_back();
    return static_cast<std::uint32_t>(unit_.functions.size() - 1);
  }

  // --- frames

  void start(const Node* lambda, std::uint32_t form) {
    f_ = AnfFunction{};
    env_.clear();
    form_ = form;
    self_label_ = kNone;
    if (!lambda) return;
    f_.name = lambda->name;
    f_.span = lambda->span;
    f_.library = lambda->library;
  }

  std::uint32_t variable(const std::string& name) {
    f_.variables.push_back(name);
    return static_cast<std::uint32_t>(f_.variables.size() - 1);
  }

  void build_entry() {
    start(nullptr, 0);
    in_entry_ = true;
    Block& body = f_.body;
    for (std::uint32_t i = 0; i < tree_.forms.size() && !body.ended; ++i) {
      form_ = i;
      const Node* n = tree_.forms[i];
      bool last = i + 1 == tree_.forms.size();
      if (!globals_.reached(i)) continue;
      if (n->kind == Node::Kind::set_global)
        define(*n, body);
      else if (last)
        convert(n, body, false);
      else
        value(n, body);
      if (last && n->kind == Node::Kind::set_global && !body.ended) body.result = null_atom();
    }
    if (tree_.forms.empty()) body.result = null_atom();
    unit_.functions[unit_.entry] = std::move(f_);
    in_entry_ = false;
  }

  void define(const Node& n, Block& out) {
    const Node* init = n.children[0];
    bool stored = globals_[n.global].stored || !globals_[n.global].once;
    if (!stored && is_trivial(n)) return;
    Atom a = init->kind == Node::Kind::lambda && globals_.known_lambda(n.global) == init ? global_function(n.global)
                                                                                         : value(init, out);
    if (out.ended || !stored) return;
    Statement s;
    s.op = Opcode::set_global;
    s.index = n.global;
    s.span = n.span;
    s.operands = {a};
    out.statements.push_back(std::move(s));
  }

  void build_function(const Pending& p) {
    start(p.lambda, p.form);
    const Node& lambda = *p.lambda;
    std::vector<std::uint32_t> own;
    for (VarId v : lambda.vars) own.push_back(variable(tree_.names[v]));
    f_.parameters = own;
    for (VarId v : p.lifted) {
      f_.parameters.push_back(variable(tree_.names[v]));
      env_[v] = variable_atom(f_.parameters.back());
    }
    if (lambda.rest != kNone) {
      own.push_back(variable(tree_.names[lambda.rest]));
      f_.parameters.push_back(own.back());
    }
    bool known_only = p.self != kNone && !use_[p.self].escapes && level_ > 0;
    f_.rest = lambda.rest != kNone && !known_only;
    f_.needs_closure = !p.captures.empty();
    if (f_.needs_closure) open_closure(p);
    self_global_ = p.self_global;
    self_ = p.self;
    bool loops = level_ > 0 && calls_itself_in_tail_position(lambda, p);
    Label entry;
    std::vector<std::uint32_t>& names = loops ? entry.parameters : own;
    if (loops) {
      self_label_ = entry.id = f_.labels++;
      entry.loop = true;
      entry.name = lambda.name;
      for (std::uint32_t v : own) entry.parameters.push_back(variable(std::string(f_.variables[v])));
    }
    for (std::size_t i = 0; i < lambda.vars.size(); ++i) env_[lambda.vars[i]] = variable_atom(names[i]);
    if (lambda.rest != kNone) env_[lambda.rest] = variable_atom(names.back());
    if (!loops) {
      convert(lambda.body(), f_.body, true);
    } else {
      convert(lambda.body(), entry.body, true);
      Statement s = labels_statement(lambda.span);
      Statement jump = jump_statement(entry.id, lambda.span);
      for (std::uint32_t v : own) jump.operands.push_back(variable_atom(v));
      s.labels.push_back(std::move(entry));
      end(s.blocks[0], std::move(jump));
      end(f_.body, std::move(s));
    }
    unit_.functions[p.index] = std::move(f_);
  }

  // The closure arrives in the last entry slot; captured values and siblings are read from it. Reads nobody needs vanish
  // in liveness, the others are moved to where they are needed first.
  void open_closure(const Pending& p) {
    std::uint32_t closure = variable("self");
    f_.parameters.push_back(closure);
    for (std::uint32_t i = 0; i < p.captures.size(); ++i) {
      Statement s = operation(Opcode::capture, f_.span, tree_.names[p.captures[i]]);
      s.index = i;
      s.operands = {variable_atom(closure)};
      env_[p.captures[i]] = append(f_.body, std::move(s));
    }
    for (std::uint32_t i = 0; i < p.members.size(); ++i) {
      if (i == p.member)
        env_[p.members[i]] = variable_atom(closure);
      else
        env_[p.members[i]] = sibling(variable_atom(closure), i, tree_.names[p.members[i]], f_.body);
    }
  }

  Atom sibling(Atom of, std::uint32_t member, const std::string& name, Block& out) {
    Statement s = operation(Opcode::sibling, f_.span, name);
    s.index = member;
    s.operands = {of};
    return append(out, std::move(s));
  }

  bool is_self_call(const Node* call, const Pending& p) const {
    const Node* f = call->children[0];
    bool same = f->kind == Node::Kind::global ? f->global == p.self_global : f->kind == Node::Kind::local && f->var == p.self;
    return same && accepts(*p.lambda, call->children.size() - 1);
  }

  bool calls_itself_in_tail_position(const Node& lambda, const Pending& p) const {
    if (p.self_global == kNone && p.self == kNone) return false;
    std::vector<const Node*> work{lambda.body()};
    while (!work.empty()) {
      const Node* n = work.back();
      work.pop_back();
      if (n->kind == Node::Kind::call && is_self_call(n, p)) return true;
      if (n->kind == Node::Kind::if_) work.insert(work.end(), n->children.begin() + 1, n->children.end());
      if (n->kind == Node::Kind::sequence) work.push_back(n->children.back());
      if (n->kind != Node::Kind::let) continue;
      work.push_back(n->body());
      for (const Binding& b : n->bindings)
        for (std::size_t i = 0; i < b.vars.size(); ++i)
          if (b.vars[i] != kNone && use_[b.vars[i]].label) work.push_back(b.inits[i]->body());
    }
    return false;
  }

  // --- pieces of statements

  Statement operation(Opcode op, Span span, const std::string& result) {
    Statement s;
    s.op = op;
    s.span = span;
    s.dest = variable(result);
    return s;
  }

  Statement labels_statement(Span span) const {
    Statement s;
    s.kind = Statement::Kind::labels;
    s.terminal = true;
    s.span = span;
    s.blocks.emplace_back();
    return s;
  }

  Statement jump_statement(std::uint32_t label, Span span) const {
    Statement s;
    s.kind = Statement::Kind::jump;
    s.terminal = true;
    s.index = label;
    s.span = span;
    return s;
  }

  static Atom append(Block& out, Statement s) {
    Atom result = variable_atom(s.dest);
    out.statements.push_back(std::move(s));
    return result;
  }

  static void end(Block& out, Statement s) {
    out.statements.push_back(std::move(s));
    out.ended = true;
  }

  Atom literal(const DatumPtr& datum) {
    auto [found, inserted] = data_.emplace(datum.get(), static_cast<std::uint32_t>(unit_.literals.size()));
    if (inserted) unit_.literals.push_back({Literal::Kind::datum, datum, 0});
    return literal_atom(found->second);
  }
  Atom null_atom() { return literal(make_null()); }

  Atom literal(Literal::Kind kind, std::uint32_t index) {
    auto& known = kind == Literal::Kind::function ? function_literals_ : operator_literals_;
    auto [found, inserted] = known.emplace(index, static_cast<std::uint32_t>(unit_.literals.size()));
    if (inserted) unit_.literals.push_back({kind, nullptr, index});
    return literal_atom(found->second);
  }

  // --- procedures

  std::uint32_t global_function_index(std::uint32_t g) {
    std::uint32_t form = globals_[g].form;
    if (global_functions_[form] == kNone) {
      Pending p;
      p.index = global_functions_[form] = reserve();
      p.lambda = globals_.known_lambda(g);
      p.form = form;
      p.self_global = g;
      pending_.push_back(std::move(p));
    }
    return global_functions_[form];
  }
  Atom global_function(std::uint32_t g) { return literal(Literal::Kind::function, global_function_index(g)); }

  Atom builtin_value(const std::string& name) {
    std::uint32_t op = find_run_operator(name);
    if (op != kNone) return literal(Literal::Kind::run_operator, op);
    auto [found, inserted] = wrappers_.emplace(name, 0);
    if (inserted) {
      Pending p;
      p.index = found->second = reserve();
      p.lambda = make_wrapper(tree_, name);
      p.form = form_;
      pending_.push_back(std::move(p));
      use_.resize(tree_.names.size());
    }
    return literal(Literal::Kind::function, found->second);
  }

  // A closure block for lambdas that may escape; the value of each is put where `vars` says (none for an anonymous lambda).
  Atom make_closures(const std::vector<VarId>& vars, const std::vector<const Node*>& lambdas, Block& out) {
    std::vector<VarId> captures = free_variables(lambdas, vars, functions_);
    std::vector<std::uint32_t> indices;
    for (std::size_t i = 0; i < lambdas.size(); ++i) {
      Pending p;
      p.index = reserve();
      p.lambda = lambdas[i];
      p.form = form_;
      p.captures = captures;
      p.member = static_cast<std::uint32_t>(i);
      if (!vars.empty()) {
        p.self = vars[i];
        if (!captures.empty()) p.members = vars;
        functions_[vars[i]] = {p.index, lambdas[i], {}, !captures.empty()};
      }
      indices.push_back(p.index);
      pending_.push_back(std::move(p));
    }
    if (captures.empty()) return literal(Literal::Kind::function, indices[0]);
    const std::string name = vars.empty() ? lambdas[0]->name : tree_.names[vars[0]];
    Statement s = operation(Opcode::group, lambdas[0]->span, name);
    s.index = static_cast<std::uint32_t>(unit_.groups.size());
    unit_.groups.push_back({indices, static_cast<std::uint16_t>(captures.size())});
    for (VarId v : captures) s.operands.push_back(lookup(v));
    Atom first = append(out, std::move(s));
    for (std::size_t i = 0; i < vars.size(); ++i)
      env_[vars[i]] = i == 0 ? first : sibling(first, static_cast<std::uint32_t>(i), tree_.names[vars[i]], out);
    return first;
  }

  void bind_functions(const Binding& b, Block& out) {
    bool known = level_ > 0;
    for (VarId v : b.vars) known = known && !use_[v].escapes;
    if (known) {
      std::vector<VarId> extra = free_variables({b.inits.begin(), b.inits.end()}, b.vars, functions_);
      if (extra.size() <= kMostLifted) {
        for (std::size_t i = 0; i < b.vars.size(); ++i) {
          Pending p;
          p.index = reserve();
          p.lambda = b.inits[i];
          p.form = form_;
          p.self = b.vars[i];
          p.lifted = extra;
          functions_[b.vars[i]] = {p.index, b.inits[i], extra, false};
          pending_.push_back(std::move(p));
        }
        return;
      }
    }
    make_closures(b.vars, {b.inits.begin(), b.inits.end()}, out);
  }

  Atom lookup(VarId v) {
    auto f = functions_.find(v);
    if (f != functions_.end() && !f->second.needs_closure) return literal(Literal::Kind::function, f->second.index);
    return env_.at(v);
  }

  // --- values

  std::vector<Atom> values(const std::vector<Node*>& nodes, std::size_t from, Block& out) {
    std::vector<Atom> atoms;
    for (std::size_t i = from; i < nodes.size() && !out.ended; ++i) atoms.push_back(value(nodes[i], out));
    return atoms;
  }

  // The value of n as an atom; where it never returns, out is ended and the atom means nothing.
  Atom value(const Node* n, Block& out) {
    switch (n->kind) {
    case Node::Kind::constant:
      return literal(n->datum);
    case Node::Kind::local:
      return lookup(n->var);
    case Node::Kind::builtin:
      return builtin_value(n->name);
    case Node::Kind::global:
      return global_value(n, out);
    case Node::Kind::lambda:
      return make_closures({}, {n}, out);
    case Node::Kind::primitive:
      return primitive(n, out);
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
    Block inner;
    convert(n, inner, false);
    return splice(std::move(inner), out);
  }

  static bool yields(const Block& b) {
    if (!b.ended) return true;
    const Statement& s = b.statements.back();
    for (const Block& arm : s.blocks)
      if (yields(arm)) return true;
    for (const Label& l : s.labels)
      if (yields(l.body)) return true;
    return false;
  }

  // The statements of a block become part of another; if it ends in a branch, the branch gets a result.
  Atom splice(Block inner, Block& out) {
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

  Atom global_value(const Node* n, Block& out) {
    bool known = globals_.known_lambda(n->global) != nullptr;
    if (known && globals_.safe(n->global, form_)) return global_function(n->global);
    if (known) {
      check(n, out);
      return global_function(n->global);
    }
    Statement s = operation(Opcode::global, n->span, "");
    s.index = n->global;
    return append(out, std::move(s));
  }

  void check(const Node* n, Block& out) {
    Statement s;
    s.op = Opcode::check_global;
    s.index = n->global;
    s.span = n->span;
    out.statements.push_back(std::move(s));
  }

  Atom primitive(const Node* n, Block& out) {
    std::vector<Atom> operands = values(n->children, 0, out);
    if (out.ended) return null_atom();
    if (n->swapped) std::swap(operands[0], operands[1]);
    if (n->op == Opcode::fail) {
      Statement s;
      s.op = Opcode::fail;
      s.index = n->index;
      s.span = n->span;
      s.operands = std::move(operands);
      s.terminal = true;
      end(out, std::move(s));
      return null_atom();
    }
    Statement s = operation(n->op, n->span, "");
    s.index = n->index;
    s.keeps_frame = in_entry_;
    s.operands = std::move(operands);
    return append(out, std::move(s));
  }

  Atom call(const Node* n, Block& out) {
    const Node* f = n->children[0];
    Statement s = operation(Opcode::call, n->span, "");
    s.keeps_frame = in_entry_;
    std::size_t count = n->children.size() - 1;
    const Node* lambda = nullptr;
    const LocalFunction* local = nullptr;
    if (f->kind == Node::Kind::global) {
      lambda = globals_.known_lambda(f->global);
      if (lambda && accepts(*lambda, count)) {
        if (!globals_.safe(f->global, form_)) check(f, out);
        s.index = global_function_index(f->global);
        s.keeps_frame = in_entry_ || (!f_.library && ends_in_library_[f->global]);
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
      std::uint32_t run_operator = f->kind == Node::Kind::builtin ? find_run_operator(f->name) : kNone;
      bool resumes = run_operator == static_cast<std::uint32_t>(bytecode::RunOperator::resume);
      s.keeps_frame = in_entry_ || (run_operator != kNone && !resumes && !f_.library);
      s.operands = values(n->children, 0, out);
      return out.ended ? null_atom() : append(out, std::move(s));
    }
    s.operands = known_operands(*lambda, n, out);
    if (out.ended) return null_atom();
    if (local) {
      std::vector<Atom> extra;
      for (VarId v : local->lifted) extra.push_back(lookup(v));
      s.operands.insert(s.operands.begin() + static_cast<std::ptrdiff_t>(lambda->vars.size()), extra.begin(), extra.end());
      if (local->needs_closure) s.operands.push_back(env_.at(f->var));
    }
    return append(out, std::move(s));
  }

  // Operands of a call to a known lambda, those of its rest parameter in a new list.
  std::vector<Atom> known_operands(const Node& lambda, const Node* call, Block& out) {
    std::vector<Atom> atoms = values(call->children, 1, out);
    if (out.ended || lambda.rest == kNone) return atoms;
    Atom list = null_atom();
    while (atoms.size() > lambda.vars.size()) {
      Statement s = operation(Opcode::cons, call->span, "");
      s.operands = {atoms.back(), list};
      list = append(out, std::move(s));
      atoms.pop_back();
    }
    atoms.push_back(list);
    return atoms;
  }

  // --- blocks: n in tail position of `out`; `tail` if that is the tail position of the function

  void convert(const Node* n, Block& out, bool tail) {
    switch (n->kind) {
    case Node::Kind::let:
      convert_let(n, 0, out, tail);
      return;
    case Node::Kind::sequence:
      for (std::size_t i = 0; i + 1 < n->children.size() && !out.ended; ++i) value(n->children[i], out);
      if (!out.ended) convert(n->children.back(), out, tail);
      return;
    case Node::Kind::if_:
      branch(n->children[0], out, arm(n->children[1], tail), arm(n->children[2], tail));
      return;
    case Node::Kind::call:
      if (convert_jump(n, out, tail)) return;
      break;
    default:
      break;
    }
    out.result = value(n, out);
  }

  Arm arm(const Node* n, bool tail) {
    return {[this, n, tail](Block& out) { convert(n, out, tail); },
            n->kind == Node::Kind::constant || n->kind == Node::Kind::local};
  }

  bool convert_jump(const Node* n, Block& out, bool tail) {
    const Node* f = n->children[0];
    std::uint32_t label = kNone;
    const Node* lambda = nullptr;
    if (f->kind == Node::Kind::local && use_[f->var].label) {
      label = labels_.at(f->var).first;
      lambda = labels_.at(f->var).second;
    } else if (tail && self_label_ != kNone) {
      bool same = f->kind == Node::Kind::global ? f->global == self_global_ : f->kind == Node::Kind::local && f->var == self_;
      lambda = !same ? nullptr : self_ != kNone ? functions_.at(self_).lambda : globals_.known_lambda(self_global_);
      if (!lambda || !accepts(*lambda, n->children.size() - 1)) return false;
      label = self_label_;
    }
    if (label == kNone) return false;
    Statement s = jump_statement(label, n->span);
    s.operands = known_operands(*lambda, n, out);
    if (!out.ended) end(out, std::move(s));
    return true;
  }

  bool is_label(const Binding& b) const { return b.vars[0] != kNone && use_[b.vars[0]].label; }

  void convert_binding(const Binding& b, Block& out) {
    if (b.vars[0] != kNone && use_[b.vars[0]].lambda) {
      bind_functions(b, out);
      return;
    }
    Atom a = value(b.inits[0], out);
    if (b.vars[0] == kNone || out.ended) return;
    env_[b.vars[0]] = a;
    if (a.kind == Atom::Kind::variable && f_.variables[a.index].empty()) f_.variables[a.index] = tree_.names[b.vars[0]];
  }

  void convert_let(const Node* n, std::size_t from, Block& out, bool tail) {
    for (std::size_t i = from; i < n->bindings.size() && !out.ended; ++i) {
      const Binding& b = n->bindings[i];
      if (!is_label(b)) {
        convert_binding(b, out);
        continue;
      }
      Statement s = labels_statement(n->span);
      for (std::size_t j = 0; j < b.vars.size(); ++j) labels_[b.vars[j]] = {f_.labels++, b.inits[j]};
      for (std::size_t j = 0; j < b.vars.size(); ++j) {
        const Node& lambda = *b.inits[j];
        Label l;
        l.id = labels_.at(b.vars[j]).first;
        l.name = tree_.names[b.vars[j]];
        l.loop = b.recursive;
        auto parameter = [&](VarId v) {
          l.parameters.push_back(variable(tree_.names[v]));
          env_[v] = variable_atom(l.parameters.back());
        };
        for (VarId v : lambda.vars) parameter(v);
        if (lambda.rest != kNone) parameter(lambda.rest);
        convert(lambda.body(), l.body, tail);
        s.labels.push_back(std::move(l));
      }
      convert_let(n, i + 1, s.blocks[0], tail);
      end(out, std::move(s));
      return;
    }
    if (!out.ended) convert(n->body(), out, tail);
  }

  // --- tests

  // True if `test` may take the arm: its literal ends are known.
  static bool may(const Node* test, bool arm) {
    if (test->kind == Node::Kind::constant) return is_false(*test->datum) != arm;
    if (test->kind == Node::Kind::primitive && test->op == Opcode::logical_not) return may(test->children[0], !arm);
    return true;
  }

  void branch(const Node* test, Block& out, const Arm& then_arm, const Arm& else_arm) {
    switch (test->kind) {
    case Node::Kind::constant:
      (is_false(*test->datum) ? else_arm : then_arm).emit(out);
      return;
    case Node::Kind::let: {
      bool plain = true;
      for (const Binding& b : test->bindings) plain = plain && !is_label(b);
      if (!plain) break;
      for (const Binding& b : test->bindings)
        if (!out.ended) convert_binding(b, out);
      if (!out.ended) branch(test->body(), out, then_arm, else_arm);
      return;
    }
    case Node::Kind::sequence:
      for (std::size_t i = 0; i + 1 < test->children.size() && !out.ended; ++i) value(test->children[i], out);
      if (!out.ended) branch(test->children.back(), out, then_arm, else_arm);
      return;
    case Node::Kind::if_:
      nested_branch(test, out, then_arm, else_arm);
      return;
    case Node::Kind::primitive:
      if (test->op == Opcode::logical_not) {
        branch(test->children[0], out, else_arm, then_arm);
        return;
      }
      break;
    default:
      break;
    }
    leaf(test, out, then_arm, else_arm);
  }

  // (if (if a b c) x y): x and y that both b and c may reach become labels.
  void nested_branch(const Node* test, Block& out, const Arm& then_arm, const Arm& else_arm) {
    const Node* b = test->children[1];
    const Node* c = test->children[2];
    Statement labels = labels_statement(test->span);
    auto shared = [&](const Arm& arm, bool which) {
      if (arm.small || !may(b, which) || !may(c, which)) return arm;
      Label l;
      l.id = f_.labels++;
      arm.emit(l.body);
      Statement jump = jump_statement(l.id, test->span);
      labels.labels.push_back(std::move(l));
      return Arm{[jump](Block& o) { end(o, jump); }, true};
    };
    Arm yes = shared(then_arm, true);
    Arm no = shared(else_arm, false);
    Arm first{[&](Block& o) { branch(b, o, yes, no); }, false};
    Arm second{[&](Block& o) { branch(c, o, yes, no); }, false};
    if (labels.labels.empty()) {
      branch(test->children[0], out, first, second);
      return;
    }
    branch(test->children[0], labels.blocks[0], first, second);
    end(out, std::move(labels));
  }

  void leaf(const Node* test, Block& out, const Arm& then_arm, const Arm& else_arm) {
    Statement s;
    s.kind = Statement::Kind::if_;
    s.terminal = true;
    s.span = test->span;
    s.op = Opcode::jump_false;
    if (test->kind == Node::Kind::primitive) {
      switch (test->op) {
      case Opcode::is_null:
        s.op = Opcode::jump_not_null;
        break;
      case Opcode::is_pair:
        s.op = Opcode::jump_not_pair;
        break;
      case Opcode::lt:
        s.op = Opcode::jump_not_lt;
        break;
      case Opcode::le:
        s.op = Opcode::jump_not_le;
        break;
      case Opcode::num_eq:
        s.op = Opcode::jump_not_eq;
        break;
      case Opcode::eqv:
        if (test->children[0]->kind == Node::Kind::constant || test->children[1]->kind == Node::Kind::constant)
          s.op = Opcode::jump_not_eqv_k;
        break;
      default:
        break;
      }
    }
    if (s.op == Opcode::jump_false) {
      s.operands = {value(test, out)};
    } else {
      s.operands = values(test->children, 0, out);
      if (!out.ended && (test->swapped || (s.op == Opcode::jump_not_eqv_k && s.operands[1].kind != Atom::Kind::literal)))
        std::swap(s.operands[0], s.operands[1]);
    }
    if (out.ended) return;
    s.blocks.resize(2);
    then_arm.emit(s.blocks[0]);
    else_arm.emit(s.blocks[1]);
    // Where l is known to be (), it serves as the constant.
    Block& yes = s.blocks[0];
    bool known_null = s.op == Opcode::jump_not_null && s.operands[0].kind == Atom::Kind::variable && level_ > 1;
    if (known_null && !yes.ended && yes.statements.empty() && yes.result.kind == Atom::Kind::literal &&
        unit_.literals[yes.result.index].kind == Literal::Kind::datum &&
        unit_.literals[yes.result.index].datum->kind == Datum::Kind::null)
      yes.result = s.operands[0];
    end(out, std::move(s));
  }

  Tree& tree_;
  const Globals& globals_;
  std::vector<LocalUse> use_;
  int level_;
  Unit unit_;
  std::deque<Pending> pending_;
  std::vector<std::uint32_t> global_functions_; // by form
  std::vector<bool> ends_in_library_;           // by global
  std::unordered_map<std::string, std::uint32_t> wrappers_;
  std::unordered_map<const Datum*, std::uint32_t> data_;
  std::unordered_map<std::uint32_t, std::uint32_t> function_literals_, operator_literals_;
  FunctionTable functions_;
  // of the function being built
  AnfFunction f_;
  std::unordered_map<VarId, Atom> env_;
  std::unordered_map<VarId, std::pair<std::uint32_t, const Node*>> labels_;
  bool in_entry_ = false; // its calls keep the frame: messages name the top level's place
  std::uint32_t form_ = 0, self_global_ = kNone, self_label_ = kNone;
  VarId self_ = kNone;
};

} // namespace

Unit build_unit(Tree& tree, const Globals& globals, std::vector<LocalUse> locals, int level) {
  return Builder(tree, globals, std::move(locals), level).build();
}

} // namespace cairn::compiler::back
