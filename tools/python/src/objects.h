// What every part of the binding needs of Python: owned references, a C++ exception for an error that Python has been told, and
// the types and functions that the package's Python files define.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <utility>

namespace cairn::python {

// A reference of ours, released at the end.
class Owned {
public:
  Owned() = default;
  explicit Owned(PyObject* object) : object_(object) {}
  Owned(Owned&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { Py_XDECREF(object_); }
  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

private:
  PyObject* object_ = nullptr;
};

inline PyObject* retained(PyObject* object) {
  Py_INCREF(object);
  return object;
}

// Thrown where Python's error is set.
struct Raised {};

// What a function of Python's gave, or its error.
inline PyObject* checked(PyObject* object) {
  if (object == nullptr) throw Raised{};
  return object;
}
inline void checked(int result) {
  if (result < 0) throw Raised{};
}
[[noreturn]] void raise(PyObject* type, const char* format, ...);

// Runs `body`, which gives a PyObject* of its caller's, at the border to Python: NULL where it threw.
PyObject* caught() noexcept;
template <class Body> PyObject* guarded(Body&& body) noexcept {
  try {
    return body();
  } catch (...) {
    return caught();
  }
}
template <class Body> int guarded_status(Body&& body) noexcept {
  try {
    body();
    return 0;
  } catch (...) {
    caught();
    return -1;
  }
}

// Of cairn/_kinds.py and cairn/_errors.py; set when the extension is imported, and never released.
struct Known {
  PyObject* pair = nullptr;       // Pair(car, cdr)
  PyObject* symbol = nullptr;     // str
  PyObject* character = nullptr;  // str
  PyObject* failure = nullptr;    // failure(status, text, message, file, line, column, calls): the exception of a failed run
  PyObject* refusal = nullptr;    // refusal(status, text): that of another call
  PyObject* start = nullptr;      // start(procedure, *arguments): a Run
  PyObject* kept_run = nullptr;   // kept_run(machine): a Run that holds what was stopped
  PyObject* jacobian = nullptr;   // jacobian(rows, results, arguments): an array of float64 in row-major order
  PyObject* asarray = nullptr;    // numpy.asarray
  PyObject* scalar = nullptr;     // numpy.generic
  PyObject* contiguous = nullptr; // native(array): a copy in row-major order and the processor's own order of bytes
};
extern Known known;

} // namespace cairn::python
