// The compiler inside: text -> core -> module. The public face is cairn_compiler.h.
#pragma once

#include "compiler/core.h"

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
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

// front/: reads and expands a program; throws Failure. `name` is how messages call it; its folder is where include and import
// look first.
Program expand(std::string name, std::string text, const Options& options);

// What the front knows after the texts of a session; of use only to the next text.
struct Names {
  std::deque<Global> globals;
  std::unordered_map<std::string, std::uint32_t> defined; // the user's names and their globals
  std::vector<std::uint32_t> library;                     // by library definition: its global + 1, or 0
  std::vector<bytecode::Source> sources;
  std::vector<std::uint32_t> parents;         // by source: the source that includes it, itself if there is none
  std::vector<std::string> imported;          // files, in their normal form
  std::vector<std::uint32_t> library_sources; // by library file: its source + 1, or 0
};

// The next text of a session: sees and may redefine the names of the former ones, which see the new definitions. After a Failure
// `names` is of no use.
Program expand(std::string name, std::string text, const Options& options, Names& names);

// All names that a text may mention and that begin with `prefix`, in the order of their bytes.
std::vector<std::string> names_in_force(const Names& names, const Options& options, std::string_view prefix);

// False if the text breaks off inside a list, a string, a comment or before the datum of an abbreviation.
bool is_complete(std::string_view text);

// back/: passes and code generation; throws Failure (a procedure too large, an arity that cannot be right).
bytecode::Module generate(Program program, const Options& options);

// Procedures of a module that the next text of a session may call.
struct KnownFunctions {
  std::vector<std::uint32_t> library;                             // by global: the library's function + 1, or 0
  std::map<std::pair<bool, std::string>, std::uint32_t> wrappers; // of builtins as values; true: of the host's procedures
};
struct Compiled {
  bytecode::Module module;
  KnownFunctions known;
};

// A module that begins with all that `so_far` holds and whose entry runs `program` alone; all definitions are kept.
Compiled generate(Program program, const Options& options, Compiled so_far);

// back/: the core in A-normal form after the passes, as text (vmc --emit=ir).
std::string intermediate_text(Program program, const Options& options);

} // namespace cairn::compiler
