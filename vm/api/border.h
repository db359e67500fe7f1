// What every function of cairn.h needs at the border: malloc's copies of results, and no exception getting out.
#pragma once

#include "cairn.h"

#include <cstddef>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "vm/bytecode/module.h"

struct cairn_module {
  cairn::bytecode::Module module;
};

namespace cairn::api {

// A failure that a function reports as its status.
struct Refusal {
  cairn_status status;
  std::string message;
};

// A malloc's copy with a zero byte behind it. Throws std::bad_alloc.
void* copy_out(const void* bytes, std::size_t size);
inline char* copy_out(std::string_view text) { return static_cast<char*>(copy_out(text.data(), text.size())); }

// Sets *error (if there is one) and returns `status`, or OUT_OF_MEMORY if not even the message fits.
cairn_status fail(cairn_status status, char** error, std::string_view message) noexcept;

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
