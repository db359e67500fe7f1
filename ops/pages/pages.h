// The memory of a device as pages, and one range of addresses in which they are mapped. This is all that an arena asks of a kind
// of device: a range of addresses, pages, and maps of pages at addresses. Addresses in the range are told in pages, from 0.
//
// A page has an address of its own, which has the page's number and where it stays as long as the device does. It may be mapped
// at others too, and is the same memory there.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cairn::ops {

class Pages {
public:
  static constexpr std::int64_t kBytes = std::int64_t{2} << 20; // of a page; what GPUs map
  static constexpr std::int64_t whole(std::int64_t bytes) { return (bytes + kBytes - 1) / kBytes; }

  Pages() = default;
  virtual ~Pages() = default;
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  std::byte* begin() const { return begin_; }
  std::int64_t addresses() const { return addresses_; } // in pages

  // Memory for the pages [first, first + count), at their own addresses. False: there is none, and nothing has changed.
  virtual bool make(std::int64_t first, std::int64_t count) = 0;
  // Maps pages that follow one another at [at, at + count) too. False: the system refused, and nothing has changed.
  virtual bool map(std::int64_t at, std::int64_t page, std::int64_t count) = 0;
  // Nothing is mapped there any more; at some of these addresses nothing may have been. Work that is queued must not use them.
  // False: the system refused, and what was mapped still is.
  virtual bool unmap(std::int64_t at, std::int64_t count) = 0;

protected:
  std::byte* begin_ = nullptr;
  std::int64_t addresses_ = 0;
};

} // namespace cairn::ops
