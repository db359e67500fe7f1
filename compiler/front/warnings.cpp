// Which names are worth a remark, and the words of it.
#include "compiler/front/warnings.h"

#include "vm/text/diagnostic.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace cairn::compiler {

namespace {

// Initialisers are searched this far; a new version of something in a longer one is taken for granted.
constexpr std::size_t kLongestSearch = 10'000;

bool is_private(std::string_view name) { return name.starts_with('_'); }

// Calls f of every symbol in `d` until it returns true; true if it did or if `d` is too large to tell.
template <class F> bool any_symbol(const Datum& d, F&& f) {
  Vector<const Datum*> work{&d};
  for (std::size_t looked = 0; !work.empty(); ++looked) {
    if (looked == kLongestSearch) return true;
    const Datum& at = *work.back();
    work.pop_back();
    if (is_symbol(at) && f(at)) return true;
    if (is_pair(at)) {
      work.push_back(at.cdr);
      work.push_back(at.car);
    } else if (at.kind == Datum::Kind::vector) {
      work.insert(work.end(), at.items().begin(), at.items().end());
    }
  }
  return false;
}

} // namespace

void Warnings::unused(std::string_view name, Span span) {
  if (!is_private(name)) all_.push_back({span, name, Warning::Kind::unused, {}});
}

void Warnings::end_scope(const Variable* v) {
  if (!used_.contains(v)) unused(v->name, v->span);
}

void Warnings::never_used(const Global& g) { unused(g.name, g.span); }

void Warnings::allow_new_version(const DatumPtr& target, const DatumPtr& init) {
  any_symbol(*target, [&](const Datum& symbol) {
    if (any_symbol(*init, [&](const Datum& mentioned) { return mentioned.text() == symbol.text(); }))
      new_versions_.insert(key(symbol.span));
    return false;
  });
}

void Warnings::hides(const Datum& symbol, Span hidden, bool top_level) {
  if (is_private(symbol.text()) || new_versions_.contains(key(symbol.span))) return;
  all_.push_back({symbol.span, symbol.text(), top_level ? Warning::Kind::hides_global : Warning::Kind::hides_local, hidden});
}

std::vector<Diagnostic> Warnings::take(const Deque<text::Source>& sources) {
  auto location = [](const Warning& w) { return std::tuple(w.span.file, w.span.begin, w.kind); };
  std::stable_sort(all_.begin(), all_.end(), [&](const Warning& a, const Warning& b) { return location(a) < location(b); });
  // The parameters of a procedure with rules are bound once for each clause.
  all_.erase(
      std::unique(all_.begin(), all_.end(), [&](const Warning& a, const Warning& b) { return location(a) == location(b); }),
      all_.end());
  std::vector<Diagnostic> out;
  for (const Warning& w : all_) {
    if (out.size() == kMostWarnings) {
      out.push_back({w.span, fmt::format("this and {} more warnings are not shown", all_.size() - out.size() - 1)});
      break;
    }
    if (w.kind == Warning::Kind::unused) {
      out.push_back({w.span, fmt::format("'{}' is never used", w.name)});
      continue;
    }
    const text::Source& source = sources.at(w.hidden.file);
    std::string where = fmt::format("line {}", text::position_of(source.text, w.hidden.begin).line);
    if (w.hidden.file != w.span.file) where = fmt::format("{} of {}", where, source.name);
    out.push_back({w.span, fmt::format("'{}' hides the {}'{}' of {}", w.name,
                                       w.kind == Warning::Kind::hides_global ? "top-level " : "", w.name, where)});
  }
  return out;
}

} // namespace cairn::compiler
