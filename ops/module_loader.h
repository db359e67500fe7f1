// Modules: shared libraries that are looked for and loaded while the program runs, so that it starts fast and works without what
// they need (CUDA, libraries of mathematics). A module stays loaded until the process ends.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cairn::ops {

// Loads lib<name>.so. Looked for in the folders of the environment variable CAIRN_MODULES (separated by colons), in lib/ beside
// the folder of the running program, beside libcairn itself, and where Cairn is installed; in each of these but the first also in
// its folder cairn/. Gives what dlopen gave, or null and the reason: nothing there, or there but not loadable (nothing further is
// tried then).
void* open_module(std::string_view name, std::string& why);

// Where open_module looks, in this order.
std::vector<std::string> module_folders();

} // namespace cairn::ops
