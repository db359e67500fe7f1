// Where the text of an instruction comes from. Procedures are copied into their callers, and messages name the procedure that a
// piece of text belongs to and the call to which it was copied. A site is one such call; sites nest.
#pragma once

#include "compiler/compiler.h"

#include <cstdint>
#include <string_view>
#include <tuple>
#include <utility>

namespace cairn::compiler::back {

using bytecode::kNoSite;
using text::Span;

// A piece of text, and the call by which it came into the procedure that holds it: none for the procedure's own.
struct Origin {
  Span span;
  std::uint32_t site = kNoSite;
  Origin() = default;
  Origin(const Span& s, std::uint32_t of = kNoSite) : span(s), site(of) {}
};

class Sites {
public:
  // The site of procedure `name` copied to a call. Beyond bytecode::kDeepestSites the call between is left out, as a tail call
  // would be.
  std::uint32_t entered(std::string_view name, bool library, Origin call);
  // An origin in a procedure's text after the procedure itself was copied to `base`.
  Origin rebased(const Origin& origin, std::uint32_t base) { return {origin.span, rebased_site(origin.site, base)}; }

  // The origins of a function name its own table from here on, which holds only what they need; so does the module's table of
  // names, which counts on from that of `ground`.
  void write(bytecode::Function& function, bytecode::Module& module, Ground& ground) const;

private:
  struct Site {
    std::uint32_t procedure = 0; // index of procedures_
    Origin call;
    unsigned depth = 1;
  };
  std::uint32_t rebased_site(std::uint32_t site, std::uint32_t base);
  std::uint32_t intern(std::uint32_t procedure, Origin call);
  std::uint32_t number(std::uint32_t procedure, bytecode::Module& module, Ground& ground) const;

  Vector<Site> sites_;
  Vector<std::pair<std::string_view, bool>> procedures_;                 // names, and whether they are the library's
  OrderedMap<std::pair<std::string_view, bool>, std::uint32_t> numbers_; // of those
  OrderedMap<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> known_;
  Map<std::uint64_t, std::uint32_t> rebased_;
};

} // namespace cairn::compiler::back
