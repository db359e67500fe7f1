// Lifetime of data and expressions. Both are trees as deep as the user's text, so they are taken apart with a work list
// instead of the recursion the compiler would generate.
#include "compiler/core.h"

#include <utility>

namespace cairn::compiler {

namespace {

bool has_parts(const Datum& d) { return d.car || d.cdr || !d.items.empty(); }

// Moves the parts that nothing else holds and that have parts themselves to the work list; the rest die with their holder.
void take_parts(Datum& d, std::vector<DatumPtr>& work) {
  auto take = [&work](DatumPtr& p) {
    if (p && p.use_count() == 1 && has_parts(*p)) work.push_back(std::move(p));
  };
  take(d.car);
  take(d.cdr);
  for (DatumPtr& item : d.items) take(item);
}

} // namespace

Datum::~Datum() {
  if (!has_parts(*this)) return;
  std::vector<DatumPtr> work;
  take_parts(*this, work);
  while (!work.empty()) {
    DatumPtr d = std::move(work.back());
    work.pop_back();
    take_parts(const_cast<Datum&>(*d), work); // the last holder: nobody sees the change
  }
}

Expr::~Expr() {
  std::vector<ExprPtr> work;
  auto take = [&work](Expr& e) {
    for (ExprPtr& child : e.children)
      if (child && !child->children.empty()) work.push_back(std::move(child));
  };
  take(*this);
  while (!work.empty()) {
    ExprPtr e = std::move(work.back());
    work.pop_back();
    take(*e);
  }
}

} // namespace cairn::compiler
