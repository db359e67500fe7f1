// What the writer and the reader of machine images agree on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace cairn::image {

inline constexpr std::uint64_t kImageMagic = 0x50414E5249414301; // 01 C A I R N A P in little-endian order
inline constexpr std::uint32_t kImageVersion = 38;
inline constexpr std::size_t kChecksumAt = 16, kChecksummedFrom = 24;

// The low three bits of a value's first byte.
enum class ImageTag : std::uint8_t { integer, flonum, immediate, taped, pair, procedure, other };
inline constexpr unsigned kImageTagBits = 3;

// What a counter may be in a file: far from where sums with it would overflow.
inline constexpr std::uint64_t kMostCount = std::uint64_t{1} << 60;
inline constexpr std::uint64_t kMostStepsLeft = std::uint64_t{1} << 63; // interrupt takes up to 9e18
inline constexpr std::uint64_t kMostTag = std::uint64_t{1} << 46;       // tags stand in registers as exact integers

// Compiler, processor features: where they differ, resuming elsewhere may give other last digits.
std::string build_identity();
std::uint64_t image_checksum(std::span<const std::byte> file);
// The same of bytes that come one after another, from kChecksummedFrom on.
class ImageChecksum {
public:
  ImageChecksum();
  ~ImageChecksum();
  ImageChecksum(const ImageChecksum&) = delete;
  ImageChecksum& operator=(const ImageChecksum&) = delete;
  void add(std::span<const std::byte> bytes);
  std::uint64_t value() const;

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace cairn::image
