// What the tools return to the shell; docs/tools.md says when.
#pragma once

namespace cairn::tools {

enum ExitCode : int {
  kDone = 0,
  kProgramError = 1,
  kBadUsage = 2, // or a bad file, or a stream that cannot be read or written
  kOverBudget = 3,
  kOutOfSteps = 75,
  kInterrupted = 130 // as shells say it of SIGINT
};

} // namespace cairn::tools
