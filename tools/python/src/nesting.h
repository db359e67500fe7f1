// What all who go through nested values share: how deep they go, when signals are let in, and where in an argument an error was.
#pragma once

#include "objects.h"

namespace cairn::python {

// One level of nesting. Who raises Python's limit gets no more of the stack than these take.
class Level {
public:
  explicit Level(const char* where) {
    if (depth_ == kMost) raise(PyExc_RecursionError, "nested more than %d deep%s", kMost, where);
    if (Py_EnterRecursiveCall(where) != 0) throw Raised{};
    ++depth_;
  }
  ~Level() {
    --depth_;
    Py_LeaveRecursiveCall();
  }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;

private:
  static constexpr int kMost = 2000;
  inline static thread_local int depth_ = 0;
};

// Between values that are handed over: Ctrl-C is answered here as in any loop of Python's. By who has the GIL.
inline void let_signals_in() {
  static unsigned count = 0;
  if (++count % 4096 == 0 && PyErr_CheckSignals() < 0) throw Raised{};
}

inline bool is_type(PyObject* object, PyObject* type) {
  return Py_TYPE(object) == reinterpret_cast<PyTypeObject*>(type) ||
         PyType_IsSubtype(Py_TYPE(object), reinterpret_cast<PyTypeObject*>(type)) != 0;
}

// Where in an argument an error was, in front of what it says.
template <class Place> [[noreturn]] void raise_within(const char* format, Place index) {
  // Others, such as those of Cairn's own, are not made of a message alone.
  PyObject* const raised = PyErr_Occurred();
  if (raised == PyExc_TypeError || raised == PyExc_ValueError || raised == PyExc_OverflowError || raised == PyExc_BufferError) {
    PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    const Owned text(value == nullptr ? nullptr : PyObject_Str(value)),
        place(text ? PyUnicode_FromFormat(format, index) : nullptr);
    if (text && place) {
      PyErr_Format(type, "%U%s%U", place.get(), PyUnicode_READ_CHAR(text.get(), 0) == '[' ? "" : ": ", text.get());
      Py_XDECREF(type);
      Py_XDECREF(value);
      Py_XDECREF(trace);
    } else {
      PyErr_Restore(type, value, trace);
    }
  }
  throw Raised{};
}

} // namespace cairn::python
