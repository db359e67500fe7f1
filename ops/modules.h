// Parts of Cairn that are loaded when they are first needed, because what they stand on takes long to load or may be absent.
#pragma once

#include <string>

namespace cairn::ops {

// The address of `symbol` in the module NAME.so, or null. Looked for in the folder that the environment names in CAIRN_MODULES,
// and there alone if it is set; else beside the library or program that holds Cairn, in lib beside the program's folder, and
// where Cairn was to be installed; in each also in the folder cairn/. `reason`: why there is none.
void* symbol_of_module(const std::string& name, const char* symbol, std::string& reason);

} // namespace cairn::ops
