// Kernels take no memory but through the meter. Whatever is allocated in this program is counted here; what a launch had at once
// may be more than the meter was asked for by a constant only. And where the system refuses memory, an arena loses nothing.
#include "ops/cpu/device/device.h"
#include "ops/operators/runtime.h"
#include "ops/pages/paged_arena.h"
#include "test/threads/large.h"

#include <doctest/doctest.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <malloc.h>
#include <new>
#include <utility>

namespace {

std::atomic<std::int64_t> live{0}, most{0};
std::int64_t allocations_left = -1; // until one is refused; below 0: none is

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
  if (allocations_left == 0) throw std::bad_alloc();
  if (allocations_left > 0) --allocations_left;
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

// Where they overwrite an operand nothing gives way to them, so they would be refused what they took.
TEST_CASE("operators that say that they borrow nothing take no scratch memory") {
  using enum OperatorId;
  Account account;
  auto cpu = make_cpu_device(account, 2);
  Runtime runtime(*cpu);
  const Tensor x = random(runtime, {1000, 1000}), across = transposed(runtime, random(runtime, {1000, 1000}));
  const Tensor part = transposed(runtime, random(runtime, {500, 500})), row = random(runtime, {1, 1000});
  std::vector<Tensor> moments = {x, x, across, across};
  for (int i = 0; i < 7; ++i) moments.push_back(weak_number(.5, false));
  const auto given = [](std::vector<Tensor> operands) { return [=](Runtime&) { return operands; }; };
  std::vector<Case> all = cases();
  all.insert(all.end(), {{"bf16 with what lies across",
                          mul,
                          given({large::cast(runtime, x, DType::bf16), large::cast(runtime, across, DType::bf16)}),
                          {}},
                         {"where", where, given({indices(runtime, {1000, 1000}, 2), x, across}), {}},
                         {"with-part", with_part, given({x, part}), with({list({7, 7})})},
                         {"add-part", add_part, given({x, part}), with({list({7, 7})})},
                         {"add-within", add_within, given({x, part}), with({list({0, 0}), list({2, 2})})},
                         {"times-bits", times_bits, given({x, runtime.apply(positive_bits, {x}, {})}), with({number(0), {}})},
                         {"times-normalized", times_normalized, given({x, across, row, row}), {}},
                         {"adam-update", adam_update, given(moments), {}}});
  int tried = 0;
  for (const Case& c : all) {
    if (operator_of(c.op).borrows) continue;
    CAPTURE(c.name);
    ++tried;
    account.scratch = 0;
    forwards(runtime, c, c.operands(runtime));
    CHECK(account.scratch == 0);
  }
  CHECK(tried == 10);
}

namespace {

struct Imagined final : Pages {
  Imagined() {
    begin_ = reinterpret_cast<std::byte*>(std::uintptr_t{1} << 40); // nothing is touched there
    addresses_ = 256;
  }
  bool make(std::int64_t, std::int64_t) override { return true; }
  bool map(std::int64_t, std::int64_t, std::int64_t) override { return true; }
  bool unmap(std::int64_t, std::int64_t) override { return true; }
};
struct Idle final : Progress {
  void wait_for(const Tickets&) override {}
};

// What a series of blocks needs from the system once the `left`-th allocation of it is refused; each is asked for until it is
// there.
int refusals(std::int64_t left) {
  Imagined pages;
  Idle idle;
  PagedArena arena(pages, idle, 64);
  PagedBlock* blocks[60] = {};
  int refused = 0;
  allocations_left = left;
  for (int i = 0; i < 60; ++i) {
    // Pages, of which every second one goes, then what is in several of them, and small ones between.
    const std::int64_t bytes = i < 32 ? Pages::kBytes : i % 2 == 0 ? 3 * Pages::kBytes + 1000 * i : 1000;
    if (i >= 32 && i % 3 == 0) arena.give_back(std::exchange(blocks[i - 31], nullptr));
    if (i >= 48 && blocks[i - 6] != nullptr) arena.give_back(std::exchange(blocks[i - 6], nullptr));
    while (blocks[i] == nullptr) {
      const std::int64_t taken = arena.taken_bytes();
      try {
        blocks[i] = arena.take(bytes);
      } catch (const std::bad_alloc&) {
        allocations_left = -1;
        ++refused;
        REQUIRE(arena.taken_bytes() == taken);
      }
    }
  }
  allocations_left = -1;
  for (PagedBlock* block : blocks)
    if (block != nullptr) arena.give_back(block);
  CHECK(arena.taken_bytes() == 0);
  CHECK(arena.free_pages() * Pages::kBytes == arena.page_bytes());
  return refused;
}

} // namespace

TEST_CASE("an arena of pages loses nothing where the system refuses memory, and giving back needs none") {
  std::int64_t left = 0;
  while (refusals(left) != 0) ++left;
  CHECK(left > 100);
}
