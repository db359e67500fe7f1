// The compiler as a function of Python's.
#pragma once

#include "objects.h"

namespace cairn::python {

inline constexpr const char* kHelpers = "cairn-python.scm"; // what messages call the package's own text

// compile(name, text, helpers, hosts, libraries, level) -> (bytes, warnings, names of definitions); hosts: (name, parameters)
// each. `helpers` is text of the package's own that is compiled behind the program's.
PyObject* compile(PyObject* module, PyObject* arguments);

} // namespace cairn::python
