// Calls from C into a program, and the derivative operators as calls.
#include "vm/api/handles.h"
#include "vm/schedule/schedule.h"

#include <array>
#include <utility>

using cairn::api::guarded;
using cairn::api::handed_out;
using cairn::api::inner;
using cairn::api::Refusal;
using cairn::api::require;
using cairn::bytecode::RunOperator;
using cairn::machine::Engine;
using cairn::value::Heap;
using cairn::value::Value;
namespace value = cairn::value;
using Stage = cairn_vm::Stage;

static_assert(sizeof(cairn_value) == sizeof(Value));

namespace {

Value operator_value(Engine& engine, RunOperator op) {
  return cairn::api::made_by_host(engine, [&] {
    value::ClosureBlock* b = engine.heap().make_closure_block(1, 0);
    b->procedure(0)->code = &engine.run_operators.code(op);
    return value::of_procedure(b->procedure(0));
  });
}

// The last definition of a name is the one in force; the library's own names are not the program's.
Value* global_of(Engine& engine, std::string_view name) {
  const auto& globals = engine.loaded.module.globals;
  for (std::size_t i = globals.size(); i-- > 0;)
    if (!globals[i].library && globals[i].name == name && engine.globals[i] != value::kUndefined) return &engine.globals[i];
  return nullptr;
}

Value find(Engine& engine, std::string_view name) {
  if (const Value* global = global_of(engine, name)) return Heap::retain(*global);
  for (unsigned i = 0; i < static_cast<unsigned>(RunOperator::count); ++i)
    if (cairn::bytecode::kRunOperators[i].name == name) return operator_value(engine, static_cast<RunOperator>(i));
  throw Refusal{CAIRN_NOT_DEFINED, std::string(name)};
}

bool may_begin(cairn_vm* vm) { return vm != nullptr && vm->idle() && !vm->engine.options.one_shot; }

// A wrong procedure or number of arguments is an error of the program.
inline void begin_in(cairn_vm& vm, Value procedure, std::span<const Value> arguments) {
  try {
    vm.engine.begin(procedure, arguments);
  } catch (const cairn::machine::ProgramError& e) {
    throw Refusal{CAIRN_PROGRAM_ERROR, e.what()};
  }
}

cairn_status not_begun(cairn_vm& vm, cairn_status status, char* fault) {
  cairn::api::failed(vm, status, fault);
  cairn_free(fault);
  return status;
}

// Leaves the machine ready to run, or with the reason why it cannot.
cairn_status begin(cairn_vm* vm, Value procedure, std::span<const Value> arguments) {
  if (!may_begin(vm)) return CAIRN_BAD_ARGUMENT;
  char* fault = nullptr;
  cairn_status status = guarded(&fault, [&] { begin_in(*vm, procedure, arguments); });
  if (status != CAIRN_OK) return not_begun(*vm, status, fault);
  vm->stage = Stage::ready;
  return CAIRN_OK;
}

cairn_status begin_operator(cairn_vm* vm, RunOperator op, cairn_value f, cairn_value x, cairn_value third) {
  if (vm == nullptr || !vm->idle()) return CAIRN_BAD_ARGUMENT;
  cairn_status status = CAIRN_OK;
  cairn_status made = guarded(nullptr, [&] {
    Value procedure = operator_value(vm->engine, op);
    std::array arguments{inner(f), inner(x), inner(third)};
    status = begin(vm, procedure, arguments);
    vm->engine.heap().release(procedure);
  });
  return made != CAIRN_OK ? made : status;
}

} // namespace

cairn_status cairn_vm_define(cairn_vm* vm, const char* name, cairn_value given) {
  return guarded(nullptr, [&] {
    require(vm != nullptr && name != nullptr, "cairn_vm_define: an argument is NULL");
    require(may_begin(vm), "cairn_vm_define: the machine is not idle");
    Value* const global = global_of(vm->engine, name);
    if (global == nullptr) throw Refusal{CAIRN_NOT_DEFINED, name};
    const Value before = std::exchange(*global, Heap::retain(inner(given)));
    vm->engine.heap().release(before);
  });
}

