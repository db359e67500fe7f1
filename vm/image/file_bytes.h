// A capsule file that is read while it is taken apart: of its bytes two windows are in memory, those that are read now and those
// before them. So a state that mostly goes back to a file of --spill needs the memory of what stays.
#pragma once

#include "vm/bytecode/bytes.h"
#include "vm/image/header.h"
#include "vm/value/charged.h"

#include <array>
#include <memory>

namespace cairn::image {

class FileBytes final : public bytecode::ByteSource {
public:
  static constexpr std::size_t kWindow = 1 << 14;

  // `size` bytes of an open regular file, from its beginning. The windows are charged to that heap as scratch memory.
  FileBytes(int file, std::uint64_t size, value::Heap& heap);

  // Throws Malformed where the file has no more bytes or cannot be read, and what asking for memory throws.
  std::span<const std::byte> more(std::span<const std::byte> left, std::size_t size) override;
  // Of what was read so far, from kChecksummedFrom on.
  std::uint64_t checksum() const { return checksum_.value(); }

private:
  struct Window {
    explicit Window(value::Heap& heap) : charged(heap, heap.scratch, 0) {}
    value::Charged charged;
    std::unique_ptr<std::byte[]> bytes;
    std::size_t capacity = 0;
  };
  int file_;
  std::uint64_t size_, read_ = 0;
  std::array<Window, 2> windows_;
  std::size_t now_ = 0;
  ImageChecksum checksum_;
};

} // namespace cairn::image
