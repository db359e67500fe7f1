// See arrays.h. In: a buffer of Python's, or a capsule of DLPack, becomes the DLManagedTensor that the machine takes over. Out:
// an object that has the DLManagedTensor of the machine, and hands out its memory as a buffer and by DLPack.
#include "arrays.h"

#include <dlpack/dlpack.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>

namespace cairn::python {

namespace {

struct Element {
  char format; // of Python's buffers; 0: they have none
  DLDataTypeCode code;
  unsigned char bits;
};
constexpr Element kElements[] = {{'B', kDLUInt, 8}, {'b', kDLInt, 8},    {'h', kDLInt, 16},   {'i', kDLInt, 32},
                                 {'q', kDLInt, 64}, {'f', kDLFloat, 32}, {'d', kDLFloat, 64}, {0, kDLBfloat, 16}};

constexpr const char* kTypes = "arrays have elements of type uint8, int8, int16, int32, int64, float32, float64 or bfloat16";

// What the machine has of Python's: a buffer, or a capsule's struct.
struct Imported {
  DLManagedTensor managed{};
  Machine* machine = nullptr;
  Py_buffer buffer{};
  bool has_buffer = false;
  DLManagedTensor* foreign = nullptr;
  std::array<std::int64_t, CAIRN_MOST_AXES> sizes{}, strides{};
};

void deleted_by_machine(DLManagedTensor* managed) {
  auto* imported = static_cast<Imported*>(managed->manager_ctx);
  Machine::Parts& parts = *imported->machine->parts;
  if (parts.gil)
    release_imported(imported);
  else
    parts.taken.push_back(imported);
}

const Element* element_of(const char* format, Py_ssize_t bytes, bool& swapped) {
  if (format == nullptr) format = "B";
  swapped = false;
  if (*format == '<' || *format == '=' || *format == '@') {
    ++format;
  } else if (*format == '>' || *format == '!') {
    swapped = bytes > 1;
    ++format;
  }
  if (format[0] == 0 || format[1] != 0) return nullptr;
  char code = format[0];
  if (code == '?') code = 'B';
  if (code == 'c') code = 'B';
  if (code == 'l' || code == 'n') code = bytes == 8 ? 'q' : 'i';
  for (const Element& e : kElements)
    if (e.format == code && e.bits / 8 == bytes) return &e;
  return nullptr;
}

[[noreturn]] void refuse_elements(PyObject* array, const char* found) {
  Owned type(PyObject_GetAttrString(array, "dtype"));
  if (!type) PyErr_Clear();
  Owned text(type ? PyObject_Str(type.get()) : PyUnicode_FromString(found == nullptr ? "?" : found));
  if (!text) throw Raised{};
  raise(PyExc_TypeError, "%s, this one of %U", kTypes, text.get());
}

// The struct that the machine is handed; NULL: the layout is one that only a copy can change.
std::unique_ptr<Imported> of_buffer(Machine* machine, PyObject* array) {
  auto made = std::make_unique<Imported>();
  made->machine = machine;
  if (PyObject_GetBuffer(array, &made->buffer, PyBUF_FULL_RO) < 0) throw Raised{};
  made->has_buffer = true;
  struct Unless {
    std::unique_ptr<Imported>& imported;
    bool kept = false;
    ~Unless() {
      if (!kept && imported) PyBuffer_Release(&imported->buffer);
    }
  } unless{made};
  const Py_buffer& b = made->buffer;
  bool swapped = false;
  const Element* element = element_of(b.format, b.itemsize, swapped);
  if (element == nullptr) refuse_elements(array, b.format);
  if (b.ndim > CAIRN_MOST_AXES) raise(PyExc_ValueError, "an array of %d axes; the most is %d", b.ndim, CAIRN_MOST_AXES);
  bool foreign_layout = swapped || b.suboffsets != nullptr;
  std::int64_t next = 1; // elements from one to the next along an axis; exporters such as ctypes leave strides out where they lie
                         // in row-major order
  for (int i = b.ndim; i-- > 0 && !foreign_layout;) {
    const auto axis = static_cast<std::size_t>(i);
    made->sizes[axis] = b.shape[i];
    made->strides[axis] = b.strides == nullptr ? next : b.strides[i] / b.itemsize;
    next *= b.shape[i];
    foreign_layout = b.strides != nullptr && b.shape[i] > 1 && (b.strides[i] < 0 || b.strides[i] % b.itemsize != 0);
  }
  foreign_layout = foreign_layout || reinterpret_cast<std::uintptr_t>(b.buf) % static_cast<std::uintptr_t>(b.itemsize) != 0;
  if (foreign_layout) return nullptr;
  DLTensor& t = made->managed.dl_tensor;
  t.data = b.buf;
  t.device = {kDLCPU, 0};
  t.ndim = b.ndim;
  t.dtype = {static_cast<std::uint8_t>(element->code), element->bits, 1};
  t.shape = made->sizes.data();
  t.strides = made->strides.data();
  unless.kept = true;
  return made;
}

constexpr const char* kCapsule = "dltensor";
constexpr const char* kUsed = "used_dltensor";
PyObject* capsule_of_array(PyObject* self, bool copied);

std::unique_ptr<Imported> of_dlpack(Machine* machine, PyObject* array) {
  const Owned where(checked(PyObject_CallMethod(array, "__dlpack_device__", nullptr)));
  long kind = 0, number = 0;
  if (PyArg_ParseTuple(where.get(), "ll", &kind, &number) == 0) throw Raised{};
  if (kind != kDLCPU && kind != 3) // 3: the processor's memory, pinned for a GPU
    raise(PyExc_ValueError,
          "the array is on another device (DLPack's %ld:%ld), not in the memory of the processor; copy it there first", kind,
          number);
  Owned capsule(Py_TYPE(array) == array_type ? capsule_of_array(array, false)
                                             : checked(PyObject_CallMethod(array, "__dlpack__", nullptr)));
  auto* foreign = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.get(), kCapsule));
  if (foreign == nullptr) throw Raised{};
  const DLTensor& given = foreign->dl_tensor;
  bool known_type = false;
  for (const Element& e : kElements) known_type = known_type || (e.code == given.dtype.code && e.bits == given.dtype.bits);
  if (!known_type && !(given.dtype.code == 6 && given.dtype.bits == 8)) refuse_elements(array, nullptr); // 6: booleans
  if (given.ndim > CAIRN_MOST_AXES) raise(PyExc_ValueError, "an array of %d axes; the most is %d", given.ndim, CAIRN_MOST_AXES);
  auto made = std::make_unique<Imported>();
  made->machine = machine;
  made->foreign = foreign;
  made->managed.dl_tensor = given;
  made->managed.dl_tensor.device = {kDLCPU, 0};
  if (given.dtype.code == 6) made->managed.dl_tensor.dtype = {kDLUInt, 8, 1};
  for (int i = 0; i < given.ndim; ++i)
    if (given.strides != nullptr && given.shape[i] > 1 && given.strides[i] < 0) return nullptr;
  checked(PyCapsule_SetName(capsule.get(), kUsed));
  return made;
}

