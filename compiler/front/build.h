// Short ways to make expressions of the core.
#pragma once

#include "compiler/front/datum.h"

#include <span>
#include <utility>

namespace cairn::compiler {

inline ExprPtr make_expr(Expr::Kind kind, Span span) {
  return ExprPtr(new (Arena::current().allocate(sizeof(Expr))) Expr(kind, span));
}

inline ExprPtr make_constant(DatumPtr d, Span span) {
  auto e = make_expr(Expr::Kind::constant, span);
  e->datum = std::move(d);
  return e;
}
inline ExprPtr make_constant(std::int64_t i, Span span) { return make_constant(make_integer(i, span), span); }
inline ExprPtr make_constant(bool b, Span span) { return make_constant(make_boolean(b, span), span); }
inline ExprPtr make_unspecified(Span span) { return make_constant(false, span); } // any value will do

inline ExprPtr make_local(Variable* v, Span span) {
  auto e = make_expr(Expr::Kind::local, span);
  e->variable = v;
  return e;
}
inline ExprPtr make_builtin(std::string_view name, Span span) {
  auto e = make_expr(Expr::Kind::builtin, span);
  e->name = name;
  return e;
}
inline ExprPtr make_host(std::uint32_t host, Span span) {
  auto e = make_expr(Expr::Kind::host, span);
  e->host = host;
  return e;
}
inline ExprPtr make_global(std::uint32_t global, Span span) {
  auto e = make_expr(Expr::Kind::global, span);
  e->global = global;
  return e;
}
inline ExprPtr make_if(ExprPtr test, ExprPtr then, ExprPtr otherwise, Span span) {
  auto e = make_expr(Expr::Kind::if_, span);
  e->children.reserve(3);
  e->children.push_back(std::move(test));
  e->children.push_back(std::move(then));
  e->children.push_back(std::move(otherwise));
  return e;
}
template <class... Operands> ExprPtr make_call(ExprPtr procedure, Span span, Operands... operands) {
  auto e = make_expr(Expr::Kind::call, span);
  e->children.reserve(1 + sizeof...(operands));
  e->children.push_back(std::move(procedure));
  (e->children.push_back(std::move(operands)), ...);
  return e;
}
template <class... Operands> ExprPtr call_builtin(std::string_view name, Span span, Operands... operands) {
  return make_call(make_builtin(name, span), span, std::move(operands)...);
}
inline ExprPtr make_match_fail(Variable* v, Span span) {
  auto e = make_expr(Expr::Kind::match_fail, span);
  e->children.push_back(make_local(v, span));
  return e;
}

// An expression under construction that still has a hole: conditionals and bindings are put one into the other without recursion.
class Nest {
public:
  // Puts `e` into the hole; the new hole is child `hole` of it, which is null.
  void put(ExprPtr e, std::size_t hole) {
    Expr* raw = e.get();
    fill(std::move(e));
    holder_ = raw;
    child_ = hole;
  }
  void put_if(ExprPtr test, ExprPtr then, Span span) { put(make_if(std::move(test), std::move(then), nullptr, span), 2); }
  // `let` of variables; the hole is its body.
  void put_let(std::span<Variable* const> variables, Exprs inits, Span span) {
    auto e = make_expr(Expr::Kind::let, span);
    e->variables.assign(variables.begin(), variables.end());
    e->children = std::move(inits);
    std::size_t body = e->children.size();
    e->children.push_back(nullptr);
    put(std::move(e), body);
  }
  void put_let(Variable* variable, ExprPtr init, Span span) {
    Exprs inits;
    inits.push_back(std::move(init));
    put_let({&variable, 1}, std::move(inits), span);
  }
  ExprPtr close(ExprPtr last) {
    fill(std::move(last));
    return std::move(root_);
  }

private:
  void fill(ExprPtr e) {
    if (holder_ == nullptr)
      root_ = std::move(e);
    else
      holder_->children[child_] = std::move(e);
  }
  ExprPtr root_;
  Expr* holder_ = nullptr; // null: the hole is the root
  std::size_t child_ = 0;
};

} // namespace cairn::compiler
