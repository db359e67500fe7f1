// Each round copies every form, with fresh variables, and improves it on the way: what is bound to an atom is replaced by it,
// what is bound to a lambda that is called once moves to the call, small procedures are copied to their calls, literals are
// folded, tests are kept apart from what comes before them. Evaluation order and everything that can fail stay.
//
// Captures are observable, so a variable that an opaque lambda mentions stays mentioned there: a replacement only happens at
// the depth of opaque lambdas (`level`) at which the variable is bound.

#include "compiler/back/simplify.h"

#include "compiler/back/fold.h"
#include "compiler/back/usage.h"

#include <algorithm>
#include <optional>

namespace cairn::compiler::back {
namespace {

struct Info {
  // as a variable of the input
  Usage usage{UINT32_MAX, 0}; // unknown for variables made in this round
  VarId renamed = kNone;
  Node* replacement = nullptr;     // an atom of the output
  Node* moved = nullptr;           // a lambda called once, to be expanded at the call
  std::optional<Span> moved_place; // the override that holds for its text
  // as a variable of the output
  std::uint32_t level = 0;
  std::uint32_t uses = 0;
  Node* small = nullptr; // the lambda it is bound to, if calls may copy that
  Node* cons = nullptr;  // the cons of atoms it is bound to
  bool boolean = false;
  bool pair = false, null = false; // known here
};

using Bindings = std::vector<Binding>;

class Simplifier {
public:
  Simplifier(Tree& tree, Globals& globals) : tree_(tree), globals_(globals) {}

  void round() {
    std::vector<bool> wanted;
    for (std::uint32_t f = 0; f < tree_.forms.size(); ++f) wanted.push_back(globals_.reached(f));
    std::vector<Usage> usage = count_uses(tree_, wanted);
    info_.assign(tree_.names.size(), {});
    for (std::size_t v = 0; v < usage.size(); ++v) info_[v].usage = usage[v];
    for (form_ = 0; form_ < tree_.forms.size(); ++form_)
      if (wanted[form_]) simplify_form();
  }

private:
  void simplify_form() {
    Node* in = tree_.forms[form_];
    const Node* value = in->kind == Node::Kind::set_global ? in->children[0] : in;
    in_library_ = value->kind == Node::Kind::lambda && value->library;
    budget_ = tree_.nodes.size() + kGrowthFactor * size_up_to(in, SIZE_MAX - 1) + kGrowthAllowance;
    active_.assign(1, value);
    Node* out = simplify(in);
    tree_.forms[form_] = out;
    if (out->kind == Node::Kind::set_global && globals_[out->global].once) globals_.set_value(out->global, out->children[0]);
  }

  // --- making output

  Span place(Span span) const { return override_ ? *override_ : span; }

  Node* make_like(const Node* n) {
    Node* m = tree_.make(n->kind, place(n->span));
    m->op = n->op;
    m->index = n->index;
    m->swapped = n->swapped;
    m->library = n->library;
    m->transparent = n->transparent;
    m->global = n->global;
    m->name = n->name;
    return m;
  }
  Node* constant(DatumPtr d, Span span) { return tree_.constant(std::move(d), span); }

  VarId fresh(const std::string& name, std::uint32_t level) {
    VarId v = tree_.fresh(std::string(name));
    info_.resize(tree_.names.size());
    info_[v].level = level;
    return v;
  }
  VarId rename(VarId in, std::uint32_t level) {
    VarId v = fresh(tree_.names[in], level);
    info_[in].renamed = v;
    info_[in].replacement = info_[in].moved = nullptr;
    return v;
  }