// False: only a copy in row-major order can be handed over.
bool handed_over(Machine* machine, std::unique_ptr<Imported> imported, cairn_value& value) {
  imported->managed.manager_ctx = imported.get();
  imported->managed.deleter = deleted_by_machine;
  cairn_status status = CAIRN_OK;
  if (machine->parts->copies) {
    // Elements that lie elsewhere are copied there.
    const DLTensor& t = imported->managed.dl_tensor;
    bool dense = true;
    std::int64_t count = 1;
    for (int i = t.ndim; i-- > 0;) {
      dense = dense && (t.strides == nullptr || t.shape[i] <= 1 || t.strides[i] == count);
      count *= t.shape[i];
    }
    std::size_t type = 0;
    while (kElements[type].code != t.dtype.code || kElements[type].bits != t.dtype.bits) ++type;
    if (dense) {
      status = cairn_make_tensor(machine->vm, static_cast<cairn_element>(type), t.shape, static_cast<std::size_t>(t.ndim),
                                 static_cast<const char*>(t.data) + t.byte_offset, &value);
      release_imported(imported.release());
      need(status);
      return true;
    }
    release_imported(imported.release());
    return false;
  }
  status = cairn_tensor_from_dlpack(machine->vm, &imported->managed, &value);
  if (status != CAIRN_OK) {
    release_imported(imported.release());
    refused(status, nullptr);
  }
  imported.release();
  return true;
}

