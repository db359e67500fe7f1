// One shared mapping without a name is range and memory at once: a page takes memory when it is first touched, and mremap maps it
// a second time. A file in memory (memfd) could do the same, but its size is bounded by `ulimit -f`, which would end the process.
#include "ops/pages/host_pages.h"

#include <algorithm>
#include <new>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace cairn::ops {
namespace {

constexpr std::size_t size_of(std::int64_t pages) { return static_cast<std::size_t>(pages * Pages::kBytes); }

std::int64_t system_page() {
  static const std::int64_t bytes = sysconf(_SC_PAGESIZE);
  return bytes;
}

} // namespace

HostPages::HostPages(std::int64_t bytes, std::int64_t fewest, std::int64_t lock_bytes, std::unique_ptr<Locking> locking)
    : locking_(std::move(locking)) {
  for (addresses_ = whole(bytes);; addresses_ /= 2) {
    reserved_bytes_ = (addresses_ + 1) * kBytes; // one more, so that pages begin at multiples of their size
    reserved_ =
        mmap(nullptr, static_cast<std::size_t>(reserved_bytes_), PROT_NONE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved_ != MAP_FAILED) break;
    if (addresses_ * kBytes <= fewest) throw std::bad_alloc();
  }
  const std::uintptr_t before = reinterpret_cast<std::uintptr_t>(reserved_) % static_cast<std::uintptr_t>(kBytes);
  begin_ = static_cast<std::byte*>(reserved_) + (before == 0 ? 0 : kBytes - static_cast<std::int64_t>(before));
  const std::int64_t page = system_page();
  to_lock_ = (std::min(lock_bytes, addresses_ * kBytes) + page - 1) / page * page;
}

HostPages::~HostPages() {
  locking_->unlock();
  munmap(reserved_, static_cast<std::size_t>(reserved_bytes_));
}

bool HostPages::make(std::int64_t first, std::int64_t count) {
  if (mprotect(address(first), size_of(count), PROT_READ | PROT_WRITE) != 0) return false;
  lock(first, count);
  return true;
}

void HostPages::lock(std::int64_t first, std::int64_t count) {
  const std::int64_t bytes = std::min(count * kBytes, to_lock_ - locking_->bytes());
  if (bytes <= 0 || first * kBytes != locking_->bytes()) return;
  if (locking_->lock(address(first), bytes) < bytes) to_lock_ = locking_->bytes();
}

// With an old size of 0 mremap leaves what is mapped, and maps the same memory at the new address.
bool HostPages::map(std::int64_t at, std::int64_t page, std::int64_t count) {
  return mremap(address(page), 0, size_of(count), MREMAP_MAYMOVE | MREMAP_FIXED, address(at)) != MAP_FAILED;
}

// The addresses stay reserved.
bool HostPages::unmap(std::int64_t at, std::int64_t count) {
  return mmap(address(at), size_of(count), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) !=
         MAP_FAILED;
}

LockedBuffer::LockedBuffer(std::size_t bytes)
    : memory_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)), bytes_(bytes) {
  if (memory_ == MAP_FAILED) throw std::bad_alloc();
  locked_.lock(memory_, static_cast<std::int64_t>(bytes_));
}

LockedBuffer::~LockedBuffer() { munmap(memory_, bytes_); }

} // namespace cairn::ops
