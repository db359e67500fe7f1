// See the header.
#include "vm/report/stopwatch.h"

#include <chrono>

namespace cairn::report {

double Stopwatch::wall() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

} // namespace cairn::report
