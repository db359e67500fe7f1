// Signals during a run of the main thread, such as Ctrl-C: Python's handlers only note them, for the interpreter to look at,
// which does not go on before the run ends. So a run that takes longer is stopped for them.
#pragma once

#include "cairn.h"

namespace cairn::python {

// A run of the main thread's. A thread of ours stops it once after some milliseconds, for it to arm itself, and for what came
// before that: from then on signals cancel it. What is stopped has not happened, so nothing is lost but those milliseconds, once.
class Watched {
public:
  explicit Watched(cairn_vm* vm); // of any thread; only the main thread's is watched
  ~Watched();
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
  void arm();

private:
  bool watched_;
  bool armed_ = false;
};

void start_watching(unsigned long main); // by the identity of the main thread
void stop_watching();                    // at the end of the process, and in a child

} // namespace cairn::python
