// See objects.h.
#include "objects.h"

#include <cstdarg>
#include <cstring>
#include <exception>
#include <new>

#include <unistd.h>

namespace cairn::python {

Known known;

void wait_for_the_end() noexcept {
  for (;;) pause();
}

void take_gil(PyThreadState* thread) noexcept {
  try {
    PyEval_RestoreThread(thread);
  } catch (const ThreadEnds&) {
    wait_for_the_end();
  }
}

void raise(PyObject* type, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  PyErr_FormatV(type, format, arguments);
  va_end(arguments);
  throw Raised{};
}

std::string kind_of(PyObject* object) {
  const char* const name = Py_TYPE(object)->tp_name;
  return std::string(*name != 0 && std::strchr("aeiouAEIOU", *name) != nullptr ? "an " : "a ") + name;
}

std::uint64_t number_of(PyObject* object, const char* name) {
  if (PyIndex_Check(object) == 0 || PyBool_Check(object) != 0)
    raise(PyExc_TypeError, "%s: expected an int, got %s", name, kind_of(object).c_str());
  const Owned index(checked(PyNumber_Index(object)));
  const unsigned long long number = PyLong_AsUnsignedLongLong(index.get());
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    raise(PyExc_ValueError, "%s: expected an int from 0 on, below 2^64, got %R", name, index.get());
  }
  return number;
}

void take_objects(const char* function, PyObject* given, std::initializer_list<Field> fields) {
  for (const Field& field : fields) {
    PyObject* const object = given == nullptr ? nullptr : PyDict_GetItemString(given, field.name);
    if (object == nullptr) raise(PyExc_TypeError, "%s: %s is missing", function, field.name);
    Py_XDECREF(std::exchange(*field.object, retained(object)));
  }
}

PyObject* refuse_to_make(PyTypeObject* type, PyObject*, PyObject*) {
  PyErr_Format(PyExc_TypeError, "%s: what a program gives; there is no other way to make one", type->tp_name);
  return nullptr;
}

PyObject* caught() noexcept {
  try {
    throw;
  } catch (const Raised&) {
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_SystemError, e.what());
  }
  return nullptr;
}

} // namespace cairn::python
