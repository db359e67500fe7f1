// Streams that share what computes: nothing is faster than one device, and gaps are used.
#include "testing.h"

#include "ops/modelled/kernel_time.h"

#include <algorithm>
#include <cstdint>
#include <random>

namespace {

using cairn::ops::KernelTime;
using Span = KernelTime::Span;
bool same(const Span& a, std::uint64_t begin, std::uint64_t end) { return a.begin == begin && a.end == end; }

TEST_CASE("kernels one after another, each when it may begin") {
  KernelTime time;
  CHECK(same(time.take(0, 0, 10), 0, 10));
  CHECK(same(time.take(0, 5, 10), 10, 20));
  CHECK(same(time.take(0, 25, 5), 25, 30));
  CHECK(time.idle() == 5);
  CHECK(same(time.take(40, 0, 5), 40, 45));
  CHECK(time.idle() == 5); // the host had queued nothing
}

TEST_CASE("what waits leaves a gap, which others use from when they may begin") {
  KernelTime time;
  time.take(0, 100, 10); // [100, 110)
  CHECK(time.idle() == 100);
  CHECK(same(time.take(0, 20, 30), 20, 50));
  CHECK(same(time.take(0, 0, 10), 0, 10));
  CHECK(time.idle() == 60);
  // [10, 20), [50, 100), and what is behind all.
  CHECK(same(time.take(0, 15, 60), 15, 115));
  CHECK(time.idle() == 5);
  CHECK(same(time.take(0, 0, 5), 10, 15));
  CHECK(time.idle() == 0);
  CHECK(same(time.take(0, 0, 7), 115, 122));
}

TEST_CASE("kernels without a duration take nothing") {
  KernelTime time;
  CHECK(same(time.take(0, 7, 0), 7, 7));
  CHECK(same(time.take(0, 0, 10), 0, 10));
  CHECK(same(time.take(3, 0, 0), 3, 3));
}

// However they overlap, all work is done, and no moment is used twice: that ends are where the sum of work and idle time is.
TEST_CASE("work and idle time make up the whole") {
  KernelTime time;
  std::mt19937_64 random(1);
  std::uint64_t work = 0, end = 0;
  const auto next = [&](std::uint64_t below) { return random() % below; };
  for (int i = 0; i < 5000; ++i) {
    const std::uint64_t ready = end > 200 ? end - 200 + next(300) : next(300), duration = next(20);
    const Span span = time.take(0, ready, duration);
    CHECK(span.begin >= ready);
    CHECK(span.end >= span.begin + duration);
    work += duration;
    end = std::max(end, duration == 0 ? end : span.end);
    REQUIRE(work + time.idle() == end);
  }
}

} // namespace
