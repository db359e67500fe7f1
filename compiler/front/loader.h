// The files of a program: reads sources, finds what `include` and `import` name, keeps the table of sources in the Program.
#pragma once

#include "compiler/compiler.h"

#include <string>
#include <vector>

namespace cairn::compiler {

class Loader {
public:
  Loader(Program& program, const Options& options, Names& names) : program_(program), options_(options), names_(names) {}

  // Adds the text that a program or a session is given, and reads it. Throws Complaint.
  std::vector<DatumPtr> read_main(std::string name, std::string text);
  // The data of the file that (include "file") names.
  std::vector<DatumPtr> include(const DatumPtr& form);
  // The data of the file that (import name) names; none if it has been imported before or belongs to Cairn's own library.
  std::vector<DatumPtr> import(const DatumPtr& form);
  // The index of a file of Cairn's library in Program::sources.
  std::uint32_t library_source(std::uint32_t file);

private:
  std::vector<DatumPtr> read_source(std::string name, std::string text);
  std::vector<DatumPtr> read_file(std::string name, Span from);
  bool import_once(const std::string& file); // false: it has been imported before

  Program& program_;
  const Options& options_;
  Names& names_;
};

} // namespace cairn::compiler
