// See objects.h.
#include "objects.h"

#include <cstdarg>
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

std::uint64_t number_of(PyObject* object) {
  const Owned index(checked(PyNumber_Index(object)));
  const unsigned long long number = PyLong_AsUnsignedLongLong(index.get());
  if (PyErr_Occurred() != nullptr) throw Raised{};
  return number;
}

PyObject* refuse_to_make(PyTypeObject* type, PyObject*, PyObject*) {
  PyErr_Format(PyExc_TypeError, "a %s is what a program gives; there is no other way to make one", type->tp_name);
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
