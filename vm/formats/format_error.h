// What is wrong with a file of a known format, and where.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace cairn::formats {

struct FormatError : std::runtime_error {
  FormatError(std::uint64_t byte, const std::string& message) : std::runtime_error(message), at(byte) {}
  static constexpr std::uint64_t kNowhere = UINT64_MAX;
  std::uint64_t at; // a byte of the file; kNowhere: it is not one that is wrong
};

} // namespace cairn::formats
