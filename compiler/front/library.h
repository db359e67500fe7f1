// Cairn's own library, compiler/library/*.scm, embedded as text. A definition is read only when a program uses it; this index
// says where each stands. Relies on a habit of those files: every definition begins at the start of a line with "(define (name
// parameter ... . rest)" or
// "(define name", and no other line begins with a parenthesis.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace cairn::compiler {

struct LibraryFile {
  std::string_view name; // without folder and .scm
  std::string_view text;
};
std::span<const LibraryFile> library_files(); // written by CMake

struct LibraryDefinition {
  std::string_view name;
  std::uint32_t number;   // position in library_definitions()
  std::uint32_t file;     // position in library_files()
  std::size_t begin, end; // in the file's text
  bool procedure;         // the next two mean something
  unsigned least, most;
};
std::span<const LibraryDefinition> library_definitions();
const LibraryDefinition* find_library_definition(std::string_view name);

} // namespace cairn::compiler
