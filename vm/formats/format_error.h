// What is wrong with a file of a known format, and where.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace cairn::formats {

struct FormatError : std::runtime_error {
  FormatError(std::uint64_t byte, const std::string& message) : std::runtime_error(message), at(byte) {}
  std::uint64_t at; // a byte of the file
};

} // namespace cairn::formats
