// A machine of Cairn's as an object of Python's. One thread uses it at a time; others wait for it without the GIL. While a
// program runs the GIL is free, so whatever Python gives back meanwhile (arrays, values) waits in a list until the machine is at
// rest.
#pragma once

#include "objects.h"

#include "cairn.h"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

struct DLManagedTensor;

namespace cairn::python {

struct Machine;

// A procedure of the host: what Python functions it consists of.
struct Host {
  Machine* machine = nullptr;
  std::string name;
  unsigned parameters = 0;
  Owned call, derivative, reverse, forward;
};

struct Machine {
  PyObject_HEAD cairn_vm* vm;
  PyObject* weak;
  PyObject* program; // the Program that it runs; the package's Python files put it there
  struct Parts;
  Parts* parts; // made by __init__
};

struct Machine::Parts {
  // Callables of Python's, or NULL: write(text), read(most) -> text, report(dict), explain(text).
  PyObject *output = nullptr, *input = nullptr, *report = nullptr, *explain = nullptr;
  // Whose what is stopped in the machine is: holder(capsule) gets it, as bytes, when another call wants the machine. NULL: nobody
  // wants it.
  PyObject* holder = nullptr;
  std::vector<std::unique_ptr<Host>> hosts;
  std::string unread;                         // of the input, what the machine has not taken yet
  class Watched* watched = nullptr;           // the run in progress
  PyThreadState* waiting = nullptr;           // that of the thread that runs the machine, while the GIL is free
  PyObject* host_exception = nullptr;         // that ended a procedure of the host
  std::vector<DLManagedTensor*> given;        // exported tensors that Python has no use for any more
  std::vector<void*> taken;                   // imported ones that the machine has no use for any more (arrays.cpp)
  std::vector<cairn_value> dropped;           // values that no object of Python's refers to any more
  std::vector<std::vector<cairn_value>> left; // of conversions that were stopped: released when the machine is used next
  std::uint64_t begun = 0;                    // steps of the machine when the call that runs or is stopped in it began
  bool gil = true;                            // the thread that uses the machine has the GIL
  bool suspended = false;                     // something is stopped in it
  bool copies = false;                        // tensors live elsewhere than in the processor's memory
  std::atomic<bool> busy{false}, cancelled{false};
  unsigned long owner = 0; // the thread that made it busy
  unsigned waiters = 0;
  std::mutex mutex;
  std::condition_variable free;
  unsigned generation = 0; // of processes: a fork makes another one
};

extern PyTypeObject* machine_type;
PyTypeObject* make_machine_type();

// The machine belongs to this thread as long as this lives. Waits for other threads; throws Raised where it is this one's
// already, as in a procedure of the host, or was made before a fork.
class Use {
public:
  explicit Use(Machine* machine);
  ~Use();
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

private:
  void release_what_was_left();
  Machine* machine_;
};

// The state of the machine, in which something is stopped, as bytes. With Use, as all that follow.
PyObject* capsule_of(Machine* machine);

// What is stopped in the machine is handed to who holds it, or given up, so that it is idle.
void make_idle(Machine* machine);

// Runs what is ready, without the GIL: OK, OUT_OF_STEPS, OUT_OF_WORK, or throws. What was stopped and can go on stays with who
// holds it; if nobody does, the exception has a Run of it.
cairn_status run(Machine* machine, std::uint64_t steps);
// Runs a call to its end; cairn_vm_take_value has its value.
void call(Machine* machine, cairn_value procedure, const cairn_value* arguments, std::size_t count);

// A failed call of the interface, but for those that run.
[[noreturn]] void refused(cairn_status status, char* message);
inline void need(cairn_status status) {
  if (status != CAIRN_OK) refused(status, nullptr);
}

// Values of a conversion. Who is stopped by a signal does not wait for many to be released: that is left for later.
void let_go(Machine* machine, std::vector<cairn_value>& values) noexcept;

// With the GIL: at once where the machine is at rest or this thread's, later otherwise.
void release_value(Machine* machine, cairn_value value);
void release_exported(Machine* machine, DLManagedTensor* managed);

// Around calls of the library's that may take long and run nothing of Python's, by who uses the machine.
class WithoutGil {
public:
  explicit WithoutGil(Machine* machine);
  ~WithoutGil();
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

private:
  Machine* machine_;
  PyThreadState* thread_;
};

// In callbacks of a running machine.
class WithGil {
public:
  explicit WithGil(Machine* machine);
  ~WithGil();
  WithGil(const WithGil&) = delete;
  WithGil& operator=(const WithGil&) = delete;

private:
  Machine* machine_;
};

// Gives back what waits for the machine to be at rest.
void settle_what_waits(Machine* machine);
inline void settle(Machine* machine) {
  const Machine::Parts& parts = *machine->parts;
  if (!parts.given.empty() || !parts.taken.empty() || !parts.dropped.empty()) settle_what_waits(machine);
}

unsigned this_process(); // a number that a fork changes
bool known_to_this_process(const Machine* machine);

} // namespace cairn::python