// --- out

struct Array {
  PyObject_HEAD Machine* machine;
  DLManagedTensor* managed;
  Py_ssize_t sizes[CAIRN_MOST_AXES], strides[CAIRN_MOST_AXES];
  Py_ssize_t bytes;
  bool writable;
};

const Element& element_in(const DLTensor& t) {
  for (const Element& e : kElements)
    if (e.code == t.dtype.code && e.bits == t.dtype.bits) return e;
  return kElements[0];
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  auto* array = reinterpret_cast<Array*>(self);
  const DLTensor& t = array->managed->dl_tensor;
  const Element& element = element_in(t);
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
  bool dense = true;
  Py_ssize_t next = view->itemsize;
  for (int i = t.ndim; i-- > 0;) {
    dense = dense && (array->sizes[i] <= 1 || array->strides[i] == next);
    next *= array->sizes[i];
  }
  if (!dense && (flags & PyBUF_STRIDES) != PyBUF_STRIDES) {
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

// The struct that another library gets: it refers to the Array, or has a copy of its elements.
struct Shared {
  DLManagedTensor managed{};
  PyObject* array = nullptr;
  std::unique_ptr<std::max_align_t[]> elements;
  std::array<std::int64_t, CAIRN_MOST_AXES> strides{};
};

// Elements one behind the other in row-major order.
void copy_elements(const Array& array, int axis, const char* from, char*& to, std::size_t bytes) {
  const DLTensor& t = array.managed->dl_tensor;
  if (axis == t.ndim) {
    std::memcpy(to, from, bytes);
    to += bytes;
    return;
  }
  for (Py_ssize_t i = 0; i < array.sizes[axis]; ++i) copy_elements(array, axis + 1, from + i * array.strides[axis], to, bytes);
}

void become_copy(Shared& shared, const Array& array) {
  DLTensor& t = shared.managed.dl_tensor;
  const auto bytes = static_cast<std::size_t>(array.bytes);
  shared.elements = std::make_unique<std::max_align_t[]>(bytes / sizeof(std::max_align_t) + 1);
  char* to = reinterpret_cast<char*>(shared.elements.get());
  if (bytes != 0) copy_elements(array, 0, static_cast<const char*>(t.data) + t.byte_offset, to, t.dtype.bits / 8u);
  t.data = shared.elements.get();
  t.byte_offset = 0;
  std::int64_t next = 1;
  for (int i = t.ndim; i-- > 0;) {
    shared.strides[static_cast<std::size_t>(i)] = next;
    next *= array.sizes[i];
  }
  t.strides = shared.strides.data(); // the sizes stay those of the Array
}

// By any thread of whoever has it; where there is no interpreter any more, nothing is left to be released.
void delete_shared(DLManagedTensor* managed) try {
  if (Py_IsInitialized() == 0) return;
  const PyGILState_STATE state = PyGILState_Ensure();
  auto* shared = static_cast<Shared*>(managed->manager_ctx);
  Py_DECREF(shared->array);
  delete shared;
  PyGILState_Release(state);
} catch (const ThreadEnds&) {
  wait_for_the_end();
}

void drop_capsule(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, kCapsule) == 0) return;
  auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, kCapsule));
  managed->deleter(managed);
}

