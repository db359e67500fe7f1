// Work that a host asks for between two runs of its machine, such as saving or printing, and that can be cancelled like a run.
#pragma once

#include "vm/api/handles.h"

namespace cairn::api {

// Calls f, and lets a cancellation that comes meanwhile stop it. A cancellation that came before is kept for the next run. (The
// machine is const because its state does not change; a request to stop is no part of that state.)
template <class F> void interruptible(const cairn_vm& vm, F&& f) {
  struct Waiting {
    explicit Waiting(ops::Meter& m) : meter(m), request(m.take_cancellation()) {}
    ~Waiting() {
      if (request) meter.cancel();
    }
    ops::Meter& meter;
    const bool request;
  } const waiting(const_cast<cairn_vm&>(vm).engine.meter());
  try {
    if (!vm.engine.accounts().release_set_aside()) throw ops::Cancelled{}; // what a cancelled run left
    f();
  } catch (const ops::Stopped&) {
    waiting.meter.take_cancellation();
    throw;
  }
}

// The text of a value, as `write` prints it, in memory of the host's; what it takes meanwhile is charged.
char* text_out(const cairn_vm& vm, value::Value v, std::size_t most);

} // namespace cairn::api
