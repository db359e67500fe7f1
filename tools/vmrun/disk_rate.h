// How long a file in a folder takes for a byte, for tables of costs.
#pragma once

#include <string>

namespace cairn::tools {

// Nanoseconds for a byte that is written or read, of 256 MiB. Where that cannot be done, `error` says why.
double disk_rate(const std::string& folder, std::string& error);

} // namespace cairn::tools
