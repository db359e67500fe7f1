// The files of a program: reads sources, finds what `include` and `import` name, keeps the table of sources in the Names. What is
// named is beneath the folder of the program's own text or beneath a library folder, or it is refused.
#pragma once

#include "compiler/compiler.h"

#include <optional>
#include <string>
#include <string_view>

namespace cairn::compiler {

class Loader {
public:
  Loader(const Options& options, Names& names) : options_(options), names_(names) {}

  // Adds the text that a program or a session is given, and reads it. Throws Complaint.
  Vector<DatumPtr> read_main(std::string name, std::string text);
  // The data of the file that (include "file") names.
  Vector<DatumPtr> include(const DatumPtr& form);
  // The data of the file that (import name) names; none if it has been imported before or belongs to Cairn's own library.
  Vector<DatumPtr> import(const DatumPtr& form);
  // The index of a file of Cairn's library in the table of sources.
  std::uint32_t library_source(std::uint32_t file);

private:
  Vector<DatumPtr> read_source(std::string name, std::string text, FileLocation location);
  Vector<DatumPtr> read_file(const FileLocation& location, std::string text, Span from);
  std::optional<std::string> file_text(const FileLocation& location, Span from) const;
  void check_circle(const FileLocation& location, Span from) const;
  bool import_once(const std::string& file); // false: it has been imported before

  const Options& options_;
  Names& names_;
};

} // namespace cairn::compiler
