// Waiting for the emulated device can be cancelled, work that is queued cannot: whoever waits again finds everything done. A
// device that goes, with everything that nobody looks at any more, does not keep anybody waiting.
#include "testing.h"

using namespace devices_testing;

namespace {

struct Cancellable : Account {
  Meter kept;
  std::int64_t left = Meter::kUnlimited;
  Meter* meter() override { return &kept; }
  std::int64_t headroom() override { return left; }
};

// Another thread cancels, after a while.
struct Soon {
  explicit Soon(Meter& meter)
      : thread([&meter] {
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
          meter.cancel();
        }) {}
  ~Soon() { thread.join(); }
  std::thread thread;
};

// Asks without end.
void endless(const KernelCall&) {
  for (;;) {
    Meter::poll_current();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}
// As much scratch memory as the number says.
void greedy(const KernelCall& call) {
  Meter& meter = *Meter::current();
  meter.take(call.attributes[0].integer());
  meter.give_back(call.attributes[0].integer());
  call.outputs[0].as<std::int64_t>()[0] = 1;
}
const Operator kEndless = an_operator("endless", endless), kGreedy = an_operator("greedy", greedy);

} // namespace

TEST_CASE("waiting is cancelled, and what was waited for is done all the same") {
  Cancellable account;
  auto device = make_emulated_device(account, {});
  const Part part = make(*device, 10);
  write(*device, part, counting(10));
  Gate gate;
  launch(*device, StreamKind::execute, kPassGate, {part}, part, gate.address());
  {
    const Soon soon(account.kept);
    CHECK_THROWS_AS(device->wait(part.storage->block()), Cancelled);
  }
  CHECK_THROWS_AS(device->wait_for_all(), Cancelled); // still
  CHECK_THROWS_AS(read(*device, part), Cancelled);
  CHECK(account.kept.take_cancellation());
  gate.open = true;
  CHECK(read(*device, part) == counting(10, 1));
  CHECK_NOTHROW(device->wait_for_all());
}

TEST_CASE("nothing is written any more where somebody was to read and left") {
  Cancellable account;
  const EmulatedOptions slow = with_slow_copies(100'000);
  auto device = make_emulated_device(account, slow);
  const Part part = make(*device, 10'000);
  Gate gate;
  gate.open = true;
  launch(*device, StreamKind::execute, kPassGate, {}, part, gate.address());
  {
    Numbers gone(10'000);
    const Soon soon(account.kept);
    CHECK_THROWS_AS(device->copy_out(part.storage->block(), 0, gone.data(), 80'000), Cancelled);
  }
  CHECK(account.kept.take_cancellation());
  CHECK(read(*device, part) == Numbers(10'000, 1));
}

TEST_CASE("waiting for a place in a queue is cancelled before anything is queued") {
  Cancellable account;
  auto device = make_emulated_device(account, {});
  const Part part = make(*device, 1), count = make(*device, 1);
  write(*device, count, {0});
  Gate gate;
  launch(*device, StreamKind::execute, kPassGate, {}, part, gate.address());
  Gate open;
  open.open = true;
  std::int64_t queued = 0;
  {
    const Soon soon(account.kept);
    try {
      for (;; ++queued) launch(*device, StreamKind::execute, kPassGate, {count}, count, open.address()); // adds 1
    } catch (const Cancelled&) {
    }
  }
  CHECK(account.kept.take_cancellation());
  gate.open = true;
  CHECK(read(*device, count) == Numbers{queued});
}

TEST_CASE("a device that goes stops what is queued") {
  Cancellable account;
  const EmulatedOptions slow = with_slow_copies(1);
  {
    auto device = make_emulated_device(account, slow);
    const Part part = make(*device, 10), other = make(*device, 10);
    for (int i = 0; i < 3; ++i) launch(*device, StreamKind::execute, kEndless, {}, part);
    write(*device, other, counting(10));
    launch(*device, StreamKind::update, kMix, {part, other}, part);
  }
  CHECK(account.bytes == 0);
}

TEST_CASE("scratch memory beyond what there was room for when work was queued is told where somebody waits") {
  Cancellable account;
  account.left = 20'000'000;
  auto device = make_emulated_device(account, {});
  const Part part = make(*device, 1);
  launch(*device, StreamKind::execute, kGreedy, {}, part, 20'000'000);
  CHECK(read(*device, part) == Numbers{1});
  launch(*device, StreamKind::execute, kGreedy, {}, part, 20'000'001);
  account.left = 30'000'000; // too late for that one
  CHECK_THROWS_WITH_AS(device->wait(part.storage->block()),
                       "greedy: 20000001 bytes of scratch memory wanted, but 20000000 were left of the budget when it was queued",
                       DeviceMemoryExceeded);
  CHECK_NOTHROW(device->wait_for_all());
}
