// The program that a run begins with, from its text or as bytecode.
#pragma once

#include "common/handles.h"
#include "common/run_options.h"

#include <string>

namespace cairn::tools {

// Leave, if it is none or does not fit (targets.h).
ModuleHandle compiled_or_read(const RunOptions& options);
// What a file of these options holds is no smaller in memory: Leave, if that is more than the budget.
void look_at_size(const RunOptions& options, const std::string& file);

} // namespace cairn::tools
