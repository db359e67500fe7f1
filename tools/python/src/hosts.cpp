// See hosts.h. All of these run in the thread that runs the machine, which has let go of the GIL. An exception of Python's
// becomes an error of the program, at the place that called; it waits in the machine to be the cause of what the run raises.
#include "hosts.h"

#include "values.h"

#include <algorithm>
#include <cstring>

namespace cairn::python {

namespace {

void keep_exception(Machine* machine) {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace != nullptr) PyException_SetTraceback(value, trace);
  Py_XDECREF(type);
  Py_XDECREF(trace);
  Py_XDECREF(std::exchange(machine->parts->host_exception, value));
}

// Runs body() with the GIL; where it throws, the program ends at the call.
template <class Body> cairn_status called(Machine* machine, Body&& body) {
  const WithGil gil(machine);
  try {
    body();
    return CAIRN_OK;
  } catch (const ThreadEnds&) {
    wait_for_the_end();
  } catch (...) {
    caught();
  }
  keep_exception(machine);
  PyObject* exception = machine->parts->host_exception;
  const Owned text(PyObject_Str(exception));
  const char* words = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  const std::string message =
      std::string(Py_TYPE(exception)->tp_name) + (words != nullptr && *words != 0 ? ": " : "") + (words != nullptr ? words : "");
  PyErr_Clear();
  cairn_host_complain(machine->vm, message.c_str());
  if (PyObject_IsInstance(exception, PyExc_Exception) == 0)
    cairn_vm_cancel(machine->vm); // whatever the program does with the error
  return CAIRN_PROGRAM_ERROR;
}

// Borrowed values of the program's, as Python sees them; None for the unspecified one.
Owned tuple_of(Machine* machine, const cairn_value* values, std::size_t count) {
  Owned tuple(checked(PyTuple_New(static_cast<Py_ssize_t>(count))));
  for (std::size_t i = 0; i < count; ++i) {
    cairn_value_retain(values[i]);
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), from_cairn(machine, values[i], false));
  }
  return tuple;
}

Owned object_of(Machine* machine, cairn_value value) {
  cairn_value_retain(value);
  return Owned(from_cairn(machine, value, false));
}

cairn_status call(void* user, cairn_vm*, const cairn_value* arguments, std::size_t count, cairn_value* result) {
  auto* host = static_cast<Host*>(user);
  return called(host->machine, [&] {
    if (!host->call) raise(PyExc_RuntimeError, "the procedure of the host is gone");
    const Owned given = tuple_of(host->machine, arguments, count);
    const Owned made(checked(PyObject_CallObject(host->call.get(), given.get())));
    *result = to_cairn(host->machine, made.get());
  });
}

Owned numbers_of(const double* numbers, std::size_t count) {
  Owned list(checked(PyList_New(static_cast<Py_ssize_t>(count))));
  for (std::size_t i = 0; i < count; ++i)
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), checked(PyFloat_FromDouble(numbers[i])));
  return list;
}

cairn_status derivative(void* user, const double* x, std::size_t x_count, const double* y, std::size_t y_count,
                        double* jacobian) {
  auto* host = static_cast<Host*>(user);
  return called(host->machine, [&] {
    const Owned point = numbers_of(x, x_count), value = numbers_of(y, y_count);
    const Owned made(checked(PyObject_CallFunctionObjArgs(host->derivative.get(), point.get(), value.get(), nullptr)));
    const Owned rows(checked(PyObject_CallFunction(known.jacobian, "Onn", made.get(), static_cast<Py_ssize_t>(y_count),
                                                   static_cast<Py_ssize_t>(x_count))));
    Py_buffer buffer;
    if (PyObject_GetBuffer(rows.get(), &buffer, PyBUF_C_CONTIGUOUS) < 0) throw Raised{};
    std::memcpy(jacobian, buffer.buf, x_count * y_count * sizeof(double));
    PyBuffer_Release(&buffer);
  });
}

cairn_status reverse(void* user, cairn_vm*, const cairn_value* arguments, std::size_t count, cairn_value result,
                     cairn_value cotangent, cairn_value* cotangents) {
  auto* host = static_cast<Host*>(user);
  return called(host->machine, [&] {
    const Owned given = tuple_of(host->machine, arguments, count), y = object_of(host->machine, result),
                c = object_of(host->machine, cotangent);
    const Owned made(checked(PyObject_CallFunctionObjArgs(host->reverse.get(), given.get(), y.get(), c.get(), nullptr)));
    const Owned parts(
        checked(PySequence_Fast(made.get(), "a reverse rule gives a list of cotangents, None for those that are not there")));
    if (static_cast<std::size_t>(PySequence_Fast_GET_SIZE(parts.get())) != count)
      raise(PyExc_ValueError, "a reverse rule gives a cotangent for each of the %zu arguments, this one gave %zd", count,
            PySequence_Fast_GET_SIZE(parts.get()));
    Values found(host->machine);
    found.list.reserve(count);
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(parts.get()) && found.list.size() < count; ++i) {
      const Owned item(retained(PySequence_Fast_GET_ITEM(parts.get(), i))); // converting it may change the list
      found.list.push_back(to_cairn(host->machine, item.get()));
    }
    if (found.list.size() != count) raise(PyExc_ValueError, "the list that a reverse rule gave has changed meanwhile");
    std::copy(found.list.begin(), found.list.end(), cotangents);
    found.list.clear();
  });
}