// A capsule of the elements; where they are not to be written, of a copy, as DLPack's capsules cannot say so.
PyObject* capsule_of_array(PyObject* self, bool copied) {
  auto* array = reinterpret_cast<Array*>(self);
  auto shared = std::make_unique<Shared>();
  shared->managed = *array->managed;
  shared->managed.manager_ctx = shared.get();
  shared->managed.deleter = delete_shared;
  if (copied) become_copy(*shared, *array);
  PyObject* capsule = checked(PyCapsule_New(&shared->managed, kCapsule, drop_capsule));
  shared->array = retained(self);
  shared.release();
  return capsule;
}

// The keywords of the protocol: https://dmlc.github.io/dlpack/latest/python_spec.html
PyObject* dlpack(PyObject* self, PyObject*, PyObject* options) {
  return guarded([&] {
    PyObject* copy = options == nullptr ? nullptr : PyDict_GetItemString(options, "copy");
    const bool writable = reinterpret_cast<Array*>(self)->writable;
    if (copy == Py_False && !writable)
      raise(PyExc_BufferError, "a program refers to these elements, so only a copy is handed out: leave out copy=False");
    return capsule_of_array(self, !writable || copy == Py_True);
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
  return PyUnicode_FromString(kNames[&element_in(t) - kElements]);
}

PyObject* text(PyObject* self) {
  return guarded([&] {
    Owned sizes(checked(shape(self, nullptr))), type(checked(dtype(self, nullptr)));
    return PyUnicode_FromFormat("cairn.Array(shape=%R, dtype=%U)", sizes.get(), type.get());
  });
}

PyMethodDef methods[] = {{"__dlpack__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(dlpack)),
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

void release_imported(void* memory) {
  const std::unique_ptr<Imported> imported(static_cast<Imported*>(memory));
  if (imported->has_buffer) PyBuffer_Release(&imported->buffer);
  if (imported->foreign != nullptr && imported->foreign->deleter != nullptr) imported->foreign->deleter(imported->foreign);
}

void delete_exported(DLManagedTensor* managed) { managed->deleter(managed); }

bool is_array(PyObject* object) {
  if (PyObject_CheckBuffer(object) != 0) return true;
  return PyObject_HasAttrString(reinterpret_cast<PyObject*>(Py_TYPE(object)), "__dlpack__") != 0 ||
         PyObject_HasAttrString(reinterpret_cast<PyObject*>(Py_TYPE(object)), "__array__") != 0;
}

cairn_value tensor_of(Machine* machine, PyObject* array) {
  Owned copy;
  for (int attempt = 0; attempt < 2; ++attempt) {
    PyObject* const source = copy ? copy.get() : array;
    std::unique_ptr<Imported> imported;
    if (PyObject_CheckBuffer(source) != 0 && Py_TYPE(source) != array_type)
      imported = of_buffer(machine, source);
    else if (PyObject_HasAttrString(source, "__dlpack__") != 0)
      imported = of_dlpack(machine, source);
    cairn_value value{};
    if (imported && handed_over(machine, std::move(imported), value)) return value;
    copy = Owned(checked(PyObject_CallFunctionObjArgs(known.contiguous, array, nullptr)));
  }
  raise(PyExc_ValueError, "the array has a layout that cannot be read");
}

PyObject* array_of(Machine* machine, cairn_value tensor, bool alone) {
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
  auto* array = PyObject_New(Array, array_type);
  if (array == nullptr) {
    delete_exported(managed);
    throw Raised{};
  }
  array->machine = reinterpret_cast<Machine*>(retained(reinterpret_cast<PyObject*>(machine)));
  array->managed = managed;
  array->writable = alone;
  const DLTensor& t = managed->dl_tensor;
  const Element& element = element_in(t);
  array->bytes = element.bits / 8;
  for (int i = 0; i < t.ndim; ++i) {
    array->sizes[i] = t.shape[i];
    array->strides[i] = t.strides[i] * (element.bits / 8);
    array->bytes *= t.shape[i];
  }
  Owned made(reinterpret_cast<PyObject*>(array));
  if (element.format == 0) return made.release();
  return checked(PyObject_CallFunctionObjArgs(known.asarray, made.get(), nullptr));
}

} // namespace cairn::python
