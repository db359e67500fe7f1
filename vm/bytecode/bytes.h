// Little-endian bytes, written and read one field at a time, for files. The reader checks every access and never trusts a count:
// it throws Malformed, which those who read whole files turn into a message.
#pragma once

#include "vm/bytecode/fields.h"
#include "vm/bytecode/varint.h"

#include <algorithm>
#include <bit>
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

static_assert(std::endian::native == std::endian::little, "fields are copied as they are");

// Differences are small on either side of zero: 0, -1, 1, -2, ... as 0, 1, 2, 3, ...
constexpr std::uint64_t zigzag(std::int64_t v) {
  return static_cast<std::uint64_t>(v) << 1 ^ static_cast<std::uint64_t>(v >> 63);
}
constexpr std::int64_t unzigzag(std::uint64_t v) { return static_cast<std::int64_t>(v >> 1 ^ (0 - (v & 1))); }

inline void set_u64(std::span<std::byte> bytes, std::size_t at, std::uint64_t v) { std::memcpy(&bytes[at], &v, sizeof v); }

class ByteWriter {
public:
  void u8(std::uint8_t v) { put(v, 1); }
  void u16(std::uint16_t v) { put(v, 2); }
  void u32(std::uint32_t v) { put(v, 4); }
  void u64(std::uint64_t v) { put(v, 8); }
  void varint(std::uint64_t v) {
    write_varint(v, [this](std::uint8_t byte) { u8(byte); });
  }
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
  void set_u64(std::size_t at, std::uint64_t v) { bytecode::set_u64(bytes, at, v); }

  std::vector<std::byte> bytes;

private:
  void put(std::uint64_t v, unsigned size) { raw(&v, size); }
};

// Where bytes come from that are not all in memory.
class ByteSource {
public:
  virtual ~ByteSource() = default;
  // `left`, which it gave last and nobody has read, and what follows: `size` bytes at least, of which there are so many. What it
  // gave before stays where it is until the next but one call.
  virtual std::span<const std::byte> more(std::span<const std::byte> left, std::size_t size) = 0;
};

class ByteReader {
public:
  explicit ByteReader(std::span<const std::byte> bytes)
      : bytes_(bytes), log_(FieldLog::current()), short_until_(log_ == nullptr ? bytes.size() : 0) {}
  // What `take` gives is there until two more windows of the source were read.
  ByteReader(ByteSource& source, std::uint64_t size)
      : behind_(static_cast<std::size_t>(size)), log_(FieldLog::current()), short_until_(0), source_(&source) {}

  [[gnu::always_inline]] std::uint8_t u8() { return static_cast<std::uint8_t>(get(1, Field::Form::u8)); }
  [[gnu::always_inline]] std::uint16_t u16() { return static_cast<std::uint16_t>(get(2, Field::Form::u16)); }
  [[gnu::always_inline]] std::uint32_t u32() { return static_cast<std::uint32_t>(get(4, Field::Form::u32)); }
  [[gnu::always_inline]] std::uint64_t u64() { return get(8, Field::Form::u64); }
  [[gnu::always_inline]] std::uint64_t varint() {
    if (at_ < short_until_ && bytes_[at_] < std::byte{0x80}) [[likely]]
      return static_cast<std::uint64_t>(bytes_[at_++]);
    return log_ == nullptr ? long_varint() : noted_varint();
  }
  std::string text() {
    auto part = take(u32());
    return {reinterpret_cast<const char*>(part.data()), part.size()};
  }
  [[gnu::always_inline]] std::span<const std::byte> take(std::uint64_t size) {
    auto part = next(size);
    if (log_ != nullptr) [[unlikely]]
      note(part, Field::Form::bytes);
    return part;
  }
  // A number of elements that take at least `least_bytes` each; refused where they cannot all be there.
  std::uint32_t count(std::size_t least_bytes) {
    std::uint32_t n = u32();
    if (n > left() / least_bytes) throw Malformed("a part of the file is too short for what it says it holds");
    return n;
  }
  std::size_t left() const { return bytes_.size() - at_ + behind_; }
  // Whether what is in a window is all that there is.
  bool in_memory() const { return source_ == nullptr; }
  void want_end() const {
    if (left() != 0) throw Malformed("a part of the file is longer than what it holds");
  }

private:
  std::span<const std::byte> next(std::uint64_t size) {
    if (size > bytes_.size() - at_) [[unlikely]]
      fetch(size);
    auto part = bytes_.subspan(at_, static_cast<std::size_t>(size));
    at_ += static_cast<std::size_t>(size);
    return part;
  }
  [[gnu::noinline]] void fetch(std::uint64_t size) {
    if (size > left()) throw Malformed("a part of the file is too short for what it says it holds");
    const std::span<const std::byte> rest = bytes_.subspan(at_);
    bytes_ = source_->more(rest, static_cast<std::size_t>(size));
    behind_ -= bytes_.size() - rest.size();
    at_ = 0;
    if (log_ == nullptr) short_until_ = bytes_.size();
  }
  [[gnu::always_inline]] std::uint64_t get(std::size_t size, Field::Form form) {
    auto part = next(size);
    if (log_ != nullptr) [[unlikely]]
      note(part, form);
    std::uint64_t v = 0;
    std::memcpy(&v, part.data(), size);
    return v;
  }
  // Not inlined: the return address is where the field is read.
  [[gnu::noinline]] void note(std::span<const std::byte> part, Field::Form form) {
    log_->fields.push_back({part.data(), part.size(), form, __builtin_return_address(0)});
  }
  [[gnu::noinline]] std::uint64_t noted_varint() {
    const std::size_t begin = at_;
    std::uint64_t v = long_varint();
    log_->fields.push_back({bytes_.data() + begin, at_ - begin, Field::Form::varint, __builtin_return_address(0)});
    return v;
  }
  std::uint64_t long_varint() {
    constexpr const char* kTooLong = "a number is longer than it need be";
    if (bytes_.size() - at_ < kLongestVarint && behind_ != 0) fetch(std::min(kLongestVarint, left()));
    if (bytes_.size() - at_ >= sizeof(std::uint64_t)) [[likely]] {
      std::uint64_t w = 0;
      std::memcpy(&w, &bytes_[at_], sizeof w);
      if (const ShortVarint v = short_varint(w); v.bytes != 0) [[likely]] {
        if (!v.shortest) throw Malformed(kTooLong);
        at_ += v.bytes;
        return v.value;
      }
    }
    for (Varint v;;) {
      if (at_ == bytes_.size()) throw Malformed("a part of the file is too short for what it says it holds");
      switch (v.add(static_cast<std::uint8_t>(bytes_[at_++]))) {
      case Varint::State::more:
        break;
      case Varint::State::whole:
        return v.value();
      case Varint::State::too_large:
        throw Malformed("a number does not fit into 64 bits");
      case Varint::State::too_long:
        throw Malformed(kTooLong);
      }
    }
  }

  std::span<const std::byte> bytes_; // that are in memory,
  std::size_t at_ = 0;               // of these the next one,
  std::size_t behind_ = 0;           // and how many the source still has
  FieldLog* log_;
  std::size_t short_until_; // where varints of one byte are looked for: nowhere while fields are noted, so that the frequent way
                            // need not ask
  ByteSource* source_ = nullptr;
};

} // namespace cairn::bytecode
