// The type Machine as Python sees it: what cairn.h has, one method a call. The package's Python files make modules and runs of
// it.
#include "arrays.h"
#include "hosts.h"
#include "layers.h"
#include "procedure.h"
#include "values.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <limits>
#include <new>

#include <structmember.h>

namespace cairn::python {

PyTypeObject* machine_type = nullptr;

namespace {

Machine* machine_of(PyObject* self) { return reinterpret_cast<Machine*>(self); }

// A keyword's value, borrowed; NULL where it is missing or None.
PyObject* option(PyObject* options, const char* name) {
  PyObject* value = PyDict_GetItemString(options, name);
  return value == Py_None ? nullptr : value;
}

const char* text_of(PyObject* object) {
  Py_ssize_t bytes = 0;
  const char* text = PyUnicode_AsUTF8AndSize(object, &bytes);
  if (text == nullptr) throw Raised{};
  if (std::strlen(text) != static_cast<std::size_t>(bytes)) raise(PyExc_ValueError, "%R: text with a character 0 in it", object);
  return text;
}

void set_text(PyObject* options, const char* name, const char*& field) {
  if (PyObject* value = option(options, name)) field = text_of(value);
}
void set_number(PyObject* options, const char* name, std::uint64_t& field) {
  if (PyObject* value = option(options, name)) field = number_of(value, name);
}
void set_truth(PyObject* options, const char* name, int& field) {
  if (PyObject* value = option(options, name)) checked(field = PyObject_IsTrue(value));
}
PyObject* set_callable(PyObject* options, const char* name) {
  PyObject* value = option(options, name);
  if (value == nullptr) return nullptr;
  if (PyCallable_Check(value) == 0) raise(PyExc_TypeError, "%s: expected a callable, got %s", name, kind_of(value).c_str());
  return retained(value);
}

constexpr const char* kOptions[] = {"memory",    "output_bytes", "seed",           "schedule", "lossy",     "costs",
                                    "spill",     "spill_bytes",  "spill_encoding", "device",   "check_nan", "profile",
                                    "arguments", "output",       "input",          "report",   "explain",   "hosts"};

int init(PyObject* self, PyObject* arguments, PyObject* options) {
  return guarded_status([&] {
    Machine* machine = machine_of(self);
    if (machine->parts != nullptr) raise(PyExc_RuntimeError, "the machine was made already");
    if (PyTuple_GET_SIZE(arguments) != 0) raise(PyExc_TypeError, "the options of a machine have names");
    const Owned none(checked(PyDict_New()));
    if (options == nullptr) options = none.get();
    PyObject* name = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(options, &at, &name, nullptr) != 0;)
      if (!std::any_of(std::begin(kOptions), std::end(kOptions),
                       [&](const char* known_name) { return PyUnicode_CompareWithASCIIString(name, known_name) == 0; }))
        raise(PyExc_TypeError, "a machine has no option `%U`", name);
    cairn_vm_options given;
    cairn_vm_options_init(&given);
    set_number(options, "memory", given.memory_bytes);
    set_number(options, "output_bytes", given.output_bytes);
    set_number(options, "seed", given.seed);
    set_text(options, "schedule", given.schedule);
    set_text(options, "lossy", given.lossy);
    set_text(options, "costs", given.costs);
    set_text(options, "spill", given.spill);
    set_number(options, "spill_bytes", given.spill_bytes);
    set_text(options, "spill_encoding", given.spill_encoding);
    set_text(options, "device", given.device);
    set_truth(options, "check_nan", given.check_nan);
    set_truth(options, "profile", given.profile);
    std::vector<const char*> words;
    Owned list;
    if (PyObject* value = option(options, "arguments")) {
      list = Owned(checked(PySequence_Fast(value, "arguments is a list of str")));
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); ++i)
        words.push_back(text_of(PySequence_Fast_GET_ITEM(list.get(), i)));
      given.arguments = words.data();
      given.argument_count = words.size();
    }
    machine->parts = new Machine::Parts;
    Machine::Parts& parts = *machine->parts;
    parts.generation = this_process();
    parts.output = set_callable(options, "output");
    parts.input = set_callable(options, "input");
    parts.report = set_callable(options, "report");
    parts.explain = set_callable(options, "explain");
    if (parts.output != nullptr) given.output = write_output;
    if (parts.input != nullptr) given.input = read_input;
    if (parts.report != nullptr) given.report = take_report;
    if (parts.explain != nullptr) given.explain = take_explanation;
    parts.copies = given.device != nullptr && std::string_view(given.device) != "cpu";
    given.user = machine;
    char* message = nullptr;
    const cairn_status status = cairn_vm_create(&given, &machine->vm, &message);
    if (status != CAIRN_OK) refused(status, message);
    if (PyObject* hosts = option(options, "hosts")) register_hosts(machine, hosts);
  });
}

