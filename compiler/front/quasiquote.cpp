// Quasiquotation. A part without unquotes stays one constant; the rest is built by cons, append and list->vector, whatever the
// user may have defined under those names. Lists are walked by a loop, elements by recursion.
#include "compiler/front/expander.h"

#include "compiler/front/reader.h"

#include <fmt/format.h>

namespace cairn::compiler {

namespace {

// (keyword datum); complains about other uses of the keyword as a head.
bool is_tagged(const DatumPtr& d, std::string_view keyword) {
  if (!is_pair(*d) || !is_symbol(*d->car, keyword)) return false;
  if (!is_pair(*d->cdr) || !is_null(*d->cdr->cdr)) complain(d->span, fmt::format("'{}' takes one expression", keyword));
  return true;
}

struct Element {
  DatumPtr cell; // the pair it is the car of
  ExprPtr value; // null: constant
  bool splice;
};

} // namespace

// Null where `d` is constant.
ExprPtr Expander::quasi(const DatumPtr& d, unsigned level) {
  if (d->kind == Datum::Kind::vector) {
    DatumPtr list = make_null(d->span);
    for (std::size_t i = d->size; i-- > 0;) list = make_pair(d->items()[i], list, d->span);
    ExprPtr e = is_null(*list) ? nullptr : quasi_list(list, level);
    return e ? call_builtin("list->vector", d->span, std::move(e)) : nullptr;
  }
  if (!is_pair(*d)) return nullptr;
  Deeper deeper(*this, d->span);
  auto again = [&](unsigned inner) -> ExprPtr {
    ExprPtr e = quasi(d->cdr->car, inner);
    if (!e) return nullptr;
    e = call_builtin("cons", d->span, std::move(e), make_constant(make_null(d->span), d->span));
    return call_builtin("cons", d->span, make_constant(d->car, d->span), std::move(e));
  };
  if (is_tagged(d, "unquote")) return level == 1 ? expand(d->cdr->car) : again(level - 1);
  if (is_tagged(d, "unquote-splicing")) {
    if (level == 1) complain(d->span, "',@' belongs inside a list or vector");
    return again(level - 1);
  }
  if (is_tagged(d, "quasiquote")) return again(level + 1);
  return quasi_list(d, level);
}

ExprPtr Expander::quasi_list(const DatumPtr& d, unsigned level) {
  Vector<Element> elements;
  DatumPtr rest = d;
  for (; is_pair(*rest); rest = rest->cdr) {
    // (a . ,b) reads as (a unquote b)
    if (rest != d && is_symbol(*rest->car) &&
        (is_tagged(rest, "unquote") || is_tagged(rest, "unquote-splicing") || is_tagged(rest, "quasiquote")))
      break;
    bool splice = level == 1 && is_tagged(rest->car, "unquote-splicing");
    elements.push_back({rest, splice ? expand(rest->car->cdr->car) : quasi(rest->car, level), splice});
  }
  ExprPtr built = quasi(rest, level); // null: the constant `rest`
  for (std::size_t i = elements.size(); i-- > 0;) {
    Element& e = elements[i];
    if (built || e.value) {
      Span span = e.cell->car->span;
      bool last = !built && is_null(*rest);
      if (!built) built = make_constant(rest, rest->span);
      if (!e.value) e.value = make_constant(e.cell->car, span);
      if (!e.splice)
        built = call_builtin("cons", span, std::move(e.value), std::move(built));
      else if (last)
        built = std::move(e.value); // ,@ at the end: the list itself
      else
        built = make_call(library_global("%append/2", span), span, std::move(e.value), std::move(built));
    }
    rest = e.cell;
  }
  return built;
}

ExprPtr Expander::expand_quasiquote(const DatumPtr& form, Items items) {
  if (items.size() != 2) complain(form->span, "'quasiquote' takes one datum");
  ExprPtr e = quasi(items[1], 1);
  return e ? std::move(e) : make_constant(items[1], form->span);
}

} // namespace cairn::compiler
