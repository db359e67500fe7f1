// Values across the border. Lists are lists, vectors are tuples, dictionaries are dicts, tensors are arrays.
#pragma once

#include "machine.h"

namespace cairn::python {

// A value of the machine's, the caller's to release. Throws Raised.
cairn_value to_cairn(Machine* machine, PyObject* object);

// Takes the value over. `alone`: nothing else is meant to refer to it, so that tensors in it may be written by Python.
PyObject* from_cairn(Machine* machine, cairn_value value, bool alone);

// A value of the machine's, released unless it is handed on.
class Value {
public:
  Value(Machine* machine, cairn_value value) : machine_(machine), value_(value) {}
  ~Value() { cairn_value_release(machine_->vm, value_); }
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;
  cairn_value get() const { return value_; }
  cairn_value release() { return std::exchange(value_, cairn_unspecified()); }

private:
  Machine* machine_;
  cairn_value value_;
};

struct Values {
  explicit Values(Machine* m) : machine(m) {}
  ~Values() { let_go(machine, list); }
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;
  Machine* machine;
  std::vector<cairn_value> list;
};

// The items of a list or a vector that is no dictionary, taken over. TypeError: it is a pair of another kind, or a dictionary.
void parts_of(Machine* machine, cairn_value value, Values& parts);

class Loans;

// Arguments of a call, released at the end. With `loans` tensors of PyTorch's are lent (tensors.h).
class Arguments {
public:
  Arguments(Machine* machine, PyObject* const* objects, std::size_t count, Loans* loans = nullptr);
  ~Arguments();
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;
  const cairn_value* data() const { return values_; }
  std::size_t size() const { return made_; }

private:
  static constexpr std::size_t kFew = 8;
  void release();
  Machine* machine_;
  std::size_t made_ = 0;
  cairn_value few_[kFew];
  std::vector<cairn_value> many_;
  cairn_value* values_ = few_;
};

} // namespace cairn::python
