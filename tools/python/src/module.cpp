// The extension module `cairn._cairn`: types, the compiler, and what it takes from the package's Python files when it is
// imported.
#include "arrays.h"
#include "compile.h"
#include "procedure.h"
#include "tensors.h"
#include "watch.h"

#include "vm/text/sizes.h"

namespace cairn::python {

namespace {

// set_up(**objects): the fields of Known by name.
PyObject* set_up(PyObject*, PyObject*, PyObject* objects) {
  return guarded([&] {
    take_objects("set_up", objects,
                 {{"pair", &known.pair},
                  {"symbol", &known.symbol},
                  {"character", &known.character},
                  {"failure", &known.failure},
                  {"refusal", &known.refusal},
                  {"kept_run", &known.kept_run},
                  {"asarray", &known.asarray},
                  {"scalar", &known.scalar},
                  {"masked", &known.masked},
                  {"contiguous", &known.contiguous},
                  {"jacobian", &known.jacobian},
                  {"start", &known.start},
                  {"reduced", &known.reduced}});
    PyObject* main = PyDict_GetItemString(objects, "main_thread");
    if (main == nullptr) raise(PyExc_TypeError, "set_up: main_thread is missing");
    const unsigned long identity = PyLong_AsUnsignedLong(main);
    if (PyErr_Occurred() != nullptr) throw Raised{};
    start_watching(identity);
    return retained(Py_None);
  });
}

// Bytes of a size that is written as everywhere in Cairn; None: it is none.
PyObject* size_of(PyObject*, PyObject* words) {
  return guarded([&]() -> PyObject* {
    Py_ssize_t bytes = 0;
    const char* written = PyUnicode_AsUTF8AndSize(words, &bytes);
    if (written == nullptr) throw Raised{};
    const text::Size size = text::parse_size({written, static_cast<std::size_t>(bytes)});
    if (size.fault != text::Size::Fault::none) return retained(Py_None);
    return checked(PyLong_FromUnsignedLongLong(size.bytes));
  });
}

PyMethodDef functions[] = {
    {"compile", compile, METH_VARARGS, "compile(name, text, helpers, hosts, libraries, level): (bytes, warnings, names)"},
    {"set_up", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(set_up)), METH_VARARGS | METH_KEYWORDS,
     "What the extension needs of the package."},
    {"know_torch", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(know_torch)), METH_VARARGS | METH_KEYWORDS,
     "What the extension needs of PyTorch."},
    {"size_of", size_of, METH_O, "Bytes of a size such as 64MiB, or None."},
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
    checked(PyModule_AddStringConstant(module.get(), "HELPERS", kHelpers));
#define CAIRN_PYTHON_STATUS(name, code, text) checked(PyModule_AddIntConstant(module.get(), "STATUS_" #name, code));
    CAIRN_STATUS_TABLE(CAIRN_PYTHON_STATUS)
#undef CAIRN_PYTHON_STATUS
    Py_AtExit(stop_watching);
    return module.release();
  });
}

} // namespace cairn::python

PyMODINIT_FUNC PyInit__cairn(void) { return cairn::python::made_module(); }
