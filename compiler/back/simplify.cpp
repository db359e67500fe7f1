// The walk over a form and how its output is made; simplifier.h says what a round does.

#include "compiler/back/simplifier.h"

#include <utility>

namespace cairn::compiler::back {

void Simplifier::round() {
  Vector<bool> wanted;
  for (std::uint32_t f = 0; f < tree_.forms.size(); ++f) wanted.push_back(globals_.reached(f));
  Vector<Usage> usage = count_uses(tree_, wanted);
  info_.assign(tree_.names.size(), {});
  for (std::size_t v = 0; v < usage.size(); ++v) info_[v].usage = usage[v];
  for (form_ = 0; form_ < tree_.forms.size(); ++form_)
    if (wanted[form_]) simplify_form();
}

void Simplifier::simplify_form() {
  Node* in = tree_.forms[form_];
  const Node* value = in->kind == Node::Kind::set_global ? in->children[0] : in;
  in_library_ = value->kind == Node::Kind::lambda && value->library;
  budget_ = tree_.nodes.size() + kGrowthFactor * size_up_to(in, SIZE_MAX - 1) + kGrowthAllowance;
  active_.assign(1, value);
  Node* out = simplify(in);
  tree_.forms[form_] = out;
  if (out->kind == Node::Kind::set_global && globals_[out->global].once) globals_.set_value(out->global, out->children[0]);
}

Node* Simplifier::make_like(const Node* n) {
  Node* m = tree_.make(n->kind, origin_of(n->origin));
  m->op = n->op;
  m->index = n->index;
  m->swapped = n->swapped;
  m->library = n->library;
  m->transparent = n->transparent;
  m->global = n->global;
  m->name = n->name;
  return m;
}

VarId Simplifier::fresh(std::string_view name, std::uint32_t level) {
  VarId v = tree_.fresh(name);
  info_.resize(tree_.names.size());
  info_[v].level = level;
  return v;
}

VarId Simplifier::rename(VarId in, std::uint32_t level) {
  VarId v = fresh(tree_.names[in], level);
  info_[in].renamed = v;
  info_[in].replacement = info_[in].moved = nullptr;
  return v;
}

Node* Simplifier::use(VarId v, const Origin& origin) {
  ++info_[v].uses;
  return tree_.local(v, origin);
}

Node* Simplifier::copy_atom(const Node* atom, const Origin& origin) {
  if (atom->kind == Node::Kind::local) return use(atom->var, origin);
  Node* m = make_like(atom);
  m->datum = atom->datum;
  m->origin = origin;
  return m;
}

void Simplifier::count_uses_in(const Node* n, int by) {
  Vector<const Node*> work{n};
  while (!work.empty()) {
    const Node* m = work.back();
    work.pop_back();
    poll();
    if (m->kind == Node::Kind::local) info_[m->var].uses += static_cast<std::uint32_t>(by);
    work.insert(work.end(), m->children.begin(), m->children.end());
    for (const Binding& b : m->bindings) work.insert(work.end(), b.inits.begin(), b.inits.end());
  }
}

Node* Simplifier::simplify(const Node* n) {
  poll();
  switch (n->kind) {
  case Node::Kind::constant:
  case Node::Kind::builtin:
    return copy_atom(n, origin_of(n->origin));
  case Node::Kind::local:
    return local(n);
  case Node::Kind::global:
    return global(n);
  case Node::Kind::lambda:
    return lambda(n);
  case Node::Kind::let: {
    Bindings bindings;
    bind_all(n, bindings);
    return finish(std::move(bindings), simplify(n->body()), origin_of(n->origin));
  }
  case Node::Kind::if_:
    return choice(n);
  case Node::Kind::sequence:
    return sequence(n);
  case Node::Kind::operation: {
    Node* m = make_like(n);
    for (const Node* c : n->children) m->children.push_back(simplify(c));
    return operation(m);
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

Node* Simplifier::local(const Node* n) {
  const Info& i = info_[n->var];
  VarId out = i.renamed == kNone ? n->var : i.renamed;
  if (i.replacement && info_[out].level == level_) return copy_atom(i.replacement, origin_of(n->origin));
  return use(out, origin_of(n->origin));
}

Node* Simplifier::global(const Node* n) {
  if (globals_.safe(n->global, form_)) {
    if (const Node* c = globals_.known_constant(n->global)) return copy_atom(c, origin_of(n->origin));
    const Node* value = globals_[n->global].value;
    if (value->kind == Node::Kind::builtin) return copy_atom(value, origin_of(n->origin));
  }
  return make_like(n);
}

Node* Simplifier::lambda(const Node* n) {
  std::uint32_t inside = n->transparent ? level_ : level_ + 1;
  Node* m = make_like(n);
  for (VarId v : n->vars) m->vars.push_back(rename(v, inside));
  if (n->rest != kNone) m->rest = rename(n->rest, inside);
  // It has frames of its own: no call that was copied led there. What it does is told from where they were made.
  std::uint32_t base = std::exchange(base_, kNoSite);
  std::optional<Origin> override = override_;
  if (override_) override_->site = kNoSite;
  std::swap(level_, inside);
  Node* body = simplify(n->body());
  level_ = inside;
  base_ = base;
  override_ = override;
  m->children.push_back(body);
  return m;
}

Node* Simplifier::sequence(const Node* n) {
  Bindings bindings;
  for (std::size_t i = 0; i + 1 < n->children.size(); ++i) effect(simplify(n->children[i]), bindings);
  return finish(std::move(bindings), simplify(n->children.back()), origin_of(n->origin));
}

void simplify(Tree& tree, Globals& globals) {
  constexpr int kRounds = 3;
  Simplifier simplifier(tree, globals);
  for (int i = 0; i < kRounds; ++i) simplifier.round();
}

} // namespace cairn::compiler::back
