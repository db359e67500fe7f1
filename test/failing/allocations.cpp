// See allocations.h.
#include "test/failing/allocations.h"

#include <execinfo.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>

extern "C" {
void* __real_malloc(std::size_t);
void* __real_calloc(std::size_t, std::size_t);
void* __real_realloc(void*, std::size_t);
void __real_free(void*);
void* __real_aligned_alloc(std::size_t, std::size_t);
int __real_posix_memalign(void**, std::size_t, std::size_t);
void* __real_mmap(void*, std::size_t, int, int, int, off_t);
ssize_t __real_pwrite(int, const void*, std::size_t, off_t);
}

namespace failing {

namespace {

std::atomic<std::uint64_t> counted{0}, refused_at{0};
std::atomic<bool> all_behind{false};
std::atomic<int> depth{0}; // of Inside, on any thread: workers allocate for whoever waits for them
std::atomic<std::int64_t> live{0};
thread_local bool own = false; // this file's bookkeeping allocates too

// --- where blocks come from
struct Origin {
  void* frames[16];
  int count;
};
std::atomic<bool> remembering{false};
std::mutex origins_mutex;
std::map<void*, Origin>& origins() {
  static auto* all = new std::map<void*, Origin>;
  return *all;
}

bool refuse() {
  if (depth.load(std::memory_order_relaxed) <= 0 || own) return false;
  std::uint64_t at = refused_at.load(std::memory_order_relaxed), n = ++counted;
  return at != 0 && (n == at || (n > at && all_behind.load(std::memory_order_relaxed)));
}

void* born(void* block) {
  if (block == nullptr || own) return block;
  ++live;
  if (remembering.load(std::memory_order_relaxed)) {
    own = true;
    Origin o;
    o.count = backtrace(o.frames, 16);
    std::lock_guard lock(origins_mutex);
    origins()[block] = o;
    own = false;
  }
  return block;
}

void dead(void* block) {
  if (block == nullptr || own) return;
  --live;
  if (remembering.load(std::memory_order_relaxed)) {
    own = true;
    std::lock_guard lock(origins_mutex);
    origins().erase(block);
    own = false;
  }
}

} // namespace

void set_refusals(Refusals refusals) {
  refused_at = refusals.n;
  all_behind = refusals.and_all_behind;
  counted = 0;
}
std::uint64_t requests() { return counted; }

namespace {
std::atomic<std::uint64_t> writes_counted{0}, refused_write{0};
}
void set_refused_write(std::uint64_t n) {
  refused_write = n;
  writes_counted = 0;
}
std::uint64_t writes() { return writes_counted; }
bool refuse_write() { return ++writes_counted == refused_write; }

Inside::Inside() { ++depth; }
Inside::~Inside() { --depth; }
Outside::Outside() : depth_(depth.exchange(0)) {}
Outside::~Outside() { depth = depth_; }

std::int64_t live_blocks() { return live; }

void remember_blocks() {
  std::lock_guard lock(origins_mutex);
  own = true;
  origins().clear();
  own = false;
  remembering = true;
}

std::string new_blocks() {
  remembering = false;
  std::lock_guard lock(origins_mutex);
  std::string out;
  for (auto& [block, origin] : origins()) {
    out += "  a block is still there, from\n";
    char** names = backtrace_symbols(origin.frames, origin.count);
    for (int i = 2; i < origin.count; ++i) out += std::string("    ") + names[i] + "\n";
    __real_free(names);
  }
  return out;
}

} // namespace failing

using failing::born;
using failing::dead;
using failing::refuse;

extern "C" {
void* __wrap_malloc(std::size_t n) { return refuse() ? nullptr : born(__real_malloc(n)); }
void* __wrap_calloc(std::size_t n, std::size_t size) { return refuse() ? nullptr : born(__real_calloc(n, size)); }
void* __wrap_realloc(void* old, std::size_t n) {
  if (refuse()) return nullptr;
  dead(old);
  return born(__real_realloc(old, n));
}
void __wrap_free(void* block) {
  dead(block);
  __real_free(block);
}
void* __wrap_aligned_alloc(std::size_t alignment, std::size_t n) {
  return refuse() ? nullptr : born(__real_aligned_alloc(alignment, n));
}
int __wrap_posix_memalign(void** block, std::size_t alignment, std::size_t n) {
  if (refuse()) return ENOMEM;
  int error = __real_posix_memalign(block, alignment, n);
  if (error == 0) born(*block);
  return error;
}
// Regions are cut to size after they are mapped, so they are not counted block by block.
void* __wrap_mmap(void* at, std::size_t n, int protection, int flags, int file, off_t offset) {
  if (!refuse()) return __real_mmap(at, n, protection, flags, file, offset);
  errno = ENOMEM;
  return MAP_FAILED;
}
ssize_t __wrap_pwrite(int file, const void* bytes, std::size_t n, off_t offset) {
  if (!failing::refuse_write()) return __real_pwrite(file, bytes, n, offset);
  errno = ENOSPC;
  return -1;
}
}

namespace {

void* make(std::size_t n, std::size_t alignment) noexcept {
  if (refuse()) return nullptr;
  if (n == 0) n = 1;
  return born(alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__
                  ? __real_malloc(n)
                  : __real_aligned_alloc(alignment, (n + alignment - 1) / alignment * alignment));
}
void* make_or_throw(std::size_t n, std::size_t alignment) {
  void* block = make(n, alignment);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}
void end(void* block) noexcept {
  dead(block);
  __real_free(block);
}

} // namespace

void* operator new(std::size_t n) { return make_or_throw(n, 1); }
void* operator new[](std::size_t n) { return make_or_throw(n, 1); }
void* operator new(std::size_t n, std::align_val_t a) { return make_or_throw(n, static_cast<std::size_t>(a)); }
void* operator new[](std::size_t n, std::align_val_t a) { return make_or_throw(n, static_cast<std::size_t>(a)); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return make(n, 1); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return make(n, 1); }
void* operator new(std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return make(n, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return make(n, static_cast<std::size_t>(a));
}
void operator delete(void* block) noexcept { end(block); }
void operator delete[](void* block) noexcept { end(block); }
void operator delete(void* block, std::size_t) noexcept { end(block); }
void operator delete[](void* block, std::size_t) noexcept { end(block); }
void operator delete(void* block, std::align_val_t) noexcept { end(block); }
void operator delete[](void* block, std::align_val_t) noexcept { end(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { end(block); }
void operator delete[](void* block, std::size_t, std::align_val_t) noexcept { end(block); }
void operator delete(void* block, const std::nothrow_t&) noexcept { end(block); }
void operator delete[](void* block, const std::nothrow_t&) noexcept { end(block); }
void operator delete(void* block, std::align_val_t, const std::nothrow_t&) noexcept { end(block); }
void operator delete[](void* block, std::align_val_t, const std::nothrow_t&) noexcept { end(block); }