cairn_status forward(void* user, cairn_vm*, const cairn_value* arguments, std::size_t count, cairn_value result,
                     const cairn_value* tangents, cairn_value* tangent) {
  auto* host = static_cast<Host*>(user);
  return called(host->machine, [&] {
    const Owned given = tuple_of(host->machine, arguments, count), y = object_of(host->machine, result),
                d = tuple_of(host->machine, tangents, count);
    const Owned made(checked(PyObject_CallFunctionObjArgs(host->forward.get(), given.get(), y.get(), d.get(), nullptr)));
    *tangent = to_cairn(host->machine, made.get());
  });
}

Owned optional(PyObject* tuple, Py_ssize_t i) {
  PyObject* item = PyTuple_GET_ITEM(tuple, i);
  return item == Py_None ? Owned() : Owned(retained(item));
}

} // namespace

void register_hosts(Machine* machine, PyObject* hosts) {
  const Owned list(checked(PySequence_Fast(hosts, "hosts is a list")));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); ++i) {
    PyObject* given = PySequence_Fast_GET_ITEM(list.get(), i);
    if (!PyTuple_Check(given) || PyTuple_GET_SIZE(given) != 7) raise(PyExc_TypeError, "a host is a tuple of seven");
    auto host = std::make_unique<Host>();
    const char* name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(given, 0));
    if (name == nullptr) throw Raised{};
    host->machine = machine;
    host->name = name;
    const unsigned long parameters = PyLong_AsUnsignedLong(PyTuple_GET_ITEM(given, 1));
    if (PyErr_Occurred() != nullptr) throw Raised{};
    if (parameters > UINT32_MAX) raise(PyExc_ValueError, "%s: a host procedure of %lu parameters", name, parameters);
    host->parameters = static_cast<unsigned>(parameters);
    host->call = optional(given, 2);
    host->derivative = optional(given, 3);
    host->reverse = optional(given, 4);
    host->forward = optional(given, 5);
    cairn_host_procedure procedure{};
    procedure.struct_size = sizeof procedure;
    procedure.name = host->name.c_str();
    procedure.parameters = host->parameters;
    procedure.call = call;
    procedure.derivative = host->derivative ? derivative : nullptr;
    procedure.reverse = host->reverse ? reverse : nullptr;
    procedure.forward = host->forward ? forward : nullptr;
    procedure.repeatable = PyObject_IsTrue(PyTuple_GET_ITEM(given, 6));
    procedure.user = host.get();
    char* message = nullptr;
    const cairn_status status = cairn_vm_register(machine->vm, &procedure, &message);
    if (status != CAIRN_OK) refused(status, message);
    machine->parts->hosts.push_back(std::move(host));
  }
}

int write_output(void* user, const char* text, std::size_t bytes) {
  auto* machine = static_cast<Machine*>(user);
  return called(machine,
                [&] {
                  const Owned words(checked(PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(bytes), "replace")));
                  Owned(checked(PyObject_CallFunctionObjArgs(machine->parts->output, words.get(), nullptr)));
                }) == CAIRN_OK
             ? 0
             : 1;
}

std::size_t read_input(void* user, char* buffer, std::size_t capacity) {
  auto* machine = static_cast<Machine*>(user);
  std::string& unread = machine->parts->unread;
  if (unread.empty() && called(machine, [&] {
                          const Owned words(checked(PyObject_CallNoArgs(machine->parts->input)));
                          if (words.get() == Py_None) return;
                          Py_ssize_t bytes = 0;
                          const char* text = PyUnicode_AsUTF8AndSize(words.get(), &bytes);
                          if (text == nullptr) throw Raised{};
                          unread.assign(text, static_cast<std::size_t>(bytes));
                        }) != CAIRN_OK)
    return SIZE_MAX;
  const std::size_t given = std::min(capacity, unread.size());
  std::memcpy(buffer, unread.data(), given);
  unread.erase(0, given);
  return given;
}

int take_report(void* user, const cairn_reported* values, std::size_t count) {
  auto* machine = static_cast<Machine*>(user);
  return called(machine,
                [&] {
                  const Owned dictionary(checked(PyDict_New()));
                  for (std::size_t i = 0; i < count; ++i) {
                    const Owned number(checked(PyFloat_FromDouble(values[i].value)));
                    checked(PyDict_SetItemString(dictionary.get(), values[i].name, number.get()));
                  }
                  Owned(checked(PyObject_CallFunctionObjArgs(machine->parts->report, dictionary.get(), nullptr)));
                }) == CAIRN_OK
             ? 0
             : 1;
}

int take_explanation(void* user, const char* text, std::size_t bytes) {
  auto* machine = static_cast<Machine*>(user);
  return called(machine,
                [&] {
                  const Owned words(checked(PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(bytes), "replace")));
                  const Owned done(PyObject_CallFunctionObjArgs(machine->parts->explain, words.get(), nullptr));
                  // The gradient that is explained goes on all the same; Python tells of what went wrong beside it.
                  if (!done && PyErr_ExceptionMatches(PyExc_Exception) != 0)
                    PyErr_WriteUnraisable(machine->parts->explain);
                  else
                    checked(done.get());
                }) == CAIRN_OK
             ? 0
             : 1;
}

} // namespace cairn::python
