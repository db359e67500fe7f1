// See machine.h: who uses a machine when, how it runs, and what an end of a run means in Python.
#include "machine.h"

#include "arrays.h"
#include "watch.h"

#include <chrono>
#include <cstring>

#include <pthread.h>

namespace cairn::python {

namespace {

// A fork leaves a machine in the child without its threads: nobody may use it there.
std::atomic<unsigned> generation{0};
const bool counted = pthread_atfork(nullptr, nullptr, [] { ++generation; }) == 0;

Owned text_of(char* text) {
  Owned made(text == nullptr ? retained(Py_None)
                             : PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(std::strlen(text)), "replace"));
  cairn_free(text);
  checked(made.get());
  return made;
}

Owned place_of(const cairn_failure* failure) {
  Owned calls(checked(PyList_New(0)));
  for (std::size_t i = 0; i < failure->call_count; ++i) {
    Owned call(checked(Py_BuildValue("(ss)", failure->calls[i].procedure, failure->calls[i].place)));
    checked(PyList_Append(calls.get(), call.get()));
  }
  return calls;
}

// The exception of a run that cannot go on. What a procedure of the host raised is its cause, or itself where it is none of
// Exception's.
[[noreturn]] void failed(Machine* machine, cairn_status status) {
  const Owned holder(std::exchange(machine->parts->holder, nullptr));
  Owned cause(std::exchange(machine->parts->host_exception, nullptr));
  if (cause && PyObject_IsInstance(cause.get(), PyExc_Exception) == 0) {
    raise(cause);
  }
  char* text = nullptr;
  cairn_vm_error(machine->vm, &text);
  Owned whole = text_of(text);
  cairn_failure* parts = nullptr;
  Owned exception;
  if (cairn_vm_failure(machine->vm, &parts) == CAIRN_OK) {
    struct Freed {
      cairn_failure* failure;
      ~Freed() { cairn_failure_free(failure); }
    } freed{parts};
    Owned calls = place_of(parts);
    exception = Owned(checked(PyObject_CallFunction(known.failure, "iOssIIO", static_cast<int>(status), whole.get(),
                                                    parts->message, parts->file, parts->line, parts->column, calls.get())));
  } else {
    exception = Owned(checked(
        PyObject_CallFunction(known.failure, "iOOsIIO", static_cast<int>(status), whole.get(), whole.get(), "", 0, 0, Py_None)));
  }
  if (cause) PyException_SetCause(exception.get(), cause.release());
  raise(exception);
}

// The exception that is set gets an attribute `run`, which holds what was stopped, unless a run holds it already.
[[noreturn]] void stopped(Machine* machine) {
  if (machine->parts->holder != nullptr) throw Raised{};
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  Owned run(PyObject_CallFunctionObjArgs(known.kept_run, reinterpret_cast<PyObject*>(machine), nullptr));
  if (!run || PyObject_SetAttrString(value, "run", run.get()) < 0) PyErr_Clear();
  PyErr_Restore(type, value, trace);
  throw Raised{};
}

// Runs in slices between which signals and cancellations are looked at. first(): what runs first, and its status; then at most
// `steps`.
template <class First> cairn_status run_slices(Machine* machine, std::uint64_t steps, First&& first) {
  Machine::Parts& parts = *machine->parts;
  const std::uint64_t start = steps == CAIRN_UNLIMITED ? 0 : cairn_vm_steps(machine->vm);
  Watched watched(machine->vm);
  parts.watched = &watched;
  bool begun = false;
  for (;;) {
    const std::uint64_t left = steps == CAIRN_UNLIMITED ? steps : steps - (cairn_vm_steps(machine->vm) - start);
    parts.suspended = false;
    parts.gil = false;
    parts.waiting = PyEval_SaveThread();
    const cairn_status status = begun ? cairn_vm_run(machine->vm, left) : first(left);
    take_gil(parts.waiting);
    parts.gil = true;
    begun = true;
    settle(machine);
    // SystemExit and KeyboardInterrupt end the run, whether the program has handled them or not.
    if (parts.host_exception != nullptr && PyObject_IsInstance(parts.host_exception, PyExc_Exception) == 0 &&
        (status == CAIRN_OK || status == CAIRN_OUT_OF_STEPS || status == CAIRN_OUT_OF_WORK || status == CAIRN_CANCELLED)) {
      const Owned exception(std::exchange(parts.host_exception, nullptr));
      parts.suspended = status != CAIRN_OK;
      set_error(exception);
      if (parts.suspended) stopped(machine);
      const Owned holder(std::exchange(parts.holder, nullptr));
      throw Raised{};
    }
    if (status == CAIRN_OK || status == CAIRN_OUT_OF_STEPS || status == CAIRN_OUT_OF_WORK) {
      if (parts.host_exception != nullptr) Py_CLEAR(parts.host_exception); // the program has handled it
      parts.suspended = status != CAIRN_OK;
      return status;
    }
    if (status != CAIRN_CANCELLED) failed(machine, status);
    parts.suspended = true;
    if (parts.cancelled.exchange(false)) {
      set_error(
          Owned(checked(PyObject_CallFunction(known.refusal, "is", static_cast<int>(CAIRN_CANCELLED), "it was cancelled"))));
      stopped(machine);
    }
    watched.admit_signals(); // handlers are Python's code
    if (PyErr_CheckSignals() < 0) stopped(machine);
    Watched::refuse_signals();
    watched.arm();
  }
}

} // namespace

