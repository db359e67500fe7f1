// What the calls of cairn_compiler.h share: options, text that leaves the library, and exceptions, which do not.
#pragma once

#include "cairn_compiler.h"

#include "compiler/compiler.h"
#include "vm/api/copies.h"
#include "vm/text/diagnostic.h"

#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::compiler::api {

struct NoFile {
  std::string message;
};
struct BadOptions {
  std::string message;
};

using cairn::api::copy_out;
using cairn::api::fail;

// FILE:LINE:COLUMN: SEVERITY: ..., the line and a caret.
std::string rendered(const Diagnostic& diagnostic, const text::Source& source, std::string_view severity);

// What can be seen without memory.
bool usable(const cairn_compiler_options* options) noexcept;
// Throws BadOptions.
Options inner_options(const cairn_compiler_options* options, Files* files);

// The embedder's limits on a compilation, for a Workspace.
std::int64_t budget_of(const cairn_compiler_options* options);
inline const volatile int* cancel_of(const cairn_compiler_options* options) {
  return options == nullptr ? nullptr : options->cancel;
}

std::string over_budget_text(std::int64_t budget);

// Where warnings go.
struct Listener {
  void (*warn)(void* user, const char* text, std::size_t bytes) = nullptr;
  void* user = nullptr;
};
inline Listener listener_of(const cairn_compiler_options* options) {
  return options == nullptr ? Listener{} : Listener{options->warn, options->user};
}
// The texts of a program's warnings; nothing if nobody wants them. To be told when the program has compiled.
std::vector<std::string> rendered_warnings(const Program& program, const Listener& listener);
void tell(const std::vector<std::string>& warnings, const Listener& listener);

// The bytes of a module's file, roughly and never far too few.
std::size_t size_about(const bytecode::Module& module);
// The bytes of a module as the caller gets them.
void give(const bytecode::Module& module, void** bytes, std::size_t* size);

// Runs `body` in a workspace; what it throws becomes a status and a message.
template <class Body> cairn_status guarded(Workspace& workspace, char** error, Body&& body) noexcept {
  if (error != nullptr) *error = nullptr;
  Workspace::Installed installed(&workspace);
  try {
    try {
      workspace.poll();
      body();
      return CAIRN_OK;
    } catch (const Failure& failure) {
      return fail(CAIRN_BAD_SOURCE, error, rendered(failure.diagnostic, failure.source, "error"));
    } catch (const NoFile& missing) {
      return fail(CAIRN_NO_FILE, error, missing.message);
    } catch (const BadOptions& bad) {
      return fail(CAIRN_BAD_ARGUMENT, error, bad.message);
    } catch (const OverBudget& over) {
      return fail(CAIRN_OVER_BUDGET, error, over_budget_text(over.budget));
    } catch (const Cancelled&) {
      return fail(CAIRN_CANCELLED, error, "error: compiling was cancelled\n");
    } catch (const std::bad_alloc&) {
      return fail(CAIRN_OUT_OF_MEMORY, error, "error: the system gave no memory, or opens no more files\n");
    } catch (const std::exception& e) {
      return fail(CAIRN_INTERNAL, error, std::string("error: a fault inside the compiler: ") + e.what() + "\n");
    } catch (...) {
      return fail(CAIRN_INTERNAL, error, "error: a fault inside the compiler\n");
    }
  } catch (...) { // not even for the message
    return CAIRN_OUT_OF_MEMORY;
  }
}

} // namespace cairn::compiler::api
