// A machine with a program compiled from text, for tests of values and calls.
#pragma once

#include "cairn.h"
#include "cairn_compiler.h"

#include <doctest/doctest.h>

#include <initializer_list>
#include <string>
#include <vector>

namespace testing {

inline std::string taken(char* text) {
  std::string copy = text == nullptr ? "" : text;
  cairn_free(text);
  return copy;
}

inline cairn_vm_options vm_options() {
  cairn_vm_options options;
  cairn_vm_options_init(&options);
  return options;
}

// A module of a text; `hosts` are the procedures of the host that it may call.
struct Compiled {
  cairn_module* module = nullptr;
  explicit Compiled(const std::string& text, std::vector<cairn_host_declaration> hosts = {}) {
    cairn_compiler_options options;
    cairn_compiler_options_init(&options);
    options.hosts = hosts.data();
    options.host_count = hosts.size();
    void* bytes = nullptr;
    size_t size = 0;
    char* error = nullptr;
    cairn_status status = cairn_compile("guest.scm", text.data(), text.size(), &options, &bytes, &size, &error);
    REQUIRE_MESSAGE(status == CAIRN_OK, (error == nullptr ? "" : error));
    REQUIRE(cairn_module_read(bytes, size, &module, nullptr) == CAIRN_OK);
    cairn_compiler_free(bytes);
  }
  ~Compiled() { cairn_module_free(module); }
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
};

struct Vm {
  cairn_vm* vm = nullptr;
  std::string output;

  explicit Vm(cairn_vm_options options = vm_options()) {
    if (options.user == nullptr) {
      options.user = this;
      options.output = [](void* user, const char* text, size_t bytes) {
        static_cast<Vm*>(user)->output.append(text, bytes);
        return 0;
      };
    }
    REQUIRE(cairn_vm_create(&options, &vm, nullptr) == CAIRN_OK);
  }
  // Loads and runs the top level.
  Vm(const Compiled& program, cairn_vm_options options = vm_options()) : Vm(options) { run(program); }
  explicit Vm(const std::string& text) : Vm(Compiled(text)) {}
  ~Vm() { cairn_vm_free(vm); }
  Vm(const Vm&) = delete;
  Vm& operator=(const Vm&) = delete;

  void run(const Compiled& program) {
    REQUIRE(cairn_vm_load(vm, program.module, nullptr) == CAIRN_OK);
    cairn_status status = cairn_vm_run(vm, CAIRN_UNLIMITED);
    REQUIRE_MESSAGE(status == CAIRN_OK, (status == CAIRN_OK ? "" : error()));
  }
  std::string error() const {
    char* text = nullptr;
    REQUIRE(cairn_vm_error(vm, &text) == CAIRN_OK);
    return taken(text);
  }
  // Of a value that is given up by this.
  std::string text(cairn_value value) {
    char* text = nullptr;
    REQUIRE(cairn_value_text(vm, value, 0, &text) == CAIRN_OK);
    cairn_value_release(vm, value);
    return taken(text);
  }
  cairn_value lookup(const char* name) {
    cairn_value value = cairn_unspecified();
    REQUIRE(cairn_vm_lookup(vm, name, &value) == CAIRN_OK);
    return value;
  }
  // Calls a definition; the arguments are given up.
  cairn_status call(const char* name, std::initializer_list<cairn_value> arguments, cairn_value* value) {
    cairn_value procedure = lookup(name);
    std::vector<cairn_value> list(arguments);
    cairn_status status = cairn_vm_call(vm, procedure, list.data(), list.size(), value);
    cairn_value_release(vm, procedure);
    for (cairn_value a : list) cairn_value_release(vm, a);
    return status;
  }
  std::string called(const char* name, std::initializer_list<cairn_value> arguments) {
    cairn_value value = cairn_unspecified();
    cairn_status status = call(name, arguments, &value);
    REQUIRE_MESSAGE(status == CAIRN_OK, (status == CAIRN_OK ? "" : error()));
    return text(value);
  }
  cairn_value string(const std::string& text) {
    cairn_value value = cairn_unspecified();
    REQUIRE(cairn_make_string(vm, text.data(), text.size(), &value) == CAIRN_OK);
    return value;
  }
  cairn_value reals(std::initializer_list<double> numbers) {
    cairn_value value = cairn_unspecified();
    REQUIRE(cairn_make_reals(vm, numbers.begin(), numbers.size(), &value) == CAIRN_OK);
    return value;
  }
};

// What a program writes, or its error, on a machine that `provide` gave its procedures of the host.
template <class Provide>
std::string output_with(const std::vector<cairn_host_declaration>& declared, Provide&& provide, const std::string& text) {
  Vm vm;
  provide(vm);
  vm.run(Compiled(text, declared));
  return vm.output;
}
template <class Provide>
std::string error_with(const std::vector<cairn_host_declaration>& declared, Provide&& provide, const std::string& text) {
  Vm vm;
  provide(vm);
  Compiled program(text, declared);
  REQUIRE(cairn_vm_load(vm.vm, program.module, nullptr) == CAIRN_OK);
  REQUIRE(cairn_vm_run(vm.vm, CAIRN_UNLIMITED) == CAIRN_PROGRAM_ERROR);
  return vm.error();
}

} // namespace testing