PyObject* make(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* self = type->tp_alloc(type, 0);
  if (self != nullptr) {
    machine_of(self)->vm = nullptr;
    machine_of(self)->parts = nullptr;
    machine_of(self)->weak = nullptr;
    machine_of(self)->program = nullptr;
  }
  return self;
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(machine_of(self)->program);
  const Machine::Parts* parts = machine_of(self)->parts;
  if (parts == nullptr) return 0;
  for (PyObject* object : {parts->output, parts->input, parts->report, parts->explain, parts->holder, parts->host_exception})
    Py_VISIT(object);
  for (const auto& host : parts->hosts)
    for (const Owned* rule : {&host->call, &host->derivative, &host->reverse, &host->forward}) Py_VISIT(rule->get());
  return 0;
}

int clear(PyObject* self) {
  Py_CLEAR(machine_of(self)->program);
  Machine::Parts* parts = machine_of(self)->parts;
  if (parts == nullptr) return 0;
  for (PyObject** object :
       {&parts->output, &parts->input, &parts->report, &parts->explain, &parts->holder, &parts->host_exception})
    Py_CLEAR(*object);
  for (auto& host : parts->hosts)
    for (Owned* rule : {&host->call, &host->derivative, &host->reverse, &host->forward}) const Owned gone(std::move(*rule));
  return 0;
}

// All that referred to it is gone; in a child of a fork the machine's threads are gone too, and it stays where it is.
void dealloc(PyObject* self) {
  Machine* machine = machine_of(self);
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (machine->weak != nullptr) PyObject_ClearWeakRefs(self);
  if (machine->parts != nullptr) {
    if (known_to_this_process(machine)) {
      settle(machine);
      PyThreadState* const thread = PyEval_SaveThread();
      machine->parts->gil = false;
      cairn_vm_free(machine->vm);
      take_gil(thread);
      machine->parts->gil = true;
      settle(machine);
    }
    clear(self);
    delete machine->parts;
  }
  Py_CLEAR(machine->program);
  type->tp_free(self);
  Py_DECREF(type);
}

// --- methods

template <class Body> PyObject* in(PyObject* self, Body&& body) {
  return guarded([&]() -> PyObject* {
    const Use use(machine_of(self));
    return body(machine_of(self));
  });
}

PyObject* none() { return retained(Py_None); }

// Of who holds what is stopped in the machine; None: whoever that is. Gives None where the holder has it no more, as another call
// has put it away: that is seen while the machine is this thread's, so that nothing comes between.
template <class Body> PyObject* in_held(PyObject* self, PyObject* holder, Body&& body) {
  return in(self, [&](Machine* machine) {
    if (holder != Py_None && machine->parts->holder != holder) return none();
    return body(machine);
  });
}

void set_holder(Machine* machine, PyObject* holder) {
  const Owned before(std::exchange(machine->parts->holder, holder == Py_None ? nullptr : retained(holder)));
}

PyObject* owned_text(char* text) {
  PyObject* made = text == nullptr ? none() : PyUnicode_FromString(text);
  cairn_free(text);
  return checked(made);
}

struct Bytes {
  Py_buffer buffer{};
  explicit Bytes(PyObject* object) { checked(PyObject_GetBuffer(object, &buffer, PyBUF_SIMPLE)); }
  ~Bytes() { PyBuffer_Release(&buffer); }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
};

