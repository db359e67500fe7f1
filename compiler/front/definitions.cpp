// Definitions that stand for others: procedures with derivative rules, records, several values. And let-values, which is a let of
// patterns.
#include "compiler/front/expander.h"

#include "compiler/front/reader.h"

#include <fmt/format.h>

#include <algorithm>

namespace cairn::compiler {

namespace {

DatumPtr list_datum(std::span<const DatumPtr> items, Span span) {
  DatumPtr list = make_null(span);
  for (std::size_t i = items.size(); i-- > 0;) list = make_pair(items[i], std::move(list), span);
  return list;
}

// The pattern (list p ...).
DatumPtr list_pattern(const DatumPtr& patterns) {
  return make_pair(make_symbol("list", patterns->span), patterns, patterns->span);
}

constexpr std::string_view kDerivativeForm = "'define-derivative' is written (define-derivative (name p ...) (value e ...) "
                                             "(forward (y dp ...) e ...) (reverse (y c) e ...)), "
                                             "where one of the rules may be left out";
constexpr std::string_view kRecordForm =
    "'define-record-type' is written (define-record-type name (constructor field ...) predicate (field accessor [updater]) ...)";

} // namespace

Vector<Definition> Expander::definitions(const DatumPtr& form) const {
  Vector<Definition> out;
  if (is_form(form, "define"))
    out.push_back(parse_definition(form));
  else if (is_form(form, "define-derivative"))
    out.push_back(parse_derivative(form));
  else if (is_form(form, "define-record-type"))
    parse_record(form, out);
  else if (is_form(form, "define-values"))
    parse_values(form, out);
  return out;
}

// --- define-derivative

Definition Expander::parse_derivative(const DatumPtr& form) const {
  Vector<DatumPtr> items, header, clause, names;
  if (!list_items(form, items) || items.size() < 3 || !is_pair(*items[1])) complain(form->span, std::string(kDerivativeForm));
  if (!list_items(items[1], header) || !is_symbol(*header[0]) || header.size() < 2)
    complain(items[1]->span, "a procedure with derivative rules has a name and parameters, as many as it is called with");
  Definition d{header[0], {items[1]->cdr}, {items.begin() + 2, items.end()}, form->span};
  d.kind = Definition::Kind::derivative;
  bool value = false, forward = false, reverse = false;
  for (const DatumPtr& c : d.body) {
    if (!list_items(c, clause) || clause.size() < 2) complain(c->span, std::string(kDerivativeForm));
    bool* seen = is_symbol(*clause[0], "value")     ? &value
                 : is_symbol(*clause[0], "forward") ? &forward
                 : is_symbol(*clause[0], "reverse") ? &reverse
                                                    : nullptr;
    if (seen == nullptr) complain(c->span, std::string(kDerivativeForm));
    if (*seen) complain(c->span, fmt::format("'{}' stands twice here", clause[0]->text()));
    *seen = true;
    if (seen == &value) continue;
    const std::size_t wanted = seen == &forward ? header.size() : 2;
    if (clause.size() < 3 || !list_items(clause[1], names) || names.size() != wanted)
      complain(clause[1]->span,
               seen == &forward
                   ? fmt::format("a forward rule names the value and the tangent of each parameter: {} in all", wanted)
                   : std::string("a reverse rule names the value and its cotangent, (y c), and has a body"));
  }
  if (!value || (!forward && !reverse)) complain(form->span, std::string(kDerivativeForm));
  return d;
}

// (lambda (a ...) (let ((reverse R)) (%with-rules V F reverse (list a ...)))), and the same with the rule that there is in the
// place of the one that there is not.
ExprPtr Expander::expand_derivative(const Definition& d) {
  const std::string_view name = d.name->text();
  const Span span = d.span;
  const DatumPtr arguments = list_pattern(d.levels[0]);
  Vector<DatumPtr> clause, names;
  ExprPtr value, forward, reverse;
  for (const DatumPtr& c : d.body) {
    list_items(c, clause);
    const std::string_view which = clause[0]->text();
    if (which == "value") {
      const DatumPtr parameters = list_datum({&arguments, 1}, span);
      value = expand_lambda({&parameters, 1}, Items(clause).subspan(1), name, c->span);
      continue;
    }
    list_items(clause[1], names);
    const DatumPtr rest = which == "forward" ? list_pattern(clause[1]->cdr) : names[1];
    const DatumPtr both[] = {arguments, names[0], rest};
    const DatumPtr parameters = list_datum(both, span);
    const std::string_view known = make_symbol(fmt::format("the {} rule of {}", which, name), span)->text();
    (which == "forward" ? forward : reverse) = expand_lambda({&parameters, 1}, Items(clause).subspan(2), known, c->span);
  }
  // One rule by the other: (lambda (x y direction) (LIBRARY rule x y direction)).
  const auto derived = [&](std::string_view library, Variable* rule) {
    auto lambda = make_expr(Expr::Kind::lambda, span);
    lambda->name = name;
    auto call = make_expr(Expr::Kind::call, span);
    call->children.push_back(library_global(library, span));
    call->children.push_back(local(rule, span));
    for (const std::string_view parameter : {"x", "y", "direction"}) {
      lambda->variables.push_back(fresh(parameter, span));
      call->children.push_back(make_local(lambda->variables.back(), span));
    }
    lambda->children.push_back(std::move(call));
    return lambda;
  };
  auto lambda = make_expr(Expr::Kind::lambda, span);
  lambda->name = name;
  lambda->library = in_library_;
  Nest nest;
  Variable* rule = fresh("rule", span);
  const bool by_reverse = reverse != nullptr;
  nest.put_let(rule, std::move(by_reverse ? reverse : forward), span);
  ExprPtr other = std::move(by_reverse ? forward : reverse);
  if (other == nullptr) other = derived(by_reverse ? "%forward-by-reverse" : "%reverse-by-forward", rule);
  ExprPtr list = make_constant(make_null(span), span);
  Vector<DatumPtr> parameters;
  list_items(d.levels[0], parameters);
  for (std::size_t i = 0; i < parameters.size(); ++i)
    lambda->variables.push_back(fresh(is_symbol(*parameters[i]) ? parameters[i]->text() : "part", parameters[i]->span));
  for (std::size_t i = parameters.size(); i-- > 0;)
    list = call_builtin("cons", span, make_local(lambda->variables[i], span), std::move(list));
  ExprPtr one = local(rule, span);
  lambda->children.push_back(nest.close(call_builtin("%with-rules", span, std::move(value), std::move(by_reverse ? other : one),
                                                     std::move(by_reverse ? one : other), std::move(list))));
  return lambda;
}

// --- records: vectors that begin with the symbol of their type

void Expander::parse_record(const DatumPtr& form, Vector<Definition>& out) const {
  Vector<DatumPtr> items, constructor, field;
  if (!list_items(form, items) || items.size() < 4 || !is_symbol(*items[1]) || !list_items(items[2], constructor) ||
      constructor.empty() || !is_symbol(*items[3]))
    complain(form->span, std::string(kRecordForm));
  const Items specs = Items(items).subspan(4);
  Vector<DatumPtr> names;
  for (const DatumPtr& spec : specs) {
    if (!list_items(spec, field) || field.size() < 2 || field.size() > 3 ||
        !std::all_of(field.begin(), field.end(), [](const DatumPtr& d) { return is_symbol(*d); }))
      complain(spec->span, std::string(kRecordForm));
    names.push_back(field[0]);
  }
  const auto index_of = [&](const DatumPtr& name) {
    const auto at = std::find_if(names.begin(), names.end(), [&](const DatumPtr& n) { return is_symbol(*name, n->text()); });
    if (at == names.end()) complain(name->span, fmt::format("'{}' is no field of this record", datum_text(*name, 60)));
    return static_cast<std::size_t>(at - names.begin());
  };
  const auto add = [&](Definition::Kind kind, const DatumPtr& name, std::size_t at) {
    Definition& d = out.emplace_back(Definition{name, {}, {items[1]}, form->span});
    d.kind = kind;
    d.fields = names.size();
    d.field = at;
  };
  if (!is_symbol(*constructor[0])) complain(constructor[0]->span, std::string(kRecordForm));
  add(Definition::Kind::constructor, constructor[0], 0);
  out.back().levels.push_back(items[2]->cdr);
  for (const DatumPtr& name : Items(constructor).subspan(1)) out.back().order.push_back(index_of(name));
  if (out.back().order.size() != names.size())
    complain(items[2]->span, "the constructor of a record takes each of its fields once, in any order");
  add(Definition::Kind::predicate, items[3], 0);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    list_items(specs[i], field);
    add(Definition::Kind::accessor, field[1], i);
    if (field.size() == 3) add(Definition::Kind::updater, field[2], i);
  }
}

