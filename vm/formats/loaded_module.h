// A module of vm/codecs, loaded when it is first wanted. Private to this room.
#pragma once

#include "ops/module_loader.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include <dlfcn.h>

namespace cairn::formats {

// Its functions, or why there are none. `Open` is the type of the module's only symbol, which gives them with their version.
template <class Open> struct LoadedModule {
  std::invoke_result_t<Open> functions = nullptr;
  std::string why;

  LoadedModule(std::string_view name, const char* symbol, std::uint32_t version) {
    void* const module = ops::open_module(name, why);
    void* const open = module != nullptr ? dlsym(module, symbol) : nullptr;
    if (open == nullptr) return;
    functions = reinterpret_cast<Open>(open)();
    if (functions->version == version) return;
    functions = nullptr;
    why = "lib" + std::string(name) + ".so is of another build";
  }
};

} // namespace cairn::formats
