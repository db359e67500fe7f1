// See objects.h.
#include "objects.h"

#include <cstdarg>
#include <exception>
#include <new>

namespace cairn::python {

Known known;

void raise(PyObject* type, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  PyErr_FormatV(type, format, arguments);
  va_end(arguments);
  throw Raised{};
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
