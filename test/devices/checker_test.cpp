// The race checker: it finds an order that was forgotten, every time and not by luck, and nothing else.
#include "testing.h"

using namespace devices_testing;

namespace {

std::unique_ptr<Device> forgetful(Ledger& ledger, std::int64_t bytes_per_second = 0) {
  EmulatedOptions options = bytes_per_second == 0 ? EmulatedOptions() : with_slow_copies(bytes_per_second);
  options.forget_ordering = true;
  return make_emulated_device(ledger, options);
}

} // namespace

TEST_CASE("work that begins before the copy that it reads is reported, with both names and the block") {
  Account account;
  auto device = forgetful(account, 100'000);
  const Part a = make(*device, 500), b = make(*device, 500); // 4,000 bytes: 40 ms
  write(*device, a, counting(500));
  launch(*device, StreamKind::execute, kMix, {a}, b);
  const std::string text = error_of([&] { device->wait_for_all(); });
  CHECK(contains(text, "race: mix (operation 1 of stream execute) began before the end of copy_in (operation 1 of stream "
                       "copy_in), which writes the "
                       "block of 4000 bytes at 0x"));
  CHECK(error_of([&] { device->wait_for_all(); }).empty()); // told once
}

TEST_CASE("an order that only luck kept is reported too") {
  Account account;
  auto device = forgetful(account);
  const Part a = make(*device, 10), b = make(*device, 10);
  write(*device, a, counting(10));
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  launch(*device, StreamKind::execute, kMix, {a}, b);
  CHECK(contains(error_of([&] { device->wait(b.storage->block()); }), "did not wait for copy_in"));
}

TEST_CASE("writing what others still read is reported") {
  Account account;
  auto device = forgetful(account);
  const Part a = make(*device, 10), b = make(*device, 10), c = make(*device, 10);
  launch(*device, StreamKind::execute, kMix, {c}, a);
  device->wait_for_all();
  launch(*device, StreamKind::execute, kSlowMix, {a}, b);
  launch(*device, StreamKind::update, kMix, {c}, a);
  const std::string text = error_of([&] { device->wait_for_all(); });
  CHECK(contains(text, "mix (operation 1 of stream update) began before the end of"));
  CHECK(contains(text, "slow-mix (operation 2 of stream execute), which reads the block of 80 bytes"));
}

TEST_CASE("memory that is used again too early is reported, although the block is another") {
  Account account;
  auto device = forgetful(account);
  const Part b = make(*device, 10);
  {
    const Part a = make(*device, 10);
    launch(*device, StreamKind::execute, kSlowMix, {}, a);
  }
  const Part c = make(*device, 10);
  launch(*device, StreamKind::update, kMix, {}, c);
  CHECK(
      contains(error_of([&] { device->wait_for_all(); }), "mix (operation 1 of stream update) began before the end of slow-mix"));
}

TEST_CASE("several mistakes are counted, the first one is told") {
  Account account;
  auto device = forgetful(account);
  const Part a = make(*device, 10), b = make(*device, 10);
  launch(*device, StreamKind::execute, kSlowMix, {}, a);
  for (int i = 0; i < 3; ++i) launch(*device, StreamKind::update, kMix, {a}, b);
  CHECK(contains(error_of([&] { device->wait_for_all(); }), "(2 more)"));
}

TEST_CASE("work that touches memory it does not name is reported") {
  Account account;
  auto device = make_emulated_device(account, {});
  const Part a = make(*device, 10), b = make(*device, 10);
  View in[] = {view_of(a)}, out[] = {view_of(b)};
  Block* const writes[] = {&b.storage->block()};
  Attributes attributes;
  attributes.values.resize(1);
  device->launch(StreamKind::execute, Launch{kMix, in, out, attributes, {}, writes});
  CHECK(contains(error_of([&] { device->wait_for_all(); }), "mix reads 80 bytes at 0x"));
}

TEST_CASE("what waits is no race, nor is what the thread of the device has waited for, nor what happens on other bytes") {
  Account account;
  SUBCASE("by tickets") {
    auto device = make_emulated_device(account, {});
    const Part a = make(*device, 10), b = make(*device, 10);
    launch(*device, StreamKind::execute, kSlowMix, {}, a);
    launch(*device, StreamKind::update, kMix, {a}, b);
    launch(*device, StreamKind::copy_in, kMix, {}, a);
    CHECK_NOTHROW(device->wait_for_all());
  }
  SUBCASE("the host waits") {
    auto device = forgetful(account);
    const Part a = make(*device, 10), b = make(*device, 10);
    launch(*device, StreamKind::execute, kSlowMix, {}, a);
    device->wait(a.storage->block());
    launch(*device, StreamKind::update, kMix, {a}, b);
    device->wait_for_all();
    launch(*device, StreamKind::copy_out, kMix, {b}, a);
    CHECK_NOTHROW(device->wait_for_all());
  }
  SUBCASE("apart") {
    auto device = forgetful(account);
    const Part a = make(*device, 10);
    launch(*device, StreamKind::execute, kSlowMix, {}, a.narrow(0, 5));
    launch(*device, StreamKind::update, kMix, {}, a.narrow(5, 5));
    CHECK_NOTHROW(device->wait_for_all());
  }
  SUBCASE("both read") {
    auto device = forgetful(account);
    const Part a = make(*device, 10), b = make(*device, 10), c = make(*device, 10);
    launch(*device, StreamKind::execute, kMix, {}, a);
    device->wait_for_all();
    launch(*device, StreamKind::execute, kSlowMix, {a}, b);
    launch(*device, StreamKind::update, kSlowMix, {a}, c);
    CHECK_NOTHROW(device->wait_for_all());
  }
}

TEST_CASE("a kernel that throws is told like a race, and nothing else is lost") {
  Account account;
  auto device = make_emulated_device(account, {});
  const Operator failing = an_operator("failing", [](const KernelCall&) { throw std::runtime_error("not today"); });
  const Part a = make(*device, 10);
  launch(*device, StreamKind::execute, failing, {}, a);
  launch(*device, StreamKind::update, kMix, {}, a, 5);
  CHECK(error_of([&] { device->wait_for_all(); }) == "failing: not today");
  CHECK(read(*device, a) == mixed({}, 5));
}

TEST_CASE("memory that the system refuses to a stream is told as that, without any text") {
  Account account;
  auto device = make_emulated_device(account, {});
  const Operator failing = an_operator("failing", [](const KernelCall&) { throw std::bad_alloc(); });
  const Part a = make(*device, 10);
  launch(*device, StreamKind::execute, failing, {}, a);
  launch(*device, StreamKind::update, kMix, {}, a, 5);
  CHECK_THROWS_AS(device->wait_for_all(), std::bad_alloc);
  CHECK(read(*device, a) == mixed({}, 5));
}
