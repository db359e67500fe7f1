// A digest of what a module holds, kept up as the module grows: an extension names the module that it continues by it.
#pragma once

#include "vm/bytecode/module.h"

#include <array>

namespace cairn::bytecode {

// Entry by entry, so that it says the same in whatever pieces the tables came together. It finds mistakes, not malice: what a
// module is continued with is verified against what is there.
class Digest {
public:
  // Takes in the entries behind those that it has seen; those must be the same.
  void advance(const Module& whole);
  // Of what it has seen.
  Base base() const;

private:
  Ends seen_;
  std::array<std::uint64_t, kModuleTables> chains_{}; // by table
};

} // namespace cairn::bytecode
