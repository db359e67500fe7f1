// Signals during a run of the main thread, such as Ctrl-C: Python's handlers only note them, for the interpreter to look at,
// which does not go on before the run ends. So a run that takes longer is stopped for them.
#pragma once

#include "cairn.h"

#include <csignal>

namespace cairn::python {

// A run. While it lasts its thread takes no signals, and threads that it makes take none: a handler that runs in the middle of
// oneDNN's kernels for products destroys the heap (docs/decisions.md). Of the main thread's runs a thread of ours takes them in
// its place; it also stops it once after some milliseconds, for it to arm itself, and for what came before that: from then on
// signals cancel it. What is stopped has not happened, so nothing is lost but those milliseconds, once.
class Watched {
public:
  explicit Watched(cairn_vm* vm);
  ~Watched();
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
  void arm();
  // Around code of Python's within it.
  void admit_signals() const { pthread_sigmask(SIG_SETMASK, &mask_, nullptr); }
  static void refuse_signals();

private:
  void leave();
  sigset_t mask_; // of the thread before
  bool watched_;
  bool armed_ = false;
};

void start_watching(unsigned long main); // by the identity of the main thread
void stop_watching();                    // at the end of the process, and in a child

} // namespace cairn::python
