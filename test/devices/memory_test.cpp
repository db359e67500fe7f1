// The memory of the emulated device: its budget, what is taken and given back, and that memory is used again without waiting.
#include "testing.h"

#include "ops/arena.h"

#include <random>

using namespace devices_testing;

namespace {
std::unique_ptr<Device> with_budget(Ledger& ledger, std::int64_t bytes) {
  EmulatedOptions options;
  options.memory_bytes = bytes;
  return make_emulated_device(ledger, options);
}
} // namespace

TEST_CASE("a budget of the device's own is kept to the byte, and the message has the figures") {
  Account account;
  auto device = with_budget(account, 8000);
  {
    const Part a = make(*device, 600), b = make(*device, 300);
    CHECK(device->live_bytes() == 7200);
    CHECK(account.bytes == 7200);
    std::string text;
    try {
      make(*device, 101);
    } catch (const DeviceMemoryExceeded& e) {
      text = e.what();
    }
    CHECK(text == "emulated: 808 bytes wanted, but 7200 of its 8000 bytes are in use");
    CHECK(account.bytes == 7200);
    const Part c = make(*device, 100);
    CHECK(device->live_bytes() == 8000);
  }
  CHECK(device->live_bytes() == 0);
  CHECK(account.bytes == 0);
  const Part whole = make(*device, 1000);
  CHECK(device->peak_bytes() == 8000);
}

TEST_CASE("blocks lie apart, aligned, and may be empty") {
  Account account;
  auto device = make_emulated_device(account, {});
  const Part a = make(*device, 1), b = make(*device, 0), c = make(*device, 9);
  for (const Part* part : {&a, &b, &c}) CHECK(reinterpret_cast<std::uintptr_t>(part->storage->block().data) % 64 == 0);
  CHECK(a.storage->block().data != b.storage->block().data);
  write(*device, b, {});
  CHECK(read(*device, b).empty());
  CHECK(device->in_host_memory());
}

TEST_CASE("memory given back while work on it is queued is used again at once, and nobody sees the other's numbers") {
  Account account;
  auto device = with_budget(account, 8 * 1000 * 2);
  const Part keep = make(*device, 1000);
  Gate gate;
  void* place = nullptr;
  {
    const Part gone = make(*device, 1000);
    place = gone.storage->block().data;
    write(*device, gone, counting(1000));
    launch(*device, StreamKind::execute, kPassGate, {gone}, keep, gate.address());
  }
  const Part again = make(*device, 1000);
  CHECK(again.storage->block().data == place);
  write(*device, again, counting(1000, 5000));
  gate.open = true; // so far nobody has waited
  CHECK(read(*device, keep) == counting(1000, 1));
  CHECK(read(*device, again) == counting(1000, 5000));
  device->wait_for_all();
}

TEST_CASE("what is free side by side becomes one piece") {
  Account account;
  auto device = with_budget(account, std::int64_t{64} << 20); // the fewest addresses are as many
  for (int round = 0; round < 50; ++round) {
    std::vector<Part> parts;
    for (int i = 0; i < 64; ++i) parts.push_back(make(*device, 1 << 16));
    for (std::size_t i = 0; i < parts.size(); i += 2) parts[i] = {};
    for (std::size_t i = 1; i < parts.size(); i += 2) parts[i] = {};
    make(*device, 1 << 22);
  }
  CHECK(device->live_bytes() == 0);
}

TEST_CASE("an arena never gives the same bytes twice, and gets everything back") {
  std::mt19937 random(7);
  std::vector<char> first(1 << 16), second(1 << 16);
  Arena arena(64);
  arena.add(first.data(), 1 << 16);
  arena.add(second.data(), 1 << 16);
  std::vector<TrackedBlock*> blocks;
  const auto apart = [](const Block* a, const Block* b) {
    const char *from = static_cast<const char*>(a->data), *other = static_cast<const char*>(b->data);
    return from + a->bytes <= other || other + b->bytes <= from;
  };
  for (int step = 0; step < 5000; ++step) {
    if (random() % 3 != 0) {
      if (TrackedBlock* block = arena.take(static_cast<std::int64_t>(random() % 6000))) {
        for (const TrackedBlock* other : blocks) REQUIRE(apart(block, other));
        blocks.push_back(block);
      }
    } else if (!blocks.empty()) {
      std::swap(blocks[random() % blocks.size()], blocks.back());
      arena.give_back(blocks.back());
      blocks.pop_back();
    }
  }
  for (TrackedBlock* block : blocks) arena.give_back(block);
  CHECK(arena.taken_bytes() == 0);
  CHECK(arena.free_bytes() == 2 << 16);
  CHECK(arena.largest_free() == 1 << 16); // two stretches, even if one lies beside the other
  CHECK(arena.take(INT64_MAX) == nullptr);
  arena.take(100);
  CHECK(arena.remove_unused().size() == 1);
  CHECK(arena.free_bytes() == (1 << 16) - 128);
  CHECK(arena.take(1 << 16) == nullptr);
}

TEST_CASE("whoever takes memory waits for all that used it before") {
  Arena arena(64);
  std::vector<char> memory(4096);
  arena.add(memory.data(), 4096);
  Ordering ordering;
  TrackedBlock *a = arena.take(2048), *b = arena.take(2048);
  Block *const on_a[] = {a}, *const on_b[] = {b};
  ordering.add(StreamKind::copy_in, {}, on_a);
  ordering.add(StreamKind::execute, on_a, on_b);
  ordering.add(StreamKind::copy_out, on_b, {});
  arena.give_back(a);
  arena.give_back(b);
  TrackedBlock* both = arena.take(4096);
  REQUIRE(both != nullptr);
  Block* const on_both[] = {both};
  const Operation operation = ordering.add(StreamKind::update, {}, on_both);
  CHECK(operation.waits == Tickets{1, 1, 1, 0});
  CHECK(ordering.add(StreamKind::update, on_both, {}).waits == Tickets{}); // known by now
}

TEST_CASE("each part of memory that is taken in parts carries its tickets") {
  Arena arena(64);
  std::vector<char> memory(4096);
  arena.add(memory.data(), 4096);
  Ordering ordering;
  TrackedBlock* whole = arena.take(4096);
  Block* const on_whole[] = {whole};
  ordering.add(StreamKind::execute, {}, on_whole);
  arena.give_back(whole);
  for (int i = 0; i < 4; ++i) CHECK(arena.take(1024)->earlier == Tickets{1, 0, 0, 0});
}
