// What every function of cairn.h needs at the border: malloc's copies of results, and no exception getting out.
#pragma once

#include "cairn.h"

#include "vm/api/copies.h"
#include "vm/bytecode/module.h"

#include <exception>
#include <string>
#include <string_view>

struct cairn_module {
  cairn::bytecode::Module module;
};

namespace cairn::api {

// A failure that a function reports as its status.
struct Refusal {
  cairn_status status;
  std::string message;
};

// The status of the exception in flight; call in a catch block only.
cairn_status caught(char** error) noexcept;

// Runs `body`, which throws Refusal to fail. *error is NULL on success.
template <class Body> cairn_status guarded(char** error, Body&& body) noexcept {
  if (error != nullptr) *error = nullptr;
  try {
    body();
    return CAIRN_OK;
  } catch (...) {
    return caught(error);
  }
}

inline void require(bool condition, const char* message) {
  if (!condition) throw Refusal{CAIRN_BAD_ARGUMENT, message};
}

} // namespace cairn::api
