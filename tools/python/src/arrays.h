// Arrays of other libraries as tensors, and tensors as arrays, without copies where the layout allows it.
#pragma once

#include "machine.h"

namespace cairn::python {

// Whether the object is an array: it has a buffer, or exports itself by DLPack.
bool is_array(PyObject* object);

// A tensor that shares the elements, which Cairn never writes; a copy where they are in another order of bytes or lie backwards.
// Throws Raised.
cairn_value tensor_of(Machine* machine, PyObject* array);

// The tensor, taken over, as an array of NumPy's: its own elements (`alone`), or shared and not to be written. One of bfloat16,
// which NumPy does not know, stays an Array, for `torch.from_dlpack` and its like.
PyObject* array_of(Machine* machine, cairn_value tensor, bool alone);

void release_imported(void* imported); // with the GIL
void delete_exported(DLManagedTensor* managed);

extern PyTypeObject* array_type;
PyTypeObject* make_array_type();

} // namespace cairn::python