ExprPtr Expander::expand_record_part(const Definition& d) {
  const Span span = d.span;
  const DatumPtr& type = d.body[0];
  auto lambda = make_expr(Expr::Kind::lambda, span);
  lambda->name = d.name->text();
  lambda->library = in_library_;
  const auto parameter = [&](std::string_view name) {
    lambda->variables.push_back(fresh(name, span));
    return lambda->variables.back();
  };
  const auto at = [&](std::size_t i) { return make_constant(static_cast<std::int64_t>(i), span); };
  if (d.kind == Definition::Kind::constructor) {
    Vector<DatumPtr> names;
    list_items(d.levels[0], names);
    Vector<Variable*> by_field(d.fields, nullptr);
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (by_field[d.order[i]] != nullptr)
        complain(names[i]->span, "the constructor of a record takes each of its fields once, in any order");
      by_field[d.order[i]] = parameter(names[i]->text());
    }
    auto call = call_builtin("vector", span, make_constant(type, span));
    for (Variable* v : by_field) call->children.push_back(make_local(v, span));
    lambda->children.push_back(std::move(call));
    return lambda;
  }
  Variable* record = parameter("record");
  const auto r = [&] { return make_local(record, span); };
  const auto otherwise_false = [&](ExprPtr test, ExprPtr then) {
    return make_if(std::move(test), std::move(then), make_constant(false, span), span);
  };
  ExprPtr is_one = otherwise_false(
      call_builtin("vector?", span, r()),
      otherwise_false(call_builtin("=", span, call_builtin("vector-length", span, r()), at(d.fields + 1)),
                      call_builtin("eqv?", span, call_builtin("vector-ref", span, r(), at(0)), make_constant(type, span))));
  if (d.kind == Definition::Kind::predicate) {
    lambda->children.push_back(std::move(is_one));
    return lambda;
  }
  ExprPtr part = d.kind == Definition::Kind::accessor
                     ? call_builtin("vector-ref", span, r(), at(d.field + 1))
                     : call_builtin("vector-update", span, r(), at(d.field + 1), make_local(parameter("field"), span));
  const std::string complaint = fmt::format("{}: expected a record of type {}, got", d.name->text(), type->text());
  ExprPtr message = make_constant(make_text(Datum::Kind::string, complaint, span), span);
  ExprPtr irritants = call_builtin("cons", span, r(), make_constant(make_null(span), span));
  lambda->children.push_back(
      make_if(std::move(is_one), std::move(part),
              call_builtin("%error", span, call_builtin("cons", span, std::move(message), std::move(irritants))), span));
  return lambda;
}

