// Definitions that a program's last use of them gives up. An update in place wants to be the only holder of its leaves, and what
// is defined at the top level is held for good, as any procedure may read it at any time. But where nothing except the top level
// itself mentions a name, its last mention is the last use: the value is taken out of the global there. Only programs that
// update in place are changed, as others cannot see it.
#include "compiler/front/give_up.h"

#include "compiler/compiler.h"
#include "compiler/front/build.h"

namespace cairn::compiler {

namespace {

struct Uses {
  bool in_procedure = false; // which may run at any time, and more than once
  std::size_t form = 0;      // the last one with a mention,
  std::size_t mentions = 0;  // and how many it has
  Expr* last = nullptr;
};

bool updates_in_place(const Expr& e) {
  return e.kind == Expr::Kind::builtin && (e.name == "%*j-update!" || e.name == "%checkpoint-*j-update!");
}

// Before what it defines has been given a value, nothing is there to be given up.
bool holds_nothing(const Expr& value) {
  return value.kind == Expr::Kind::lambda || value.kind == Expr::Kind::constant || value.kind == Expr::Kind::builtin;
}

} // namespace

void give_up_definitions(Program& program) {
  Map<std::uint32_t, Uses> uses;
  Map<std::uint32_t, bool> gone; // what can be given up: a program's own definition of something that is computed
  struct Work {
    Expr* e;
    bool in_procedure;
  };
  Vector<Work> pending;
  bool updates = false;
  for (std::size_t form = 0; form < program.forms.size(); ++form) {
    Expr& top = *program.forms[form];
    if (top.kind == Expr::Kind::set_global) {
      const Global& g = program.globals()[top.global];
      gone[top.global] = !g.library && g.defined_once && !holds_nothing(*top.children[0]);
    }
    pending.push_back({&top, false});
    while (!pending.empty()) {
      const Work work = pending.back();
      pending.pop_back();
      if (work.e->kind == Expr::Kind::global) {
        Uses& u = uses[work.e->global];
        u.in_procedure = u.in_procedure || work.in_procedure;
        if (u.mentions == 0 || u.form != form) u.mentions = 0;
        u.form = form;
        ++u.mentions;
        u.last = work.e;
      }
      updates = updates || updates_in_place(*work.e);
      const bool inside = work.in_procedure || work.e->kind == Expr::Kind::lambda;
      for (ExprPtr& child : work.e->children) pending.push_back({child.get(), inside});
    }
  }
  if (!updates) return;
  for (const auto& [global, u] : uses) {
    const auto defined = gone.find(global);
    if (u.in_procedure || u.mentions != 1 || defined == gone.end() || !defined->second) continue;
    // (let ((value NAME)) (begin (set NAME #f) value))
    Expr& e = *u.last;
    const Span span = e.span;
    Variable* const value = &program.variables.emplace_back(Variable{program.globals()[global].name, span});
    auto clear = make_expr(Expr::Kind::set_global, span);
    clear->global = global;
    clear->children.push_back(make_unspecified(span));
    auto both = make_expr(Expr::Kind::sequence, span);
    both->children.push_back(std::move(clear));
    both->children.push_back(make_local(value, span));
    e.kind = Expr::Kind::let;
    e.variables.push_back(value);
    e.children.push_back(make_global(global, span));
    e.children.push_back(std::move(both));
    program.globals()[global].defined_once = false; // it has two values
  }
}

} // namespace cairn::compiler
