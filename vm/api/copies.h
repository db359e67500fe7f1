// What leaves a library through its C interface is a copy from malloc, so that cairn_free() releases all of it: for cairn.h and
// cairn_compiler.h.
#pragma once

#include "vm/api/cairn.h"

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>

namespace cairn::api {

// With a zero byte behind it. Throws std::bad_alloc.
inline void* copy_out(const void* bytes, std::size_t size) {
  void* copy = std::malloc(size + 1);
  if (copy == nullptr) throw std::bad_alloc();
  if (size != 0) std::memcpy(copy, bytes, size);
  static_cast<char*>(copy)[size] = 0;
  return copy;
}
inline char* copy_out(std::string_view text) { return static_cast<char*>(copy_out(text.data(), text.size())); }

// Sets *error (if there is one) and returns `status`, or OUT_OF_MEMORY if not even the message fits.
inline cairn_status fail(cairn_status status, char** error, std::string_view message) noexcept {
  if (error == nullptr) return status;
  try {
    *error = copy_out(message);
    return status;
  } catch (const std::bad_alloc&) {
    return CAIRN_OUT_OF_MEMORY;
  }
}

} // namespace cairn::api
