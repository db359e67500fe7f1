// Definitions, bodies and procedures.
#include "compiler/front/expander.h"

#include "compiler/front/reader.h"

#include <fmt/format.h>

#include <algorithm>

namespace cairn::compiler {

Definition Expander::parse_definition(const DatumPtr& form) const {
  std::vector<DatumPtr> items;
  if (!list_items(form, items) || items.size() < 2) complain(form->span, "'define' needs a name and a value");
  Definition d{items[1], {}, {items.begin() + 2, items.end()}, form->span};
  for (; is_pair(*d.name); d.name = d.name->car) d.levels.push_back(d.name->cdr);
  std::reverse(d.levels.begin(), d.levels.end()); // ((f a) b): the innermost list belongs to the outermost procedure
  if (!is_symbol(*d.name)) complain(d.name->span, fmt::format("'define' needs a name, got {}", datum_text(*d.name, 60)));
  const std::string& name = d.name->text;
  if (!d.levels.empty()) {
    if (d.body.empty()) complain(form->span, fmt::format("the body of '{}' is empty", name));
    return d;
  }
  if (d.body.empty()) complain(form->span, fmt::format("'{}' gets no value; write (define {} value)", name, name));
  if (d.body.size() > 1) complain(d.body[1]->span, fmt::format("the definition of '{}' has more than one value", name));
  return d;
}

ExprPtr Expander::expand_value(const Definition& d) {
  const std::string& name = d.name->text;
  if (!d.levels.empty()) return expand_lambda(d.levels, d.body, name, d.span);
  ExprPtr e = expand(d.body[0]);
  if (e->kind == Expr::Kind::lambda && e->name.empty()) e->name = name;
  return e;
}

ExprPtr Expander::expand_lambda(Items levels, Items body, const std::string& name, Span span) {
  auto lambda = std::make_unique<Expr>(Expr::Kind::lambda, span);
  lambda->name = name;
  lambda->library = in_library_;
  Scope::Mark mark = scope_.mark();
  Patterns patterns(*this);
  const DatumPtr* parameter = &levels[0];
  for (; is_pair(**parameter); parameter = &(*parameter)->cdr) lambda->variables.push_back(patterns.target((*parameter)->car));
  if (is_symbol(**parameter))
    lambda->rest = patterns.target(*parameter);
  else if (!is_null(**parameter))
    complain((*parameter)->span,
             fmt::format("parameters are written (p ...), (p ... . rest) or rest, got {}", datum_text(**parameter, 60)));
  patterns.take_apart();
  ExprPtr inner;
  if (levels.size() > 1) {
    Deeper deeper(*this, span);
    inner = expand_lambda(levels.subspan(1), body, name, span);
  } else {
    inner = expand_body(body, span, name.empty() ? "lambda" : name);
  }
  scope_.release(mark);
  lambda->children.push_back(patterns.nest().close(std::move(inner)));
  return lambda;
}

ExprPtr Expander::expand_body(Items forms, Span span, std::string_view owner) {
  std::vector<Definition> items; // up to the last definition
  std::vector<DatumPtr> rest;    // expressions after it
  std::vector<DatumPtr> pending(forms.rbegin(), forms.rend());
  std::vector<DatumPtr> parts;
  auto push = [&pending](Items more) { pending.insert(pending.end(), more.rbegin(), more.rend()); };
  while (!pending.empty()) {
    DatumPtr form = std::move(pending.back());
    pending.pop_back();
    if (is_form(form, "begin")) {
      if (!list_items(form, parts) || parts.size() < 2) complain(form->span, "'begin' needs at least one expression");
      push(Items(parts).subspan(1));
    } else if (is_form(form, "include")) {
      push(loader_.include(form));
    } else if (is_form(form, "define")) {
      for (DatumPtr& d : rest) items.push_back({nullptr, {}, {d}, d->span});
      rest.clear();
      items.push_back(parse_definition(form));
    } else {
      rest.push_back(std::move(form));
    }
  }
  if (rest.empty()) {
    if (items.empty()) complain(span, fmt::format("the body of '{}' is empty", owner));
    complain(items.back().span, fmt::format("the body of '{}' ends with a definition; an expression must follow", owner));
  }
  if (items.empty()) return expand_sequence(rest, span);
  return expand_recursive(items, rest, span, owner);
}

ExprPtr Expander::expand_recursive(std::span<const Definition> items, Items body, Span span, std::string_view owner) {
  Scope::Mark mark = scope_.mark();
  std::unordered_map<std::string_view, bool> names;
  std::vector<Binding> bindings;
  for (const Definition& d : items) {
    Binding& b = bindings.emplace_back();
    b.span = d.span;
    if (!d.name) continue;
    if (!names.emplace(d.name->text, true).second)
      complain(d.name->span, fmt::format("'{}' is defined twice here", d.name->text));
    b.variable = bind(d.name);
  }
  ++recursive_scopes_;
  for (std::size_t i = 0; i < items.size(); ++i) {
    std::size_t first = references_.size();
    bindings[i].value = items[i].name ? expand_value(items[i]) : expand(items[i].body[0]);
    bindings[i].references.assign(references_.begin() + static_cast<std::ptrdiff_t>(first), references_.end());
  }
  ExprPtr inner = expand_body(body, span, owner);
  if (--recursive_scopes_ == 0) references_.clear();
  scope_.release(mark);
  return order_bindings(std::move(bindings), std::move(inner), span);
}

} // namespace cairn::compiler
