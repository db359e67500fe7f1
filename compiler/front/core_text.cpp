// Printing the core, with a work list: it nests as deeply as a cond is long.
#include "compiler/front/core_text.h"

#include "compiler/front/datum.h"

#include <fmt/format.h>

#include <variant>

namespace cairn::compiler {

namespace {

class Writer {
public:
  explicit Writer(const Program& program) : program_(program) {
    Map<std::string_view, unsigned> seen;
    for (const Variable& v : program.variables) {
      unsigned n = seen[v.name]++;
      names_.emplace(&v, n == 0 ? v.name : fmt::format("{}.{}", v.name, n));
    }
  }

  std::string write(const Expr& root) {
    out_.clear();
    work_.push_back(&root);
    while (!work_.empty()) {
      auto item = std::move(work_.back());
      work_.pop_back();
      if (auto* text = std::get_if<std::string>(&item))
        out_ += *text;
      else
        one(*std::get<const Expr*>(item));
    }
    return std::move(out_);
  }

private:
  using Item = std::variant<const Expr*, std::string>;

  // What follows is collected forwards and pushed backwards.
  void later(Vector<Item> items) {
    for (std::size_t i = items.size(); i-- > 0;) work_.push_back(std::move(items[i]));
  }

  void children(std::string head, const Expr& e) {
    Vector<Item> items{"(" + std::move(head)};
    for (std::size_t i = 0; i < e.children.size(); ++i) {
      if (i > 0 || items[0] != Item("(")) items.push_back(" ");
      items.push_back(e.children[i].get());
    }
    items.push_back(")");
    later(std::move(items));
  }

  std::string global_name(std::uint32_t g) const {
    const Global& global = program_.globals()[g];
    return global.library ? "library:" + global.name : global.name;
  }

  void one(const Expr& e) {
    switch (e.kind) {
    case Expr::Kind::constant: {
      bool quoted = e.datum->kind == Datum::Kind::null || e.datum->kind == Datum::Kind::symbol ||
                    e.datum->kind == Datum::Kind::pair || e.datum->kind == Datum::Kind::vector;
      out_ += (quoted ? "'" : "") + datum_text(*e.datum);
      break;
    }
    case Expr::Kind::local:
      out_ += names_.at(e.variable);
      break;
    case Expr::Kind::global:
      out_ += global_name(e.global);
      break;
    case Expr::Kind::builtin:
      out_ += e.name;
      break;
    case Expr::Kind::host:
      out_ += "host:" + program_.hosts[e.host].name;
      break;
    case Expr::Kind::lambda: {
      std::string head = "(lambda ";
      std::string list;
      for (const Variable* v : e.variables) list += (list.empty() ? "" : " ") + names_.at(v);
      if (e.rest != nullptr) list += (list.empty() ? ". " : " . ") + names_.at(e.rest);
      later({head + "(" + list + ") ", e.children[0].get(), ")"});
      break;
    }
    case Expr::Kind::let:
    case Expr::Kind::letrec: {
      Vector<Item> items{e.kind == Expr::Kind::let ? "(let (" : "(letrec ("};
      for (std::size_t i = 0; i < e.variables.size(); ++i) {
        items.push_back(fmt::format("{}({} ", i == 0 ? "" : " ", names_.at(e.variables[i])));
        items.push_back(e.children[i].get());
        items.push_back(")");
      }
      items.push_back(") ");
      items.push_back(e.children.back().get());
      items.push_back(")");
      later(std::move(items));
      break;
    }
    case Expr::Kind::if_:
      children("if", e);
      break;
    case Expr::Kind::sequence:
      children("begin", e);
      break;
    case Expr::Kind::call:
      children("", e);
      break;
    case Expr::Kind::set_global:
      children("define " + global_name(e.global), e);
      break;
    case Expr::Kind::match_fail:
      children("match-fail", e);
      break;
    }
  }

  const Program& program_;
  Map<const Variable*, std::string> names_;
  Vector<Item> work_;
  std::string out_;
};

} // namespace

std::string core_text(const Program& program, bool with_library) {
  Writer writer(program);
  std::string out;
  for (const ExprPtr& form : program.forms) {
    bool library = form->kind == Expr::Kind::set_global && program.globals()[form->global].library;
    if (!library || with_library) out += writer.write(*form) + "\n";
  }
  return out;
}

} // namespace cairn::compiler
