// The checksum of a module made right again after bytes of it were changed: for tests, fuzzers and tools that patch modules.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace cairn::bytecode {

// Nothing but the checksum is mended. False with a message if this is no module, or too short for a checksum.
bool reseal(std::span<std::byte> file, std::string& error);

} // namespace cairn::bytecode
