// The type Array, by which tensors leave the machine: it has the DLManagedTensor of the machine, and hands out its memory as a
// buffer and by DLPack.
#include "arrays.h"

#include "dlpack.h"
#include "elements.h"

#include <array>
#include <cstddef>
#include <memory>
#include <type_traits>

namespace cairn::python {

namespace {

struct Array {
  PyObject_HEAD Machine* machine;
  DLManagedTensor* managed;
  Py_ssize_t sizes[CAIRN_MOST_AXES], strides[CAIRN_MOST_AXES];
  Py_ssize_t bytes;
  bool writable;
};

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  auto* array = reinterpret_cast<Array*>(self);
  const DLTensor& t = array->managed->dl_tensor;
  const Element& element = *element_of(t.dtype);
  view->obj = nullptr;
  if (element.format == 0) {
    PyErr_SetString(PyExc_BufferError, "bfloat16 is no type of Python's buffers; hand the array on by DLPack");
    return -1;
  }
  if ((flags & PyBUF_WRITABLE) == PyBUF_WRITABLE && !array->writable) {
    PyErr_SetString(PyExc_BufferError, "a program refers to these elements: they are not to be written");
    return -1;
  }
  static char formats[std::size(kElements)][2];
  const auto index = static_cast<std::size_t>(&element - kElements);
  formats[index][0] = element.format;
  view->obj = retained(self);
  view->buf = static_cast<char*>(t.data) + t.byte_offset;
  view->len = array->bytes;
  view->itemsize = element.bits / 8;
  view->readonly = array->writable ? 0 : 1;
  view->ndim = t.ndim;
  view->format = (flags & PyBUF_FORMAT) == PyBUF_FORMAT ? formats[index] : nullptr;
  view->shape = (flags & PyBUF_ND) == PyBUF_ND ? array->sizes : nullptr;
  view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? array->strides : nullptr;
  view->suboffsets = nullptr;
  view->internal = nullptr;
  if (!is_dense(t) && (flags & PyBUF_STRIDES) != PyBUF_STRIDES) {
    Py_CLEAR(view->obj);
    PyErr_SetString(PyExc_BufferError, "the elements do not lie one behind the other");
    return -1;
  }
  return 0;
}

void dealloc_array(PyObject* self) {
  auto* array = reinterpret_cast<Array*>(self);
  PyTypeObject* type = Py_TYPE(self);
  if (array->managed != nullptr) release_exported(array->machine, array->managed);
  Py_XDECREF(reinterpret_cast<PyObject*>(array->machine));
  type->tp_free(self);
  Py_DECREF(type);
}

// What another library gets, in either form: it refers to the Array, or has a copy of its elements.
struct Shared {
  DLManagedTensor managed{};
  dlpack::Versioned versioned{};
  PyObject* array = nullptr;
  std::unique_ptr<std::max_align_t[]> elements;
  std::array<std::int64_t, CAIRN_MOST_AXES> strides{};
};

void become_copy(Shared& shared) {
  DLTensor& t = shared.managed.dl_tensor;
  shared.elements = std::make_unique<std::max_align_t[]>(static_cast<std::size_t>(bytes_of(t)) / sizeof(std::max_align_t) + 1);
  copy_elements(t, reinterpret_cast<char*>(shared.elements.get()));
  t.data = shared.elements.get();
  t.byte_offset = 0;
  row_major_strides(t, shared.strides.data());
  t.strides = shared.strides.data(); // the sizes stay those of the Array
}

// By any thread of whoever has it; where there is no interpreter any more, nothing is left to be released.
template <class Managed> void delete_shared(Managed* managed) try {
  if (Py_IsInitialized() == 0) return;
  const PyGILState_STATE state = PyGILState_Ensure();
  auto* shared = static_cast<Shared*>(managed->manager_ctx);
  Py_DECREF(shared->array);
  delete shared;
  PyGILState_Release(state);
} catch (const ThreadEnds&) {
  wait_for_the_end();
}

template <class Managed> void drop_capsule(PyObject* capsule) {
  const char* name = std::is_same_v<Managed, DLManagedTensor> ? dlpack::kCapsule : dlpack::kVersionedCapsule;
  if (PyCapsule_IsValid(capsule, name) == 0) return;
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  managed->deleter(managed);
}

// A capsule of the elements, or of a copy of them.
PyObject* capsule_of(PyObject* self, bool copied, bool versioned) {
  auto* array = reinterpret_cast<Array*>(self);
  auto shared = std::make_unique<Shared>();
  shared->managed = *array->managed;
  shared->managed.manager_ctx = shared.get();
  shared->managed.deleter = delete_shared<DLManagedTensor>;
  DLTensor& t = shared->managed.dl_tensor;
  t.data = static_cast<char*>(t.data) + std::exchange(t.byte_offset, 0); // which PyTorch takes no notice of
  if (copied) become_copy(*shared);
  shared->versioned = {
      {1, 0}, shared.get(), delete_shared<dlpack::Versioned>, copied ? dlpack::kCopied : 0, shared->managed.dl_tensor};
  PyObject* capsule =
      checked(versioned ? PyCapsule_New(&shared->versioned, dlpack::kVersionedCapsule, drop_capsule<dlpack::Versioned>)
                        : PyCapsule_New(&shared->managed, dlpack::kCapsule, drop_capsule<DLManagedTensor>));
  shared->array = retained(self);
  shared.release();
  return capsule;
}

// Two integers, as DLPack has them.
void two_of(PyObject* pair, const char* name, long (&numbers)[2]) {
  const Owned both(PySequence_Tuple(pair));
  if (!both || PyArg_ParseTuple(both.get(), "ll", &numbers[0], &numbers[1]) == 0)
    raise(PyExc_TypeError, "__dlpack__: %s is a tuple of two integers, not %R", name, pair);
}

// The keywords of the protocol: https://dmlc.github.io/dlpack/latest/python_spec.html. Where the elements are not to be written a
// copy goes out, in the form that has a flag for that, too: there are libraries that take no notice of it.
PyObject* dlpack_of(PyObject* self, PyObject* none, PyObject* options) {
  return guarded([&] {
    static const char* const names[] = {"stream", "max_version", "dl_device", "copy", nullptr};
    PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
    if (PyArg_ParseTupleAndKeywords(none, options, "|$OOOO:__dlpack__", const_cast<char**>(names), &stream, &version, &device,
                                    &copy) == 0)
      throw Raised{};
    if (stream != Py_None) raise(PyExc_ValueError, "__dlpack__: the processor's memory has no streams");
    long numbers[2] = {};
    if (device != Py_None) {
      two_of(device, "dl_device", numbers);
      if (numbers[0] != kDLCPU || numbers[1] != 0)
        raise(PyExc_BufferError, "__dlpack__: the elements are in the processor's memory, (1, 0), and are not copied to %R",
              device);
    }
    numbers[0] = 0;
    if (version != Py_None) two_of(version, "max_version", numbers);
    const bool writable = reinterpret_cast<Array*>(self)->writable;
    if (copy == Py_False && !writable)
      raise(PyExc_BufferError, "a program refers to these elements, so only a copy is handed out: leave out copy=False");
    return capsule_of(self, !writable || copy == Py_True, numbers[0] >= 1);
  });
}

PyObject* dlpack_device(PyObject*, PyObject*) { return Py_BuildValue("(ii)", static_cast<int>(kDLCPU), 0); }

PyObject* shape(PyObject* self, void*) {
  return guarded([&] {
    auto* array = reinterpret_cast<Array*>(self);
    const DLTensor& t = array->managed->dl_tensor;
    Owned made(checked(PyTuple_New(t.ndim)));
    for (int i = 0; i < t.ndim; ++i) PyTuple_SET_ITEM(made.get(), i, checked(PyLong_FromLongLong(t.shape[i])));
    return made.release();
  });
}

constexpr const char* kNames[] = {"uint8", "int8", "int16", "int32", "int64", "float32", "float64", "bfloat16"};

PyObject* dtype(PyObject* self, void*) {
  const DLTensor& t = reinterpret_cast<Array*>(self)->managed->dl_tensor;
  return PyUnicode_FromString(kNames[element_of(t.dtype) - kElements]);
}

PyObject* text(PyObject* self) {
  return guarded([&] {
    Owned sizes(checked(shape(self, nullptr))), type(checked(dtype(self, nullptr)));
    return PyUnicode_FromFormat("cairn.Array(shape=%R, dtype=%U)", sizes.get(), type.get());
  });
}

PyMethodDef methods[] = {{"__dlpack__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(dlpack_of)),
                          METH_VARARGS | METH_KEYWORDS,
                          "The elements for other libraries: shared, or a copy where a program refers to them."},
                         {"__dlpack_device__", dlpack_device, METH_NOARGS, "The processor's memory."},
                         {nullptr, nullptr, 0, nullptr}};
PyGetSetDef properties[] = {{"shape", shape, nullptr, "The sizes.", nullptr},
                            {"dtype", dtype, nullptr, "The name of the type of elements.", nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(refuse_to_make)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(dealloc_array)},
                       {Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
                       {Py_tp_methods, methods},
                       {Py_tp_getset, properties},
                       {Py_tp_repr, reinterpret_cast<void*>(text)},
                       {Py_tp_doc, const_cast<char*>("The elements of a tensor of Cairn's, as a buffer and by DLPack.")},
                       {0, nullptr}};
PyType_Spec spec = {"cairn.Array", sizeof(Array), 0, Py_TPFLAGS_DEFAULT, slots};

} // namespace

PyTypeObject* array_type = nullptr;

PyTypeObject* make_array_type() { return reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec)); }

