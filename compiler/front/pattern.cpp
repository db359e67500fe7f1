// Parameters and patterns: variables, tests and selections. A value that does not match ends in match_fail of the part that
// differs. The parts of a pair are always taken together, car first, which is what the back end fuses into one instruction.
#include "compiler/front/expander.h"

#include "compiler/front/reader.h"

#include <fmt/format.h>

namespace cairn::compiler {

namespace {

bool is_single(const Datum& list) { return is_pair(list) && is_null(*list.cdr); }

} // namespace

Variable* Expander::Patterns::target(const DatumPtr& target) { return part(target, Shape::whole, work_); }

// Only parts that are no names are left for later.
Variable* Expander::Patterns::part(const DatumPtr& given, Shape shape, Vector<Part>& later) {
  DatumPtr pattern = given;
  for (;;) { // (cons* p) is p
    if (shape == Shape::cons_star && is_single(*pattern)) {
      pattern = pattern->car;
      shape = Shape::whole;
    } else if (shape == Shape::whole && is_pair(*pattern) && is_symbol(*pattern->car, "cons*") && is_single(*pattern->cdr)) {
      pattern = pattern->cdr->car;
    } else {
      break;
    }
  }
  if (shape == Shape::whole && is_symbol(*pattern)) {
    if (!names_.emplace(pattern->text(), true).second)
      complain(pattern->span, fmt::format("the name '{}' appears twice here", pattern->text()));
    return expander_.bind(pattern);
  }
  Variable* value = expander_.fresh("part", pattern->span);
  later.push_back({value, std::move(pattern), shape});
  return value;
}

void Expander::Patterns::take_apart() {
  Vector<Part> stack, parts;
  for (std::size_t i = work_.size(); i-- > 0;) stack.push_back(std::move(work_[i]));
  work_.clear();
  while (!stack.empty()) {
    Part p = std::move(stack.back());
    stack.pop_back();
    parts.clear();
    match(p, parts);
    for (std::size_t i = parts.size(); i-- > 0;) stack.push_back(std::move(parts[i]));
  }
  names_.clear();
}

void Expander::Patterns::match_pair(Variable* value, Variable* car, Variable* cdr, Span span) {
  nest_.put(make_if(call_builtin("pair?", span, make_local(value, span)), nullptr, make_match_fail(value, span), span), 1);
  Exprs inits;
  inits.push_back(call_builtin("car", span, make_local(value, span)));
  inits.push_back(call_builtin("cdr", span, make_local(value, span)));
  Variable* const parts[] = {car, cdr};
  nest_.put_let(parts, std::move(inits), span);
}

void Expander::Patterns::match(const Part& p, Vector<Part>& later) {
  const Datum& d = *p.pattern;
  auto pair_of = [&](const DatumPtr& car, Shape car_shape, const DatumPtr& cdr, Shape cdr_shape) {
    Variable* a = part(car, car_shape, later);
    Variable* b = part(cdr, cdr_shape, later);
    match_pair(p.value, a, b, d.span);
  };
  auto constant = [&](const DatumPtr& c) {
    nest_.put(make_if(expander_.constant_test(p.value, c, true, d.span), nullptr, make_match_fail(p.value, d.span), d.span), 1);
  };
  auto complain_shape = [&] {
    complain(d.span, fmt::format("a pattern is a name, a constant, (cons p q), (list p ...) or (cons* p ... q), got {}",
                                 datum_text(d, 60)));
  };

  switch (p.shape) {
  case Shape::quoted:
    if (is_pair(d)) return pair_of(d.car, Shape::quoted, d.cdr, Shape::quoted);
    if (d.kind == Datum::Kind::vector) complain_shape();
    return constant(p.pattern);
  case Shape::list:
  case Shape::cons_star:
    if (is_pair(d)) return pair_of(d.car, Shape::whole, d.cdr, p.shape);
    if (!is_null(d) || p.shape == Shape::cons_star) complain_shape();
    return constant(p.pattern);
  case Shape::whole:
    break;
  }
  if (d.kind == Datum::Kind::vector) complain_shape();
  if (!is_pair(d)) return constant(p.pattern);
  const Datum& rest = *d.cdr;
  if (is_symbol(*d.car, "list")) return match({p.value, d.cdr, Shape::list}, later);
  if (is_symbol(*d.car, "cons*") && is_pair(rest)) return match({p.value, d.cdr, Shape::cons_star}, later);
  if (is_symbol(*d.car, "quote") && is_single(rest)) return match({p.value, rest.car, Shape::quoted}, later);
  if (is_symbol(*d.car, "cons") && is_pair(rest) && is_single(*rest.cdr))
    return pair_of(rest.car, Shape::whole, rest.cdr->car, Shape::whole);
  complain_shape();
}

ExprPtr Expander::constant_test(Variable* value, const DatumPtr& constant, bool strings_by_content, Span span) {
  auto v = [&] { return make_local(value, span); };
  auto guarded = [&](std::string_view predicate, ExprPtr test) {
    return make_if(call_builtin(predicate, span, v()), std::move(test), make_constant(false, span), span);
  };
  if (is_null(*constant)) return call_builtin("null?", span, v());
  if (is_number(*constant)) return guarded("number?", call_builtin("=", span, v(), make_constant(constant, span)));
  if (constant->kind == Datum::Kind::string && strings_by_content)
    return guarded("string?", call_builtin("=", span, call_builtin("%string-compare", span, v(), make_constant(constant, span)),
                                           make_constant(std::int64_t{0}, span)));
  return call_builtin("eqv?", span, v(), make_constant(constant, span));
}

} // namespace cairn::compiler
