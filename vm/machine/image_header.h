// What the writer and the reader of machine images agree on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace cairn::machine {

inline constexpr std::uint64_t kImageMagic = 0x50414E5249414301;  // 01 C A I R N A P in little-endian order
inline constexpr std::uint32_t kImageVersion = 2;
inline constexpr std::size_t kChecksumAt = 16, kChecksummedFrom = 24;
inline constexpr std::uint32_t kNoObject = 0xFFFFFFFF;
inline constexpr std::uint32_t kFirstConstant = 0x80000000;  // constants of the module, then its procedures
inline constexpr std::uint32_t kFirstOwnCode = 0x80000000;

// Compiler, processor features: where they differ, resuming elsewhere may give other last digits.
std::string build_identity();
std::uint64_t image_checksum(std::span<const std::byte> file);

} // namespace cairn::machine
