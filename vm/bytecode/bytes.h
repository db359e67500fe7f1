// Little-endian bytes, written and read one field at a time, for files. The reader checks every access and never trusts a count:
// it throws Malformed, which those who read whole files turn into a message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::bytecode {

struct Malformed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class ByteWriter {
public:
  void u8(std::uint8_t v) { put(v, 1); }
  void u16(std::uint16_t v) { put(v, 2); }
  void u32(std::uint32_t v) { put(v, 4); }
  void u64(std::uint64_t v) { put(v, 8); }
  // Its length in bytes, 32 bits, then the bytes.
  void text(std::string_view t) {
    u32(static_cast<std::uint32_t>(t.size()));
    raw(t.data(), t.size());
  }
  void raw(const void* data, std::size_t size) {
    const auto* p = static_cast<const std::byte*>(data);
    bytes.insert(bytes.end(), p, p + size);
  }
  void align8() { bytes.resize((bytes.size() + 7) / 8 * 8); }
  void set_u64(std::size_t at, std::uint64_t v) {
    for (unsigned i = 0; i < 8; ++i) bytes[at + i] = static_cast<std::byte>(v >> 8 * i);
  }

  std::vector<std::byte> bytes;

private:
  void put(std::uint64_t v, unsigned size) {
    for (unsigned i = 0; i < size; ++i) bytes.push_back(static_cast<std::byte>(v >> 8 * i));
  }
};

class ByteReader {
public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::uint8_t u8() { return static_cast<std::uint8_t>(get(1)); }
  std::uint16_t u16() { return static_cast<std::uint16_t>(get(2)); }
  std::uint32_t u32() { return static_cast<std::uint32_t>(get(4)); }
  std::uint64_t u64() { return get(8); }
  std::string text() {
    auto part = take(u32());
    return {reinterpret_cast<const char*>(part.data()), part.size()};
  }
  std::span<const std::byte> take(std::uint64_t size) {
    if (size > left()) throw Malformed("a part of the file is too short for what it says it holds");
    auto part = bytes_.subspan(at_, static_cast<std::size_t>(size));
    at_ += static_cast<std::size_t>(size);
    return part;
  }
  // A number of elements that take at least `least_bytes` each; refused where they cannot all be there.
  std::uint32_t count(std::size_t least_bytes) {
    std::uint32_t n = u32();
    if (n > left() / least_bytes) throw Malformed("a part of the file is too short for what it says it holds");
    return n;
  }
  std::size_t left() const { return bytes_.size() - at_; }
  void want_end() const {
    if (left() != 0) throw Malformed("a part of the file is longer than what it holds");
  }

private:
  std::uint64_t get(std::size_t size) {
    auto part = take(size);
    std::uint64_t v = 0;
    for (std::size_t i = 0; i < size; ++i) v |= static_cast<std::uint64_t>(part[i]) << 8 * i;
    return v;
  }

  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

} // namespace cairn::bytecode
