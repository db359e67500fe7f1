// vmrun --calibrate: how long parts of programs take on this machine.
#pragma once

#include <string>

namespace cairn::tools {

// Runs small programs for some seconds, and writes a table of costs into the file, or to standard output if it has no name.
// Returns vmrun's exit code; what went wrong has been told.
// `folder`: where a file for tensors is measured; empty: nowhere, and the table has the built-in rate.
int calibrate(const std::string& file, const std::string& folder);

} // namespace cairn::tools
