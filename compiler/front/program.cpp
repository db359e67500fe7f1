// A whole program: its files put together, its top-level names collected before anything is expanded, the library it needs in
// front.
#include "compiler/compiler.h"

#include "compiler/front/expander.h"
#include "compiler/front/reader.h"

#include <algorithm>

namespace cairn::compiler {

namespace {

struct TopForm {
  DatumPtr expression; // null: a definition
  Definition definition;
};

// Splices begin, include and import, and makes every defined name known.
std::vector<TopForm> collect(std::vector<DatumPtr> forms, Expander& expander, Loader& loader) {
  std::vector<TopForm> out;
  std::vector<DatumPtr> pending(forms.rbegin(), forms.rend());
  std::vector<DatumPtr> parts;
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
    } else if (expander.is_form(form, "define")) {
      Definition d = expander.parse_definition(form);
      expander.define_global(d.name);
      out.push_back({nullptr, std::move(d)});
    } else {
      out.push_back({std::move(form), {}});
    }
  }
  return out;
}

} // namespace

Program expand(std::string name, std::string text, const Options& options) {
  Program program;
  for (const HostDeclaration& h : options.hosts) program.hosts.emplace_back(h.name, h.parameters);
  try {
    Loader loader(program, options);
    Expander expander(program, loader);
    std::vector<ExprPtr> user;
    for (const TopForm& form : collect(loader.read_source(std::move(name), std::move(text)), expander, loader))
      user.push_back(form.expression ? expander.expand_top(form.expression) : expander.expand_top_definition(form.definition));
    bool only_definitions =
        std::all_of(user.begin(), user.end(), [](const ExprPtr& e) { return e->kind == Expr::Kind::set_global; });
    program.warnings = expander.take_warnings(options.exports, only_definitions);
    program.forms = expander.expand_library();
    for (ExprPtr& e : user) program.forms.push_back(std::move(e));
  } catch (Complaint& c) {
    throw Failure{std::move(c.diagnostic), std::move(program.sources)};
  }
  return program;
}

} // namespace cairn::compiler
