// Lifetime of data and expressions. Both are trees as deep as the user's text, so they are taken apart without the recursion the compiler would
// generate, and without memory, which there may be none of: what waits is linked through a slot of its own whose content waits in front of it.
#include "compiler/core.h"

#include <utility>

namespace cairn::compiler {

namespace {

bool has_parts(const Datum& d) { return d.car || d.cdr || !d.items.empty(); }

DatumPtr& link_of(Datum& d) { return d.items.empty() ? d.cdr : d.items[0]; }

// Puts a part in front of `waiting`, unless something else holds it or it has no parts itself.
void wait(DatumPtr part, DatumPtr& waiting) {
  while (part && part.use_count() == 1 && has_parts(*part)) {
    auto& d = const_cast<Datum&>(*part); // the last holder: nobody sees the change
    DatumPtr next = std::exchange(link_of(d), std::move(waiting));
    waiting = std::exchange(part, std::move(next));
  }
}

void wait(ExprPtr part, ExprPtr& waiting) {
  while (part && !part->children.empty()) {
    ExprPtr next = std::exchange(part->children[0], std::move(waiting));
    waiting = std::exchange(part, std::move(next));
  }
}

} // namespace

Datum::~Datum() {
  if (!has_parts(*this)) return;
  DatumPtr waiting;
  auto all = [&waiting](Datum& d) {
    wait(std::move(d.car), waiting);
    wait(std::move(d.cdr), waiting);
    for (DatumPtr& item : d.items) wait(std::move(item), waiting);
  };
  all(*this);
  while (waiting) {
    DatumPtr d = std::move(waiting);
    auto& parts = const_cast<Datum&>(*d);
    waiting = std::move(link_of(parts));
    all(parts);
  }
}

Expr::~Expr() {
  ExprPtr waiting;
  for (ExprPtr& child : children) wait(std::move(child), waiting);
  while (waiting) {
    ExprPtr e = std::move(waiting);
    waiting = std::move(e->children[0]);
    for (ExprPtr& child : e->children) wait(std::move(child), waiting);
  }
}

} // namespace cairn::compiler
