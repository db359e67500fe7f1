// See tensors.h. PyTorch has a table of C functions for both ways, which costs a fifth of what its functions and methods for
// NumPy's arrays and for capsules cost; versions without it are met by these.
#include "tensors.h"

#include "dlpack.h"

#include <algorithm>
#include <iterator>
#include <memory>

namespace cairn::python {

namespace {

KnownTorch torch;
const dlpack::Exchange* exchange = nullptr;

// The table that a type has, if it is of a version that is known here.
const dlpack::Exchange* exchange_of(PyObject* type) {
  const Owned capsule(PyObject_GetAttrString(type, "__dlpack_c_exchange_api__"));
  if (!capsule || PyCapsule_IsValid(capsule.get(), dlpack::kExchangeCapsule) == 0) {
    PyErr_Clear();
    return nullptr;
  }
  const auto* found = static_cast<const dlpack::Exchange*>(PyCapsule_GetPointer(capsule.get(), dlpack::kExchangeCapsule));
  while (found != nullptr && found->version.major != 1) found = found->before;
  return found;
}

// Exact tensors alone: what subclasses are is their own business.
bool is_tensor(PyObject* object) {
  const PyTypeObject* const type = Py_TYPE(object);
  return type == reinterpret_cast<PyTypeObject*>(torch.tensor) || type == reinterpret_cast<PyTypeObject*>(torch.parameter);
}

bool borrowed(PyObject* tensor, DLTensor& elements) {
  const Owned negative(checked(PyObject_CallOneArg(torch.negative, tensor)));
  if (negative.get() == Py_True) return false;
  if (exchange->borrow(tensor, &elements) == 0) return true;
  PyErr_Clear(); // the slow way says what is wrong
  return false;
}

// A result that PyTorch has: of the machine's elements, or one number.
struct Given {
  dlpack::Versioned versioned{};
  Machine* machine = nullptr;
  DLManagedTensor* managed = nullptr;
  double number = 0;
};

// By any thread of PyTorch's; where there is no interpreter any more, nothing is left to be released.
void delete_given(dlpack::Versioned* versioned) try {
  auto* given = static_cast<Given*>(versioned->manager_ctx);
  if (given->machine != nullptr) {
    if (Py_IsInitialized() == 0) return;
    const PyGILState_STATE state = PyGILState_Ensure();
    release_exported(given->machine, given->managed);
    Py_DECREF(reinterpret_cast<PyObject*>(given->machine));
    PyGILState_Release(state);
  }
  delete given;
} catch (const ThreadEnds&) {
  wait_for_the_end();
}

PyObject* taken_by_torch(std::unique_ptr<Given> given) {
  given->versioned.version = {1, 0};
  given->versioned.manager_ctx = given.get();
  given->versioned.deleter = delete_given;
  void* object = nullptr;
  if (exchange->from_versioned(&given.release()->versioned, &object) != 0) throw Raised{}; // it is PyTorch's then, too
  return checked(static_cast<PyObject*>(object));
}

PyObject* tensor_of_number(double number) {
  auto given = std::make_unique<Given>();
  given->number = number;
  given->versioned.dl_tensor = {&given->number, {kDLCPU, 0}, 0, {kDLFloat, 64, 1}, nullptr, nullptr, 0};
  return taken_by_torch(std::move(given));
}

PyObject* tensor_from(Machine* machine, cairn_value value) {
  auto given = std::make_unique<Given>();
  given->managed = exported(machine, value, true);
  given->machine = reinterpret_cast<Machine*>(retained(reinterpret_cast<PyObject*>(machine)));
  DLTensor& t = given->versioned.dl_tensor = given->managed->dl_tensor;
  t.data = static_cast<char*>(t.data) + std::exchange(t.byte_offset, 0); // which PyTorch takes no notice of
  return taken_by_torch(std::move(given));
}

PyObject* part_from(Machine* machine, cairn_value value, bool& number) {
  const cairn_kind kind = cairn_value_kind(value);
  number = kind == CAIRN_KIND_REAL || kind == CAIRN_KIND_INTEGER;
  if (exchange != nullptr && kind == CAIRN_KIND_TENSOR) return tensor_from(machine, value);
  const Owned object(from_cairn(machine, value, true));
  if (exchange != nullptr && number) {
    const double real = PyFloat_AsDouble(object.get());
    if (real == -1 && PyErr_Occurred() != nullptr) throw Raised{};
    return tensor_of_number(real);
  }
  return checked(PyObject_CallOneArg(torch.given, object.get()));
}

} // namespace

PyObject* know_torch(PyObject*, PyObject*, PyObject* objects) {
  return guarded([&] {
    take_objects("know_torch", objects,
                 {{"tensor", &torch.tensor},
                  {"parameter", &torch.parameter},
                  {"negative", &torch.negative},
                  {"lent", &torch.lent},
                  {"kept", &torch.kept},
                  {"given", &torch.given}});
    exchange = exchange_of(torch.tensor);
    return retained(Py_None);
  });
}

cairn_value Loans::lent(PyObject* object) {
  if (PyFloat_CheckExact(object) || PyLong_CheckExact(object)) return to_cairn(machine_, object);
  DLTensor elements{};
  if (exchange != nullptr && count_ < kMost && is_tensor(object) && borrowed(object, elements)) {
    Loan& loan = loans_[count_++];
    loan.tensor = object;
    cairn_value value{};
    if (lent_tensor(machine_, elements, object, loan.imported, value)) return value;
  }
  const Owned given(checked(PyObject_CallOneArg(torch.lent, object)));
  return to_cairn(machine_, given.get());
}

// What the machine has still may be changed by whoever has the tensor: `t.data = other` lets its elements go. An error that is
// being told stays what it is.
Loans::~Loans() {
  for (std::size_t i = 0; i < count_; ++i) {
    const Loan& loan = loans_[i];
    if (loan.imported == nullptr || without_the_gil()) continue;
    PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);
    const Owned keeper(PyObject_CallOneArg(torch.kept, loan.tensor));
    if (!keeper) PyErr_Clear();
    kept_by(loan.imported, keeper ? keeper.get() : loan.tensor);
    PyErr_Restore(type, value, trace);
  }
}

PyObject* tensors_from(Machine* machine, cairn_value value, Owned& kinds) {
  const cairn_kind kind = cairn_value_kind(value);
  bool number = false;
  if (kind != CAIRN_KIND_PAIR && kind != CAIRN_KIND_VECTOR && kind != CAIRN_KIND_NULL) {
    Owned made(part_from(machine, value, number));
    kinds = Owned(PyBool_FromLong(number ? 1 : 0));
    return made.release();
  }
  Values parts(machine);
  const bool list = kind != CAIRN_KIND_VECTOR;
  parts_of(machine, value, parts);
  const auto count = static_cast<Py_ssize_t>(parts.list.size());
  Owned made(checked(PyTuple_New(count)));
  kinds = Owned(checked(list ? PyList_New(count) : PyTuple_New(count)));
  for (Py_ssize_t i = 0; i < count; ++i) {
    const cairn_value part = std::exchange(parts.list[static_cast<std::size_t>(i)], cairn_unspecified());
    PyTuple_SET_ITEM(made.get(), i, part_from(machine, part, number));
    PyObject* const truth = PyBool_FromLong(number ? 1 : 0);
    if (list)
      PyList_SET_ITEM(kinds.get(), i, truth);
    else
      PyTuple_SET_ITEM(kinds.get(), i, truth);
  }
  return made.release();
}

} // namespace cairn::python
