// See modules.h. A module stays loaded until the process ends.
#include "ops/modules.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

#include <dlfcn.h>

namespace cairn::ops {

namespace {

std::vector<std::filesystem::path> folders() {
  if (const char* named = std::getenv("CAIRN_MODULES")) return {named};
  std::vector<std::filesystem::path> out;
  auto add = [&](const std::filesystem::path& folder) {
    out.push_back(folder / "cairn");
    out.push_back(folder);
  };
  static const char here = 0;
  Dl_info info;
  if (dladdr(&here, &info) != 0 && info.dli_fname != nullptr) add(std::filesystem::path(info.dli_fname).parent_path());
  std::error_code none;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", none);
  if (!none) {
    add(program.parent_path().parent_path() / "lib");
    add(program.parent_path().parent_path() / CAIRN_LIBRARY_FOLDER); // an installation that was moved
  }
  add(CAIRN_INSTALLED_LIBRARY_FOLDER);
  return out;
}

} // namespace

void* symbol_of_module(const std::string& name, const char* symbol, std::string& reason) {
  reason = "no file " + name + ".so";
  for (const std::filesystem::path& folder : folders()) {
    const std::filesystem::path file = folder / (name + ".so");
    std::error_code none;
    if (!std::filesystem::exists(file, none)) continue;
    void* const module = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    void* const address = module != nullptr ? dlsym(module, symbol) : nullptr;
    if (address != nullptr) return address;
    const char* const error = dlerror();
    reason = error != nullptr ? error : file.string() + " is no module of Cairn";
  }
  return nullptr;
}

} // namespace cairn::ops