// --- let-values and define-values: several values are a list of them

namespace {

// (a b) is the pattern (list a b), (a b . c) is (cons* a b c), and one value is itself.
DatumPtr values_pattern(DatumPtr pattern) {
  const Span span = pattern->span;
  Vector<DatumPtr> names;
  if (!is_pair(*pattern))
    complain(span, fmt::format("the names of several values stand in a list, got {}", datum_text(*pattern, 60)));
  if (list_items(pattern, names)) return names.size() == 1 ? names[0] : list_pattern(pattern);
  Vector<DatumPtr> parts{make_symbol("cons*", span)};
  for (; is_pair(*pattern); pattern = pattern->cdr) parts.push_back(pattern->car);
  parts.push_back(pattern);
  return list_datum(parts, span);
}

// The names in a pattern, in order.
Vector<DatumPtr> names_of(const DatumPtr& pattern) {
  Vector<DatumPtr> names, pending{pattern};
  while (!pending.empty()) {
    const DatumPtr p = pending.back();
    pending.pop_back();
    if (is_symbol(*p)) names.push_back(p);
    if (!is_pair(*p) || is_symbol(*p->car, "quote")) continue;
    Vector<DatumPtr> parts;
    for (DatumPtr rest = p->cdr; is_pair(*rest); rest = rest->cdr) parts.push_back(rest->car);
    pending.insert(pending.end(), parts.rbegin(), parts.rend());
  }
  return names;
}

} // namespace

