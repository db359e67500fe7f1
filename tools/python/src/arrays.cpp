// See arrays.h. In: a buffer of Python's, a capsule of DLPack, or what an object lends becomes the DLManagedTensor that the
// machine takes over.
#include "arrays.h"

#include "dlpack.h"
#include "elements.h"
#include "nesting.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>

namespace cairn::python {

// What the machine has of Python's: a buffer, a capsule's struct, or elements that an object has.
struct Imported {
  DLManagedTensor managed{};
  Machine* machine = nullptr;
  Py_buffer buffer{};
  bool has_buffer = false;
  DLManagedTensor* foreign = nullptr;
  Owned owner;
  Imported** loan = nullptr;
  std::array<std::int64_t, CAIRN_MOST_AXES> sizes{}, strides{};
};

namespace {

constexpr const char* kTypes = "arrays have elements of type uint8, int8, int16, int32, int64, float32, float64 or bfloat16";

void deleted_by_machine(DLManagedTensor* managed) {
  auto* imported = static_cast<Imported*>(managed->manager_ctx);
  Machine::Parts& parts = *imported->machine->parts;
  if (parts.gil)
    release_imported(imported);
  else
    parts.taken.push_back(imported);
}

const Element* element_of_format(const char* format, Py_ssize_t bytes, bool& swapped) {
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
  const Element* element = element_of_format(b.format, b.itemsize, swapped);
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

void refuse_other_devices(long kind, long number) {
  if (kind != kDLCPU && kind != kDLCUDAHost) // the processor's memory, pinned for a GPU
    raise(PyExc_ValueError,
          "the array is on another device (DLPack's %ld:%ld), not in the memory of the processor; copy it there first", kind,
          number);
}

// Of a struct that some library made: what can be seen of it to be wrong.
void check_sizes(const DLTensor& t) {
  if (t.ndim < 0 || t.ndim > CAIRN_MOST_AXES)
    raise(PyExc_ValueError, "an array of %d axes; the most is %d", static_cast<int>(t.ndim), CAIRN_MOST_AXES);
  if (t.shape == nullptr && t.ndim > 0) raise(PyExc_ValueError, "an array of %d axes without sizes", static_cast<int>(t.ndim));
  std::int64_t bytes = t.dtype.bits / 8;
  for (int i = 0; i < t.ndim; ++i) {
    if (t.shape[i] < 0)
      raise(PyExc_ValueError, "an array whose size along axis %d is %lld", i, static_cast<long long>(t.shape[i]));
    if (__builtin_mul_overflow(bytes, std::max<std::int64_t>(t.shape[i], 1), &bytes))
      raise(PyExc_ValueError, "an array of more than 2^63 bytes, by its sizes up to axis %d", i);
  }
  const bool empty = std::any_of(t.shape, t.shape + t.ndim, [](std::int64_t size) { return size == 0; });
  if (t.data == nullptr && !empty) raise(PyExc_ValueError, "an array without elements, which its sizes say it has");
}

// In row-major order, in memory of Python's.
void become_copy(Imported& imported) {
  DLTensor& t = imported.managed.dl_tensor;
  Owned memory(checked(PyByteArray_FromStringAndSize(nullptr, bytes_of(t))));
  copy_elements(t, PyByteArray_AS_STRING(memory.get()));
  t.data = PyByteArray_AS_STRING(memory.get());
  t.byte_offset = 0;
  t.strides = nullptr;
  std::copy_n(t.shape, t.ndim, imported.sizes.begin()); // which the capsule takes with it
  t.shape = imported.sizes.data();
  imported.owner = std::move(memory);
}

// What can be handed over: elements that only a copy can make so are copied here, since NumPy need not know the array.
std::unique_ptr<Imported> of_dlpack(Machine* machine, PyObject* array) {
  const Owned where(checked(PyObject_CallMethod(array, "__dlpack_device__", nullptr)));
  long kind = 0, number = 0;
  if (PyTuple_Check(where.get()) == 0 || PyArg_ParseTuple(where.get(), "ll", &kind, &number) == 0) {
    PyErr_Clear();
    raise(PyExc_TypeError, "__dlpack_device__ of %s gives a tuple of two integers, not %R", kind_of(array).c_str(), where.get());
  }
  refuse_other_devices(kind, number);
  Owned capsule(Py_TYPE(array) == array_type ? shared_capsule(array)
                                             : checked(PyObject_CallMethod(array, "__dlpack__", nullptr)));
  if (PyCapsule_IsValid(capsule.get(), dlpack::kCapsule) == 0)
    raise(PyExc_TypeError, "__dlpack__ of %s gives a capsule named dltensor, not %R", kind_of(array).c_str(), capsule.get());
  auto* foreign = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.get(), dlpack::kCapsule));
  const DLTensor& given = foreign->dl_tensor;
  refuse_other_devices(given.device.device_type, given.device.device_id); // whatever the array says of itself
  const bool boolean = given.dtype.code == dlpack::kBoolean && given.dtype.bits == 8;
  if (!boolean && element_of(given.dtype) == nullptr) refuse_elements(array, nullptr);
  check_sizes(given);
  auto made = std::make_unique<Imported>();
  made->machine = machine;
  made->managed.dl_tensor = given;
  made->managed.dl_tensor.device = {kDLCPU, 0};
  if (boolean) made->managed.dl_tensor.dtype = {kDLUInt, 8, 1};
  const bool aligned = (reinterpret_cast<std::uintptr_t>(given.data) + given.byte_offset) % (given.dtype.bits / 8u) == 0;
  bool backwards = false;
  for (int i = 0; i < given.ndim; ++i)
    backwards = backwards || (given.strides != nullptr && given.shape[i] > 1 && given.strides[i] < 0);
  if (backwards || !aligned || (machine->parts->copies && !is_dense(given))) {
    become_copy(*made); // the capsule releases what it has
    return made;
  }
  made->foreign = foreign;
  checked(PyCapsule_SetName(capsule.get(), dlpack::kUsed));
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
    if (is_dense(t)) {
      const auto type = static_cast<cairn_element>(element_of(t.dtype) - kElements);
      status = cairn_make_tensor(machine->vm, type, t.shape, static_cast<std::size_t>(t.ndim),
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

} // namespace

void release_imported(void* memory) {
  const std::unique_ptr<Imported> imported(static_cast<Imported*>(memory));
  if (imported->loan != nullptr) *imported->loan = nullptr;
  if (imported->has_buffer) PyBuffer_Release(&imported->buffer);
  if (imported->foreign != nullptr && imported->foreign->deleter != nullptr) imported->foreign->deleter(imported->foreign);
}

bool is_array(PyObject* object) {
  if (PyObject_CheckBuffer(object) != 0) return true;
  return PyObject_HasAttrString(reinterpret_cast<PyObject*>(Py_TYPE(object)), "__dlpack__") != 0 ||
         PyObject_HasAttrString(reinterpret_cast<PyObject*>(Py_TYPE(object)), "__array__") != 0;
}

bool lent_tensor(Machine* machine, const DLTensor& elements, PyObject* owner, Imported*& loan, cairn_value& value) {
  if (elements.ndim > CAIRN_MOST_AXES || elements.device.device_type != kDLCPU || element_of(elements.dtype) == nullptr)
    return false;
  auto made = std::make_unique<Imported>();
  made->machine = machine;
  made->owner = Owned(retained(owner));
  DLTensor& t = made->managed.dl_tensor;
  t = elements;
  std::copy_n(elements.shape, elements.ndim, made->sizes.begin());
  t.shape = made->sizes.data();
  if (elements.strides != nullptr) {
    std::copy_n(elements.strides, elements.ndim, made->strides.begin());
    t.strides = made->strides.data();
  }
  loan = made.get();
  made->loan = &loan;
  return handed_over(machine, std::move(made), value);
}

void kept_by(Imported* loan, PyObject* owner) {
  loan->owner = Owned(retained(owner));
  loan->loan = nullptr;
}

cairn_value tensor_of(Machine* machine, PyObject* array) {
  if (is_type(array, known.masked))
    raise(PyExc_TypeError, "a masked array: Cairn's tensors have no mask; .filled() or .data says what it is to be without");
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

} // namespace cairn::python
