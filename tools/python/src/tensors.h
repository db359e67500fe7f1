// Tensors of PyTorch's as they are, without NumPy between: lent to a machine for the time of a call, and made of its results.
#pragma once

#include "arrays.h"
#include "values.h"

#include <array>
#include <vector>

namespace cairn::python {

// What cairn/torch.py says of PyTorch; never released.
struct KnownTorch {
  PyObject* tensor = nullptr;    // the type
  PyObject* parameter = nullptr; // the type
  PyObject* negative = nullptr;  // is_neg(tensor): whether its elements stand for their negatives
  PyObject* lent = nullptr;      // lent(object): what a machine takes in the place of any argument
  PyObject* kept = nullptr;      // kept(tensor): an object that keeps its elements, whatever becomes of the tensor
  PyObject* given = nullptr;     // given(value): a tensor of an array or a number
};
PyObject* know_torch(PyObject* module, PyObject* arguments, PyObject* objects);

// The arguments of a call, tensors among them. They are not copied; their elements stay what they are as long as the machine
// refers to them, whatever becomes of the tensors after the call.
class Loans {
public:
  explicit Loans(Machine* machine) : machine_(machine) {}
  ~Loans();
  Loans(const Loans&) = delete;
  Loans& operator=(const Loans&) = delete;
  // To be called once for each object, at most `kMost` times for tensors that are lent; others go the way of any argument.
  cairn_value lent(PyObject* object);

private:
  static constexpr std::size_t kMost = 32;
  struct Loan {
    Imported* imported = nullptr;
    PyObject* tensor = nullptr;
  };
  Machine* machine_;
  std::size_t count_ = 0;
  std::array<Loan, kMost> loans_;
};

// A value of the machine's, taken over: a tensor, or for a list or a vector a tuple of tensors. `kinds` says which of them were
// numbers: a truth, or a list or a tuple of truths.
PyObject* tensors_from(Machine* machine, cairn_value value, Owned& kinds);

} // namespace cairn::python