// A vector of the parts under a name that no program can write, and each part of it.
void Expander::parse_values(const DatumPtr& form, Vector<Definition>& out) const {
  Vector<DatumPtr> items;
  if (!list_items(form, items) || items.size() != 3)
    complain(form->span,
             "'define-values' is written (define-values (p ...) value), of a list of so many; the p are names or patterns");
  const DatumPtr pattern = values_pattern(items[1]);
  const Vector<DatumPtr> names = names_of(pattern);
  const DatumPtr all = make_symbol(fmt::format("%values {} {}", form->span.file, form->span.begin), form->span);
  out.push_back({all, {pattern}, {items[2]}, form->span});
  out.back().kind = Definition::Kind::values;
  for (std::size_t i = 0; i < names.size(); ++i) {
    out.push_back({names[i], {}, {all}, names[i]->span});
    out.back().kind = Definition::Kind::part;
    out.back().field = i;
  }
}

ExprPtr Expander::expand_values(const Definition& d) {
  const DatumPtr& pattern = d.levels[0];
  ExprPtr init = expand(d.body[0]);
  warnings_.allow_new_version(pattern, pattern); // inside it has the names that it defines
  const Scope::Depth depth = scope_.depth();
  Patterns patterns(*this);
  patterns.nest().put_let(patterns.target(pattern), std::move(init), d.span);
  patterns.take_apart();
  auto vector = call_builtin("vector", d.span);
  for (const DatumPtr& name : names_of(pattern)) vector->children.push_back(expand(name));
  scope_.release(depth);
  return patterns.nest().close(std::move(vector));
}

ExprPtr Expander::expand_part_of_values(const Definition& d) {
  return call_builtin("vector-ref", d.span, expand(d.body[0]), make_constant(static_cast<std::int64_t>(d.field), d.span));
}

ExprPtr Expander::expand_let_values(const DatumPtr& form, Items items) {
  const bool in_order = items[0]->text() == "let*-values";
  if (items.size() < 3) complain(form->span, fmt::format("'{}' needs bindings and a body", items[0]->text()));
  Vector<DatumPtr> bindings;
  for (const Initialised& b : parse_bindings(items[1], items[0]->text())) {
    const DatumPtr both[] = {values_pattern(b.target), b.init};
    bindings.push_back(list_datum(both, b.span));
  }
  Vector<DatumPtr> rewritten(items.begin(), items.end());
  rewritten[1] = list_datum(bindings, items[1]->span);
  return in_order ? expand_let_star(form, rewritten) : expand_plain_let(form, rewritten);
}

} // namespace cairn::compiler
