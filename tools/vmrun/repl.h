// The read-eval-print loop: vmrun without a file.
#pragma once

#include "common/run_options.h"

namespace cairn::tools {

// Returns vmrun's exit code.
int run_repl(const RunOptions& options);

} // namespace cairn::tools
