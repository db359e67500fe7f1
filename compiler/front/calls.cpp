// Calls: of builtins, whose n-ary forms become the core's fixed ones, of library procedures, and of everything else.
#include "compiler/front/expander.h"

#include "compiler/front/reader.h"

#include <fmt/format.h>

namespace cairn::compiler {

namespace {

// Calls of more operands are made in pieces, so that the core does not nest as deeply as a call is long.
constexpr std::size_t kLongestNest = 1000;

// Operands first to last-but-`tails` in pairs before `tail`. Nested cons evaluates its operands left to right.
ExprPtr cons_before(Exprs& operands, std::size_t first, std::size_t last, ExprPtr tail, Span span) {
  for (std::size_t i = last; i-- > first;) tail = call_builtin("cons", span, std::move(operands[i]), std::move(tail));
  return tail;
}

ExprPtr null_constant(Span span) { return make_constant(make_null(span), span); }

DatumPtr space_character(Span span) {
  auto d = make_datum(Datum::Kind::character, span);
  d->integer = ' ';
  return d;
}

} // namespace

ExprPtr Expander::call(const DatumPtr& form, Items items) {
  std::size_t count = items.size() - 1;
  auto operands = [&] {
    Exprs out;
    out.reserve(count);
    for (const DatumPtr& d : items.subspan(1)) out.push_back(expand(d));
    return out;
  };
  ExprPtr procedure;
  if (is_symbol(*items[0])) {
    Meaning m = meaning(items[0]->text());
    if (m.kind == Meaning::Kind::builtin) {
      const Builtin& b = *m.builtin;
      if (count < b.least || count > b.most) complain_arity(b.name, b.least, b.most, count, form->span);
      return call_of_builtin(b, operands(), form->span);
    }
    if (m.kind == Meaning::Kind::host) {
      const bytecode::Import& h = program_.hosts[m.host];
      if (count != h.parameters) complain_arity(h.name, h.parameters, h.parameters, count, form->span);
    }
    if (m.kind == Meaning::Kind::library) {
      const LibraryDefinition& d = *m.library;
      if (d.procedure && (count < d.least || count > d.most)) complain_arity(d.name, d.least, d.most, count, form->span);
      // A definition for just this number of operands spares the list of them.
      const LibraryDefinition* special = find_library_definition(fmt::format("%{}/{}", d.name, count));
      procedure = library_global(special != nullptr ? *special : d, items[0]->span);
    }
  }
  if (!procedure) procedure = expand(items[0]);
  auto e = make_expr(Expr::Kind::call, form->span);
  e->children.push_back(std::move(procedure));
  for (ExprPtr& operand : operands()) e->children.push_back(std::move(operand));
  return e;
}

// (op (op a b) c): evaluated left to right as written.
ExprPtr Expander::fold_left(std::string_view op, Exprs operands, Span span) {
  Nest nest;
  ExprPtr e = std::move(operands[0]);
  for (std::size_t i = 1; i < operands.size(); ++i) {
    e = call_builtin(op, span, std::move(e), std::move(operands[i]));
    if (i % kLongestNest != 0) continue;
    Variable* so_far = fresh("so-far", span);
    nest.put_let(so_far, std::move(e), span);
    e = make_local(so_far, span);
  }
  return nest.close(std::move(e));
}

ExprPtr Expander::call_of_builtin(const Builtin& b, Exprs operands, Span span) {
  std::size_t count = operands.size();
  switch (b.shape) {
  case Shape::direct:
    break;
  case Shape::sum:
    if (count == 0) return make_constant(std::int64_t{b.name == "*"}, span);
    // x times exact 1 is x, its sign of zero included, and an error where x is no number.
    if (count == 1) return call_builtin("*", span, std::move(operands[0]), make_constant(std::int64_t{1}, span));
    return fold_left(b.core, std::move(operands), span);
  case Shape::difference:
    if (count > 1) return fold_left(b.core, std::move(operands), span);
    if (b.name == "-") return call_builtin("%neg", span, std::move(operands[0]));
    return call_builtin("/", span, make_constant(std::int64_t{1}, span), std::move(operands[0]));
  case Shape::extremum: {
    if (count > 1) return fold_left(b.core, std::move(operands), span);
    // Of a tensor alone its largest element was meant: the library says so.
    if (!in_library_) return make_call(library_global(b.name == "max" ? "%max/1" : "%min/1", span), span, std::move(operands[0]));
    Variable* x = fresh("x", span);
    Nest nest;
    nest.put_let(x, std::move(operands[0]), span);
    return nest.close(call_builtin(b.core, span, make_local(x, span), make_local(x, span)));
  }
  case Shape::comparison:
    if (count == 2) break;
    return call_of_comparison(b, std::move(operands), span);
  case Shape::list: {
    std::size_t begin = count == 0 ? 0 : (count - 1) / kLongestNest * kLongestNest;
    ExprPtr list = cons_before(operands, begin, count, null_constant(span), span);
    for (; begin > 0; begin -= kLongestNest)
      list = make_call(library_global("%append/2", span), span,
                       cons_before(operands, begin - kLongestNest, begin, null_constant(span), span), std::move(list));
    return list;
  }
  case Shape::cons_star: {
    ExprPtr tail = std::move(operands.back());
    return cons_before(operands, 0, count - 1, std::move(tail), span);
  }
  case Shape::selector: {
    ExprPtr e = std::move(operands[0]);
    for (std::size_t i = b.name.size() - 2; i > 0; --i) e = call_builtin(b.name[i] == 'a' ? "car" : "cdr", span, std::move(e));
    return e;
  }
  case Shape::sign_test:
    return call_builtin(b.core, span, std::move(operands[0]), make_constant(std::int64_t{0}, span));
  case Shape::step:
    return call_builtin(b.core, span, std::move(operands[0]), make_constant(std::int64_t{1}, span));
  case Shape::apply: {
    if (count == 2) break;
    ExprPtr tail = std::move(operands.back());
    tail = cons_before(operands, 1, count - 1, std::move(tail), span);
    return call_builtin("apply", span, std::move(operands[0]), std::move(tail));
  }
  case Shape::error:
    return call_builtin(b.core, span, cons_before(operands, 0, count, null_constant(span), span));
  case Shape::arctangent:
    if (count == 1) break;
    return call_builtin("%atan2", span, std::move(operands[0]), std::move(operands[1]));
  case Shape::fill:
    if (count == 1)
      operands.push_back(b.name == "make-vector" ? make_constant(std::int64_t{0}, span)
                                                 : make_constant(space_character(span), span));
    break;
  }
  auto e = make_expr(Expr::Kind::call, span);
  e->children.reserve(1 + operands.size());
  e->children.push_back(make_builtin(b.core, span));
  for (ExprPtr& operand : operands) e->children.push_back(std::move(operand));
  return e;
}

// One operand must be a number and compares as true; more than two are evaluated once and compared with their neighbours.
ExprPtr Expander::call_of_comparison(const Builtin& b, Exprs operands, Span span) {
  Vector<Variable*> xs;
  for (const ExprPtr& operand : operands) xs.push_back(fresh("x", operand->span));
  Nest nest;
  nest.put_let(xs, std::move(operands), span);
  auto compare = [&](std::size_t i, std::size_t j) {
    return call_builtin(b.core, span, make_local(xs[i], span), make_local(xs[j], span));
  };
  if (xs.size() == 1) {
    auto sequence = make_expr(Expr::Kind::sequence, span);
    sequence->children.push_back(compare(0, 0));
    sequence->children.push_back(make_constant(true, span));
    return nest.close(std::move(sequence));
  }
  for (std::size_t i = 0; i + 2 < xs.size(); ++i)
    nest.put(make_if(compare(i, i + 1), nullptr, make_constant(false, span), span), 1);
  return nest.close(compare(xs.size() - 2, xs.size() - 1));
}

} // namespace cairn::compiler