cairn_status cairn_vm_lookup(cairn_vm* vm, const char* name, cairn_value* result) {
  if (result != nullptr) *result = cairn_unspecified();
  return guarded(nullptr, [&] {
    require(vm != nullptr && name != nullptr && result != nullptr, "cairn_vm_lookup: an argument is NULL");
    *result = handed_out(find(vm->engine, name));
  });
}

cairn_status cairn_vm_begin(cairn_vm* vm, cairn_value procedure, const cairn_value* arguments, size_t count) {
  if (arguments == nullptr && count != 0) return CAIRN_BAD_ARGUMENT;
  return begin(vm, inner(procedure), {reinterpret_cast<const Value*>(arguments), count});
}

cairn_status cairn_vm_begin_forward(cairn_vm* vm, cairn_value f, cairn_value x, cairn_value tangent) {
  return begin_operator(vm, RunOperator::forward, f, x, tangent);
}

cairn_status cairn_vm_begin_reverse(cairn_vm* vm, cairn_value f, cairn_value x, cairn_value cotangent) {
  return begin_operator(vm, RunOperator::reverse, f, x, cotangent);
}

cairn_status cairn_vm_begin_checkpoint_reverse(cairn_vm* vm, cairn_value f, cairn_value x, cairn_value cotangent,
                                               const char* schedule) {
  std::uint32_t own = cairn::machine::kInherit;
  if (schedule != nullptr) {
    if (vm == nullptr) return CAIRN_BAD_ARGUMENT;
    cairn_status status = guarded(nullptr, [&] {
      cairn::schedule::Spec spec;
      std::string message;
      if (!cairn::schedule::parse(schedule, spec, message)) throw Refusal{CAIRN_BAD_ARGUMENT, message};
      own = vm->engine.schedules.number_of(spec);
    });
    if (status != CAIRN_OK) return status;
  }
  cairn_status status = begin_operator(vm, RunOperator::checkpoint_reverse, f, x, cotangent);
  if (status == CAIRN_OK && own != cairn::machine::kInherit) {
    vm->engine.runs[0].own_schedule = own;
    vm->engine.derive(0);
  }
  return status;
}

cairn_status cairn_vm_value(const cairn_vm* vm, cairn_value* result) {
  if (result != nullptr) *result = cairn_unspecified();
  if (vm == nullptr || result == nullptr || vm->stage != Stage::done) return CAIRN_BAD_ARGUMENT;
  *result = handed_out(Heap::retain(vm->engine.result));
  return CAIRN_OK;
}

cairn_status cairn_vm_take_value(cairn_vm* vm, cairn_value* result) {
  if (result != nullptr) *result = cairn_unspecified();
  if (vm == nullptr || result == nullptr || vm->stage != Stage::done || vm->running) return CAIRN_BAD_ARGUMENT;
  *result = handed_out(std::exchange(vm->engine.result, value::kUnspecified));
  return CAIRN_OK;
}

// The same as the three calls it stands for. Most are over within one slice, which runs here, without what only longer ones need.
cairn_status cairn_vm_call(cairn_vm* vm, cairn_value procedure, const cairn_value* arguments, size_t count, cairn_value* result) {
  if (result == nullptr) return CAIRN_BAD_ARGUMENT;
  // Not before: the result may lie where an argument does.
  auto failed = [&](cairn_status status) {
    *result = cairn_unspecified();
    return status;
  };
  if ((arguments == nullptr && count != 0) || !may_begin(vm)) return failed(CAIRN_BAD_ARGUMENT);
  cairn::machine::Status outcome = cairn::machine::Status::out_of_steps;
  char* fault = nullptr;
  bool begun = false;
  vm->running = true;
  cairn_status guard = guarded(&fault, [&] {
    begin_in(*vm, inner(procedure), {reinterpret_cast<const Value*>(arguments), count});
    begun = true;
    if (!vm->engine.meter().cancelled()) outcome = vm->engine.run(vm->slice);
  });
  vm->running = false;
  if (!begun) return failed(not_begun(*vm, guard, fault));
  vm->stage = Stage::ready;
  vm->fresh = false;
  cairn_status status = cairn::api::concluded(*vm, guard, fault, outcome);
  if (status == CAIRN_OUT_OF_STEPS) status = cairn::api::run_machine(vm, CAIRN_UNLIMITED);
  if (status != CAIRN_OK) return failed(status);
  *result = handed_out(Heap::retain(vm->engine.result));
  return CAIRN_OK;
}
