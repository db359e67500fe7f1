// Procedures of the host: C functions as the machine's HostProcedures.
#include "vm/api/handles.h"

#include <algorithm>

using cairn::api::guarded;
using cairn::api::handed_out;
using cairn::api::inner;
using cairn::api::Refusal;
using cairn::api::require;
using cairn::machine::HostProcedure;
using cairn::machine::ProgramError;
using cairn::value::Value;

namespace {

// The message of the error that ends the program at the call.
[[noreturn]] void complain(cairn_vm& vm, const std::string& name, cairn_status status) {
  std::string message = std::move(vm.complaint);
  vm.complaint.clear();
  const bool own_words = !message.empty();
  if (!own_words) {
    char* text = cairn_status_text(status);
    message = text == nullptr ? "failed" : text;
    cairn_free(text);
  }
  // A host that says what it had too little of speaks of a budget of its own.
  if (status == CAIRN_OVER_BUDGET && own_words) throw cairn::value::FinalBudgetExceeded(name + ": " + message, false);
  if (status == CAIRN_OVER_BUDGET) throw cairn::value::BudgetExceeded(name + ": " + message);
  throw ProgramError(name + ": " + message);
}

HostProcedure wrapped(cairn_vm& vm, const cairn_host_procedure& given) {
  HostProcedure p;
  p.name = given.name;
  p.parameters = static_cast<std::uint16_t>(given.parameters);
  p.repeatable = given.repeatable != 0;
  p.call = [&vm, name = p.name, call = given.call, user = given.user](std::span<const Value> arguments) {
    cairn_value result = cairn_unspecified();
    cairn_status status = call(user, &vm, reinterpret_cast<const cairn_value*>(arguments.data()), arguments.size(), &result);
    if (status != CAIRN_OK) complain(vm, name, status);
    return inner(result);
  };
  if (given.derivative != nullptr)
    p.derivative = [&vm, name = p.name, derivative = given.derivative,
                    user = given.user](std::span<const double> x, std::span<const double> y, std::span<double> jacobian) {
      cairn_status status = derivative(user, x.data(), x.size(), y.data(), y.size(), jacobian.data());
      if (status != CAIRN_OK) complain(vm, name + ", its derivative", status);
    };
  if (given.reverse != nullptr)
    p.reverse = [&vm, name = p.name, reverse = given.reverse, user = given.user](std::span<const Value> arguments, Value result,
                                                                                 Value cotangent, std::span<Value> cotangents) {
      cairn_status status = reverse(user, &vm, reinterpret_cast<const cairn_value*>(arguments.data()), arguments.size(),
                                    handed_out(result), handed_out(cotangent), reinterpret_cast<cairn_value*>(cotangents.data()));
      if (status != CAIRN_OK) complain(vm, name + ", its reverse rule", status);
    };
  if (given.forward != nullptr)
    p.forward = [&vm, name = p.name, forward = given.forward, user = given.user](std::span<const Value> arguments, Value result,
                                                                                 std::span<const Value> tangents) {
      cairn_value tangent = cairn_unspecified();
      cairn_status status = forward(user, &vm, reinterpret_cast<const cairn_value*>(arguments.data()), arguments.size(),
                                    handed_out(result), reinterpret_cast<const cairn_value*>(tangents.data()), &tangent);
      if (status != CAIRN_OK) complain(vm, name + ", its forward rule", status);
      return inner(tangent);
    };
  return p;
}

} // namespace

cairn_status cairn_vm_register(cairn_vm* vm, const cairn_host_procedure* procedure, char** error) {
  return guarded(error, [&] {
    require(vm != nullptr && procedure != nullptr, "cairn_vm_register: an argument is NULL");
    require(procedure->struct_size == sizeof(cairn_host_procedure),
            "cairn_vm_register: struct_size is not that of a cairn_host_procedure");
    require(procedure->name != nullptr && procedure->call != nullptr, "cairn_vm_register: a procedure has a name and a function");
    require(procedure->parameters <= 0xFFFF, "cairn_vm_register: too many parameters");
    bool is_operator = procedure->reverse != nullptr || procedure->forward != nullptr;
    require(!is_operator || procedure->derivative == nullptr, "cairn_vm_register: an operator on tensors has no Jacobian");
    require(vm->stage == cairn_vm::Stage::empty, "cairn_vm_register: the program is loaded already");
    auto& hosts = vm->engine.options.hosts;
    for (const HostProcedure& h : hosts)
      if (h.name == procedure->name) throw Refusal{CAIRN_BAD_ARGUMENT, "there is a procedure `" + h.name + "` already"};
    hosts.push_back(wrapped(*vm, *procedure));
  });
}

void cairn_host_complain(cairn_vm* vm, const char* message) {
  if (vm == nullptr || message == nullptr) return;
  guarded(nullptr, [&] { vm->complaint = message; });
}
