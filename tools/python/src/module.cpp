// The extension module `cairn._cairn`: types, the compiler, and what it takes from the package's Python files when it is
// imported.
#include "arrays.h"
#include "compile.h"
#include "procedure.h"
#include "watch.h"

namespace cairn::python {

namespace {

// set_up(**objects): the fields of Known by name.
PyObject* set_up(PyObject*, PyObject*, PyObject* objects) {
  const struct {
    const char* name;
    PyObject** field;
  } fields[] = {{"pair", &known.pair},         {"symbol", &known.symbol},   {"character", &known.character},
                {"failure", &known.failure},   {"refusal", &known.refusal}, {"kept_run", &known.kept_run},
                {"asarray", &known.asarray},   {"scalar", &known.scalar},   {"contiguous", &known.contiguous},
                {"jacobian", &known.jacobian}, {"start", &known.start}};
  return guarded([&] {
    for (const auto& field : fields) {
      PyObject* given = objects == nullptr ? nullptr : PyDict_GetItemString(objects, field.name);
      if (given == nullptr) raise(PyExc_TypeError, "set_up: %s is missing", field.name);
      Py_XDECREF(std::exchange(*field.field, retained(given)));
    }
    PyObject* main = PyDict_GetItemString(objects, "main_thread");
    if (main == nullptr) raise(PyExc_TypeError, "set_up: main_thread is missing");
    const unsigned long identity = PyLong_AsUnsignedLong(main);
    if (PyErr_Occurred() != nullptr) throw Raised{};
    start_watching(identity);
    return retained(Py_None);
  });
}

PyObject* default_memory(PyObject*, PyObject*) { return PyLong_FromUnsignedLongLong(cairn_default_memory()); }

PyMethodDef functions[] = {
    {"compile", compile, METH_VARARGS,
     "compile(name, text, helpers, hosts, libraries, level, strip, memory): (bytes, warnings, names)"},
    {"set_up", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(set_up)), METH_VARARGS | METH_KEYWORDS,
     "What the extension needs of the package."},
    {"default_memory", default_memory, METH_NOARGS, "The budget of a machine where nobody says one, in bytes."},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "cairn._cairn",
                          "Cairn's C interface for the package.",
                          -1,
                          functions,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr};

} // namespace

PyObject* made_module() {
  return guarded([&] {
    Owned module(checked(PyModule_Create(&definition)));
    machine_type = make_machine_type();
    procedure_type = make_procedure_type();
    array_type = make_array_type();
    const std::pair<const char*, PyTypeObject*> types[] = {
        {"Machine", machine_type}, {"Procedure", procedure_type}, {"Array", array_type}};
    for (const auto& [name, type] : types) {
      checked(reinterpret_cast<PyObject*>(type));
      Py_INCREF(reinterpret_cast<PyObject*>(type));
      checked(PyModule_AddObject(module.get(), name, reinterpret_cast<PyObject*>(type)));
    }
    checked(PyModule_AddIntConstant(module.get(), "version", cairn_version()));
    Py_AtExit(stop_watching);
    return module.release();
  });
}

} // namespace cairn::python

PyMODINIT_FUNC PyInit__cairn(void) { return cairn::python::made_module(); }
