// The compiler inside: text -> core -> module. The public face is cairn_compiler.h.
#pragma once

#include "compiler/core.h"

#include <string>
#include <vector>

namespace cairn::compiler {

// A procedure that the host of the machine provides; it means what a builtin does until the program defines the name itself.
struct HostDeclaration {
  std::string name;
  std::uint16_t parameters = 0;
};

struct Options {
  int level = 2;                            // 0: no optimisation
  std::vector<std::string> library_folders; // searched by `import` after the importing file's own folder
  bool exports = false;                     // every definition of the user's is stored, so that a host finds it by name
  std::vector<HostDeclaration> hosts;       // different names
};

// front/: reads and expands a program; throws Failure. `name` is how messages call it; its folder is where include and import look first.
Program expand(std::string name, std::string text, const Options& options);

// back/: passes and code generation; throws Failure (a procedure too large, an arity that cannot be right).
bytecode::Module generate(Program program, const Options& options);

// back/: the core in A-normal form after the passes, as text (vmc --emit=ir).
std::string intermediate_text(Program program, const Options& options);

} // namespace cairn::compiler
