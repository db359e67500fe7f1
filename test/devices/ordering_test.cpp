// Streams of the emulated device run beside each other, and yet everything is as if each operation had been done where it was
// queued.
#include "testing.h"

#include <random>

using namespace devices_testing;
using Clock = std::chrono::steady_clock;

namespace {

constexpr StreamKind kKinds[] = {StreamKind::execute, StreamKind::copy_in, StreamKind::copy_out, StreamKind::update};

// A random program on the device and, at once, on plain vectors.
void random_program(std::uint32_t seed, const EmulatedOptions& options) {
  INFO("seed " << seed);
  Account account;
  auto device = make_emulated_device(account, options);
  std::mt19937 random(seed);
  const auto below = [&](std::size_t n) { return static_cast<std::int64_t>(random() % n); };
  struct Pair {
    Part part;
    Numbers numbers;
  };
  std::vector<Pair> pairs;
  const auto fresh = [&] {
    const std::int64_t size = 16 + below(300);
    Pair pair{make(*device, size), counting(size, below(1000))};
    write(*device, pair.part, pair.numbers);
    return pair;
  };
  for (int i = 0; i < 6; ++i) pairs.push_back(fresh());
  for (int step = 0; step < 300; ++step) {
    Pair &a = pairs[random() % pairs.size()], &b = pairs[random() % pairs.size()], &c = pairs[random() % pairs.size()];
    switch (below(10)) {
    case 0: // other memory, while the old one is still worked on
      a = {};
      a = fresh();
      break;
    case 1:
      REQUIRE(read(*device, a.part) == a.numbers);
      break;
    case 2: { // part of it from the host
      const std::int64_t from = below(a.numbers.size()), count = 1 + below(a.numbers.size() - static_cast<std::size_t>(from));
      const Numbers numbers = counting(count, step);
      write(*device, a.part.narrow(from, count), numbers);
      std::copy(numbers.begin(), numbers.end(), a.numbers.begin() + from);
      break;
    }
    case 3:
      device->wait(a.part.storage->block());
      REQUIRE(std::equal(a.numbers.begin(), a.numbers.end(), static_cast<std::int64_t*>(a.part.storage->block().data)));
      break;
    default: { // on parts of the three, which may be the same ones, on any stream
      const std::int64_t size = 1 + below(16);
      const auto place = [&](const Pair& p) { return below(p.numbers.size() - static_cast<std::size_t>(size) + 1); };
      const std::int64_t at_a = place(a), at_b = place(b);
      const std::int64_t at_c = &c == &a   ? at_a
                                : &c == &b ? at_b
                                           : place(c); // a kernel's output is an input of it or apart from it
      if (&c == &a && &c == &b && at_a != at_b) break;
      const auto slice = [&](const Pair& p, std::int64_t at) {
        return Numbers(p.numbers.begin() + at, p.numbers.begin() + at + size);
      };
      const Numbers result = mixed({slice(a, at_a), slice(b, at_b)}, step);
      launch(*device, kKinds[random() % 4], kMix, {a.part.narrow(at_a, size), b.part.narrow(at_b, size)},
             c.part.narrow(at_c, size), step);
      std::copy(result.begin(), result.end(), c.numbers.begin() + at_c);
    }
    }
  }
  for (const Pair& pair : pairs) REQUIRE(read(*device, pair.part) == pair.numbers);
  device->wait_for_all();
}

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

} // namespace

TEST_CASE("copy in, work and copy out") {
  Account account;
  auto device = make_emulated_device(account, {});
  const Part a = make(*device, 100), b = make(*device, 100);
  Numbers numbers = counting(100);
  write(*device, a, numbers);
  numbers.assign(100, -1); // the device has taken the bytes
  launch(*device, StreamKind::execute, kMix, {a, a}, b, 3);
  CHECK(read(*device, b) == mixed({counting(100), counting(100)}, 3));
  CHECK(read(*device, b.narrow(10, 5)) == [&] {
    const Numbers all = mixed({counting(100), counting(100)}, 3);
    return Numbers(all.begin() + 10, all.begin() + 15);
  }());
}

TEST_CASE("random programs over all streams give what a sequence gives") {
  for (std::uint32_t seed = 1; seed <= 40; ++seed) random_program(seed, {});
}

TEST_CASE("random delays change nothing") {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    EmulatedOptions options;
    options.random_delays = seed;
    random_program(100 + seed, options);
  }
}

TEST_CASE("a small budget changes nothing: memory goes from hand to hand") {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    EmulatedOptions options;
    options.memory_bytes = 6 * 8 * 316;
    options.random_delays = seed;
    random_program(200 + seed, options);
  }
}

TEST_CASE("streams run beside each other, and to queue work waits for nothing") {
  Account account;
  auto device = make_emulated_device(account, {});
  const Part a = make(*device, 4), b = make(*device, 4), c = make(*device, 4);
  write(*device, a, counting(4));
  Gate gate;
  launch(*device, StreamKind::execute, kPassGate, {a}, b, gate.address());
  launch(*device, StreamKind::execute, kMix, {b}, b, 1);
  launch(*device, StreamKind::update, kOpenGate, {a}, c, gate.address()); // only while the other one runs
  CHECK(read(*device, b) == mixed({counting(4, 1)}, 1));
}

TEST_CASE("wait waits for what writes the block and for nothing else") {
  Account account;
  auto device = make_emulated_device(account, {});
  const Part a = make(*device, 4), b = make(*device, 4);
  write(*device, a, counting(4));
  Gate gate;
  launch(*device, StreamKind::execute, kPassGate, {a}, b, gate.address());
  device->wait(a.storage->block());
  CHECK(read(*device, a) == counting(4));
  gate.open = true;
  device->wait(b.storage->block());
  CHECK(static_cast<std::int64_t*>(b.storage->block().data)[2] == 3);
}

TEST_CASE("copies take the time that the bandwidth gives them, work beside them does not wait") {
  Account account;
  const EmulatedOptions options = with_slow_copies(250'000);
  auto device = make_emulated_device(account, options);
  const Part big = make(*device, 6250), a = make(*device, 4), b = make(*device, 4); // 50,000 bytes: 0.2 s
  launch(*device, StreamKind::execute, kMix, {a}, a, 1);
  const auto start = Clock::now();
  write(*device, big, counting(6250));
  launch(*device, StreamKind::execute, kMix, {a}, b, 2);
  device->wait(b.storage->block());
  CHECK(seconds_since(start) < 0.2);
  device->wait(big.storage->block());
  CHECK(seconds_since(start) >= 0.2);
  CHECK(read(*device, big) == counting(6250));
  CHECK(seconds_since(start) >= 0.4);
}

TEST_CASE("a device that goes finishes what is queued") {
  Account account;
  for (int round = 0; round < 20; ++round) {
    auto device = make_emulated_device(account, {});
    Part a = make(*device, 50), b = make(*device, 50);
    write(*device, a, counting(50));
    for (int i = 0; i < 20; ++i) launch(*device, kKinds[i % 4], kMix, {a}, b, i);
  }
  CHECK(account.bytes == 0);
}

TEST_CASE("very much may be queued") {
  Account account;
  auto device = make_emulated_device(account, {});
  const Part a = make(*device, 8), b = make(*device, 8);
  write(*device, a, counting(8));
  for (int i = 0; i < 20'000; ++i) launch(*device, i % 2 == 0 ? StreamKind::execute : StreamKind::update, kMix, {a}, b, i);
  CHECK(read(*device, b) == mixed({counting(8)}, 19'999));
}