  Node* use(VarId v, Span span) {
    ++info_[v].uses;
    return tree_.local(v, span);
  }
  Node* copy_atom(const Node* atom, Span span) {
    if (atom->kind == Node::Kind::local) return use(atom->var, span);
    Node* m = make_like(atom);
    m->datum = atom->datum;
    m->span = span;
    return m;
  }
  // Takes back the uses of a piece of output that is thrown away.
  void discount(const Node* n) {
    std::vector<const Node*> work{n};
    while (!work.empty()) {
      const Node* m = work.back();
      work.pop_back();
      if (m->kind == Node::Kind::local) --info_[m->var].uses;
      work.insert(work.end(), m->children.begin(), m->children.end());
      for (const Binding& b : m->bindings) work.insert(work.end(), b.inits.begin(), b.inits.end());
    }
  }

  // --- expressions

  Node* simplify(const Node* n) {
    switch (n->kind) {
    case Node::Kind::constant:
    case Node::Kind::builtin:
      return copy_atom(n, place(n->span));
    case Node::Kind::local:
      return local(n);
    case Node::Kind::global:
      return global(n);
    case Node::Kind::lambda:
      return lambda(n);
    case Node::Kind::let: {
      Bindings bindings;
      bind_all(n, bindings);
      return finish(std::move(bindings), simplify(n->body()), place(n->span));
    }
    case Node::Kind::if_:
      return choice(n);
    case Node::Kind::sequence:
      return sequence(n);
    case Node::Kind::primitive: {
      Node* m = make_like(n);
      for (const Node* c : n->children) m->children.push_back(simplify(c));
      return primitive(m);
    }
    case Node::Kind::call:
      return call(n);
    case Node::Kind::set_global: {
      Node* m = make_like(n);
      m->children.push_back(simplify(n->children[0]));
      return m;
    }
    }
    return nullptr;
  }

  Node* local(const Node* n) {
    const Info& i = info_[n->var];
    VarId out = i.renamed == kNone ? n->var : i.renamed;
    if (i.replacement && info_[out].level == level_) return copy_atom(i.replacement, place(n->span));
    return use(out, place(n->span));
  }

  Node* global(const Node* n) {
    if (globals_.safe(n->global, form_)) {
      if (const Node* c = globals_.known_constant(n->global)) return copy_atom(c, place(n->span));
      const Node* value = globals_[n->global].value;
      if (value->kind == Node::Kind::builtin) return copy_atom(value, place(n->span));
    }
    return make_like(n);
  }

  Node* lambda(const Node* n) {
    std::uint32_t inside = n->transparent ? level_ : level_ + 1;
    Node* m = make_like(n);
    for (VarId v : n->vars) m->vars.push_back(rename(v, inside));
    if (n->rest != kNone) m->rest = rename(n->rest, inside);
    std::swap(level_, inside);
    Node* body = simplify(n->body());
    level_ = inside;
    m->children.push_back(body);
    return m;
  }

  // --- let

  void bind_all(const Node* n, Bindings& out) {
    for (const Binding& b : n->bindings) {
      if (b.recursive) {
        bind_group(b, out);
      } else if (b.vars[0] == kNone) {
        effect(simplify(b.inits[0]), out);
      } else if (b.inits[0]->kind == Node::Kind::lambda) {
        const Usage& u = info_[b.vars[0]].usage;
        if (u.uses == 0) continue;
        if (u.uses == 1 && u.calls == 1) {
          rename(b.vars[0], level_);
          info_[b.vars[0]].moved = b.inits[0];
          info_[b.vars[0]].moved_place = override_;
        } else {
          bind(b.vars[0], simplify(b.inits[0]), out);
        }
      } else {
        bind(b.vars[0], simplify(b.inits[0]), out);
      }
    }
  }

  void bind_group(const Binding& b, Bindings& out) {
    Binding group;
    group.recursive = true;
    for (VarId v : b.vars) group.vars.push_back(rename(v, level_));
    for (const Node* i : b.inits) group.inits.push_back(simplify(i));
    out.push_back(std::move(group));
  }

  void effect(Node* e, Bindings& out) {
    e = open(e, out);
    if (is_pure(*e))
      discount(e);
    else
      out.push_back({{kNone}, {e}, false});
  }

