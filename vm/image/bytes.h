// The bytes of a machine's image while they are written: fields of a few bytes by the million, so they are gathered in a block
// first. Full blocks go to a sink, and nothing else of an image is ever in memory.
#pragma once

#include "ops/meter.h"
#include "vm/bytecode/varint.h"
#include "vm/image/header.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

namespace cairn::image {

// Where an image goes. What it throws ends the writing.
class ImageSink {
public:
  virtual ~ImageSink() = default;
  // What follows what was put before.
  virtual void put(std::span<const std::byte> bytes) = 0;
  // Whether what was put can be changed by `patch`.
  virtual bool can_patch() const = 0;
  virtual void patch(std::uint64_t at, std::span<const std::byte> bytes) = 0;
};

class ImageBytes {
public:
  // `sink` may be null: then bytes are counted, and forgotten. Asks the meter at each block.
  ImageBytes(ImageSink* sink, ImageChecksum* checksum, const ops::Meter& meter)
      : sink_(sink), checksum_(checksum), meter_(meter), block_(std::make_unique<std::byte[]>(kBlock)) {}

  // False where bytes are counted alone: large ones need not be fetched then, `skip` will do.
  bool wants_bytes() const { return sink_ != nullptr || checksum_ != nullptr; }
  void skip(std::uint64_t size) { passed_ += size; }

  void u8(std::uint8_t v) { put(&v, 1); }
  void u16(std::uint16_t v) { put(&v, sizeof v); }
  void u32(std::uint32_t v) { put(&v, sizeof v); }
  void u64(std::uint64_t v) { put(&v, sizeof v); }
  void varint(std::uint64_t v) {
    if (used_ > kBlock - bytecode::kLongestVarint) flush();
    bytecode::write_varint(v, [this](std::uint8_t byte) { block_[used_++] = static_cast<std::byte>(byte); });
  }
  // Its length in bytes, 32 bits, then the bytes.
  void text(std::string_view t) {
    u32(static_cast<std::uint32_t>(t.size()));
    raw(t.data(), t.size());
  }
  void raw(const void* data, std::size_t size) {
    const auto* p = static_cast<const std::byte*>(data);
    for (; size > kBlock; p += kBlock, size -= kBlock) {
      flush();
      pass({p, kBlock});
    }
    put(p, size);
  }
  std::uint64_t size() const { return passed_ + used_; }
  void flush() {
    pass({block_.get(), used_});
    used_ = 0;
  }

private:
  static constexpr std::size_t kBlock = 65536;
  void put(const void* data, std::size_t size) {
    if (size == 0) return; // of nothing there may be no address
    if (used_ > kBlock - size) flush();
    std::memcpy(&block_[used_], data, size);
    used_ += size;
  }
  void pass(std::span<const std::byte> bytes) {
    meter_.poll();
    if (checksum_ != nullptr) checksum_->add(bytes);
    if (sink_ != nullptr) sink_->put(bytes);
    passed_ += bytes.size();
  }

  ImageSink* sink_;
  ImageChecksum* checksum_;
  const ops::Meter& meter_;
  std::unique_ptr<std::byte[]> block_;
  std::uint64_t passed_ = 0;
  std::size_t used_ = 0;
};

} // namespace cairn::image
