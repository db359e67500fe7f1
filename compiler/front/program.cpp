// A whole program: its files put together, its top-level names collected before anything is expanded, the library it needs in
// front.
#include "compiler/compiler.h"

#include "compiler/front/expander.h"
#include "compiler/front/give_up.h"
#include "compiler/front/reader.h"

#include <algorithm>
#include <set>

namespace cairn::compiler {

namespace {

struct TopForm {
  DatumPtr expression = nullptr; // null: a definition
  Definition definition;
};

// Splices begin, include and import, and makes every defined name known.
Vector<TopForm> collect(Vector<DatumPtr> forms, Expander& expander, Loader& loader) {
  Vector<TopForm> out;
  Vector<DatumPtr> pending(forms.rbegin(), forms.rend());
  Vector<DatumPtr> parts;
  auto push = [&pending](std::span<const DatumPtr> more) { pending.insert(pending.end(), more.rbegin(), more.rend()); };
  while (!pending.empty()) {
    DatumPtr form = std::move(pending.back());
    pending.pop_back();
    if (expander.is_form(form, "begin") && list_items(form, parts)) {
      push(std::span<const DatumPtr>(parts).subspan(1));
    } else if (expander.is_form(form, "include")) {
      push(loader.include(form));
    } else if (expander.is_form(form, "import")) {
      push(loader.import(form));
    } else if (Vector<Definition> definitions = expander.definitions(form); !definitions.empty()) {
      for (Definition& d : definitions) {
        expander.define_global(d);
        out.push_back({nullptr, std::move(d)});
      }
    } else {
      out.push_back({std::move(form), {}});
    }
  }
  return out;
}

Program expand(std::string name, std::string text, const Options& options, Names& names, bool open) {
  Program program;
  program.names = &names;
  Arena::Installed installed(&program.arena);
  for (const HostDeclaration& h : options.hosts) program.hosts.push_back({h.name, h.parameters});
  try {
    Loader loader(options, names);
    Expander expander(program, loader, names, open);
    Exprs user;
    for (const TopForm& form : collect(loader.read_main(std::move(name), std::move(text)), expander, loader))
      user.push_back(form.expression != nullptr ? expander.expand_top(form.expression)
                                                : expander.expand_top_definition(form.definition));
    bool only_definitions =
        std::all_of(user.begin(), user.end(), [](const ExprPtr& e) { return e->kind == Expr::Kind::set_global; });
    program.has_value = !user.empty() && user.back()->kind != Expr::Kind::set_global;
    program.warnings = expander.take_warnings(options.exports, only_definitions);
    program.forms = expander.expand_library();
    for (ExprPtr& e : user) program.forms.push_back(std::move(e));
    if (!open && !options.exports) give_up_definitions(program);
  } catch (Complaint& c) {
    throw Failure{std::move(c.diagnostic), names.sources.at(c.diagnostic.span.file)};
  }
  return program;
}

} // namespace

Program expand(std::string name, std::string text, const Options& options) {
  auto names = std::make_shared<Names>();
  Program program = expand(std::move(name), std::move(text), options, *names, false);
  program.own_names = std::move(names);
  return program;
}

Program expand(std::string name, std::string text, const Options& options, Names& names) {
  return expand(std::move(name), std::move(text), options, names, true);
}

std::vector<std::string> names_in_force(const Names& names, const Options& options, std::string_view prefix) {
  std::set<std::string> found;
  auto offer = [&](std::string_view name, bool users) {
    if (name.starts_with(prefix) && (users || !name.starts_with('%'))) found.emplace(name);
  };
  for (const auto& [name, global] : names.defined) offer(name, true);
  for (const HostDeclaration& h : options.hosts) offer(h.name, true);
  for (const auto& [name, handler] : Expander::syntax()) offer(name, false);
  for (const Builtin& b : all_builtins()) offer(b.name, false);
  for (const LibraryDefinition& d : library_definitions()) offer(d.name, false);
  return {found.begin(), found.end()};
}

} // namespace cairn::compiler
