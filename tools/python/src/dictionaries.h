// Dictionaries as Cairn's library makes them of vectors, whose nodes begin with a number that is kept as a constant:
// compiler/library/dictionaries.scm says how.
#pragma once

#include "values.h"

namespace cairn::python {

cairn_value dictionary_of(Machine* machine, PyObject* dict); // the caller's to release; throws Raised
bool number_of_constant(Machine* machine, cairn_value constant, std::uint64_t& number);
bool is_node(Machine* machine, const Values& items); // whether a vector of these is a dictionary

} // namespace cairn::python
