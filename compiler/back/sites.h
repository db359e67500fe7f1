// How text came to where it is compiled: procedures are copied into their callers, and messages want to know which procedure a
// piece of text belongs to and which call brought it there. A site is one such call; sites nest.
#pragma once

#include "vm/bytecode/module.h"

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace cairn::compiler::back {

using bytecode::kNoSite;
using bytecode::Span;

// A piece of text, and the call by which it came into the procedure that holds it: none for the procedure's own.
struct Place {
  Span span;
  std::uint32_t site = kNoSite;
  Place() = default;
  Place(const Span& s, std::uint32_t of = kNoSite) : span(s), site(of) {}
};

class Sites {
public:
  // The site of procedure `name` copied to a call. Beyond bytecode::kDeepestSites the call between is left out, as a tail call
  // would be.
  std::uint32_t entered(const std::string& name, bool library, Place call);
  // A place of a procedure's text after the procedure itself was copied to `base`.
  Place rebased(const Place& place, std::uint32_t base) { return {place.span, rebased_site(place.site, base)}; }

  // The places of a function name its own table from here on, which holds only what they need; so does the module's table of
  // names.
  void write(bytecode::Function& function, bytecode::Module& module);

private:
  struct Site {
    std::uint32_t procedure = 0; // index of procedures_
    Place call;
    unsigned depth = 1;
  };
  std::uint32_t rebased_site(std::uint32_t site, std::uint32_t base);
  std::uint32_t intern(std::uint32_t procedure, Place call);
  std::uint32_t number(const bytecode::InlinedProcedure& procedure, bytecode::Module& module);

  std::vector<Site> sites_;
  std::vector<bytecode::InlinedProcedure> procedures_;
  std::map<std::pair<std::string, bool>, std::uint32_t> procedure_numbers_, module_numbers_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> known_;
  std::unordered_map<std::uint64_t, std::uint32_t> rebased_;
};

} // namespace cairn::compiler::back
