// Finding and reading the files of a program.
#include "compiler/front/loader.h"

#include "compiler/front/datum.h"
#include "compiler/front/library.h"
#include "compiler/front/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace cairn::compiler {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kDeepestInclude = 200;

// How messages call a file.
std::string name_of(const FileLocation& location) {
  return (fs::path(location.folder) / location.path).lexically_normal().string();
}

// What a program may write as the name of a file: beneath the folder it is looked for in, wherever that is.
void check_name(std::string_view name, Span span) {
  fs::path path(name);
  if (name.empty() || name.find('\0') != std::string_view::npos) complain(span, "this is no name of a file");
  if (path.is_absolute()) complain(span, fmt::format("'{}' is an absolute path; files are named as seen from this one", name));
  if (std::find(path.begin(), path.end(), "..") != path.end())
    complain(span, fmt::format("'{}' leads out of the folder; a file elsewhere can be imported from a library folder", name));
}

// The file of that name beside a source.
FileLocation beside(const FileLocation& source, std::string_view name, std::uint32_t parent) {
  return {source.folder, (fs::path(source.path).parent_path() / name).lexically_normal().string(), parent};
}

} // namespace

bool Loader::import_once(const std::string& file) {
  if (names_.known_imports.contains(file)) return false;
  names_.known_imports.insert(names_.imported.emplace_back(file));
  return true;
}

Vector<DatumPtr> Loader::read_main(std::string name, std::string text) {
  fs::path path(name);
  FileLocation location{path.parent_path().string(), path.filename().string(), static_cast<std::uint32_t>(names_.sources.size())};
  import_once(name_of(location));
  return read_source(std::move(name), std::move(text), std::move(location));
}

Vector<DatumPtr> Loader::read_source(std::string name, std::string text, FileLocation location) {
  auto file = static_cast<std::uint32_t>(names_.sources.size());
  names_.locations.push_back(std::move(location));
  names_.charges.emplace_back().add(2 * text.size()); // once here and once in the module
  const std::string& kept = names_.sources.emplace_back(text::Source{std::move(name), std::move(text)}).text;
  check_text(kept, file);
  std::size_t begin = kept.starts_with("\xEF\xBB\xBF") ? 3 : 0; // a byte order mark
  return read_all(kept, file, begin, kept.size());
}

void Loader::check_circle(const FileLocation& location, Span from) const {
  std::size_t depth = 0;
  for (std::uint32_t f = from.file;; f = names_.locations[f].parent) {
    const FileLocation& at = names_.locations[f];
    if (at.folder == location.folder && at.path == location.path)
      complain(from, fmt::format("'{}' includes itself", name_of(location)));
    if (++depth > kDeepestInclude) complain(from, "files are included too deeply");
    if (at.parent == f) return;
  }
}

// Nothing: there is no such file.
std::optional<std::string> Loader::file_text(const FileLocation& location, Span from) const {
  std::string text, why;
  switch (options_.files->read(location.folder, location.path, text, why)) {
  case Files::Answer::given:
    return text;
  case Files::Answer::none:
    return std::nullopt;
  case Files::Answer::refused:
    break;
  }
  complain(from, fmt::format("cannot read '{}': {}", name_of(location), why));
}

Vector<DatumPtr> Loader::read_file(const FileLocation& location, std::string text, Span from) {
  check_circle(location, from);
  return read_source(name_of(location), std::move(text), location);
}

Vector<DatumPtr> Loader::include(const DatumPtr& form) {
  Vector<DatumPtr> items;
  if (!list_items(form, items) || items.size() != 2 || items[1]->kind != Datum::Kind::string)
    complain(form->span, "'include' is written (include \"file\")");
  Span span = items[1]->span;
  check_name(items[1]->text(), span);
  FileLocation location = beside(names_.locations[form->span.file], items[1]->text(), form->span.file);
  if (options_.files == nullptr)
    complain(span, fmt::format("cannot read '{}': this program is given no files", name_of(location)));
  check_circle(location, span);
  auto text = file_text(location, span);
  if (!text) complain(span, fmt::format("cannot read '{}'", name_of(location)));
  return read_file(location, std::move(*text), span);
}

Vector<DatumPtr> Loader::import(const DatumPtr& form) {
  Vector<DatumPtr> items;
  if (!list_items(form, items) || items.size() != 2 || !(is_symbol(*items[1]) || items[1]->kind == Datum::Kind::string))
    complain(form->span, "'import' is written (import name)");
  std::string_view name = items[1]->text();
  check_name(name, items[1]->span);
  Vector<FileLocation> locations{beside(names_.locations[form->span.file], name, form->span.file)};
  for (const std::string& folder : options_.library_folders)
    locations.push_back({folder, fs::path(name).lexically_normal().string(), form->span.file});
  if (options_.files == nullptr) locations.clear();
  for (FileLocation& location : locations) {
    std::string stem = location.path;
    for (const char* ending : {".scm", ".vlad", ""}) {
      location.path = stem + ending;
      std::string file = name_of(location);
      if (names_.known_imports.contains(file)) return {};
      auto text = file_text(location, items[1]->span);
      if (!text) continue;
      import_once(file);
      return read_file(location, std::move(*text), items[1]->span);
    }
  }
  for (const LibraryFile& file : library_files())
    if (file.name == name) return {}; // its definitions are always at hand
  complain(
      items[1]->span,
      options_.files == nullptr
          ? fmt::format("cannot find the library '{}' in Cairn's own; this program is given no files", name)
          : fmt::format("cannot find the library '{}' beside this file, in the library folders or in Cairn's own library", name));
}

std::uint32_t Loader::library_source(std::uint32_t file) {
  names_.library_sources.resize(library_files().size());
  std::uint32_t& known = names_.library_sources[file];
  if (known == 0) {
    const LibraryFile& source = library_files()[file];
    names_.locations.push_back({"", "", static_cast<std::uint32_t>(names_.locations.size())});
    names_.charges.emplace_back();
    names_.sources.push_back({fmt::format("<cairn>/{}.scm", source.name), std::string(source.text)});
    known = static_cast<std::uint32_t>(names_.sources.size());
  }
  return known - 1;
}

} // namespace cairn::compiler