  // Moves what comes before the value of e into `out`. Lambdas stay where they are called in tail position (`whole` if that
  // is so in `out` too): they may become loops.
  Node* open(Node* e, Bindings& out, bool whole = false) {
    for (;;) {
      if (e->kind == Node::Kind::let) {
        auto lambda = whole ? e->bindings.end() : std::find_if(e->bindings.begin(), e->bindings.end(), [](const Binding& b) {
          return b.inits[0]->kind == Node::Kind::lambda;
        });
        out.insert(out.end(), e->bindings.begin(), lambda);
        e->bindings.erase(e->bindings.begin(), lambda);
        if (!e->bindings.empty()) return e;
        e = e->body();
      } else if (e->kind == Node::Kind::sequence) {
        for (std::size_t i = 0; i + 1 < e->children.size(); ++i) out.push_back({{kNone}, {e->children[i]}, false});
        e = e->children.back();
      } else {
        return e;
      }
    }
  }

  void bind(VarId in, Node* e, Bindings& out) {
    e = open(e, out);
    VarId v = rename(in, level_);
    if (e->kind == Node::Kind::primitive && e->op == Opcode::cons) {
      for (Node*& part : e->children) part = named(part, out);
      info_[v].cons = e;
    }
    if (is_atom(*e)) info_[in].replacement = e;
    if (e->kind == Node::Kind::lambda && is_small(*e)) info_[v].small = e;
    info_[v].boolean = e->kind == Node::Kind::primitive && is_boolean_valued(e->op);
    out.push_back({{v}, {e}, false});
  }

  Node* named(Node* e, Bindings& out) {
    e = open(e, out);
    if (is_atom(*e)) return e;
    VarId v = fresh("", level_);
    out.push_back({{v}, {e}, false});
    return use(v, e->span);
  }

  // Small enough to be copied. A body that makes procedures is not: copies of a procedure would be different procedures, and the
  // tangent of a procedure is one of the same code.
  static bool is_small(const Node& lambda) {
    return size_up_to(lambda.body(), kSmallBody) <= kSmallBody && !makes_procedures(lambda.body());
  }

  static bool makes_procedures(const Node* body) {
    std::vector<const Node*> pending{body};
    while (!pending.empty()) {
      const Node* n = pending.back();
      pending.pop_back();
      if (n->kind == Node::Kind::lambda) return true;
      for (const Binding& b : n->bindings) pending.insert(pending.end(), b.inits.begin(), b.inits.end());
      pending.insert(pending.end(), n->children.begin(), n->children.end());
    }
    return false;
  }

  Node* finish(Bindings bindings, Node* body, Span span) {
    body = open(body, bindings, true);
    for (std::size_t i = bindings.size(); i-- > 0;) prune(bindings[i]);
    std::erase_if(bindings, [](const Binding& b) { return b.inits.empty(); });
    body = merge_last(bindings, body);
    if (bindings.empty()) return body;
    Node* let = tree_.make(Node::Kind::let, span);
    let->bindings = std::move(bindings);
    let->children.push_back(body);
    return let;
  }

  // Empties a binding that nobody needs.
  void prune(Binding& b) {
    if (b.vars[0] == kNone) return;
    if (!b.recursive) {
      if (info_[b.vars[0]].uses > 0) return;
      if (!is_pure(*b.inits[0])) {
        b.vars[0] = kNone;
        return;
      }
    } else {
      // Uses by the group itself do not count.
      for (const Node* i : b.inits) discount(i);
      bool used = std::any_of(b.vars.begin(), b.vars.end(), [&](VarId v) { return info_[v].uses > 0; });
      if (used) {
        for (const Node* i : b.inits) recount(i);
        return;
      }
      b.inits.clear();
      return;
    }
    discount(b.inits[0]);
    b.inits.clear();
  }
  void recount(const Node* n) {
    std::vector<const Node*> work{n};
    while (!work.empty()) {
      const Node* m = work.back();
      work.pop_back();
      if (m->kind == Node::Kind::local) ++info_[m->var].uses;
      work.insert(work.end(), m->children.begin(), m->children.end());
      for (const Binding& b : m->bindings) work.insert(work.end(), b.inits.begin(), b.inits.end());
    }
  }

