// What every part of the binding needs of Python: owned references, a C++ exception for an error that Python has been told, and
// the types and functions that the package's Python files define.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <cxxabi.h>
#include <initializer_list>
#include <string>
#include <utility>

namespace cairn::python {

// When the interpreter ends, CPython before 3.14 ends a thread of its own (a daemon's) that wants the GIL by unwinding its stack.
// That may not go through the library, and what it released on the way would belong to the interpreter that ends. So such a
// thread waits for the end of the process instead, as from 3.14 on: who catches everything, or may throw nothing, catches this
// first, and references that a thread has without the GIL are left alone.
using ThreadEnds = abi::__forced_unwind;
[[noreturn]] void wait_for_the_end() noexcept;
inline bool without_the_gil() {
#if PY_VERSION_HEX >= 0x030E0000
  return false;
#elif PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing() != 0 && PyGILState_Check() == 0;
#else
  return _Py_IsFinalizing() != 0 && PyGILState_Check() == 0;
#endif
}
void take_gil(PyThreadState* thread) noexcept; // PyEval_RestoreThread

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
  ~Owned() {
    if (object_ != nullptr && !without_the_gil()) release(object_);
  }
  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

private:
  static void release(PyObject* object) {
    try {
      Py_DECREF(object);
    } catch (const ThreadEnds&) {
      wait_for_the_end();
    }
  }
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

// An exception as Python's error.
inline void set_error(const Owned& exception) {
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.get())), exception.get());
}
[[noreturn]] inline void raise(const Owned& exception) {
  set_error(exception);
  throw Raised{};
}

std::string kind_of(PyObject* object); // for messages: "an int"

// An index from 0 on; `name` is what messages call it. Throws Raised.
std::uint64_t number_of(PyObject* object, const char* name);

// Objects by their names, as a function has been given them; references of ours from now on. Throws Raised where one is missing.
struct Field {
  const char* name;
  PyObject** object;
};
void take_objects(const char* function, PyObject* given, std::initializer_list<Field> fields);

// The tp_new of types whose objects the extension alone makes.
PyObject* refuse_to_make(PyTypeObject* type, PyObject* arguments, PyObject* options);

// Runs `body`, which gives a PyObject* of its caller's, at the border to Python: NULL where it threw.
PyObject* caught() noexcept;
template <class Body> PyObject* guarded(Body&& body) noexcept {
  try {
    return body();
  } catch (const ThreadEnds&) {
    wait_for_the_end();
  } catch (...) {
    return caught();
  }
}
template <class Body> int guarded_status(Body&& body) noexcept {
  try {
    body();
    return 0;
  } catch (const ThreadEnds&) {
    wait_for_the_end();
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
  PyObject* reduced = nullptr;    // reduced(procedure): as __reduce__
  PyObject* kept_run = nullptr;   // kept_run(machine): a Run of what was stopped in it
  PyObject* jacobian = nullptr;   // jacobian(rows, results, arguments): an array of float64 in row-major order
  PyObject* asarray = nullptr;    // numpy.asarray
  PyObject* scalar = nullptr;     // numpy.generic
  PyObject* masked = nullptr;     // numpy.ma.MaskedArray
  PyObject* contiguous = nullptr; // contiguous(array): a copy in row-major order and the processor's own order of bytes
};
extern Known known;

} // namespace cairn::python