PyObject* shared_capsule(PyObject* array) { return capsule_of(array, false, false); }

void delete_exported(DLManagedTensor* managed) { managed->deleter(managed); }

DLManagedTensor* exported(Machine* machine, cairn_value tensor, bool alone) {
  DLManagedTensor* managed = nullptr;
  cairn_status status = CAIRN_OK;
  if (alone) {
    status = cairn_tensor_take(machine->vm, tensor, &managed);
    if (status != CAIRN_OK) cairn_value_release(machine->vm, tensor);
  } else {
    status = cairn_tensor_to_dlpack(machine->vm, tensor, &managed);
    cairn_value_release(machine->vm, tensor);
  }
  need(status);
  return managed;
}

PyObject* array_of(Machine* machine, cairn_value tensor, bool alone) {
  DLManagedTensor* const managed = exported(machine, tensor, alone);
  auto* array = PyObject_New(Array, array_type);
  if (array == nullptr) {
    delete_exported(managed);
    throw Raised{};
  }
  array->machine = reinterpret_cast<Machine*>(retained(reinterpret_cast<PyObject*>(machine)));
  array->managed = managed;
  array->writable = alone;
  const DLTensor& t = managed->dl_tensor;
  const Element& element = *element_of(t.dtype);
  array->bytes = bytes_of(t);
  for (int i = 0; i < t.ndim; ++i) {
    array->sizes[i] = t.shape[i];
    array->strides[i] = t.strides[i] * (element.bits / 8);
  }
  Owned made(reinterpret_cast<PyObject*>(array));
  if (element.format == 0) return made.release();
  return checked(PyObject_CallFunctionObjArgs(known.asarray, made.get(), nullptr));
}

} // namespace cairn::python