  // A last binding that the body only passes on, or only tests, becomes part of the body.
  Node* merge_last(Bindings& bindings, Node* body) {
    while (!bindings.empty()) {
      Binding& last = bindings.back();
      if (last.recursive || last.vars[0] == kNone) return body;
      VarId v = last.vars[0];
      if (body->kind == Node::Kind::local && body->var == v && info_[v].uses == 1) {
        body = last.inits[0];
        info_[v].uses = 0;
        bindings.pop_back();
        continue;
      }
      Node* test = body;
      while (test->kind == Node::Kind::if_ && test->children[0]->kind == Node::Kind::if_) test = test->children[0];
      if (test->kind != Node::Kind::if_ || test->children[0]->kind != Node::Kind::local || test->children[0]->var != v)
        return body;
      bool once = info_[v].uses == 1;
      // (let ((t a)) (if t t b)) where a is #t or #f
      bool either =
          info_[v].uses == 2 && info_[v].boolean && test->children[1]->kind == Node::Kind::local && test->children[1]->var == v;
      if (!once && !either) return body;
      test->children[0] = last.inits[0];
      if (either) test->children[1] = constant(make_boolean(true), test->children[1]->span);
      info_[v].uses = 0;
      bindings.pop_back();
    }
    return body;
  }

  Node* sequence(const Node* n) {
    Bindings bindings;
    for (std::size_t i = 0; i + 1 < n->children.size(); ++i) effect(simplify(n->children[i]), bindings);
    return finish(std::move(bindings), simplify(n->children.back()), place(n->span));
  }

  // --- if

  Node* choice(const Node* n) {
    Bindings before;
    Node* test = open(simplify(n->children[0]), before);
    const Node* yes = n->children[1];
    const Node* no = n->children[2];
    while (test->kind == Node::Kind::primitive && test->op == Opcode::logical_not) {
      test = test->children[0];
      std::swap(yes, no);
    }
    test = open(test, before);
    if (test->kind == Node::Kind::constant) {
      Node* taken = simplify(is_false(*test->datum) ? no : yes);
      return finish(std::move(before), taken, place(n->span));
    }
    for (Node* t = test; t->kind == Node::Kind::if_; t = t->children[0]) {
      bool repeated = t->children[0]->kind == Node::Kind::local && t->children[1]->kind == Node::Kind::local &&
                      t->children[0]->var == t->children[1]->var;
      if (!repeated) continue;
      discount(t->children[1]);
      t->children[1] = constant(make_boolean(true), t->children[1]->span);
    }
    Node* m = tree_.make(Node::Kind::if_, place(n->span));
    m->children = {test, arm(yes, test, true), arm(no, test, false)};
    if (is_literal(m->children[1], true) && is_literal(m->children[2], false) && is_boolean(test))
      return finish(std::move(before), test, place(n->span));
    return finish(std::move(before), m, place(n->span));
  }

  static bool is_literal(const Node* n, bool b) {
    return n->kind == Node::Kind::constant && n->datum->kind == Datum::Kind::boolean && (n->datum->integer != 0) == b;
  }
  bool is_boolean(const Node* n) const {
    if (n->kind == Node::Kind::local) return info_[n->var].boolean;
    return n->kind == Node::Kind::primitive && is_boolean_valued(n->op);
  }

