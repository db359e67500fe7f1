// From core to tree. Recursion follows the nesting of the source, which nesting() has measured (iteratively) and
// generate.cpp has bounded before.

#include "compiler/back/tree.h"

#include "compiler/back/components.h"

#include <algorithm>

namespace cairn::compiler::back {
namespace {

bool is_link(const Expr& e) {
  return e.kind == Expr::Kind::let || e.kind == Expr::Kind::letrec || e.kind == Expr::Kind::sequence;
}
// `last`, the last child of e, and e become one node.
bool continues(const Expr& e, const Expr& last) { return is_link(e) && is_link(last); }

class Converter {
public:
  Converter(const Program& program, Tree& tree) : program_(program), tree_(tree) {}

  void run() {
    for (const bytecode::Import& h : program_.hosts)
      tree_.hosts.push_back(
          {h.name, Opcode::host, h.parameters, h.parameters, false, static_cast<std::uint16_t>(tree_.hosts.size())});
    for (const ExprPtr& form : program_.forms) tree_.forms.push_back(convert(*form));
  }

private:
  VarId bind(const Variable* v) {
    VarId id = tree_.fresh(v->name);
    vars_[v] = id;
    return id;
  }

  Node* convert(const Expr& e) {
    poll();
    switch (e.kind) {
    case Expr::Kind::constant:
      return tree_.constant(e.datum, e.span);
    case Expr::Kind::local:
      return tree_.local(vars_.at(e.variable), e.span);
    case Expr::Kind::global: {
      Node* n = tree_.make(Node::Kind::global, e.span);
      n->global = e.global;
      return n;
    }
    case Expr::Kind::builtin: {
      Node* n = tree_.make(Node::Kind::builtin, e.span);
      n->name = e.name;
      return n;
    }
    case Expr::Kind::host: {
      Node* n = tree_.make(Node::Kind::builtin, e.span);
      n->name = program_.hosts[e.host].name;
      n->op = Opcode::host;
      n->index = static_cast<std::uint16_t>(e.host);
      return n;
    }
    case Expr::Kind::lambda:
      return convert_lambda(e);
    case Expr::Kind::let:
    case Expr::Kind::letrec:
      return convert_let(e);
    case Expr::Kind::if_:
    case Expr::Kind::sequence: {
      if (continues(e, *e.children.back())) return convert_let(e);
      Node* n = tree_.make(e.kind == Expr::Kind::if_ ? Node::Kind::if_ : Node::Kind::sequence, e.span);
      for (const ExprPtr& c : e.children) n->children.push_back(convert(*c));
      return n;
    }
    case Expr::Kind::call:
      return convert_call(e);
    case Expr::Kind::set_global: {
      Node* n = tree_.make(Node::Kind::set_global, e.span);
      n->global = e.global;
      n->children.push_back(convert(*e.children[0]));
      return n;
    }
    case Expr::Kind::match_fail:
      return tree_.operation(Opcode::fail, {convert(*e.children[0])}, e.span, 1);
    }
    return nullptr;
  }

  Node* convert_lambda(const Expr& e) {
    Node* n = tree_.make(Node::Kind::lambda, e.span);
    n->name = e.name;
    n->library = e.library;
    for (const Variable* v : e.variables) n->vars.push_back(bind(v));
    if (e.rest) n->rest = bind(e.rest);
    n->children.push_back(convert(*e.children[0]));
    return n;
  }

  // A chain of lets and sequences, however long, becomes one node.
  Node* convert_let(const Expr& first) {
    Node* n = tree_.make(Node::Kind::let, first.span);
    const Expr* e = &first;
    for (; is_link(*e); e = e->children.back().get()) {
      if (e->kind == Expr::Kind::sequence) {
        for (std::size_t i = 0; i + 1 < e->children.size(); ++i)
          n->bindings.push_back({{kNone}, {convert(*e->children[i])}, false});
        continue;
      }
      Vector<VarId> vars;
      if (e->kind == Expr::Kind::letrec)
        for (const Variable* v : e->variables) vars.push_back(bind(v));
      Vector<Node*> inits;
      for (std::size_t i = 0; i < e->variables.size(); ++i) inits.push_back(convert(*e->children[i]));
      if (e->kind == Expr::Kind::letrec) {
        append_components(std::move(vars), std::move(inits), n->bindings);
      } else {
        for (std::size_t i = 0; i < e->variables.size(); ++i) n->bindings.push_back({{bind(e->variables[i])}, {inits[i]}, false});
      }
    }
    n->children.push_back(convert(*e));
    return n;
  }

  Node* convert_call(const Expr& e) {
    const Expr& callee = *e.children[0];
    Vector<Node*> operands;
    if (callee.kind == Expr::Kind::builtin || callee.kind == Expr::Kind::host) {
      const Builtin* b = callee.kind == Expr::Kind::host ? &tree_.hosts[callee.host] : find_builtin(callee.name);
      std::size_t count = e.children.size() - 1;
      if (b && count >= b->least && count <= b->most) {
        for (std::size_t i = 1; i < e.children.size(); ++i) operands.push_back(convert(*e.children[i]));
        Node* n = tree_.operation(b->op, std::move(operands), e.span, b->index);
        n->swapped = b->swapped;
        return n;
      }
    }
    Node* n = tree_.make(Node::Kind::call, e.span);
    for (const ExprPtr& c : e.children) n->children.push_back(convert(*c));
    Node& lambda = *n->children[0];
    if (lambda.kind != Node::Kind::lambda || !accepts(lambda, n->children.size() - 1)) return n;
    operands = gathered(tree_, lambda, {n->children.begin() + 1, n->children.end()}, e.span);
    Node* let = tree_.make(Node::Kind::let, e.span);
    for (std::size_t i = 0; i < operands.size(); ++i)
      let->bindings.push_back({{i < lambda.vars.size() ? lambda.vars[i] : lambda.rest}, {operands[i]}, false});
    let->children.push_back(lambda.body());
    return let;
  }

