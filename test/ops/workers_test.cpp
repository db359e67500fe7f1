// Work that threads share: every unit once, in the pieces that were asked for, however long pieces take and whoever does them.
#include "ops/cpu/device/workers.h"

#include "test/ops/testing.h"

#include <array>
#include <memory>
#include <thread>

namespace cairn::ops::workers_test {

using namespace cairn::ops::cpu;

TEST_CASE("light pieces are all done once, shared or not") {
  for (const unsigned threads : {1u, 4u}) {
    Workers workers(threads);
    const Workers::Installed installed(&workers);
    for (const int microseconds : {0, 2, 30})
      for (const std::int64_t count : {0, 1, 7, 8, 9, 16, 100, 128, 1000})
        for (const std::int64_t grain : {1, 7, 8}) {
          CAPTURE(threads);
          CAPTURE(microseconds);
          CAPTURE(count);
          CAPTURE(grain);
          const std::size_t units = static_cast<std::size_t>(count) + 1;
          const auto done = std::make_unique<std::atomic<int>[]>(units);
          std::atomic<bool> whole = true;
          parallel_for_light(count, grain, [&](std::int64_t begin, std::int64_t end) {
            if (begin % grain != 0 || (end - begin != grain && end != count)) whole = false;
            for (std::int64_t i = begin; i < end; ++i) ++done[static_cast<std::size_t>(i)];
            if (microseconds != 0) std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
          });
          CHECK(whole);
          CHECK(std::count(done.get(), done.get() + count, 1) == count);
        }
  }
}

TEST_CASE("light pieces that are left may be cancelled") {
  Workers workers(2);
  const Workers::Installed installed(&workers);
  for (const int milliseconds : {0, 1}) {
    Meter meter;
    const Meter::Installed current(&meter);
    std::atomic<int> pieces = 0;
    const auto all = [&] {
      parallel_for_light(12, 1, [&](std::int64_t, std::int64_t) {
        if (pieces++ == 0) meter.cancel();
        std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
      });
    };
    CHECK_THROWS_AS(all(), Cancelled);
    CHECK(pieces < 12);
  }
}

} // namespace cairn::ops::workers_test
