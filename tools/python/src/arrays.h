// Arrays of other libraries as tensors, and tensors as arrays, without copies where the layout allows it.
#pragma once

#include "machine.h"

#include <dlpack/dlpack.h>

namespace cairn::python {

// Whether the object is an array: it has a buffer, or exports itself by DLPack.
bool is_array(PyObject* object);

// A tensor that shares the elements, which Cairn never writes; a copy where they are in another order of bytes or lie backwards.
// Throws Raised.
cairn_value tensor_of(Machine* machine, PyObject* array);

// The tensor, taken over, as an array of NumPy's: its own elements (`alone`), or shared and not to be written. One of bfloat16,
// which NumPy does not know, stays an Array, for `torch.from_dlpack` and its like.
PyObject* array_of(Machine* machine, cairn_value tensor, bool alone);

// Elements of an object that is not a buffer and need not export them for good: `owner` keeps them for the time of a call. `loan`
// is what the machine has of them, and null as soon as it has given it back. False: they are not handed over, since only a copy
// could be. Throws Raised.
struct Imported;
bool lent_tensor(Machine* machine, const DLTensor& elements, PyObject* owner, Imported*& loan, cairn_value& value);
// What the machine has still is kept by this from now on. The loan is none any more.
void kept_by(Imported* loan, PyObject* owner);

// The elements of a tensor, which is taken over, as a struct for release_exported: its own (`alone`), or shared. Throws Raised.
DLManagedTensor* exported(Machine* machine, cairn_value tensor, bool alone);
PyObject* shared_capsule(PyObject* array); // DLPack's, of an Array's elements whatever refers to them: they are only read

void release_imported(void* imported); // with the GIL
void delete_exported(DLManagedTensor* managed);

extern PyTypeObject* array_type;
PyTypeObject* make_array_type();

} // namespace cairn::python