Use::Use(Machine* machine) : machine_(machine) {
  if (machine->parts == nullptr || machine->vm == nullptr) raise(PyExc_RuntimeError, "the machine was not made");
  Machine::Parts& parts = *machine->parts;
  if (parts.generation != generation.load(std::memory_order_relaxed))
    raise(PyExc_RuntimeError, "this machine belongs to the process before the fork; compile the program again in the child");
  const unsigned long me = PyThread_get_thread_ident();
  while (parts.busy.load(std::memory_order_relaxed)) {
    if (parts.owner == me)
      raise(PyExc_RuntimeError,
            "this machine is running already: a procedure of the host that it calls may use a copy() of the module");
    ++parts.waiters;
    PyThreadState* const thread = PyEval_SaveThread();
    {
      std::unique_lock lock(parts.mutex);
      parts.free.wait_for(lock, std::chrono::milliseconds(20), [&] { return !parts.busy.load(); });
    }
    take_gil(thread);
    --parts.waiters;
    if (PyErr_CheckSignals() < 0) throw Raised{};
  }
  parts.owner = me;
  parts.busy.store(true, std::memory_order_relaxed);
  if (!parts.left.empty()) release_what_was_left();
}

void Use::release_what_was_left() {
  Machine::Parts& parts = *machine_->parts;
  for (; !parts.left.empty(); parts.left.pop_back()) {
    for (std::vector<cairn_value>& values = parts.left.back(); !values.empty(); values.pop_back()) {
      cairn_value_release(machine_->vm, values.back());
      if (values.size() % 256 == 0 && PyErr_CheckSignals() < 0) {
        values.pop_back();
        parts.busy.store(false, std::memory_order_relaxed);
        throw Raised{};
      }
    }
  }
}

Use::~Use() {
  Machine::Parts& parts = *machine_->parts;
  settle(machine_);
  if (parts.waiters == 0) {
    parts.busy.store(false, std::memory_order_relaxed);
    return;
  }
  {
    const std::lock_guard lock(parts.mutex);
    parts.busy.store(false);
  }
  parts.free.notify_all();
}

PyObject* capsule_of(Machine* machine) {
  void* bytes = nullptr;
  std::size_t size = 0;
  cairn_status status = CAIRN_OK;
  {
    const WithoutGil without(machine);
    status = cairn_vm_save(machine->vm, &bytes, &size);
    // A cancellation is meant for what runs, and may have come too late for that: a run of no steps takes it away.
    while (status == CAIRN_CANCELLED && cairn_vm_run(machine->vm, 0) == CAIRN_CANCELLED)
      status = cairn_vm_save(machine->vm, &bytes, &size);
    if (machine->parts->cancelled) cairn_vm_cancel(machine->vm);
  }
  need(status);
  PyObject* made = PyBytes_FromStringAndSize(static_cast<const char*>(bytes), static_cast<Py_ssize_t>(size));
  cairn_free(bytes);
  return checked(made);
}

