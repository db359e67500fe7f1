// The memory of the emulated device: its budget, what is taken and given back, and that memory is used again without waiting.
#include "testing.h"

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