  // An arm of an if, simplified with what the test says about a variable.
  Node* arm(const Node* n, const Node* test, bool taken) {
    bool says = test->kind == Node::Kind::primitive && test->children.size() == 1 && test->children[0]->kind == Node::Kind::local;
    bool pair = says && taken && test->op == Opcode::is_pair;
    bool null = says && taken && test->op == Opcode::is_null;
    if (!pair && !null) return simplify(n);
    VarId v = test->children[0]->var;
    bool& fact = pair ? info_[v].pair : info_[v].null;
    bool before = fact;
    fact = true;
    Node* m = simplify(n);
    (pair ? info_[v].pair : info_[v].null) = before;
    return m;
  }

  // --- primitives

  Node* primitive(Node* m) {
    if (Node* known = known_value(m)) return known;
    bool literal =
        std::all_of(m->children.begin(), m->children.end(), [](const Node* c) { return c->kind == Node::Kind::constant; });
    if (!literal || m->children.empty()) return m;
    std::vector<const Datum*> operands;
    for (const Node* c : m->children) operands.push_back(c->datum.get());
    if (m->swapped) std::swap(operands[0], operands[1]);
    DatumPtr value = fold(m->op, operands);
    return value ? constant(std::move(value), m->span) : m;
  }

  // What is known of an operation on a variable bound to a cons, or tested before.
  Node* known_value(Node* m) {
    if (m->children.size() != 1) return nullptr;
    Node* c = m->children[0];
    if (m->op == Opcode::logical_not && c->kind == Node::Kind::primitive && c->op == Opcode::logical_not &&
        is_boolean(c->children[0]))
      return c->children[0];
    if (c->kind == Node::Kind::primitive && c->op == Opcode::cons && is_atom(*c->children[0]) && is_atom(*c->children[1])) {
      if (m->op != Opcode::car && m->op != Opcode::cdr) return nullptr;
      std::size_t part = m->op == Opcode::car ? 0 : 1;
      discount(c->children[1 - part]);
      return c->children[part];
    }
    if (c->kind != Node::Kind::local) return nullptr;
    const Info& i = info_[c->var];
    auto answer = [&](bool b) {
      discount(c);
      return constant(make_boolean(b), m->span);
    };
    bool pair = i.pair || i.cons;
    if (m->op == Opcode::is_pair && (pair || i.null)) return answer(pair);
    if (m->op == Opcode::is_null && (pair || i.null)) return answer(i.null);
    if ((m->op == Opcode::car || m->op == Opcode::cdr) && i.cons && i.level == level_) {
      const Node* part = i.cons->children[m->op == Opcode::car ? 0 : 1];
      discount(c);
      return copy_atom(part, m->span);
    }
    return nullptr;
  }

  // --- calls

  Node* call(const Node* n) {
    const Node* f = n->children[0];
    std::size_t count = n->children.size() - 1;
    if (f->kind == Node::Kind::lambda && accepts(*f, count)) return expand(f, operands(n), n->span);
    if (f->kind == Node::Kind::local && info_[f->var].moved) {
      const Node* moved = info_[f->var].moved;
      info_[f->var].moved = nullptr;
      return expand_moved(moved, n, info_[f->var].moved_place);
    }
    Bindings before;
    Node* g = open(simplify(f), before);
    std::vector<Node*> arguments = operands(n);
    Node* result = nullptr;
    if (const Node* body = copyable(g); body && accepts(*body, count)) {
      discount(g);
      result = expand(body, std::move(arguments), n->span);
    } else if (g->kind == Node::Kind::builtin) {
      result = builtin_call(g, arguments, n->span);
    }
    if (!result) {
      result = tree_.make(Node::Kind::call, place(n->span));
      result->children.push_back(g);
      result->children.insert(result->children.end(), arguments.begin(), arguments.end());
    }
    return before.empty() ? result : finish(std::move(before), result, place(n->span));
  }

  std::vector<Node*> operands(const Node* n) {
    std::vector<Node*> out;
    for (std::size_t i = 1; i < n->children.size(); ++i) out.push_back(simplify(n->children[i]));
    return out;
  }

