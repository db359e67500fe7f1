// Pages of the host's memory: for the emulated device, and for what streams to a device.
#pragma once

#include "ops/pages/locking.h"
#include "ops/pages/pages.h"

#include <cstdint>
#include <memory>
#include <string>

namespace cairn::ops {

class HostPages final : public Pages {
public:
  // Reserves addresses for so many bytes, or half, a quarter and so on, as the system gives them, but not less than `fewest`:
  // then it throws bad_alloc.
  // Of pages that are made, so many bytes are locked, from the beginning of the first one on and in pages of the system, as far
  // as `locking` does that.
  HostPages(std::int64_t bytes, std::int64_t fewest, std::int64_t lock_bytes = 0,
            std::unique_ptr<Locking> locking = std::make_unique<LockedBytes>());
  ~HostPages() override;

  bool make(std::int64_t first, std::int64_t count) override;
  bool map(std::int64_t at, std::int64_t page, std::int64_t count) override;
  bool unmap(std::int64_t at, std::int64_t count) override;

  std::int64_t locked_bytes() const { return locking_->bytes(); }
  // Behind the last locked byte, by its pages' own addresses.
  std::uintptr_t locked_end() const { return reinterpret_cast<std::uintptr_t>(begin_ + locking_->bytes()); }
  // Why not all was locked that was to be; empty: it was.
  const std::string& lock_fault() const { return locking_->fault(); }

private:
  void lock(std::int64_t first, std::int64_t count);
  std::byte* address(std::int64_t at) const { return begin_ + at * kBytes; }
  void* reserved_ = nullptr;
  std::int64_t reserved_bytes_ = 0;
  std::int64_t to_lock_ = 0; // bytes, from the first one on
  std::unique_ptr<Locking> locking_;
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
