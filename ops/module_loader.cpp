// Looks for modules and loads them. The folders depend on where this code itself was loaded from, so a tree that was built but
// not installed, an installed one and one that was moved all find theirs.
#include "ops/module_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <system_error>

namespace cairn::ops {
namespace {

namespace fs = std::filesystem;

void add(std::vector<std::string>& folders, const fs::path& folder) {
  std::string text = folder.lexically_normal().string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  if (!text.empty() && std::find(folders.begin(), folders.end(), text) == folders.end()) folders.push_back(std::move(text));
}

void add_with_inner(std::vector<std::string>& folders, const fs::path& folder) {
  add(folders, folder);
  add(folders, folder / "cairn");
}

void add_listed(std::vector<std::string>& folders, std::string_view list) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(':'), list.size());
    if (end > 0) add(folders, fs::path(list.substr(0, end)));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
}

std::string joined(const std::vector<std::string>& folders) {
  std::string text;
  for (const std::string& folder : folders) text += (text.empty() ? "" : ", ") + folder;
  return text;
}

} // namespace

std::vector<std::string> module_folders() {
  std::vector<std::string> folders;
  if (const char* list = std::getenv("CAIRN_MODULES")) add_listed(folders, list);
  std::error_code none;
  const fs::path program = fs::read_symlink("/proc/self/exe", none);
  if (!program.empty()) add_with_inner(folders, program.parent_path().parent_path() / "lib");
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&module_folders), &info) != 0 && info.dli_fname != nullptr) {
    // Where this code is part of a program, that is the name by which it was called, which the search of the shell made no path
    // of.
    const fs::path library = info.dli_fname;
    if (library.is_absolute() || (!program.empty() && library.has_parent_path() && fs::equivalent(library, program, none)))
      add_with_inner(folders, library.is_absolute() ? library.parent_path() : program.parent_path());
  }
#ifdef CAIRN_MODULE_FOLDER
  add(folders, CAIRN_MODULE_FOLDER);
#endif
  return folders;
}

void* open_module(std::string_view name, std::string& why) {
  const std::string file = fmt::format("lib{}.so", name);
  const std::vector<std::string> folders = module_folders();
  for (const std::string& folder : folders) {
    const std::string path = folder + "/" + file;
    std::error_code none;
    if (!fs::exists(path, none)) continue;
    if (void* module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return module;
    const char* reason = dlerror();
    why = fmt::format("{} cannot be loaded: {}", path, reason != nullptr ? reason : "no reason given");
    return nullptr;
  }
  why = fmt::format("there is no {} in {}", file, joined(folders));
  return nullptr;
}

} // namespace cairn::ops
