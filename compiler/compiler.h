// The compiler inside: text -> core -> module. The public face is cairn_compiler.h.
#pragma once

#include "compiler/core.h"

#include "vm/bytecode/register_sets.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cairn::compiler {

// A procedure that the host of the machine provides; it means what a builtin does until the program defines the name itself.
struct HostDeclaration {
  std::string name;
  std::uint16_t parameters = 0;
};

// Where the text of files comes from that a program includes or imports.
struct Files {
  virtual ~Files() = default;
  enum class Answer { given, none, refused };
  // The text of the file `path` beneath `folder`, "" being the current one. `path` is relative and has no "..". Refused: `why`
  // says so in a few words.
  virtual Answer read(const std::string& folder, const std::string& path, std::string& text, std::string& why) = 0;
};

struct Options {
  int level = 2;                            // 0: no optimisation
  std::vector<std::string> library_folders; // searched by `import` after the importing file's own folder
  bool exports = false;                     // every definition of the user's is stored, so that a host finds it by name
  std::vector<HostDeclaration> hosts;       // different names
  Files* files = nullptr;                   // null: a program has no files but its own
};

// Where a file stands: its path beneath a folder that the program may read, or that of the program's own text.
struct FileLocation {
  std::string folder, path;
  std::uint32_t parent; // the source that includes it, itself if there is none
};

// What the front knows after the texts of a session; of use only to the next text. All tables grow at their ends, so that a text
// that fails is taken back at the cost of what it added.
struct Names {
  Deque<Global> globals;
  Map<std::string_view, std::uint32_t> defined; // the user's names and their globals
  Vector<std::uint32_t> library;                // by library definition: its global + 1, or 0
  Deque<text::Source> sources;
  Deque<Charge> charges;                 // by source, of its text
  Deque<FileLocation> locations;         // by source
  Deque<std::string> imported;           // files, in their normal form
  Set<std::string_view> known_imports;   // those
  Vector<std::uint32_t> library_sources; // by library file: its source + 1, or 0

  struct Lengths {
    std::size_t globals, sources, imported;
  };
  Lengths lengths() const { return {globals.size(), sources.size(), imported.size()}; }
  void roll_back(const Lengths& before);
};
inline Deque<Global>& Program::globals() const { return names->globals; }
inline Deque<text::Source>& Program::sources() const { return names->sources; }

// front/: reads and expands a program; throws Failure. `name` is how messages call it; its folder is where include and import
// look first.
Program expand(std::string name, std::string text, const Options& options);

// The next text of a session: sees and may redefine the names of the former ones, which see the new definitions. `names` must
// outlive the program; after a Failure it is to be rolled back.
Program expand(std::string name, std::string text, const Options& options, Names& names);

// All names that a text may mention and that begin with `prefix`, in the order of their bytes.
std::vector<std::string> names_in_force(const Names& names, const Options& options, std::string_view prefix);

// Text that comes in pieces of whole lines, each looked at once.
class EntryReader {
public:
  EntryReader();
  ~EntryReader();
  EntryReader(const EntryReader&) = delete;
  EntryReader& operator=(const EntryReader&) = delete;

  // False if all text so far breaks off inside a list, a string, a comment or before the datum of an abbreviation; true also if
  // it is wrong in a way that no further line mends.
  bool add(std::string_view lines);

private:
  struct State;
  std::unique_ptr<State> state_;
};

// back/: passes and code generation; throws Failure (a procedure too large, an arity that cannot be right).
bytecode::Module generate(Program program, const Options& options);

// What the back knows after the texts of a session: where the tables end, and what may be found again in them.
struct Ground {
  bytecode::Ends ends;
  bytecode::RegisterSets sets;
  std::vector<bytecode::Import> imports;
  Map<std::uint32_t, std::uint32_t> library; // by global: the library's function
  OrderedMap<std::pair<bool, std::string>, std::uint32_t>
      wrappers;                                 // functions of builtins as values; true: of the host's procedures
  Map<Text, std::uint32_t, TextHash> constants; // by kind and contents
  Map<std::uint64_t, std::uint32_t> pairs;      // by their parts
  Map<Text, std::uint32_t, TextHash> inlined;   // copied procedures, by `l` of the library or `u` and their names
  // What the last text has added to the three that grow with a session, so that taking it back costs no more than that.
  Vector<const Text*> new_constants, new_inlined;
  Vector<std::uint64_t> new_pairs;

  void roll_back(const bytecode::Ends& before);
};

// The tables of the next text alone, which count on from those before: its entry runs `program`, all its definitions are kept.
// After a Failure `ground` is to be rolled back.
bytecode::Module generate(Program program, const Options& options, Ground& ground);

// back/: the core in A-normal form after the passes, as text (vmc --emit=ir).
std::string intermediate_text(Program program, const Options& options);

} // namespace cairn::compiler
