// The expression forms: conditionals, bindings, loops.
#include "compiler/front/expander.h"

#include "compiler/front/reader.h"

#include <fmt/format.h>

#include <utility>

namespace cairn::compiler {

const std::unordered_map<std::string_view, Expander::Handler>& Expander::syntax() {
  static const std::unordered_map<std::string_view, Handler> table{
      {"quote", &Expander::expand_quote},
      {"quasiquote", &Expander::expand_quasiquote},
      {"if", &Expander::expand_if},
      {"lambda", &Expander::expand_lambda_form},
      {"let", &Expander::expand_let},
      {"let*", &Expander::expand_let_star},
      {"letrec", &Expander::expand_letrec},
      {"letrec*", &Expander::expand_letrec},
      {"when", &Expander::expand_when},
      {"unless", &Expander::expand_when},
      {"cond", &Expander::expand_cond},
      {"case", &Expander::expand_case},
      {"and", &Expander::expand_and},
      {"or", &Expander::expand_or},
      {"begin", &Expander::expand_begin},
      {"do", &Expander::expand_do},
      {"include", &Expander::expand_include},
      {"let-values", &Expander::expand_let_values},
      {"let*-values", &Expander::expand_let_values},
      {"define", &Expander::misplaced_definition},
      {"define-derivative", &Expander::misplaced_definition},
      {"define-record-type", &Expander::misplaced_definition},
      {"define-values", &Expander::misplaced_definition},
      {"import", &Expander::misplaced_import},
      {"else", &Expander::misplaced},
      {"=>", &Expander::misplaced},
      {"unquote", &Expander::misplaced},
      {"unquote-splicing", &Expander::misplaced},
  };
  return table;
}

ExprPtr Expander::misplaced(const DatumPtr& form, Items items) {
  complain(form->span, fmt::format("'{}' has no meaning here", items[0]->text()));
}

ExprPtr Expander::misplaced_import(const DatumPtr& form, Items) { complain(form->span, "'import' belongs at the top level"); }

ExprPtr Expander::misplaced_definition(const DatumPtr& form, Items items) {
  complain(form->span,
           fmt::format("'{}' cannot be an operand or a value; it belongs at the top level or in a body", items[0]->text()));
}

ExprPtr Expander::expand_quote(const DatumPtr& form, Items items) {
  if (items.size() != 2) complain(form->span, "'quote' takes one datum");
  return make_constant(items[1], form->span);
}

ExprPtr Expander::expand_if(const DatumPtr& form, Items items) {
  if (items.size() != 3 && items.size() != 4) complain(form->span, "'if' is written (if test then) or (if test then else)");
  ExprPtr test = expand_test(items[1]);
  ExprPtr then = expand(items[2]);
  ExprPtr otherwise = items.size() == 4 ? expand(items[3]) : make_unspecified(form->span);
  return make_if(std::move(test), std::move(then), std::move(otherwise), form->span);
}

ExprPtr Expander::expand_lambda_form(const DatumPtr& form, Items items) {
  if (items.size() < 2) complain(form->span, "'lambda' needs parameters and a body");
  return expand_lambda(items.subspan(1, 1), items.subspan(2), "", form->span);
}

ExprPtr Expander::expand_sequence(Items forms, Span span) {
  if (forms.size() == 1) return expand(forms[0]);
  auto e = make_expr(Expr::Kind::sequence, span);
  for (const DatumPtr& d : forms) e->children.push_back(expand(d));
  return e;
}

ExprPtr Expander::expand_begin(const DatumPtr& form, Items items) {
  if (items.size() < 2) complain(form->span, "'begin' needs at least one expression");
  return expand_sequence(items.subspan(1), form->span);
}

// The value is that of the last expression, or #f where the expressions are not evaluated.
ExprPtr Expander::expand_when(const DatumPtr& form, Items items) {
  bool unless = items[0]->text() == "unless";
  if (items.size() < 3) complain(form->span, fmt::format("'{}' needs a test and at least one expression", items[0]->text()));
  ExprPtr test = expand_test(items[1]);
  ExprPtr body = expand_sequence(items.subspan(2), form->span);
  ExprPtr otherwise = make_constant(false, form->span);
  if (unless) std::swap(body, otherwise);
  return make_if(std::move(test), std::move(body), std::move(otherwise), form->span);
}

ExprPtr Expander::expand_include(const DatumPtr& form, Items) {
  Vector<DatumPtr> forms = loader_.include(form);
  if (forms.empty()) complain(form->span, "the included file holds no expression");
  return expand_sequence(forms, form->span);
}

ExprPtr Expander::expand_and(const DatumPtr& form, Items items) {
  if (items.size() == 1) return make_constant(true, form->span);
  Nest nest;
  for (const DatumPtr& d : items.subspan(1, items.size() - 2))
    nest.put(make_if(expand(d), nullptr, make_constant(false, d->span), d->span), 1);
  return nest.close(expand(items.back()));
}

ExprPtr Expander::expand_or(const DatumPtr& form, Items items) {
  if (items.size() == 1) return make_constant(false, form->span);
  Nest nest;
  for (const DatumPtr& d : items.subspan(1, items.size() - 2)) put_value_or(nest, expand(d), d->span);
  return nest.close(expand(items.back()));
}

// An expression of which only the truth is asked: `or` needs no variable there.
ExprPtr Expander::expand_test(const DatumPtr& d) {
  Vector<DatumPtr> items;
  bool is_or = is_form(d, "or");
  if ((!is_or && !is_form(d, "and")) || !list_items(d, items) || items.size() < 3) return expand(d);
  Deeper deeper(*this, d->span);
  Nest nest;
  for (const DatumPtr& part : Items(items).subspan(1, items.size() - 2)) {
    ExprPtr test = expand_test(part);
    if (is_or)
      nest.put_if(std::move(test), make_constant(true, part->span), part->span);
    else
      nest.put(make_if(std::move(test), nullptr, make_constant(false, part->span), part->span), 1);
  }
  return nest.close(expand_test(items.back()));
}

// (let ((t value)) (if t t HOLE))
void Expander::put_value_or(Nest& nest, ExprPtr value, Span span) {
  Variable* t = fresh("t", span);
  nest.put_let(t, std::move(value), span);
  nest.put_if(make_local(t, span), make_local(t, span), span);
}

ExprPtr Expander::expand_cond(const DatumPtr& form, Items items) {
  if (items.size() == 1) complain(form->span, "'cond' needs at least one clause");
  Nest nest;
  Vector<DatumPtr> parts;
  for (std::size_t i = 1; i < items.size(); ++i) {
    const DatumPtr& clause = items[i];
    if (!list_items(clause, parts) || parts.empty())
      complain(clause->span, "a clause of 'cond' is written (test expression ...)");
    Items body = Items(parts).subspan(1);
    if (is_else(parts[0])) {
      if (i + 1 != items.size()) complain(clause->span, "'else' must be the last clause");
      if (body.empty()) complain(clause->span, "'else' needs an expression");
      return nest.close(expand_sequence(body, clause->span));
    }
    if (body.empty()) {
      put_value_or(nest, expand(parts[0]), clause->span);
    } else if (is_symbol(*body[0], "=>") && means_itself("=>")) {
      if (body.size() != 2) complain(clause->span, "a procedure must follow '=>'");
      Variable* t = fresh("t", clause->span);
      nest.put_let(t, expand(parts[0]), clause->span);
      nest.put_if(make_local(t, clause->span), make_call(expand(body[1]), clause->span, make_local(t, clause->span)),
                  clause->span);
    } else {
      ExprPtr test = expand_test(parts[0]);
      nest.put_if(std::move(test), expand_sequence(body, clause->span), clause->span);
    }
  }
  return nest.close(make_unspecified(form->span));
}

ExprPtr Expander::expand_case(const DatumPtr& form, Items items) {
  if (items.size() < 3) complain(form->span, "'case' needs a key and at least one clause");
  Nest nest;
  Variable* key = fresh("key", items[1]->span);
  nest.put_let(key, expand(items[1]), form->span);
  Vector<DatumPtr> parts, constants;
  for (std::size_t i = 2; i < items.size(); ++i) {
    const DatumPtr& clause = items[i];
    if (!list_items(clause, parts) || parts.size() < 2)
      complain(clause->span, "a clause of 'case' is written ((datum ...) expression ...)");
    Items body = Items(parts).subspan(1);
    if (is_else(parts[0])) {
      if (i + 1 != items.size()) complain(clause->span, "'else' must be the last clause");
      return nest.close(expand_sequence(body, clause->span));
    }
    if (!list_items(parts[0], constants)) complain(parts[0]->span, "the data of a clause of 'case' stand in a list");
    Nest tests;
    for (std::size_t k = 0; k + 1 < constants.size(); ++k)
      tests.put_if(constant_test(key, constants[k], false, constants[k]->span), make_constant(true, constants[k]->span),
                   constants[k]->span);
    ExprPtr test = tests.close(constants.empty() ? make_constant(false, clause->span)
                                                 : constant_test(key, constants.back(), false, constants.back()->span));
    nest.put_if(std::move(test), expand_sequence(body, clause->span), clause->span);
  }
  return nest.close(make_unspecified(form->span));
}

Vector<Expander::Initialised> Expander::parse_bindings(const DatumPtr& bindings, std::string_view form) const {
  Vector<DatumPtr> list, parts;
  if (!list_items(bindings, list))
    complain(bindings->span, fmt::format("the bindings of '{}' are written ((name value) ...)", form));
  Vector<Initialised> out;
  for (const DatumPtr& binding : list) {
    if (!list_items(binding, parts) || parts.size() != 2)
      complain(binding->span, fmt::format("a binding of '{}' is written (name value)", form));
    out.push_back({parts[0], parts[1], binding->span});
  }
  return out;
}

ExprPtr Expander::expand_initialiser(const Initialised& binding) {
  if (!in_library_) warnings_.allow_new_version(binding.target, binding.init);
  ExprPtr e = expand(binding.init);
  if (e->kind == Expr::Kind::lambda && e->name.empty() && is_symbol(*binding.target)) e->name = binding.target->text();
  return e;
}

// The scope of a form that binds `names` by choice: each should be used.
void Expander::end_scope(Scope::Depth depth, std::span<Variable* const> names) {
  scope_.release(depth);
  for (const Variable* v : names)
    if (!in_library_) warnings_.end_scope(v);
}

ExprPtr Expander::expand_let(const DatumPtr& form, Items items) {
  if (items.size() < 3) complain(form->span, "'let' needs bindings and a body");
  return is_symbol(*items[1]) ? expand_named_let(form, items) : expand_plain_let(form, items);
}

namespace {

// A variable that has another value until the end of a block, however that is left.
template <class T> class Restored {
public:
  Restored(T& variable, T value) : variable_(variable), old_(std::exchange(variable, value)) {}
  ~Restored() { variable_ = old_; }
  Restored(const Restored&) = delete;
  Restored& operator=(const Restored&) = delete;

private:
  T& variable_;
  T old_;
};

} // namespace

std::string_view Expander::hint_of_open_let(std::string_view name) const {
  for (const OpenLet* let = open_let_; let != nullptr; let = let->outer)
    for (std::size_t i = 0; i < let->bindings.size() && i <= let->at; ++i) {
      if (!is_symbol(*let->bindings[i].target) || let->bindings[i].target->text() != name) continue;
      return i < let->at ? "; the values of a 'let' do not see its names: write 'let*', where each sees those before it"
                         : "; the values of a 'let' do not see its names: write 'letrec' for a procedure that calls itself";
    }
  return "";
}

ExprPtr Expander::expand_plain_let(const DatumPtr& form, Items items) {
  Vector<Initialised> bindings = parse_bindings(items[1], "let");
  Exprs inits;
  {
    OpenLet open{bindings, 0, open_let_};
    const Restored<const OpenLet*> restored(open_let_, &open);
    for (; open.at < bindings.size(); ++open.at) inits.push_back(expand_initialiser(bindings[open.at]));
  }
  Scope::Depth depth = scope_.depth();
  Patterns patterns(*this);
  Vector<Variable*> variables, names;
  for (const Initialised& b : bindings) {
    variables.push_back(patterns.target(b.target));
    if (is_symbol(*b.target)) names.push_back(variables.back());
  }
  if (!bindings.empty()) patterns.nest().put_let(std::move(variables), std::move(inits), form->span);
  patterns.take_apart();
  ExprPtr body = expand_body(items.subspan(2), form->span, "let");
  end_scope(depth, names);
  return patterns.nest().close(std::move(body));
}

ExprPtr Expander::expand_let_star(const DatumPtr& form, Items items) {
  if (items.size() < 3) complain(form->span, "'let*' needs bindings and a body");
  Scope::Depth depth = scope_.depth();
  Patterns patterns(*this);
  Vector<Variable*> names;
  for (const Initialised& b : parse_bindings(items[1], "let*")) {
    ExprPtr init = expand_initialiser(b);
    Variable* variable = patterns.target(b.target);
    if (is_symbol(*b.target)) names.push_back(variable);
    patterns.nest().put_let(variable, std::move(init), b.span);
    patterns.take_apart();
  }
  ExprPtr body = expand_body(items.subspan(2), form->span, "let*");
  end_scope(depth, names);
  return patterns.nest().close(std::move(body));
}

ExprPtr Expander::make_loop(Variable* loop, ExprPtr lambda, Exprs inits, Span span) {
  auto call = make_expr(Expr::Kind::call, span);
  call->children.push_back(make_local(loop, span));
  for (ExprPtr& init : inits) call->children.push_back(std::move(init));
  auto letrec = make_expr(Expr::Kind::letrec, span);
  letrec->variables.push_back(loop);
  letrec->children.push_back(std::move(lambda));
  letrec->children.push_back(std::move(call));
  return letrec;
}

ExprPtr Expander::expand_named_let(const DatumPtr& form, Items items) {
  if (items.size() < 4) complain(form->span, "'let' with a name needs bindings and a body");
  Vector<Initialised> bindings = parse_bindings(items[2], "let");
  Exprs inits;
  DatumPtr parameters = make_null(items[2]->span);
  for (const Initialised& b : bindings) inits.push_back(expand_initialiser(b));
  for (std::size_t i = bindings.size(); i-- > 0;)
    parameters = make_pair(bindings[i].target, std::move(parameters), items[2]->span);
  Scope::Depth depth = scope_.depth();
  Variable* loop = bind(items[1]);
  ExprPtr lambda = expand_lambda(Items(&parameters, 1), items.subspan(3), items[1]->text(), form->span);
  end_scope(depth, {&loop, 1});
  return make_loop(loop, std::move(lambda), std::move(inits), form->span);
}

ExprPtr Expander::expand_letrec(const DatumPtr& form, Items items) {
  if (items.size() < 3) complain(form->span, "'letrec' needs bindings and a body");
  Vector<Definition> definitions;
  for (const Initialised& b : parse_bindings(items[1], "letrec")) {
    if (!is_symbol(*b.target)) complain(b.target->span, fmt::format("a name is needed here, got {}", datum_text(*b.target, 60)));
    definitions.push_back({b.target, {}, {b.init}, b.span});
  }
  return expand_recursive(definitions, items.subspan(2), form->span, "letrec");
}

ExprPtr Expander::expand_do(const DatumPtr& form, Items items) {
  Vector<DatumPtr> specs, parts, end;
  if (items.size() < 3 || !list_items(items[1], specs) || !list_items(items[2], end) || end.empty())
    complain(form->span, "'do' is written (do ((name first next) ...) (test result ...) body ...)");
  Vector<DatumPtr> names, steps; // a step that is left out is the name itself
  Exprs inits;
  for (const DatumPtr& spec : specs) {
    if (!list_items(spec, parts) || parts.size() < 2 || parts.size() > 3 || !is_symbol(*parts[0]))
      complain(spec->span, "a variable of 'do' is written (name first next) or (name first)");
    names.push_back(parts[0]);
    inits.push_back(expand_initialiser({parts[0], parts[1], spec->span}));
    steps.push_back(parts.size() == 3 ? parts[2] : parts[0]);
  }
  Variable* loop = fresh("do", form->span);
  auto lambda = make_expr(Expr::Kind::lambda, form->span);
  lambda->name = "do";
  lambda->library = in_library_;
  Scope::Depth depth = scope_.depth();
  Patterns patterns(*this);
  for (const DatumPtr& name : names) lambda->variables.push_back(patterns.target(name));
  ExprPtr test = expand_test(end[0]);
  ExprPtr result = end.size() == 1 ? make_unspecified(form->span) : expand_sequence(Items(end).subspan(1), form->span);
  auto round = make_expr(Expr::Kind::sequence, form->span);
  for (const DatumPtr& d : items.subspan(3)) round->children.push_back(expand(d));
  auto again = make_expr(Expr::Kind::call, form->span);
  again->children.push_back(make_local(loop, form->span));
  for (const DatumPtr& step : steps) again->children.push_back(expand(step));
  scope_.release(depth);
  round->children.push_back(std::move(again));
  ExprPtr next = round->children.size() == 1 ? std::move(round->children[0]) : std::move(round);
  lambda->children.push_back(make_if(std::move(test), std::move(result), std::move(next), form->span));
  return make_loop(loop, std::move(lambda), std::move(inits), form->span);
}

} // namespace cairn::compiler
