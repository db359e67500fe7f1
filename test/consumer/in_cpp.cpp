// The C interfaces from C++20: handles in smart pointers, callbacks as lambdas, a program's procedure called with arguments.
#include <array>
#include <cairn.h>
#include <cairn_compiler.h>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string_view>

namespace {

template <auto Function> struct Free {
  void operator()(auto* handle) const { Function(handle); }
};
using Module = std::unique_ptr<cairn_module, Free<cairn_module_free>>;
using Machine = std::unique_ptr<cairn_vm, Free<cairn_vm_free>>;

void check(cairn_status status) {
  if (status != CAIRN_OK) throw std::runtime_error("status " + std::to_string(status));
}

Module compiled(std::string_view source) {
  void* bytes = nullptr;
  std::size_t size = 0;
  check(cairn_compile("hypotenuse.scm", source.data(), source.size(), nullptr, &bytes, &size, nullptr));
  std::unique_ptr<void, Free<cairn_compiler_free>> owner(bytes);
  cairn_module* module = nullptr;
  check(cairn_module_read(bytes, size, &module, nullptr));
  return Module(module);
}

Machine machine_with(const Module& module) {
  cairn_vm_options options;
  cairn_vm_options_init(&options);
  options.output = [](void*, const char* text, std::size_t bytes) {
    return std::cout.write(text, std::streamsize(bytes)) ? 0 : 1;
  };
  cairn_vm* vm = nullptr;
  check(cairn_vm_create(&options, &vm, nullptr));
  Machine machine(vm);
  check(cairn_vm_load(vm, module.get(), nullptr));
  check(cairn_vm_run(vm, CAIRN_UNLIMITED));
  return machine;
}

} // namespace

int main() try {
  Machine machine = machine_with(compiled("(define (hypotenuse a b) (sqrt (+ (* a a) (* b b))))\n(display \"ready\")(newline)"));
  cairn_value procedure, result;
  check(cairn_vm_lookup(machine.get(), "hypotenuse", &procedure));
  std::array arguments{cairn_integer(3), cairn_real(4)};
  check(cairn_vm_call(machine.get(), procedure, arguments.data(), arguments.size(), &result));
  double number = 0;
  check(cairn_get_real(result, &number));
  cairn_value_release(machine.get(), procedure);
  std::cout << number << "\n";
  return 0;
} catch (const std::exception& e) {
  std::cerr << e.what() << "\n";
  return 1;
}
