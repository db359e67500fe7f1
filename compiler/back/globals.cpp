// The top level runs form by form. Code of a lambda can only run once a form that is more than a lambda or a literal
// refers to it, directly or through other globals: that gives the first moment each form's code can run.

#include "compiler/back/globals.h"

namespace cairn::compiler::back {
namespace {

template <class Visit> void each_global(const Node* form, Visit visit) {
  Vector<const Node*> work{form};
  while (!work.empty()) {
    const Node* n = work.back();
    work.pop_back();
    poll();
    if (n->kind == Node::Kind::global) visit(n->global);
    for (const Node* c : n->children) work.push_back(c);
    for (const Binding& b : n->bindings)
      for (const Node* i : b.inits) work.push_back(i);
  }
}

} // namespace

bool is_trivial(const Node& form) {
  if (form.kind == Node::Kind::constant || form.kind == Node::Kind::lambda) return true;
  if (form.kind != Node::Kind::set_global) return false;
  Node::Kind kind = form.children[0]->kind;
  return kind == Node::Kind::lambda || kind == Node::Kind::constant || kind == Node::Kind::builtin;
}

Globals::Globals(const Program& program, const Tree& tree, const Options& options)
    : level_(options.level), program_(program), exports_(options.exports), size_(program.globals().size()),
      first_run_(tree.forms.size(), kNone), reached_(tree.forms.size()) {
  for (std::uint32_t f = 0; f < tree.forms.size(); ++f)
    if (tree.forms[f]->kind == Node::Kind::set_global) definitions_[tree.forms[f]->global].push_back(f);
  for (const auto& [g, forms] : definitions_) {
    if (forms.size() != 1 || !program.globals()[g].defined_once) continue;
    info_[g] = {true, forms[0], tree.forms[forms[0]]->children[0], false};
  }
  Vector<std::uint32_t> work;
  for (std::uint32_t start = 0; start < tree.forms.size(); ++start) {
    if (is_trivial(*tree.forms[start])) continue;
    work.push_back(start);
    while (!work.empty()) {
      std::uint32_t f = work.back();
      work.pop_back();
      if (first_run_[f] != kNone) continue;
      first_run_[f] = start;
      each_global(tree.forms[f], [&](std::uint32_t g) {
        for (std::uint32_t d : definitions(g))
          if (first_run_[d] == kNone) work.push_back(d);
      });
    }
  }
}

Node* Globals::known_lambda(std::uint32_t g) const {
  const GlobalInfo& i = (*this)[g];
  return level_ > 0 && i.once && i.value->kind == Node::Kind::lambda ? i.value : nullptr;
}

Node* Globals::known_constant(std::uint32_t g) const {
  const GlobalInfo& i = (*this)[g];
  if (level_ < 2 || !i.once || i.value->kind != Node::Kind::constant) return nullptr;
  Datum::Kind kind = i.value->datum->kind;
  return kind == Datum::Kind::pair || kind == Datum::Kind::vector || kind == Datum::Kind::string ? nullptr : i.value;
}

void Globals::mark_stored(const Tree& tree) {
  reached_.assign(tree.forms.size(), false);
  for (auto& [g, info] : info_) info.stored = exported(g);
  Vector<std::uint32_t> work;
  for (std::uint32_t f = 0; f < tree.forms.size(); ++f) {
    const Node& form = *tree.forms[f];
    bool seen = form.kind == Node::Kind::set_global && exported(form.global);
    if (!is_trivial(form) || seen || f + 1 == tree.forms.size()) work.push_back(f);
  }
  while (!work.empty()) {
    std::uint32_t f = work.back();
    work.pop_back();
    if (reached_[f]) continue;
    reached_[f] = true;
    each_global(tree.forms[f], [&](std::uint32_t g) {
      if (!known_lambda(g) || !safe(g, f)) info_[g].stored = true;
      for (std::uint32_t d : definitions(g)) work.push_back(d);
    });
  }
}

} // namespace cairn::compiler::back
