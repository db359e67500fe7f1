// The compiler as a function of Python's.
#pragma once

#include "objects.h"

namespace cairn::python {

// compile(name, text, helpers, options) -> (bytes, warnings, names of definitions)
PyObject* compile(PyObject* module, PyObject* arguments);

} // namespace cairn::python
