// Procedures of Cairn's as callables of Python's, and other values that have no form in Python, such as capsules of the language.
#pragma once

#include "machine.h"

namespace cairn::python {

extern PyTypeObject* procedure_type;
PyTypeObject* make_procedure_type();

// Takes the value over. `name`: str or NULL.
PyObject* procedure_of(Machine* machine, cairn_value value, PyObject* name);
bool is_procedure(PyObject* object);
cairn_value value_of_procedure(Machine* machine, PyObject* procedure); // the caller's to release

} // namespace cairn::python
