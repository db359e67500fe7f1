// Frames, closures and lambda lifting: what becomes a function of the module and how it gets what it needs.

#include "compiler/back/builder_state.h"
#include "compiler/back/tail_safety.h"

namespace cairn::compiler::back {

Builder::Builder(Tree& tree, const Globals& globals, Vector<LocalUse> locals, int level, Ground& ground)
    : tree_(tree), globals_(globals), use_(std::move(locals)), level_(level), unit_(ground),
      global_functions_(tree.forms.size(), kNone), ends_in_library_(ends_in_library(tree, globals)) {}

Unit Builder::build() {
  unit_.entry = reserve();
  build_entry();
  while (!pending_.empty()) {
    Pending p = std::move(pending_.front());
    pending_.pop_front();
    build_function(p);
  }
  return std::move(unit_);
}

std::uint32_t Builder::reserve() {
  unit_.functions.emplace_back();
  return unit_.ground.ends.functions + static_cast<std::uint32_t>(unit_.functions.size() - 1);
}

void Builder::start(const Node* lambda, std::uint32_t form) {
  f_ = AnfFunction{};
  env_.clear();
  form_ = form;
  self_label_ = kNone;
  if (!lambda) return;
  f_.name = lambda->name;
  f_.span = lambda->origin.span;
  f_.library = lambda->library;
}

std::uint32_t Builder::variable(std::string_view name) {
  f_.variables.push_back(name);
  return static_cast<std::uint32_t>(f_.variables.size() - 1);
}

void Builder::build_entry() {
  start(nullptr, 0);
  in_entry_ = true;
  BasicBlock& body = f_.body;
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
  unit_.functions[unit_.entry - unit_.ground.ends.functions] = std::move(f_);
  in_entry_ = false;
}

void Builder::define(const Node& n, BasicBlock& out) {
  const Node* init = n.children[0];
  bool stored = globals_[n.global].stored || !globals_[n.global].once;
  if (!stored && is_trivial(n)) return;
  Atom a =
      init->kind == Node::Kind::lambda && globals_.known_lambda(n.global) == init ? global_function(n.global) : value(init, out);
  if (out.ended || !stored) return;
  Statement s;
  s.op = Opcode::set_global;
  s.index = n.global;
  s.origin = origin_of(n.origin);
  s.operands = {a};
  out.statements.push_back(std::move(s));
}

void Builder::build_function(const Pending& p) {
  start(p.lambda, p.form);
  const Node& lambda = *p.lambda;
  Vector<std::uint32_t> own;
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
  Vector<std::uint32_t>& names = loops ? entry.parameters : own;
  if (loops) {
    self_label_ = entry.id = f_.labels++;
    entry.loop = true;
    entry.name = lambda.name;
    for (std::uint32_t v : own) entry.parameters.push_back(variable(f_.variables[v]));
  }
  for (std::size_t i = 0; i < lambda.vars.size(); ++i) env_[lambda.vars[i]] = variable_atom(names[i]);
  if (lambda.rest != kNone) env_[lambda.rest] = variable_atom(names.back());
  if (!loops) {
    convert(lambda.body(), f_.body, true);
  } else {
    convert(lambda.body(), entry.body, true);
    Statement s = labels_statement(lambda.origin);
    Statement jump = jump_statement(entry.id, lambda.origin);
    for (std::uint32_t v : own) jump.operands.push_back(variable_atom(v));
    s.labels.push_back(std::move(entry));
    end(s.blocks[0], std::move(jump));
    end(f_.body, std::move(s));
  }
  unit_.functions[p.index - unit_.ground.ends.functions] = std::move(f_);
}

// The closure arrives in the last entry slot; captured values and siblings are read from it. Reads nobody needs vanish
// in liveness, the others are moved to where they are needed first.
void Builder::open_closure(const Pending& p) {
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

Atom Builder::sibling(Atom of, std::uint32_t member, std::string_view name, BasicBlock& out) {
  Statement s = operation(Opcode::sibling, f_.span, name);
  s.index = member;
  s.operands = {of};
  return append(out, std::move(s));
}

bool Builder::is_self_call(const Node* call, const Pending& p) const {
  const Node* f = call->children[0];
  bool same = f->kind == Node::Kind::global ? f->global == p.self_global : f->kind == Node::Kind::local && f->var == p.self;
  return same && accepts(*p.lambda, call->children.size() - 1);
}

bool Builder::calls_itself_in_tail_position(const Node& lambda, const Pending& p) const {
  if (p.self_global == kNone && p.self == kNone) return false;
  Vector<const Node*> work{lambda.body()};
  while (!work.empty()) {
    const Node* n = work.back();
    work.pop_back();
    poll();
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

Statement Builder::operation(Opcode op, const Origin& origin, std::string_view result) {
  Statement s;
  s.op = op;
  s.origin = origin_of(origin);
  s.dest = variable(result);
  return s;
}

Statement Builder::labels_statement(const Origin& origin) {
  Statement s;
  s.kind = Statement::Kind::labels;
  s.terminal = true;
  s.origin = origin_of(origin);
  s.blocks.emplace_back();
  return s;
}

Statement Builder::jump_statement(std::uint32_t label, const Origin& origin) {
  Statement s;
  s.kind = Statement::Kind::jump;
  s.terminal = true;
  s.index = label;
  s.origin = origin_of(origin);
  return s;
}

Atom Builder::append(BasicBlock& out, Statement s) {
  Atom result = variable_atom(s.dest);
  out.statements.push_back(std::move(s));
  return result;
}

void Builder::end(BasicBlock& out, Statement s) {
  out.statements.push_back(std::move(s));
  out.ended = true;
}

Atom Builder::literal(const DatumPtr& datum) {
  auto [found, inserted] = data_.emplace(datum, static_cast<std::uint32_t>(unit_.literals.size()));
  if (inserted) unit_.literals.push_back({Literal::Kind::datum, datum, 0});
  return literal_atom(found->second);
}

Atom Builder::null_atom() { return literal(make_null()); }

Atom Builder::literal(Literal::Kind kind, std::uint32_t index) {
  auto& known = kind == Literal::Kind::function ? function_literals_ : operator_literals_;
  auto [found, inserted] = known.emplace(index, static_cast<std::uint32_t>(unit_.literals.size()));
  if (inserted) unit_.literals.push_back({kind, nullptr, index});
  return literal_atom(found->second);
}

std::uint32_t Builder::global_function_index(std::uint32_t g) {
  std::uint32_t form = globals_[g].form;
  auto& library = unit_.ground.library;
  if (global_functions_[form] == kNone)
    if (auto earlier = library.find(g); earlier != library.end()) global_functions_[form] = earlier->second;
  if (global_functions_[form] == kNone) {
    Pending p;
    p.index = global_functions_[form] = reserve();
    p.lambda = globals_.known_lambda(g);
    p.form = form;
    p.self_global = g;
    if (p.lambda->library) library.emplace(g, p.index);
    pending_.push_back(std::move(p));
  }
  return global_functions_[form];
}

Atom Builder::global_function(std::uint32_t g) { return literal(Literal::Kind::function, global_function_index(g)); }

Atom Builder::builtin_value(const Node& n) {
  bool host = n.op == Opcode::host;
  std::uint32_t op = host ? kNone : find_run_operator(n.name);
  if (op != kNone) return literal(Literal::Kind::run_operator, op);
  auto [found, inserted] = unit_.ground.wrappers.emplace(std::pair(host, std::string(n.name)), kNone);
  if (inserted) {
    Pending p;
    p.index = found->second = reserve();
    p.lambda = make_wrapper(tree_, *tree_.builtin(n));
    p.form = form_;
    pending_.push_back(std::move(p));
    use_.resize(tree_.names.size());
  }
  return literal(Literal::Kind::function, found->second);
}

// A closure block for lambdas that may escape; the value of each is put where `vars` says (none for an anonymous lambda).
Atom Builder::make_closures(const Vector<VarId>& vars, const Vector<const Node*>& lambdas, BasicBlock& out) {
  Vector<VarId> captures = free_variables(lambdas, vars, functions_);
  Vector<std::uint32_t> indices;
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
  std::string_view name = vars.empty() ? lambdas[0]->name : tree_.names[vars[0]];
  Statement s = operation(Opcode::group, lambdas[0]->origin, name);
  s.index = unit_.ground.ends.groups + static_cast<std::uint32_t>(unit_.groups.size());
  unit_.groups.push_back({{indices.begin(), indices.end()}, static_cast<std::uint16_t>(captures.size())});
  for (VarId v : captures) s.operands.push_back(lookup(v));
  Atom first = append(out, std::move(s));
  for (std::size_t i = 0; i < vars.size(); ++i)
    env_[vars[i]] = i == 0 ? first : sibling(first, static_cast<std::uint32_t>(i), tree_.names[vars[i]], out);
  return first;
}

void Builder::bind_functions(const Binding& b, BasicBlock& out) {
  bool known = level_ > 0;
  for (VarId v : b.vars) known = known && !use_[v].escapes;
  if (known) {
    Vector<VarId> extra = free_variables({b.inits.begin(), b.inits.end()}, b.vars, functions_);
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

Atom Builder::lookup(VarId v) {
  auto f = functions_.find(v);
  if (f != functions_.end() && !f->second.needs_closure) return literal(Literal::Kind::function, f->second.index);
  return env_.at(v);
}

Unit build_unit(Tree& tree, const Globals& globals, Vector<LocalUse> locals, int level, Ground& ground) {
  return Builder(tree, globals, std::move(locals), level, ground).build();
}

} // namespace cairn::compiler::back
