// See the header.
#include "vm/explain/stopwatch.h"

#include <chrono>

namespace cairn::explain {

double Stopwatch::wall() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

} // namespace cairn::explain
