// Order in recursive scopes. Values are made in the order they are written; the procedures that a value needs, directly or
// through other procedures, are made just before it, all others together at the end. A value that needs itself or a later one
// cannot be made.
#include "compiler/front/expander.h"

#include "compiler/front/reader.h"

#include <fmt/format.h>

#include <algorithm>

namespace cairn::compiler {

namespace {

class Order {
public:
  Order(Vector<Binding> bindings, Span span) : bindings_(std::move(bindings)), span_(span), ordered_(bindings_.size()) {
    for (std::size_t i = 0; i < bindings_.size(); ++i) {
      const Binding& b = bindings_[i];
      is_lambda_.push_back(b.variable != nullptr && b.value->kind == Expr::Kind::lambda);
      if (b.variable != nullptr) index_.emplace(b.variable, i);
    }
  }

  ExprPtr around(ExprPtr body) {
    for (std::size_t i = 0; i < bindings_.size(); ++i)
      if (!is_lambda_[i]) place_value(i);
    Vector<std::size_t> rest;
    for (std::size_t i = 0; i < bindings_.size(); ++i)
      if (is_lambda_[i] && !ordered_[i]) rest.push_back(i);
    place_lambdas(rest);
    return nest_.close(std::move(body));
  }

private:
  void place_value(std::size_t value) {
    place_lambdas(lambdas_needed(value));
    Binding& b = bindings_[value];
    if (b.variable != nullptr) {
      nest_.put_let(b.variable, std::move(b.value), b.span);
    } else {
      auto sequence = make_expr(Expr::Kind::sequence, b.span);
      sequence->children.push_back(std::move(b.value));
      sequence->children.push_back(nullptr);
      nest_.put(std::move(sequence), 1);
    }
  }

  Vector<std::size_t> lambdas_needed(std::size_t value) {
    Vector<std::size_t> needed, work{value};
    while (!work.empty()) {
      std::size_t from = work.back();
      work.pop_back();
      for (const Variable* v : bindings_[from].references) {
        auto known = index_.find(v);
        if (known == index_.end()) continue;
        std::size_t to = known->second;
        if (!is_lambda_[to] && to >= value) complain_order(value, to);
        if (!is_lambda_[to] || ordered_[to]) continue;
        ordered_[to] = true;
        needed.push_back(to);
        work.push_back(to);
      }
    }
    std::sort(needed.begin(), needed.end());
    return needed;
  }

  void place_lambdas(const Vector<std::size_t>& which) {
    if (which.empty()) return;
    auto letrec = make_expr(Expr::Kind::letrec, span_);
    for (std::size_t i : which) {
      letrec->variables.push_back(bindings_[i].variable);
      letrec->children.push_back(std::move(bindings_[i].value));
    }
    letrec->children.push_back(nullptr);
    nest_.put(std::move(letrec), which.size());
  }

  [[noreturn]] void complain_order(std::size_t value, std::size_t needed) const {
    const Binding& b = bindings_[value];
    if (b.variable == nullptr)
      complain(b.span, fmt::format("this expression needs '{}', which is defined after it", bindings_[needed].variable->name));
    if (value == needed)
      complain(b.variable->span, fmt::format("the value of '{}' needs '{}' itself; only a lambda may refer to its own name",
                                             b.variable->name, b.variable->name));
    complain(b.variable->span, fmt::format("the value of '{}' needs '{}', which is defined after it", b.variable->name,
                                           bindings_[needed].variable->name));
  }

  Vector<Binding> bindings_;
  Span span_;
  Vector<bool> is_lambda_, ordered_; // ordered_: of lambdas
  Map<const Variable*, std::size_t> index_;
  Nest nest_;
};

} // namespace

ExprPtr order_bindings(Vector<Binding> bindings, ExprPtr body, Span span) {
  return Order(std::move(bindings), span).around(std::move(body));
}

} // namespace cairn::compiler
