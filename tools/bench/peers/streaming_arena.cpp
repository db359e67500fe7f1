// Blocks of random sizes, taken and given back at random, in an arena of pages (ops/pages): what fails, how much memory is mapped
// for what is in use, and how long it takes. Nothing is touched there, so that only the arena and the system's maps are measured.
//
//     streaming_arena SIZES LIVE-BYTES PAGE-BYTES OPERATIONS SEED
//
// At most LIVE-BYTES are in use: blocks are taken while the next one fits in, else one is given back. PAGE-BYTES bounds the
// pages; 0: as many as are wanted. The answer is one line of numbers.
#include "ops/pages/host_pages.h"
#include "ops/pages/paged_arena.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string_view>
#include <vector>

using namespace cairn::ops;
using Clock = std::chrono::steady_clock;

namespace {

// Counts what it asks of the system, and how long that takes.
class Counted final : public Pages {
public:
  Counted(HostPages& pages, std::int64_t most) : pages_(pages), most_(most) {
    begin_ = pages.begin();
    addresses_ = pages.addresses();
  }
  bool make(std::int64_t first, std::int64_t count) override {
    return (most_ == 0 || first + count <= most_) && timed([&] { return pages_.make(first, count); });
  }
  bool map(std::int64_t at, std::int64_t page, std::int64_t count) override {
    return timed([&] { return pages_.map(at, page, count); });
  }
  bool unmap(std::int64_t at, std::int64_t count) override {
    return timed([&] { return pages_.unmap(at, count); });
  }
  std::int64_t calls = 0, nanoseconds = 0;

private:
  template <class F> bool timed(F&& f) {
    const auto begin = Clock::now();
    const bool done = f();
    nanoseconds += (Clock::now() - begin).count();
    ++calls;
    return done;
  }
  HostPages& pages_;
  std::int64_t most_;
};

struct Idle final : Progress {
  void wait_for(const Tickets&) override {}
};

struct Sizes {
  std::string_view name;
  double least, most; // bytes
  bool by_logarithm;
};
constexpr double kKiB = 1024, kMiB = 1024 * kKiB;
constexpr Sizes kSizes[] = {
    {"all", 256, 64 * kMiB, true},        {"small", 256, 16 * kKiB, true},      {"middle", 16 * kKiB, 2 * kMiB, true},
    {"large", 2 * kMiB, 64 * kMiB, true}, {"pages", 1 * kMiB, 5 * kMiB, false}, {"one-size", 2.1 * kMiB, 2.1 * kMiB, true},
    {"numbers", 4, 4 * kKiB, true},
};

std::int64_t percentile(std::vector<std::int64_t>& times, double share) {
  if (times.empty()) return 0;
  const auto at = times.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(times.size() - 1));
  std::nth_element(times.begin(), at, times.end());
  return *at;
}

} // namespace

int main(int count, char** arguments) {
  if (count != 6) return 2;
  const auto* sizes = std::find_if(std::begin(kSizes), std::end(kSizes), [&](const Sizes& s) { return s.name == arguments[1]; });
  if (sizes == std::end(kSizes)) return 2;
  const std::int64_t live_most = std::atoll(arguments[2]), page_bytes = std::atoll(arguments[3]),
                     operations = std::atoll(arguments[4]);
  std::mt19937_64 random(std::strtoull(arguments[5], nullptr, 10));
  std::uniform_real_distribution<double> unit(0, 1);

  HostPages host(4 * std::max(live_most, page_bytes), 0);
  Counted pages(host, page_bytes / Pages::kBytes);
  Idle idle;
  PagedArena arena(pages, idle, 64);
  std::vector<PagedBlock*> blocks;
  std::vector<std::int64_t> takes, gives;
  takes.reserve(static_cast<std::size_t>(operations));
  gives.reserve(static_cast<std::size_t>(operations));
  std::int64_t live = 0, failures = 0, needless = 0, peak = 0, aliased = 0;
  double worst = 0;
  const auto next_size = [&] {
    const double u = unit(random);
    return static_cast<std::int64_t>(sizes->by_logarithm ? sizes->least * std::pow(sizes->most / sizes->least, u)
                                                         : sizes->least + u * (sizes->most - sizes->least));
  };
  std::int64_t size = next_size(), done = 0, taken = 0;
  for (bool filled = false; done < operations;) {
    const std::int64_t system = pages.nanoseconds;
    if (live + size <= live_most) {
      const std::int64_t free_pages = arena.free_pages();
      const auto begin = Clock::now();
      PagedBlock* const block = arena.take(size);
      const std::int64_t took = (Clock::now() - begin).count() - (pages.nanoseconds - system);
      if (block == nullptr) {
        ++failures;
        if (free_pages >= Pages::whole(size)) ++needless;
      } else {
        live += size;
        peak = std::max(peak, live);
        blocks.push_back(block);
        if (filled) {
          takes.push_back(took);
          ++taken;
          if (!block->alias.empty()) ++aliased;
        }
      }
      size = next_size();
    } else {
      filled = true;
      std::swap(blocks[random() % blocks.size()], blocks.back());
      live -= blocks.back()->bytes;
      const auto begin = Clock::now();
      arena.give_back(blocks.back());
      gives.push_back((Clock::now() - begin).count());
      blocks.pop_back();
    }
    if (filled) {
      ++done;
      worst = std::max(worst, static_cast<double>(arena.page_bytes()) / static_cast<double>(live_most));
    }
  }
  std::printf("%zu %lld %lld %.4f %.4f %lld %lld %lld %lld %.4f %.3f %.1f\n", blocks.size(), static_cast<long long>(failures),
              static_cast<long long>(needless), worst, static_cast<double>(peak) / static_cast<double>(live_most),
              static_cast<long long>(percentile(takes, 0.5)), static_cast<long long>(percentile(takes, 0.99)),
              static_cast<long long>(percentile(takes, 1)), static_cast<long long>(percentile(gives, 0.5)),
              static_cast<double>(aliased) / static_cast<double>(std::max<std::int64_t>(taken, 1)),
              static_cast<double>(pages.calls) / static_cast<double>(std::max<std::int64_t>(taken, 1)),
              pages.calls == 0 ? 0.0 : static_cast<double>(pages.nanoseconds) / 1e3 / static_cast<double>(pages.calls));
}