PyObject* load(PyObject* self, PyObject* bytes) {
  return in(self, [&](Machine* machine) {
    const Bytes file(bytes);
    cairn_module* module = nullptr;
    char* message = nullptr;
    cairn_status status = cairn_module_read(file.buffer.buf, static_cast<std::size_t>(file.buffer.len), &module, &message);
    if (status == CAIRN_OK) status = cairn_vm_load(machine->vm, module, &message);
    cairn_module_free(module);
    if (status != CAIRN_OK) refused(status, message);
    machine->parts->suspended = true;
    return none();
  });
}

PyObject* restore(PyObject* self, PyObject* bytes) {
  return in(self, [&](Machine* machine) {
    const Bytes file(bytes);
    char* message = nullptr;
    cairn_status status = CAIRN_OK;
    {
      const WithoutGil without(machine);
      status = cairn_vm_restore(machine->vm, file.buffer.buf, static_cast<std::size_t>(file.buffer.len), &message);
    }
    if (status != CAIRN_OK) refused(status, message);
    machine->parts->suspended = true;
    return none();
  });
}

PyObject* begin(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  return in(self, [&](Machine* machine) {
    if (count < 2 || !is_procedure(arguments[1])) raise(PyExc_TypeError, "begin(holder, procedure, *arguments)");
    make_idle(machine);
    const Value procedure(machine, value_of_procedure(machine, arguments[1]));
    const Arguments given(machine, arguments + 2, static_cast<std::size_t>(count - 2));
    const cairn_status status = cairn_vm_begin(machine->vm, procedure.get(), given.data(), given.size());
    if (status != CAIRN_OK) {
      char* text = nullptr;
      cairn_vm_error(machine->vm, &text);
      refused(status, text);
    }
    machine->parts->suspended = true;
    machine->parts->begun = cairn_vm_steps(machine->vm);
    set_holder(machine, arguments[0]);
    return checked(PyLong_FromUnsignedLongLong(machine->parts->begun));
  });
}

PyObject* progress_of(Machine* machine) {
  cairn_progress now{};
  need(cairn_vm_progress(machine->vm, &now));
  return checked(Py_BuildValue("(KiKKK)", static_cast<unsigned long long>(now.steps), static_cast<int>(now.phase),
                               static_cast<unsigned long long>(now.gradient_steps),
                               static_cast<unsigned long long>(now.gradient_steps_executed),
                               static_cast<unsigned long long>(now.gradient_steps_predicted)));
}

// The value is taken while the machine is still this thread's.
PyObject* run_on(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 3) {
    PyErr_SetString(PyExc_TypeError, "run(holder, steps, work)");
    return nullptr;
  }
  return in_held(self, arguments[0], [&](Machine* machine) {
    const std::uint64_t steps = arguments[1] == Py_None ? CAIRN_UNLIMITED : number_of(arguments[1], "steps");
    cairn_vm_limit_work(machine->vm, arguments[2] == Py_None ? CAIRN_UNLIMITED : number_of(arguments[2], "work"));
    struct Unlimited {
      cairn_vm* vm;
      ~Unlimited() { cairn_vm_limit_work(vm, CAIRN_UNLIMITED); }
    } unlimited{machine->vm};
    const std::uint64_t before = cairn_vm_work(machine->vm);
    const cairn_status status = run(machine, steps);
    const Owned progress(progress_of(machine));
    const auto work = static_cast<unsigned long long>(cairn_vm_work(machine->vm) - before);
    Owned value(none());
    if (status == CAIRN_OK) {
      set_holder(machine, Py_None);
      cairn_value taken{};
      need(cairn_vm_take_value(machine->vm, &taken));
      value = Owned(from_cairn(machine, taken, true));
    }
    return checked(Py_BuildValue("(iOKO)", static_cast<int>(status), value.get(), work, progress.get()));
  });
}

PyObject* lookup(PyObject* self, PyObject* name) {
  return in(self, [&](Machine* machine) {
    cairn_value found{};
    const cairn_status status = cairn_vm_lookup(machine->vm, text_of(name), &found);
    if (status == CAIRN_NOT_DEFINED) raise(PyExc_AttributeError, "the program defines no `%U`, or not yet", name);
    need(status);
    if (cairn_value_kind(found) == CAIRN_KIND_PROCEDURE) return procedure_of(machine, found, name);
    return from_cairn(machine, found, false);
  });
}

