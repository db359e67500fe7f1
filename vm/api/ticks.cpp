// Time for counters. A call from C into a program takes less time than the system's clock, so the processor's is read, and its
// speed is measured against the system's since the library was loaded.
#include "vm/api/handles.h"

#include <chrono>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace cairn::api {

namespace {

std::uint64_t nanoseconds() {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

} // namespace

#if defined(__x86_64__)
namespace {

struct Start {
  std::uint64_t ticks = __rdtsc(), time = nanoseconds();
};
const Start start;

} // namespace

std::uint64_t ticks_now() { return __rdtsc(); }

double seconds_of(std::uint64_t ticks) {
  auto passed = static_cast<double>(__rdtsc() - start.ticks);
  return passed <= 0 ? 0 : static_cast<double>(ticks) / passed * static_cast<double>(nanoseconds() - start.time) * 1e-9;
}
#else
std::uint64_t ticks_now() { return nanoseconds(); }

double seconds_of(std::uint64_t ticks) { return static_cast<double>(ticks) * 1e-9; }
#endif

} // namespace cairn::api
