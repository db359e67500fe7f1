// See layers.h.
#include "layers.h"

#include "procedure.h"
#include "tensors.h"
#include "values.h"

namespace cairn::python {

namespace {

// Calls arguments[1] with those behind it, and gives what made(value) makes of its value. Where arguments[0] says with what
// random numbers it is to begin, what comes behind it draws as if it had not been. `draws`: with what it began, None where it
// drew none.
template <class Made>
auto drawn(Machine* machine, PyObject* const* arguments, Py_ssize_t count, Loans* loans, Owned& draws, Made&& made) {
  if (count < 2 || !is_procedure(arguments[1])) raise(PyExc_TypeError, "call(draws, procedure, *arguments)");
  make_idle(machine);
  const std::uint64_t before = cairn_vm_draws(machine->vm);
  const bool again = arguments[0] != Py_None;
  const std::uint64_t from = again ? number_of(arguments[0], "draws") : before;
  const Value procedure(machine, value_of_procedure(machine, arguments[1]));
  struct Before {
    cairn_vm* vm;
    std::uint64_t draws;
    bool again;
    ~Before() {
      if (again) cairn_vm_set_draws(vm, draws); // not where the call was stopped, which may go on
    }
  } put_back{machine->vm, before, again};
  {
    const Arguments given(machine, arguments + 2, static_cast<std::size_t>(count - 2), loans);
    if (again) need(cairn_vm_set_draws(machine->vm, from));
    call(machine, procedure.get(), given.data(), given.size());
  }
  draws = Owned(cairn_vm_draws(machine->vm) == from ? retained(Py_None) : checked(PyLong_FromUnsignedLongLong(from)));
  cairn_value value{};
  need(cairn_vm_take_value(machine->vm, &value));
  return made(value);
}

} // namespace

PyObject* call_drawing(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  return guarded([&] {
    auto* machine = reinterpret_cast<Machine*>(self);
    const Use use(machine);
    Owned draws;
    const Owned value(
        drawn(machine, arguments, count, nullptr, draws, [&](cairn_value taken) { return from_cairn(machine, taken, true); }));
    return checked(PyTuple_Pack(2, value.get(), draws.get()));
  });
}

PyObject* call_lending(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  return guarded([&] {
    auto* machine = reinterpret_cast<Machine*>(self);
    const Use use(machine);
    Loans loans(machine);
    Owned draws, kinds;
    const Owned tensors(
        drawn(machine, arguments, count, &loans, draws, [&](cairn_value taken) { return tensors_from(machine, taken, kinds); }));
    return checked(PyTuple_Pack(3, tensors.get(), kinds.get(), draws.get()));
  });
}

} // namespace cairn::python
