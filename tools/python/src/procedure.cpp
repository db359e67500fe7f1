// See procedure.h. A call is the way that everybody goes all the time: arguments on the stack, no tuple, no dict.
#include "procedure.h"

#include "values.h"

#include <cstddef>

#include <structmember.h>

namespace cairn::python {

namespace {

struct Procedure {
  PyObject_HEAD Machine* machine;
  cairn_value value;
  PyObject *name, *attributes, *weak;
  vectorcallfunc vectorcall;
};

PyObject* called(PyObject* self, PyObject* const* arguments, std::size_t flags, PyObject* names) {
  auto* procedure = reinterpret_cast<Procedure*>(self);
  Machine* machine = procedure->machine;
  return guarded([&]() -> PyObject* {
    if (names != nullptr && PyTuple_GET_SIZE(names) != 0) raise(PyExc_TypeError, "arguments of Cairn's procedures have no names");
    const Use use(machine);
    if (machine->parts->suspended) make_idle(machine);
    {
      const Arguments given(machine, arguments, static_cast<std::size_t>(PyVectorcall_NARGS(flags)));
      call(machine, procedure->value, given.data(), given.size());
    }
    cairn_value result{};
    need(cairn_vm_take_value(machine->vm, &result));
    return from_cairn(machine, result, true);
  });
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  auto* procedure = reinterpret_cast<Procedure*>(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(reinterpret_cast<PyObject*>(procedure->machine));
  Py_VISIT(procedure->attributes);
  return 0;
}

// The machine stays until the object goes: its value belongs to it.
int clear(PyObject* self) {
  Py_CLEAR(reinterpret_cast<Procedure*>(self)->attributes);
  return 0;
}

void dealloc(PyObject* self) {
  auto* procedure = reinterpret_cast<Procedure*>(self);
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (procedure->weak != nullptr) PyObject_ClearWeakRefs(self);
  release_value(procedure->machine, procedure->value);
  Py_CLEAR(procedure->attributes);
  Py_CLEAR(procedure->name);
  Py_DECREF(reinterpret_cast<PyObject*>(procedure->machine));
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* text(PyObject* self) {
  auto* procedure = reinterpret_cast<Procedure*>(self);
  return guarded([&]() -> PyObject* {
    if (procedure->machine->parts->busy || !known_to_this_process(procedure->machine))
      return PyUnicode_FromFormat("<procedure %S of Cairn>", procedure->name);
    const Use use(procedure->machine);
    char* written = nullptr;
    need(cairn_value_text(procedure->machine->vm, procedure->value, 200, &written));
    PyObject* made = PyUnicode_FromFormat("<%s of Cairn>", written);
    cairn_free(written);
    return made;
  });
}

PyObject* machine_of(PyObject* self, void*) {
  return retained(reinterpret_cast<PyObject*>(reinterpret_cast<Procedure*>(self)->machine));
}

PyObject* name_of(PyObject* self, void*) { return retained(reinterpret_cast<Procedure*>(self)->name); }

PyObject* start(PyObject* self, PyObject* arguments) {
  return guarded([&] {
    const Py_ssize_t count = PyTuple_GET_SIZE(arguments);
    const Owned all(checked(PyTuple_New(count + 1)));
    PyTuple_SET_ITEM(all.get(), 0, retained(self));
    for (Py_ssize_t i = 0; i < count; ++i) PyTuple_SET_ITEM(all.get(), i + 1, retained(PyTuple_GET_ITEM(arguments, i)));
    return checked(PyObject_CallObject(known.start, all.get()));
  });
}

PyObject* reduce(PyObject* self, PyObject*) { return PyObject_CallOneArg(known.reduced, self); }

// It never changes: copies are itself, as those of Python's functions.
PyObject* copy(PyObject* self, PyObject*) { return retained(self); }

PyMethodDef methods[] = {
    {"__reduce__", reduce, METH_NOARGS, "By the name that the program gives it."},
    {"__copy__", copy, METH_NOARGS, "Itself."},
    {"__deepcopy__", copy, METH_O, "Itself."},
    {"start", start, METH_VARARGS, "start(*arguments): a Run of the call that has not begun; its resume() takes budgets."},
    {nullptr, nullptr, 0, nullptr}};
PyMemberDef members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(Procedure, vectorcall), READONLY, nullptr},
                         {"__dictoffset__", T_PYSSIZET, offsetof(Procedure, attributes), READONLY, nullptr},
                         {"__weaklistoffset__", T_PYSSIZET, offsetof(Procedure, weak), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};
PyGetSetDef properties[] = {{"machine", machine_of, nullptr, "The machine that runs it.", nullptr},
                            {"__name__", name_of, nullptr, "Its name in the program.", nullptr},
                            {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(refuse_to_make)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                       {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(clear)},
                       {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                       {Py_tp_repr, reinterpret_cast<void*>(text)},
                       {Py_tp_methods, methods},
                       {Py_tp_members, members},
                       {Py_tp_getset, properties},
                       {Py_tp_doc, const_cast<char*>("A procedure of a program: call it like a function.")},
                       {0, nullptr}};
PyType_Spec spec = {"cairn.Procedure", sizeof(Procedure), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
                    slots};

} // namespace

PyTypeObject* procedure_type = nullptr;

PyTypeObject* make_procedure_type() { return reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec)); }

PyObject* procedure_of(Machine* machine, cairn_value value, PyObject* name) {
  auto* procedure = PyObject_GC_New(Procedure, procedure_type);
  if (procedure == nullptr) {
    cairn_value_release(machine->vm, value);
    throw Raised{};
  }
  procedure->machine = reinterpret_cast<Machine*>(retained(reinterpret_cast<PyObject*>(machine)));
  procedure->value = value;
  procedure->name = name != nullptr ? retained(name) : retained(Py_None);
  procedure->attributes = nullptr;
  procedure->weak = nullptr;
  procedure->vectorcall = called;
  PyObject_GC_Track(reinterpret_cast<PyObject*>(procedure));
  return reinterpret_cast<PyObject*>(procedure);
}

bool is_procedure(PyObject* object) { return Py_TYPE(object) == procedure_type; }

cairn_value value_of_procedure(Machine* machine, PyObject* object) {
  auto* procedure = reinterpret_cast<Procedure*>(object);
  if (procedure->machine != machine)
    raise(PyExc_ValueError, "this procedure belongs to another machine: one program's procedures are no values of another's");
  cairn_value_retain(procedure->value);
  return procedure->value;
}

} // namespace cairn::python
