// Definitions, bodies and procedures.
#include "compiler/front/expander.h"

#include "compiler/front/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace cairn::compiler {

Definition Expander::parse_definition(const DatumPtr& form) const {
  Vector<DatumPtr> items;
  if (!list_items(form, items) || items.size() < 2) complain(form->span, "'define' needs a name and a value");
  Definition d{items[1], {}, {items.begin() + 2, items.end()}, form->span};
  for (; is_pair(*d.name); d.name = d.name->car) d.levels.push_back(d.name->cdr);
  std::reverse(d.levels.begin(), d.levels.end()); // ((f a) b): the innermost list belongs to the outermost procedure
  if (!is_symbol(*d.name)) complain(d.name->span, fmt::format("'define' needs a name, got {}", datum_text(*d.name, 60)));
  std::string_view name = d.name->text();
  if (!d.levels.empty()) {
    if (d.body.empty()) complain(form->span, fmt::format("the body of '{}' is empty", name));
    return d;
  }
  if (d.body.empty()) complain(form->span, fmt::format("'{}' gets no value; write (define {} value)", name, name));
  if (d.body.size() > 1) complain(d.body[1]->span, fmt::format("the definition of '{}' has more than one value", name));
  return d;
}

ExprPtr Expander::expand_value(const Definition& d) {
  std::string_view name = d.name->text();
  if (d.kind == Definition::Kind::derivative) return expand_derivative(d);
  if (d.kind == Definition::Kind::values) return expand_values(d);
  if (d.kind == Definition::Kind::part) return expand_part_of_values(d);
  if (d.kind != Definition::Kind::value) return expand_record_part(d);
  if (!d.levels.empty()) return expand_lambda(d.levels, d.body, name, d.span);
  ExprPtr e = expand(d.body[0]);
  if (e->kind == Expr::Kind::lambda && e->name.empty()) e->name = name;
  return e;
}

ExprPtr Expander::expand_lambda(Items levels, Items body, std::string_view name, Span span) {
  Scope::Depth depth = scope_.depth();
  Patterns patterns(*this);
  ExprPtr lambda = start_lambda(levels[0], patterns, name, span);
  ExprPtr inner = levels.size() > 1 ? expand_inner_lambda(levels.subspan(1), body, name, span)
                                    : expand_body(body, span, name.empty() ? "lambda" : name);
  scope_.release(depth);
  lambda->children.push_back(patterns.nest().close(std::move(inner)));
  return lambda;
}

ExprPtr Expander::expand_inner_lambda(Items levels, Items body, std::string_view name, Span span) {
  Deeper deeper(*this, span);
  return expand_lambda(levels, body, name, span);
}

// A lambda without its body; the parameters are in scope.
ExprPtr Expander::start_lambda(const DatumPtr& parameters, Patterns& patterns, std::string_view name, Span span) {
  auto lambda = make_expr(Expr::Kind::lambda, span);
  lambda->name = name;
  lambda->library = in_library_;
  const bool outer = std::exchange(binds_parameters_, true); // no expression is expanded meanwhile
  const DatumPtr* rest = &parameters;
  for (; is_pair(**rest); rest = &(*rest)->cdr) lambda->variables.push_back(patterns.target((*rest)->car));
  if (is_symbol(**rest))
    lambda->rest = patterns.target(*rest);
  else if (!is_null(**rest))
    complain((*rest)->span,
             fmt::format("parameters are written (p ...), (p ... . rest) or rest, got {}", datum_text(**rest, 60)));
  patterns.take_apart();
  binds_parameters_ = outer;
  return lambda;
}

Expander::Body Expander::split_body(Items forms, Span span, std::string_view owner) {
  Body body;
  Vector<DatumPtr> pending(forms.rbegin(), forms.rend());
  Vector<DatumPtr> parts;
  auto push = [&pending](Items more) { pending.insert(pending.end(), more.rbegin(), more.rend()); };
  while (!pending.empty()) {
    DatumPtr form = std::move(pending.back());
    pending.pop_back();
    if (is_form(form, "begin")) {
      if (!list_items(form, parts) || parts.size() < 2) complain(form->span, "'begin' needs at least one expression");
      push(Items(parts).subspan(1));
    } else if (is_form(form, "include")) {
      push(loader_.include(form));
    } else if (Vector<Definition> defined = definitions(form); !defined.empty()) {
      // Within a procedure its value could depend on more than its arguments.
      if (defined[0].kind == Definition::Kind::derivative)
        complain(form->span, "'define-derivative' belongs at the top level: rules have derivatives by the arguments alone");
      for (DatumPtr& d : body.rest) body.items.push_back({nullptr, {}, {d}, d->span});
      body.rest.clear();
      for (Definition& d : defined) body.items.push_back(std::move(d));
    } else {
      body.rest.push_back(std::move(form));
    }
  }
  if (!body.rest.empty()) return body;
  if (body.items.empty()) complain(span, fmt::format("the body of '{}' is empty", owner));
  complain(body.items.back().span, fmt::format("the body of '{}' ends with a definition; an expression must follow", owner));
}

ExprPtr Expander::expand_body(Items forms, Span span, std::string_view owner) {
  Body body = split_body(forms, span, owner);
  if (body.items.empty()) return expand_sequence(body.rest, span);
  return expand_recursive(body.items, body.rest, span, owner);
}

Vector<Binding> Expander::bind_names(std::span<const Definition> items) {
  Map<std::string_view, bool> names;
  Vector<Binding> bindings;
  for (const Definition& d : items) {
    Binding& b = bindings.emplace_back();
    b.span = d.span;
    if (!d.name) continue;
    if (!names.emplace(d.name->text(), true).second)
      complain(d.name->span, fmt::format("'{}' is defined twice here", d.name->text()));
    b.variable = bind(d.name);
    if (d.kind != Definition::Kind::value) warnings_.use(b.variable); // not all parts of a record need be used
  }
  return bindings;
}

ExprPtr Expander::expand_recursive(std::span<const Definition> items, Items body, Span span, std::string_view owner) {
  Scope::Depth depth = scope_.depth();
  Vector<Binding> bindings = bind_names(items);
  ++recursive_scopes_;
  for (std::size_t i = 0; i < items.size(); ++i) {
    std::size_t first = references_.size();
    bindings[i].value = items[i].name ? expand_value(items[i]) : expand(items[i].body[0]);
    bindings[i].references.assign(references_.begin() + static_cast<std::ptrdiff_t>(first), references_.end());
  }
  ExprPtr inner = expand_body(body, span, owner);
  if (--recursive_scopes_ == 0) references_.clear();
  for (const Binding& b : bindings)
    if (b.variable != nullptr && !in_library_) warnings_.end_scope(b.variable);
  scope_.release(depth);
  return order_bindings(std::move(bindings), std::move(inner), span);
}

} // namespace cairn::compiler
