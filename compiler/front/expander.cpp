// Names and their meanings, and the step from a datum to an expression.
#include "compiler/front/expander.h"

#include "compiler/front/elsewhere.h"
#include "compiler/front/reader.h"
#include "compiler/front/suggestion.h"
#include "vm/text/diagnostic.h"

#include <fmt/format.h>

namespace cairn::compiler {

Expander::Deeper::Deeper(Expander& e, Span span) : expander_(e) {
  poll();
  if (++e.depth_ > kDeepestNesting) {
    --e.depth_;
    complain(span, "nested too deeply");
  }
}

Expander::Expander(Program& program, Loader& loader, Names& names, bool open)
    : program_(program), loader_(loader), names_(names), open_(open) {
  for (std::uint32_t i = 0; i < program.hosts.size(); ++i) hosts_.emplace(program.hosts[i].name, i);
}

Variable* Expander::fresh(std::string_view name, Span span) { return &program_.variables.emplace_back(Variable{name, span}); }

Variable* Expander::bind(const DatumPtr& symbol) {
  if (!in_library_ && !binds_parameters_) {
    Meaning m = meaning(symbol->text());
    if (m.kind == Meaning::Kind::local) warnings_.hides(*symbol, m.variable->span, false);
    // What another file defines is no part of the text that a reader has before his eyes.
    if (m.kind == Meaning::Kind::global && program_.globals()[m.global].span.file == symbol->span.file)
      warnings_.hides(*symbol, program_.globals()[m.global].span, true);
  }
  Variable* v = fresh(symbol->text(), symbol->span);
  scope_.bind(v);
  return v;
}

ExprPtr Expander::local(Variable* v, Span span) {
  if (recursive_scopes_ > 0) references_.push_back(v);
  return make_local(v, span);
}

Expander::Meaning Expander::meaning(std::string_view name) const {
  Meaning m;
  if (Variable* v = scope_.find(name)) {
    m.kind = Meaning::Kind::local;
    m.variable = v;
    return m;
  }
  if (!in_library_) {
    if (auto it = names_.defined.find(name); it != names_.defined.end()) {
      m.kind = Meaning::Kind::global;
      m.global = it->second;
      return m;
    }
    if (auto it = hosts_.find(name); it != hosts_.end()) {
      m.kind = Meaning::Kind::host;
      m.host = it->second;
      return m;
    }
    if (name.starts_with('%')) return m; // for the library alone
  }
  if (auto it = syntax().find(name); it != syntax().end()) {
    m.kind = Meaning::Kind::syntax;
    m.syntax = it->second;
    return m;
  }
  m.builtin = find_builtin(name);
  m.library = find_library_definition(name);
  m.kind = m.builtin != nullptr ? Meaning::Kind::builtin : m.library != nullptr ? Meaning::Kind::library : Meaning::Kind::unbound;
  return m;
}

bool Expander::means_itself(std::string_view name) const {
  return scope_.find(name) == nullptr && (in_library_ || (!names_.defined.contains(name) && !hosts_.contains(name)));
}

bool Expander::is_else(const DatumPtr& d) const { return is_symbol(*d, "else") && means_itself("else"); }

bool Expander::is_form(const DatumPtr& form, std::string_view name) const {
  return is_pair(*form) && is_symbol(*form->car, name) && means_itself(form->car->text());
}

ExprPtr Expander::expand(const DatumPtr& d) {
  if (is_pair(*d)) return expand_form(d);
  if (is_symbol(*d)) return reference(d);
  return make_constant(d, d->span);
}

ExprPtr Expander::expand_form(const DatumPtr& d) {
  Deeper deeper(*this, d->span);
  Vector<DatumPtr> items;
  if (!list_items(d, items)) complain(d->span, "an expression cannot be a dotted list");
  Handler handler = is_symbol(*items[0]) ? meaning(items[0]->text()).syntax : nullptr;
  return handler != nullptr ? (this->*handler)(d, items) : call(d, items);
}

ExprPtr Expander::reference(const DatumPtr& symbol) {
  Meaning m = meaning(symbol->text());
  switch (m.kind) {
  case Meaning::Kind::local:
    warnings_.use(m.variable);
    return local(m.variable, symbol->span);
  case Meaning::Kind::global:
    if (!open_) use_global(m.global);
    return make_global(m.global, symbol->span);
  case Meaning::Kind::host:
    return make_host(m.host, symbol->span);
  case Meaning::Kind::syntax:
    complain(symbol->span, fmt::format("'{}' is syntax, not a value", symbol->text()));
  case Meaning::Kind::builtin:
    if (m.library == nullptr) return make_builtin(m.builtin->core, symbol->span);
    return library_global(*m.library, symbol->span);
  case Meaning::Kind::library:
    return library_global(*m.library, symbol->span);
  case Meaning::Kind::unbound:
    break;
  }
  complain_unbound(symbol);
}

void Expander::use_global(std::uint32_t global) {
  used_globals_.resize(program_.globals().size());
  if (global != defining_) used_globals_[global] = true;
}

ExprPtr Expander::library_global(const LibraryDefinition& definition, Span span) {
  names_.library.resize(library_definitions().size());
  library_asked_.resize(library_definitions().size());
  std::uint32_t& known = names_.library[definition.number];
  if (known == 0) {
    Global& g = program_.globals().emplace_back();
    g.name = definition.name;
    g.library = true;
    known = static_cast<std::uint32_t>(program_.globals().size());
  }
  if (!library_asked_[definition.number]) {
    library_asked_[definition.number] = true;
    library_wanted_.push_back(definition.number);
  }
  return make_global(known - 1, span);
}

ExprPtr Expander::library_global(std::string_view name, Span span) {
  return library_global(*find_library_definition(name), span);
}

void Expander::define_global(const Definition& definition) {
  const DatumPtr& name = definition.name;
  if (auto it = names_.defined.find(name->text()); it != names_.defined.end()) {
    program_.globals()[it->second].defined_once = false;
    return;
  }
  if (program_.globals().size() > kMostGlobals) complain(name->span, "the program has too many top-level names");
  auto index = static_cast<std::uint32_t>(program_.globals().size());
  Global& g = program_.globals().emplace_back();
  g.name = name->text();
  g.span = name->span;
  g.defined_once = !open_;
  names_.defined.emplace(g.name, index);
  if (definition.kind >= Definition::Kind::constructor && !open_) use_global(index); // not all parts of a record need be used
}

ExprPtr Expander::expand_top(const DatumPtr& form) { return expand(form); }

ExprPtr Expander::expand_top_definition(const Definition& definition) {
  auto e = make_expr(Expr::Kind::set_global, definition.span);
  e->global = names_.defined.at(definition.name->text());
  defining_ = e->global;
  e->children.push_back(expand_value(definition));
  defining_.reset();
  return e;
}

std::vector<Diagnostic> Expander::take_warnings(bool exports, bool only_definitions) {
  if (!open_ && !exports && !only_definitions) {
    used_globals_.resize(program_.globals().size());
    for (std::size_t g = 0; g < program_.globals().size(); ++g) {
      const Global& global = program_.globals()[g];
      if (!global.library && global.span.file == 0 && !used_globals_[g]) warnings_.never_used(global);
    }
  }
  return warnings_.take(program_.sources());
}

Exprs Expander::expand_library() {
  in_library_ = true;
  Exprs by_number(library_definitions().size());
  for (std::size_t i = 0; i < library_wanted_.size(); ++i) { // grows as definitions ask for others
    const LibraryDefinition& d = library_definitions()[library_wanted_[i]];
    std::uint32_t source = loader_.library_source(d.file);
    Vector<DatumPtr> forms = read_all(library_files()[d.file].text, source, d.begin, d.end);
    Definition definition = parse_definition(forms.at(0));
    std::uint32_t global = names_.library[d.number] - 1;
    program_.globals()[global].span = definition.name->span;
    auto e = make_expr(Expr::Kind::set_global, definition.span);
    e->global = global;
    e->children.push_back(expand_value(definition));
    by_number[d.number] = std::move(e);
  }
  in_library_ = false;
  std::erase(by_number, nullptr);
  return by_number;
}

// Names of the program itself are offered first: a misspelt one is near them whatever another language calls so.
void Expander::complain_unbound(const DatumPtr& symbol) const {
  std::string_view name = symbol->text();
  constexpr std::size_t kLongestName = 200; // near which another may be; a longer one is shown in part
  if (name.size() > kLongestName) complain(symbol->span, fmt::format("unbound name '{}'", text::shortened(name, kLongestName)));
  std::string_view bare = name; // without the name of a module, np.exp
  if (std::size_t dot = name.rfind('.'); dot != std::string_view::npos) bare.remove_prefix(dot + 1);
  Suggestion whole(name), end(bare);
  auto offer = [&](std::string_view candidate) {
    if (!in_library_ && candidate.starts_with('%')) return;
    whole.offer(candidate);
    end.offer(candidate);
  };
  scope_.for_each_name(offer);
  for (const auto& [global, index] : names_.defined) offer(global);
  for (const auto& [host, index] : hosts_) offer(host);
  auto hint = [&] {
    const std::string& best = whole.best().empty() ? end.best() : whole.best();
    return best.empty() ? "" : fmt::format("; did you mean '{}'?", best);
  };
  if (auto let = hint_of_open_let(name); !let.empty()) complain(symbol->span, fmt::format("unbound name '{}'{}", name, let));
  if (auto instead = instead_of(name); !instead.empty())
    complain(symbol->span, fmt::format("'{}' does not exist in Cairn: {}{}", name, instead, hint()));
  for (const auto& [keyword, handler] : syntax()) offer(keyword);
  for (const Builtin& b : all_builtins()) offer(b.name);
  for (const LibraryDefinition& d : library_definitions()) offer(d.name);
  complain(symbol->span, fmt::format("unbound name '{}'{}", name, hint()));
}

namespace {

// Where other libraries take one argument after the other.
std::string_view hint_of_lists(std::string_view name) {
  for (const std::string_view other : {"view", "reshape", "resize", "expand-tensor", "tile", "permute", "flip"})
    if (name == other) return "; several integers are one argument, a list: '(2 3)";
  for (const std::string_view other : {"concat-tensors", "stack"})
    if (name == other) return "; tensors are one argument, a list, and the axis is the other: (list a b)";
  return "";
}

} // namespace

void Expander::complain_arity(std::string_view name, unsigned least, unsigned most, std::size_t got, Span span) const {
  complain(span, fmt::format("'{}' {}, got {}{}", name, arity_text(least, most), got, got > most ? hint_of_lists(name) : ""));
}

} // namespace cairn::compiler
