// What scenarios are made of: handles that are freed at the end of a scope, and a machine whose accounts must be empty when it
// goes.
#pragma once

#include "test/failing/sweep.h"

#include "cairn.h"
#include "cairn_compiler.h"

#include <string>
#include <vector>

namespace failing {

using Bytes = std::vector<unsigned char>;

// Made once, outside of all scenarios: a module of a text, the bytes of its file. Empty, with a message, if it does not compile.
Bytes compiled(const std::string& text, std::string& error, const std::vector<cairn_host_declaration>& hosts = {},
               const char* name = "test.scm");
// Of a session: one module a text.
std::vector<Bytes> compiled_session(const std::vector<std::string>& texts, std::string& error,
                                    const std::vector<cairn_host_declaration>& hosts = {}, const char* name = "test.scm");

// A module that nothing refuses.
class Module {
public:
  explicit Module(const Bytes& file) { cairn_module_read(file.data(), file.size(), &module_, nullptr); }
  ~Module() { cairn_module_free(module_); }
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  operator const cairn_module*() const { return module_; }

private:
  cairn_module* module_ = nullptr;
};

// A machine in a scenario.
class Machine {
public:
  // `own_memory`: regions and large objects come from functions of the test, which are counted and refuse like all others.
  explicit Machine(Run& run, cairn_vm_options options = defaults(), bool own_memory = false);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  operator cairn_vm*() const { return vm_; }
  bool made() const { return vm_ != nullptr; }

  bool grant_files(); // reading and writing in the current folder
  bool load(const cairn_module* module);
  bool extend(const cairn_module* module);
  bool run_on(std::uint64_t steps = CAIRN_UNLIMITED);
  // A text that continues what the machine has: it must still be able to do right.
  void probe(const cairn_module* module, const std::string& expected);

  static cairn_vm_options defaults();
  std::string output, input;
  std::string reported; // a line a call of `report`
  std::size_t input_at = 0;

private:
  Run& run_;
  cairn_vm* vm_ = nullptr;
};

} // namespace failing
