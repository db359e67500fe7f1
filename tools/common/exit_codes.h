// What the tools return to the shell; docs/tools.md says when. Declared once, since the manuals say it too.
#pragma once

#define CAIRN_EXIT_CODE_TABLE(X)                                                                                                 \
  X(kDone, 0, "done: the program has ended, the file is written")                                                                \
  X(kProgramError, 1, "an error in the program")                                                                                 \
  X(kBadUsage, 2, "called wrongly; a bad file; a stream or file that cannot be read or written")                                 \
  X(kOverBudget, 3, "a budget of memory or output is exceeded, that of the compiler included")                                   \
  X(kOutOfSteps, 75, "stopped by --steps or --work")                                                                             \
  X(kInterrupted, 130, "interrupted by Ctrl-C (SIGINT)")                                                                         \
  X(kTerminated, 143, "asked to end (SIGTERM)")

namespace cairn::tools {

enum ExitCode : int {
#define CAIRN_EXIT_CODE(name, code, meaning) name = (code),
  CAIRN_EXIT_CODE_TABLE(CAIRN_EXIT_CODE)
#undef CAIRN_EXIT_CODE
};

inline constexpr ExitCode kEveryExit[] = {
#define CAIRN_EXIT_CODE(name, code, meaning) name,
    CAIRN_EXIT_CODE_TABLE(CAIRN_EXIT_CODE)
#undef CAIRN_EXIT_CODE
};

} // namespace cairn::tools
