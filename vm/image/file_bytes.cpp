// See file_bytes.h.
#include "vm/image/file_bytes.h"

#include "ops/meter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <unistd.h>

namespace cairn::image {

FileBytes::FileBytes(int file, std::uint64_t size, value::Heap& heap)
    : file_(file), size_(size), windows_{Window(heap), Window(heap)} {}

std::span<const std::byte> FileBytes::more(std::span<const std::byte> left, std::size_t size) {
  ops::Meter::poll_current();
  Window& next = windows_[now_ ^ 1];
  const std::uint64_t all = left.size() + (size_ - read_); // a small file has small windows
  const std::size_t window = static_cast<std::size_t>(std::min<std::uint64_t>(kWindow, all));
  const std::size_t capacity = std::max(size, window);
  if (next.capacity < capacity || (next.capacity > kWindow && capacity <= kWindow)) { // a large one is not kept
    next.bytes.reset();
    next.capacity = 0;
    next.charged.set(static_cast<std::int64_t>(capacity));
    next.bytes = std::make_unique_for_overwrite<std::byte[]>(capacity);
    next.capacity = capacity;
  }
  std::ranges::copy(left, next.bytes.get());
  std::size_t filled = left.size();
  while (filled < next.capacity && read_ < size_) {
    const std::size_t wanted = static_cast<std::size_t>(std::min<std::uint64_t>(next.capacity - filled, size_ - read_));
    const ssize_t got = pread(file_, next.bytes.get() + filled, wanted, static_cast<off_t>(read_));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw bytecode::Malformed(fmt::format("it cannot be read: {}", std::strerror(errno)));
    if (got == 0) throw bytecode::Malformed("the file was cut short while it was read");
    const auto fresh = std::span(next.bytes.get() + filled, static_cast<std::size_t>(got));
    const std::uint64_t before = kChecksummedFrom - std::min<std::uint64_t>(kChecksummedFrom, read_);
    if (before < fresh.size()) checksum_.add(fresh.subspan(static_cast<std::size_t>(before)));
    filled += fresh.size();
    read_ += fresh.size();
  }
  now_ ^= 1;
  return {next.bytes.get(), filled};
}

} // namespace cairn::image