void make_idle(Machine* machine) {
  Machine::Parts& parts = *machine->parts;
  if (!parts.suspended) return;
  if (parts.holder != nullptr) {
    const Owned state(capsule_of(machine));
    // Until it has that, it is still who holds the machine; it may have let go of it meanwhile.
    if (parts.holder != nullptr) {
      const Owned holder(retained(parts.holder));
      Owned(checked(PyObject_CallFunctionObjArgs(holder.get(), state.get(), nullptr)));
    }
    const Owned gone(std::exchange(parts.holder, nullptr));
  }
  cairn_status status = CAIRN_OK;
  {
    const WithoutGil without(machine);
    status = cairn_vm_abandon(machine->vm);
  }
  need(status);
  parts.suspended = false;
}

cairn_status run(Machine* machine, std::uint64_t steps) {
  return run_slices(machine, steps, [&](std::uint64_t left) { return cairn_vm_run(machine->vm, left); });
}

void call(Machine* machine, cairn_value procedure, const cairn_value* arguments, std::size_t count) {
  machine->parts->begun = cairn_vm_steps(machine->vm);
  cairn_value value = cairn_unspecified(); // a second reference to what the machine has; none where it was stopped on the way
  run_slices(machine, CAIRN_UNLIMITED,
             [&](std::uint64_t) { return cairn_vm_call(machine->vm, procedure, arguments, count, &value); });
  cairn_value_release(machine->vm, value);
}

void refused(cairn_status status, char* message) {
  if (PyErr_Occurred() != nullptr) PyErr_Clear();
  const Owned words = text_of(message != nullptr ? message : cairn_status_text(status));
  raise(Owned(checked(PyObject_CallFunction(known.refusal, "iO", static_cast<int>(status), words.get()))));
}

bool known_to_this_process(const Machine* machine) {
  return machine->parts != nullptr && machine->parts->generation == generation.load(std::memory_order_relaxed);
}

unsigned this_process() { return generation.load(); }

void settle_what_waits(Machine* machine) try {
  Machine::Parts& parts = *machine->parts;
  // Each may run code of Python's, and so make these longer.
  while (!parts.given.empty()) {
    DLManagedTensor* managed = parts.given.back();
    parts.given.pop_back();
    delete_exported(managed);
  }
  while (!parts.dropped.empty()) {
    const cairn_value value = parts.dropped.back();
    parts.dropped.pop_back();
    cairn_value_release(machine->vm, value);
  }
  while (!parts.taken.empty()) {
    void* imported = parts.taken.back();
    parts.taken.pop_back();
    release_imported(imported);
  }
} catch (const ThreadEnds&) {
  wait_for_the_end();
}

void let_go(Machine* machine, std::vector<cairn_value>& values) noexcept {
  constexpr std::size_t kFew = 256;
  if (values.size() > kFew && PyErr_Occurred() != nullptr) {
    try {
      machine->parts->left.push_back(std::move(values));
      return;
    } catch (const std::bad_alloc&) { // then now
    }
  }
  for (const cairn_value value : values) cairn_value_release(machine->vm, value);
}

void release_value(Machine* machine, cairn_value value) {
  if (!known_to_this_process(machine)) return;
  Machine::Parts& parts = *machine->parts;
  if (parts.busy.load(std::memory_order_relaxed) && !(parts.gil && parts.owner == PyThread_get_thread_ident()))
    parts.dropped.push_back(value);
  else
    cairn_value_release(machine->vm, value);
}

void release_exported(Machine* machine, DLManagedTensor* managed) {
  if (!known_to_this_process(machine)) return;
  Machine::Parts& parts = *machine->parts;
  if (parts.busy.load(std::memory_order_relaxed) && !(parts.gil && parts.owner == PyThread_get_thread_ident()))
    parts.given.push_back(managed);
  else
    delete_exported(managed);
}

WithoutGil::WithoutGil(Machine* machine) : machine_(machine) {
  machine->parts->gil = false;
  thread_ = PyEval_SaveThread();
}

WithoutGil::~WithoutGil() {
  take_gil(thread_);
  Machine::Parts& parts = *machine_->parts;
  parts.gil = true;
  settle(machine_);
}

WithGil::WithGil(Machine* machine) : machine_(machine) {
  take_gil(machine->parts->waiting);
  machine->parts->gil = true;
  machine->parts->watched->admit_signals();
}

WithGil::~WithGil() {
  Machine::Parts& parts = *machine_->parts;
  settle(machine_);
  Watched::refuse_signals();
  parts.gil = false;
  parts.waiting = PyEval_SaveThread();
}

} // namespace cairn::python
