// Memory of the host that the system keeps where it is, so that copy engines reach it.
#pragma once

#include <cstdint>
#include <string>

namespace cairn::ops {

// Bytes that are locked, until they are unlocked.
class Locking {
public:
  Locking() = default;
  virtual ~Locking() = default;
  Locking(const Locking&) = delete;
  Locking& operator=(const Locking&) = delete;

  // Locks memory that begins where a page of the system does: all of it, or as much as there may be, from its beginning on and
  // in pages of the system. The bytes that were locked.
  virtual std::int64_t lock(void* memory, std::int64_t bytes) = 0;
  // Called before the memory is given back, by whoever has it.
  virtual void unlock() noexcept {}

  std::int64_t bytes() const { return bytes_; }
  // Why less was locked than was asked for; empty: it was not.
  const std::string& fault() const { return fault_; }

protected:
  std::int64_t bytes_ = 0;
  std::string fault_;
};

// By the system, which unlocks what is given back. Counts against `ulimit -l`, as one sum of the process, until this goes.
class LockedBytes final : public Locking {
public:
  ~LockedBytes() override;
  std::int64_t lock(void* memory, std::int64_t bytes) override;
};

} // namespace cairn::ops
