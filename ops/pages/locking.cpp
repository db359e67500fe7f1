#include "ops/pages/locking.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace cairn::ops {
namespace {

// The limit counts for whoever may exceed it as well: it is how a user says what is good for a machine.
std::int64_t lockable_bytes() {
  rlimit limit{};
  const bool is_limited = getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur < rlim_t{INT64_MAX};
  return is_limited ? static_cast<std::int64_t>(limit.rlim_cur) : INT64_MAX;
}

// What is locked and was not given back, by all devices of the process: the limit is of all of them.
std::atomic<std::int64_t> all_locked{0};

// As many of these bytes as the limit leaves; they count from here on.
std::int64_t count_locked(std::int64_t bytes, std::int64_t limit) {
  static const std::int64_t page = sysconf(_SC_PAGESIZE);
  std::int64_t before = all_locked.load(), more = 0;
  do more = std::clamp<std::int64_t>((limit - before) / page * page, 0, bytes);
  while (!all_locked.compare_exchange_weak(before, before + more));
  return more;
}

} // namespace

LockedBytes::~LockedBytes() { all_locked -= bytes_; }

std::int64_t LockedBytes::lock(void* memory, std::int64_t bytes) {
  const std::int64_t limit = lockable_bytes(), counted = count_locked(bytes, limit);
  if (counted != 0 && mlock(memory, static_cast<std::size_t>(counted)) != 0) {
    fault_ = std::strerror(errno);
    all_locked -= counted;
    return 0;
  }
  bytes_ += counted;
  if (counted < bytes) fault_ = "`ulimit -l` allows " + std::to_string(limit) + " bytes";
  return counted;
}

} // namespace cairn::ops
