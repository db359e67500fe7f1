// Kernels take no memory but through the meter. Whatever is allocated in this program is counted here; what a launch had at once
// may be more than the meter was asked for by a constant only.
#include "ops/cpu/device/device.h"
#include "ops/operators/runtime.h"
#include "test/threads/large.h"

#include <doctest/doctest.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <malloc.h>
#include <new>

namespace {

std::atomic<std::int64_t> live{0}, most{0};

void* counted(void* memory) {
  if (memory == nullptr) return nullptr;
  const std::int64_t now = live.fetch_add(static_cast<std::int64_t>(malloc_usable_size(memory))) +
                           static_cast<std::int64_t>(malloc_usable_size(memory));
  std::int64_t before = most.load();
  while (before < now && !most.compare_exchange_weak(before, now)) {
  }
  return memory;
}
void* made(std::size_t bytes) {
  void* const memory = counted(std::malloc(bytes == 0 ? 1 : bytes));
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void ended(void* memory) {
  if (memory != nullptr) live.fetch_sub(static_cast<std::int64_t>(malloc_usable_size(memory)));
  std::free(memory);
}

} // namespace

void* operator new(std::size_t bytes) { return made(bytes); }
void* operator new[](std::size_t bytes) { return made(bytes); }
void operator delete(void* memory) noexcept { ended(memory); }
void operator delete[](void* memory) noexcept { ended(memory); }
void operator delete(void* memory, std::size_t) noexcept { ended(memory); }
void operator delete[](void* memory, std::size_t) noexcept { ended(memory); }

// Scratch; it goes back by `free`, and what threads keep of it is a constant.
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  void* memory = nullptr;
  if (const int error = posix_memalign(&memory, alignment, bytes); error != 0) {
    errno = error;
    return nullptr;
  }
  const auto now = live.load() + static_cast<std::int64_t>(bytes);
  std::int64_t before = most.load();
  while (before < now && !most.compare_exchange_weak(before, now)) {
  }
  return memory;
}

using namespace large;

TEST_CASE("what a kernel allocates it has asked the meter for") {
  constexpr std::int64_t kConstant = std::int64_t{1} << 20; // small pieces, of each of the threads
  Account account;
  auto cpu = make_cpu_device(account, 2);
  Runtime runtime(*cpu);
  const auto check = [&](auto&& f) {
    account.scratch = 0;
    most = live.load();
    const std::int64_t before = live;
    f();
    CHECK(most - before <= account.scratch + kConstant);
  };
  for (const Case& c : cases()) {
    CAPTURE(c.name);
    const std::vector<Tensor> operands = c.operands(runtime);
    std::vector<Tensor> results;
    check([&] { results = forwards(runtime, c, operands); });
    if (c.reverse) check([&] { backwards(runtime, c, operands, results); });
  }
}