  const Program& program_;
  Tree& tree_;
  Map<const Variable*, VarId> vars_;
};

} // namespace

const Builtin* Tree::builtin(const Node& node) const {
  return node.op == Opcode::host ? &hosts[node.index] : find_builtin(node.name);
}

Node* Tree::make(Node::Kind kind, const Origin& origin) {
  Node& n = nodes.emplace_back();
  n.kind = kind;
  n.origin = origin;
  return &n;
}

Node* Tree::constant(DatumPtr datum, const Origin& origin) {
  Node* n = make(Node::Kind::constant, origin);
  n->datum = datum;
  return n;
}

Node* Tree::local(VarId var, const Origin& origin) {
  Node* n = make(Node::Kind::local, origin);
  n->var = var;
  return n;
}

Node* Tree::operation(Opcode op, Vector<Node*> operands, const Origin& origin, std::uint16_t index) {
  Node* n = make(Node::Kind::operation, origin);
  n->op = op;
  n->index = index;
  n->children = std::move(operands);
  return n;
}

VarId Tree::fresh(std::string_view name) {
  names.push_back(name);
  return static_cast<VarId>(names.size() - 1);
}

// A rest list of many operands is left to the machine: spelled out as nested pairs it would nest as deep as it is long.
bool accepts(const Node& lambda, std::size_t count) {
  constexpr std::size_t kLongestRest = 256;
  if (count == lambda.vars.size()) return true;
  return lambda.rest != kNone && count > lambda.vars.size() && count - lambda.vars.size() <= kLongestRest;
}

Vector<Node*> gathered(Tree& tree, const Node& lambda, Vector<Node*> operands, const Origin& origin) {
  if (lambda.rest == kNone) return operands;
  Node* list = tree.constant(make_null(), origin);
  while (operands.size() > lambda.vars.size()) {
    list = tree.operation(Opcode::cons, {operands.back(), list}, origin);
    operands.pop_back();
  }
  operands.push_back(list);
  return operands;
}

bool is_atom(const Node& n) {
  return n.kind == Node::Kind::constant || n.kind == Node::Kind::local || n.kind == Node::Kind::builtin;
}

bool is_pure(const Node& n) {
  poll();
  switch (n.kind) {
  case Node::Kind::constant:
  case Node::Kind::local:
  case Node::Kind::builtin:
  case Node::Kind::lambda:
    return true;
  case Node::Kind::operation:
    return is_pure(n.op) &&
           std::all_of(n.children.begin(), n.children.end(), [](const Node* c) { return is_atom(*c) || is_pure(*c); });
  default:
    return false;
  }
}

namespace {

Datum* make_datum(Datum::Kind kind) {
  auto* d = new (Arena::current().allocate(sizeof(Datum))) Datum;
  d->kind = kind;
  return d;
}

} // namespace

DatumPtr make_null() {
  static const Datum null{};
  return &null;
}

DatumPtr make_boolean(bool b) {
  Datum* d = make_datum(Datum::Kind::boolean);
  d->integer = b;
  return d;
}

DatumPtr make_integer(std::int64_t i) {
  Datum* d = make_datum(Datum::Kind::integer);
  d->integer = i;
  return d;
}

DatumPtr make_flonum(double x) {
  Datum* d = make_datum(Datum::Kind::flonum);
  d->flonum = x;
  return d;
}

DatumPtr make_string(std::string_view text) {
  Datum* d = make_datum(Datum::Kind::string);
  std::string_view kept = Arena::current().copy(text);
  d->characters = kept.data();
  d->size = kept.size();
  return d;
}

bool is_false(const Datum& d) { return d.kind == Datum::Kind::boolean && d.integer == 0; }

Nesting nesting(const Program& program) {
  Nesting deepest;
  Vector<std::pair<const Expr*, std::size_t>> work;
  for (const ExprPtr& form : program.forms) work.push_back({form.get(), 1});
  while (!work.empty()) {
    auto [e, depth] = work.back();
    work.pop_back();
    if (depth > deepest.depth) deepest = {depth, e->span};
    if (depth > kDeepest) throw Failure{{e->span, "expressions nested too deeply"}, {}};
    poll();
    // A local procedure may become a label, whose scope nests in the code.
    std::size_t labels = 0;
    if (e->kind == Expr::Kind::let || e->kind == Expr::Kind::letrec)
      labels = static_cast<std::size_t>(
          std::count_if(e->children.begin(), e->children.end(), [](const ExprPtr& c) { return c->kind == Expr::Kind::lambda; }));
    for (const ExprPtr& c : e->children) {
      std::size_t inside = c == e->children.back() ? depth + labels : depth;
      work.push_back({c.get(), c == e->children.back() && continues(*e, *c) ? inside : inside + 1});
    }
  }
  return deepest;
}

Tree make_tree(const Program& program) {
  Tree tree;
  Converter(program, tree).run();
  return tree;
}

} // namespace cairn::compiler::back
