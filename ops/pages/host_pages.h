// Pages of the host's memory: for the emulated device, and for what streams to a device. What of it is locked counts against
// `ulimit -l`, as one sum of the process.
#pragma once

#include "ops/pages/pages.h"

#include <cstdint>
#include <string>

namespace cairn::ops {

// Bytes that are locked, and count until this goes. Their memory is given back before that.
class LockedBytes {
public:
  LockedBytes() = default;
  ~LockedBytes();
  LockedBytes(const LockedBytes&) = delete;
  LockedBytes& operator=(const LockedBytes&) = delete;

  // Locks memory that begins where a page of the system does: all of it or as much as the limit leaves, in pages of the system.
  // The bytes that were locked.
  std::int64_t lock(void* memory, std::int64_t bytes);
  std::int64_t bytes() const { return bytes_; }
  // Why less was locked than was asked for; empty: it was not.
  const std::string& fault() const { return fault_; }

private:
  std::int64_t bytes_ = 0;
  std::string fault_;
};

class HostPages final : public Pages {
public:
  // Reserves addresses for so many bytes, or half, a quarter and so on, as the system gives them, but not less than `fewest`:
  // then it throws bad_alloc.
  // Of pages that are made, so many bytes are locked, from the beginning of the first one on and in pages of the system, as far
  // as the system does that.
  HostPages(std::int64_t bytes, std::int64_t fewest, std::int64_t lock_bytes = 0);
  ~HostPages() override;

  bool make(std::int64_t first, std::int64_t count) override;
  bool map(std::int64_t at, std::int64_t page, std::int64_t count) override;
  bool unmap(std::int64_t at, std::int64_t count) override;

  std::int64_t locked_bytes() const { return locked_.bytes(); }
  // By its pages' own addresses.
  bool is_locked(std::uintptr_t end) const { return end <= reinterpret_cast<std::uintptr_t>(begin_ + locked_.bytes()); }
  // Why the system did not lock what it was to lock; empty: it did.
  const std::string& lock_fault() const { return locked_.fault(); }

private:
  void lock(std::int64_t first, std::int64_t count);
  std::byte* address(std::int64_t at) const { return begin_ + at * kBytes; }
  void* reserved_ = nullptr;
  std::int64_t reserved_bytes_ = 0;
  std::int64_t to_lock_ = 0; // bytes, from the first one on
  LockedBytes locked_;
};

// Memory of fixed size that is locked as far as the system does that.
class LockedBuffer {
public:
  explicit LockedBuffer(std::size_t bytes);
  ~LockedBuffer();
  LockedBuffer(const LockedBuffer&) = delete;
  LockedBuffer& operator=(const LockedBuffer&) = delete;
  std::byte* data() const { return static_cast<std::byte*>(memory_); }
  std::size_t size() const { return bytes_; }
  std::int64_t locked_bytes() const { return locked_.bytes(); }
  const std::string& lock_fault() const { return locked_.fault(); }

private:
  void* memory_;
  std::size_t bytes_;
  LockedBytes locked_;
};

} // namespace cairn::ops
