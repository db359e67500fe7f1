// Checksums made right again after bytes of a file were changed: for tests, fuzzers and tools that patch files. Nothing else is
// mended.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace cairn::image {

// A module, or a capsule file with the module in it. False with a message if the bytes are neither, or too few for a checksum.
bool reseal_file(std::span<std::byte> file, std::string& error);

} // namespace cairn::image