PyObject* capsule(PyObject* self, PyObject* holder) {
  return in_held(self, holder, [](Machine* machine) { return capsule_of(machine); });
}

PyObject* cancel(PyObject* self, PyObject* holder) {
  Machine* machine = machine_of(self);
  if (machine->parts == nullptr || machine->vm == nullptr || !known_to_this_process(machine)) return PyBool_FromLong(0);
  if (holder != Py_None && !(machine->parts->busy && machine->parts->holder == holder)) return PyBool_FromLong(0);
  machine->parts->cancelled = true;
  cairn_vm_cancel(machine->vm);
  return PyBool_FromLong(1);
}

PyObject* hold(PyObject* self, PyObject* holder) {
  if (machine_of(self)->parts != nullptr) set_holder(machine_of(self), holder);
  return none();
}

PyObject* let_go(PyObject* self, PyObject* holder) {
  Machine* machine = machine_of(self);
  if (machine->parts != nullptr && machine->parts->holder == holder) set_holder(machine, Py_None);
  return none();
}

PyObject* holds(PyObject* self, PyObject* holder) {
  const Machine* machine = machine_of(self);
  return PyBool_FromLong(machine->parts != nullptr && machine->parts->holder == holder ? 1 : 0);
}

PyObject* grant(PyObject* self, PyObject* arguments) {
  return in(self, [&](Machine* machine) {
    unsigned rights = 0;
    const char* path = nullptr;
    if (PyArg_ParseTuple(arguments, "Is", &rights, &path) == 0) throw Raised{};
    char* message = nullptr;
    const cairn_status status = cairn_vm_grant(machine->vm, rights, path, &message);
    if (status != CAIRN_OK) refused(status, message);
    return none();
  });
}

PyObject* steps(PyObject* self, PyObject* holder) {
  return in_held(self, holder, [](Machine* m) { return checked(PyLong_FromUnsignedLongLong(cairn_vm_steps(m->vm))); });
}

PyObject* memory(PyObject* self, PyObject*) {
  return in(self, [](Machine* m) {
    cairn_memory now{};
    need(cairn_vm_memory(m->vm, &now));
    return checked(Py_BuildValue(
        "{sKsKsKsKsKsKsK}", "budget", static_cast<unsigned long long>(now.budget), "all",
        static_cast<unsigned long long>(now.all), "objects", static_cast<unsigned long long>(now.objects), "tapes",
        static_cast<unsigned long long>(now.tapes), "capsules", static_cast<unsigned long long>(now.capsules), "tensors",
        static_cast<unsigned long long>(now.tensors), "scratch", static_cast<unsigned long long>(now.scratch)));
  });
}

PyObject* progress(PyObject* self, PyObject* holder) { return in_held(self, holder, progress_of); }

PyObject* statistics(PyObject* self, PyObject*) {
  return in(self, [](Machine* m) {
    char* text = nullptr;
    need(cairn_vm_statistics(m->vm, &text));
    return owned_text(text);
  });
}

PyObject* where(PyObject* self, PyObject* holder) {
  return in_held(self, holder, [](Machine* m) {
    char* text = nullptr;
    need(cairn_vm_where(m->vm, &text));
    return owned_text(text);
  });
}

PyObject* profile(PyObject* self, PyObject*) {
  return in(self, [](Machine* m) {
    char* text = nullptr;
    need(cairn_vm_profile(m->vm, &text));
    return owned_text(text);
  });
}

// From now on facts about gradients are kept, those of before forgotten.
PyObject* keep_gradients(PyObject* self, PyObject*) {
  return in(self, [](Machine* m) {
    need(cairn_vm_keep_gradients(m->vm));
    need(cairn_vm_forget_gradients(m->vm));
    return none();
  });
}

PyObject* gradients(PyObject* self, PyObject* form) {
  return in(self, [&](Machine* m) {
    const long number = PyLong_AsLong(form);
    if (number == -1 && PyErr_Occurred() != nullptr) throw Raised{};
    char* text = nullptr;
    need(cairn_vm_gradients(m->vm, static_cast<cairn_report>(number), &text));
    return owned_text(text);
  });
}

