// Calls whose random numbers are known, so that a derivative, which runs them again, draws the same: methods of Machine.
#pragma once

#include "machine.h"

namespace cairn::python {

PyObject* call_drawing(PyObject* machine, PyObject* const* arguments, Py_ssize_t count);
PyObject* call_lending(PyObject* machine, PyObject* const* arguments, Py_ssize_t count);

} // namespace cairn::python