  Node* builtin_call(const Node* builtin, const std::vector<Node*>& arguments, Span span) {
    const Builtin* b = find_builtin(builtin->name);
    if (!b || arguments.size() < b->least || arguments.size() > b->most) return nullptr;
    Node* m = tree_.primitive(b->op, arguments, place(span), b->index);
    m->swapped = b->swapped;
    return primitive(m);
  }

  // The lambda that a call of f may copy.
  const Node* copyable(const Node* f) const {
    const Node* body = nullptr;
    if (f->kind == Node::Kind::local) {
      body = info_[f->var].small;
    } else if (f->kind == Node::Kind::global && globals_.safe(f->global, form_)) {
      body = globals_.known_lambda(f->global);
      if (body && (!is_small(*body) || mentions_global(body, f->global))) body = nullptr;
    }
    if (!body || active_.size() > kDeepestInlining || tree_.nodes.size() > budget_) return nullptr;
    return std::find(active_.begin(), active_.end(), body) == active_.end() ? body : nullptr;
  }

  // A copied lambda. Errors inside a library procedure belong to the user's call.
  Node* expand(const Node* lambda, std::vector<Node*> arguments, Span span) {
    std::optional<Span> text = override_;
    if (!lambda->library)
      text.reset();
    else if (!text && !in_library_)
      text = span;
    return expand_at(lambda, std::move(arguments), span, text);
  }

  Node* expand_moved(const Node* lambda, const Node* call, std::optional<Span> text) {
    return expand_at(lambda, operands(call), call->span, text);
  }

  // The body of a lambda with its parameters bound to operands of the output; `text` overrides the places of the body.
  Node* expand_at(const Node* lambda, std::vector<Node*> arguments, Span span, std::optional<Span> text) {
    span = place(span);
    arguments = gathered(tree_, *lambda, std::move(arguments), span);
    std::swap(override_, text);
    active_.push_back(lambda);
    Bindings bindings;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      VarId v = i < lambda->vars.size() ? lambda->vars[i] : lambda->rest;
      const Usage u = v < info_.size() ? info_[v].usage : Usage{};
      if (arguments[i]->kind == Node::Kind::lambda && u.uses == 1 && u.calls == 1 && movable(lambda, v, *arguments[i])) {
        rename(v, level_);
        discount(arguments[i]);
        info_[v].moved = arguments[i];
        info_[v].moved_place.reset();
      } else {
        bind(v, arguments[i], bindings);
      }
    }
    Node* body = simplify(lambda->body());
    active_.pop_back();
    override_ = text;
    return finish(std::move(bindings), body, span);
  }

  // The one use of parameter v in the lambda's body is a call that `argument` accepts.
  static bool movable(const Node* lambda, VarId v, const Node& argument) {
    std::vector<const Node*> work{lambda->body()};
    while (!work.empty()) {
      const Node* n = work.back();
      work.pop_back();
      if (n->kind == Node::Kind::call && n->children[0]->kind == Node::Kind::local && n->children[0]->var == v)
        return accepts(argument, n->children.size() - 1);
      work.insert(work.end(), n->children.begin(), n->children.end());
      for (const Binding& b : n->bindings) work.insert(work.end(), b.inits.begin(), b.inits.end());
    }
    return false;
  }

  Tree& tree_;
  Globals& globals_;
  std::vector<Info> info_;
  std::vector<const Node*> active_; // lambdas being expanded
  std::optional<Span> override_;
  std::uint32_t form_ = 0, level_ = 0;
  std::size_t budget_ = 0;
  bool in_library_ = false;
};

} // namespace

void simplify(Tree& tree, Globals& globals) {
  constexpr int kRounds = 3;
  Simplifier simplifier(tree, globals);
  for (int i = 0; i < kRounds; ++i) simplifier.round();
}

} // namespace cairn::compiler::back