PyObject* busy(PyObject* self, void*) {
  const Machine* machine = machine_of(self);
  return PyBool_FromLong(machine->parts != nullptr && machine->parts->busy ? 1 : 0);
}

PyObject* begun(PyObject* self, void*) {
  const Machine* machine = machine_of(self);
  return PyLong_FromUnsignedLongLong(machine->parts != nullptr ? machine->parts->begun : 0);
}

PyCFunction fast(PyObject* (*function)(PyObject*, PyObject* const*, Py_ssize_t)) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef methods[] = {
    {"load", load, METH_O, "The program, as bytes of a .bc file."},
    {"restore", restore, METH_O, "Program and state, as bytes of a capsule."},
    {"begin", fast(begin), METH_FASTCALL,
     "begin(holder, procedure, *arguments): makes the machine ready to call it; its steps so far."},
    {"call", fast(call_drawing), METH_FASTCALL,
     "call(draws, procedure, *arguments): (value, draws). Of random numbers, how many had been drawn when the call began, None "
     "where it "
     "drew none; with what an earlier call gave this one draws the same."},
    {"call_lending", fast(call_lending), METH_FASTCALL,
     "call_lending(draws, procedure, *arguments): (tensors, kinds, draws). The same with tensors of PyTorch's; one, or a tuple "
     "of "
     "such where the value is a list or a vector. kinds: for each whether it was a number."},
    {"run", fast(run_on), METH_FASTCALL,
     "run(holder, steps, work): at most so many, None for no limit; (status, value, work, progress), or None."},
    {"lookup", lookup, METH_O, "The value of a definition."},
    {"capsule", capsule, METH_O, "capsule(holder): the state of what is stopped, as bytes, or None."},
    {"cancel", cancel, METH_O,
     "cancel(holder): stops the run in progress, for other threads; with None or else the next one. Whether it does."},
    {"hold", hold, METH_O, "hold(function): gets the capsule of what is stopped when another call needs the machine."},
    {"let_go", let_go, METH_O, "let_go(holder): what it holds is wanted no more."},
    {"holds", holds, METH_O, "holds(holder): whether what is stopped is its."},
    {"grant", grant, METH_VARARGS, "grant(rights, path): 1 to read, 2 to write."},
    {"steps", steps, METH_O, "steps(holder): steps since the program began, or None."},
    {"memory", memory, METH_NOARGS, "Bytes of the machine's accounts."},
    {"progress", progress, METH_O, "progress(holder): (steps, phase, gradient's steps, executed, predicted), or None."},
    {"statistics", statistics, METH_NOARGS, "Counters, as JSON."},
    {"where", where, METH_O, "where(holder): where a stopped program stands, or None."},
    {"profile", profile, METH_NOARGS, "Tables of steps, time and bytes by place."},
    {"keep_gradients", keep_gradients, METH_NOARGS, "From now on facts about gradients are kept, those of before forgotten."},
    {"gradients", gradients, METH_O, "What was kept, in a form of cairn_report."},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef properties[] = {{"busy", busy, nullptr, "Whether some thread uses it.", nullptr},
                            {"begun", begun, nullptr, "Its steps when the call that is stopped in it began.", nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMemberDef members[] = {{"program", T_OBJECT, offsetof(Machine, program), 0, "What it runs."},
                         {"__weaklistoffset__", T_PYSSIZET, offsetof(Machine, weak), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};
PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(make)},
                       {Py_tp_init, reinterpret_cast<void*>(init)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                       {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(clear)},
                       {Py_tp_methods, methods},
                       {Py_tp_getset, properties},
                       {Py_tp_members, members},
                       {Py_tp_doc, const_cast<char*>("A machine of Cairn's, and the program that it runs.")},
                       {0, nullptr}};
PyType_Spec spec = {"cairn._cairn.Machine", sizeof(Machine), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};

} // namespace

PyTypeObject* make_machine_type() { return reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec)); }

} // namespace cairn::python
