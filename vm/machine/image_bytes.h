// The bytes of a machine's image while they are written: fields of a few bytes by the million, so they are gathered in a small
// block first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

namespace cairn::machine {

class ImageBytes {
public:
  // Room for so many; no more than a guess.
  explicit ImageBytes(std::size_t expected) { bytes_.reserve(expected); }

  void u8(std::uint8_t v) { put(&v, 1); }
  void u32(std::uint32_t v) { put(&v, sizeof v); }
  void u64(std::uint64_t v) { put(&v, sizeof v); }
  // Seven bits to a byte, lowest first; the top bit says that more follow.
  void varint(std::uint64_t v) {
    if (used_ > kBlock - 10) flush();
    for (; v >= 0x80; v >>= 7) block_[used_++] = static_cast<std::byte>(v | 0x80);
    block_[used_++] = static_cast<std::byte>(v);
  }
  // Its length in bytes, 32 bits, then the bytes.
  void text(std::string_view t) {
    u32(static_cast<std::uint32_t>(t.size()));
    raw(t.data(), t.size());
  }
  void raw(const void* data, std::size_t size) {
    if (size <= kBlock) return put(data, size);
    flush();
    const auto* p = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), p, p + size);
  }
  std::size_t size() const { return bytes_.size() + used_; }
  // All of them; nothing is written any more.
  std::vector<std::byte> take() {
    flush();
    return std::move(bytes_);
  }

private:
  static constexpr std::size_t kBlock = 4096;
  void put(const void* data, std::size_t size) {
    if (size == 0) return; // of nothing there may be no address
    if (used_ > kBlock - size) flush();
    std::memcpy(block_ + used_, data, size);
    used_ += size;
  }
  void flush() {
    bytes_.insert(bytes_.end(), block_, block_ + used_);
    used_ = 0;
  }

  std::vector<std::byte> bytes_;
  std::size_t used_ = 0;
  std::byte block_[kBlock];
};

} // namespace cairn::machine
