// Source text to the outcome of a run, by the two C headers.
#pragma once

#include "cairn.h"
#include "cairn_compiler.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

namespace machine_testing {

inline std::string taken(char* text) {
  std::string copy = text == nullptr ? "" : text;
  cairn_free(text);
  return copy;
}

class Program {
public:
  explicit Program(const std::string& source, int level = 2) {
    cairn_compiler_options options;
    cairn_compiler_options_init(&options);
    options.level = level;
    void* bytes = nullptr;
    std::size_t size = 0;
    char* error = nullptr;
    cairn_status status = cairn_compile("test.scm", source.data(), source.size(), &options, &bytes, &size, &error);
    INFO(source);
    REQUIRE_MESSAGE(status == CAIRN_OK, std::string(error == nullptr ? "" : error));
    status = cairn_module_read(bytes, size, &module_, &error);
    REQUIRE_MESSAGE(status == CAIRN_OK, std::string(error == nullptr ? "" : error));
    cairn_compiler_free(bytes);
  }
  ~Program() { cairn_module_free(module_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  const cairn_module* module() const { return module_; }

private:
  cairn_module* module_ = nullptr;
};

class Machine {
public:
  explicit Machine(std::uint64_t memory = CAIRN_UNLIMITED, const char* device = nullptr) {
    cairn_vm_options options;
    cairn_vm_options_init(&options);
    options.memory_bytes = memory;
    options.device = device;
    options.user = this;
    options.output = [](void* user, const char* text, std::size_t bytes) {
      static_cast<Machine*>(user)->output.append(text, bytes);
      return 0;
    };
    REQUIRE(cairn_vm_create(&options, &vm_, nullptr) == CAIRN_OK);
  }
  explicit Machine(const Program& program, std::uint64_t memory = CAIRN_UNLIMITED, const char* device = nullptr)
      : Machine(memory, device) {
    REQUIRE(cairn_vm_load(vm_, program.module(), nullptr) == CAIRN_OK);
  }
  ~Machine() { cairn_vm_free(vm_); }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  cairn_status run(std::uint64_t steps = CAIRN_UNLIMITED) { return cairn_vm_run(vm_, steps); }
  cairn_vm* handle() const { return vm_; }
  std::uint64_t steps() const { return cairn_vm_steps(vm_); }
  // Goes on in `other`, a machine without a program, with what has been put out so far.
  void move_to(Machine& other) const {
    void* bytes = nullptr;
    std::size_t size = 0;
    REQUIRE(cairn_vm_save(vm_, &bytes, &size) == CAIRN_OK);
    REQUIRE(cairn_vm_restore(other.vm_, bytes, size, nullptr) == CAIRN_OK);
    cairn_free(bytes);
    other.output = output;
  }
  std::string result() const {
    char* text = nullptr;
    REQUIRE(cairn_vm_result(vm_, &text) == CAIRN_OK);
    return taken(text);
  }
  std::string error() const {
    char* text = nullptr;
    REQUIRE(cairn_vm_error(vm_, &text) == CAIRN_OK);
    return taken(text);
  }

  std::string output;

private:
  cairn_vm* vm_ = nullptr;
};

// All that a user sees of a run.
struct Outcome {
  cairn_status status = CAIRN_OK;
  std::string output, value; // the last value, or the message's first line
  bool operator==(const Outcome&) const = default;
};

inline Outcome outcome_of(const Machine& machine, cairn_status status) {
  if (status == CAIRN_OK) return {status, machine.output, machine.result()};
  std::string error = machine.error();
  return {status, machine.output, error.substr(0, error.find('\n'))};
}

} // namespace machine_testing

namespace doctest {
template <> struct StringMaker<machine_testing::Outcome> {
  static String convert(const machine_testing::Outcome& o) {
    return ("status " + std::to_string(o.status) + ", output " + o.output + ", then " + o.value).c_str();
  }
};
} // namespace doctest
