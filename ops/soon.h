// What a thread does before it sleeps. To wake one takes as long as a product of small matrices, and steps of small networks are
// full of those. It is a moment only, since machines are shared, and threads that spin take the time from those that work.
#pragma once

#include <chrono>

namespace cairn::ops {

// Whether `there` was true within `moment`.
template <class There> bool soon(std::chrono::microseconds moment, There&& there) {
  const auto end = std::chrono::steady_clock::now() + moment;
  do {
    for (int i = 0; i < 32; ++i) {
      if (there()) return true;
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

} // namespace cairn::ops
