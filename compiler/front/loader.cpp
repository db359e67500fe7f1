// Finding and reading the files of a program.
#include "compiler/front/loader.h"

#include "compiler/front/datum.h"
#include "compiler/front/library.h"
#include "compiler/front/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

namespace cairn::compiler {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kDeepestInclude = 200;

std::optional<std::string> file_text(const std::string& name) {
  std::error_code error;
  if (!fs::is_regular_file(name, error)) return {};
  std::ifstream in(name, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!in.good() && !in.eof()) return {};
  return text;
}

std::string beside(const std::string& source, const std::string& file) {
  fs::path path(file);
  if (path.is_absolute()) return file;
  return (fs::path(source).parent_path() / path).lexically_normal().string();
}

} // namespace

bool Loader::import_once(const std::string& file) {
  if (std::find(names_.imported.begin(), names_.imported.end(), file) != names_.imported.end()) return false;
  names_.imported.push_back(file);
  return true;
}

std::vector<DatumPtr> Loader::read_main(std::string name, std::string text) {
  import_once(fs::path(name).lexically_normal().string());
  return read_source(std::move(name), std::move(text));
}

std::vector<DatumPtr> Loader::read_source(std::string name, std::string text) {
  auto file = static_cast<std::uint32_t>(program_.sources.size());
  program_.sources.push_back({std::move(name), std::move(text)});
  names_.parents.resize(file + 1, file);
  const std::string& kept = program_.sources[file].text;
  check_text(kept, file);
  std::size_t begin = kept.starts_with("\xEF\xBB\xBF") ? 3 : 0; // a byte order mark
  return read_all(kept, file, begin, kept.size());
}

std::vector<DatumPtr> Loader::read_file(std::string name, Span from) {
  std::size_t depth = 0;
  for (std::uint32_t f = from.file;; f = names_.parents[f]) {
    if (program_.sources[f].name == name) complain(from, fmt::format("'{}' includes itself", name));
    if (++depth > kDeepestInclude) complain(from, "files are included too deeply");
    if (names_.parents[f] == f) break;
  }
  auto text = file_text(name);
  if (!text) complain(from, fmt::format("cannot read '{}'", name));
  auto file = static_cast<std::uint32_t>(program_.sources.size());
  names_.parents.resize(file + 1, from.file);
  return read_source(std::move(name), std::move(*text));
}

std::vector<DatumPtr> Loader::include(const DatumPtr& form) {
  std::vector<DatumPtr> items;
  if (!list_items(form, items) || items.size() != 2 || items[1]->kind != Datum::Kind::string)
    complain(form->span, "'include' is written (include \"file\")");
  return read_file(beside(program_.sources[form->span.file].name, items[1]->text), items[1]->span);
}

std::vector<DatumPtr> Loader::import(const DatumPtr& form) {
  std::vector<DatumPtr> items;
  if (!list_items(form, items) || items.size() != 2 || !(is_symbol(*items[1]) || items[1]->kind == Datum::Kind::string))
    complain(form->span, "'import' is written (import name)");
  const std::string& name = items[1]->text;
  std::vector<std::string> places{beside(program_.sources[form->span.file].name, name)};
  for (const std::string& folder : options_.library_folders)
    places.push_back((fs::path(folder) / name).lexically_normal().string());
  for (const std::string& place : places)
    for (const char* ending : {".scm", ".vlad", ""}) {
      std::string file = place + ending;
      std::error_code error;
      if (!fs::is_regular_file(file, error)) continue;
      if (!import_once(file)) return {};
      return read_file(std::move(file), items[1]->span);
    }
  for (const LibraryFile& file : library_files())
    if (file.name == name) return {}; // its definitions are always at hand
  complain(items[1]->span,
           fmt::format("cannot find the library '{}' beside this file, in the library folders or in Cairn's own library", name));
}

std::uint32_t Loader::library_source(std::uint32_t file) {
  names_.library_sources.resize(library_files().size());
  std::uint32_t& known = names_.library_sources[file];
  if (known == 0) {
    const LibraryFile& source = library_files()[file];
    program_.sources.push_back({fmt::format("<cairn>/{}.scm", source.name), std::string(source.text)});
    names_.parents.push_back(static_cast<std::uint32_t>(names_.parents.size()));
    known = static_cast<std::uint32_t>(program_.sources.size());
  }
  return known - 1;
}

} // namespace cairn::compiler
