// Blocks of random sizes, taken and given back at random, in an arena of pages (ops/pages) or in one stretch of memory by best
// fit (best_fit_arena.h): what fails, how much memory there must be for what is in use, and how long it takes. Nothing is touched
// there, so that only the arena and the system's maps are measured.
//
//     streaming_arena ARENA LEAST MOST IN-USE MEMORY OPERATIONS SEED
//
// Sizes lie between LEAST and MOST bytes, evenly by their logarithm. At most IN-USE bytes are in use: blocks are taken while the
// next one fits in, else, or when that fails, one is given back. MEMORY bounds the memory; 0: as much as is wanted. The answer is
// one line of numbers.
#include "best_fit_arena.h"
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

// Counts what is asked of the system, and how long that takes.
class Counted final : public Pages {
public:
  Counted(std::int64_t addresses, std::int64_t most) : pages_(addresses, addresses), most_(most) {
    begin_ = pages_.begin();
    addresses_ = pages_.addresses();
  }
  bool make(std::int64_t first, std::int64_t count) override {
    return (most_ == 0 || (first + count) * kBytes <= most_) && timed([&] { return pages_.make(first, count); });
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
  HostPages pages_;
  std::int64_t most_;
};

struct ByPages final : Progress {
  explicit ByPages(std::int64_t in_use, std::int64_t memory)
      : pages(4 * std::max(in_use, memory), memory), arena(pages, *this, 64) {}
  void wait_for(const Tickets&) override {} // nothing is ever queued
  Block* take(std::int64_t bytes) {
    const bool could = arena.free_pages() >= Pages::whole(bytes);
    PagedBlock* const block = arena.take(bytes);
    if (block == nullptr && could) ++needless;
    if (block != nullptr && !block->alias.empty()) ++mapped;
    return block;
  }
  void give_back(Block* block) { arena.give_back(static_cast<PagedBlock*>(block)); }
  std::int64_t memory() const { return arena.page_bytes(); }
  Counted pages;
  PagedArena arena;
  std::int64_t needless = 0, mapped = 0;
};

struct ByBestFit {
  explicit ByBestFit(std::int64_t in_use, std::int64_t memory) { arena.add(begin, memory != 0 ? memory : 4 * in_use); }
  Block* take(std::int64_t bytes) {
    TrackedBlock* const block = arena.take(bytes);
    if (block != nullptr) highest = std::max(highest, static_cast<char*>(block->data) + block->taken);
    return block;
  }
  void give_back(Block* block) { arena.give_back(static_cast<TrackedBlock*>(block)); }
  std::int64_t memory() const { return highest - begin; }
  struct {
    std::int64_t calls = 0, nanoseconds = 0;
  } pages;
  char* const begin = reinterpret_cast<char*>(std::uintptr_t{1} << 40); // nothing is touched there
  char* highest = begin;
  Arena arena{64};
  std::int64_t needless = 0, mapped = 0;
};

std::int64_t percentile(std::vector<std::int64_t>& times, double share) {
  if (times.empty()) return 0;
  const auto at = times.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(times.size() - 1));
  std::nth_element(times.begin(), at, times.end());
  return *at;
}

template <class By> void measure(char** arguments) {
  const double least = std::atof(arguments[0]), most = std::atof(arguments[1]);
  const std::int64_t in_use = std::atoll(arguments[2]), memory = std::atoll(arguments[3]), operations = std::atoll(arguments[4]);
  std::mt19937_64 random(std::strtoull(arguments[5], nullptr, 10));
  const auto next_size = [&] {
    const double share = static_cast<double>(random() >> 11) * 0x1p-53;
    return static_cast<std::int64_t>(least * std::pow(most / least, share));
  };

  By by(in_use, memory);
  std::vector<Block*> blocks;
  std::vector<std::int64_t> takes, gives;
  std::int64_t live = 0, failures = 0, largest = 0;
  bool filled = false; // only what comes then counts
  for (std::int64_t done = 0, size = next_size(); done < operations; done += filled ? 1 : 0) {
    bool fits = live + size <= in_use;
    if (fits) {
      const std::int64_t system = by.pages.nanoseconds;
      const auto begin = Clock::now();
      Block* const block = by.take(size);
      const std::int64_t took = (Clock::now() - begin).count() - (by.pages.nanoseconds - system);
      if (filled) takes.push_back(took);
      fits = block != nullptr;
      if (fits) {
        live += size;
        blocks.push_back(block);
        largest = std::max(largest, by.memory());
        size = next_size();
      } else {
        ++failures;
      }
    }
    if (!fits) {
      filled = true;
      std::swap(blocks[random() % blocks.size()], blocks.back());
      live -= blocks.back()->bytes;
      const auto begin = Clock::now();
      by.give_back(blocks.back());
      gives.push_back((Clock::now() - begin).count());
      blocks.pop_back();
    }
  }
  const auto each = [&](std::int64_t sum) {
    return static_cast<double>(sum) / static_cast<double>(std::max<std::size_t>(takes.size(), 1));
  };
  std::printf("%zu %lld %lld %.4f %lld %lld %lld %.4f %.3f %.3f\n", blocks.size(), static_cast<long long>(failures),
              static_cast<long long>(by.needless), static_cast<double>(largest) / static_cast<double>(in_use),
              static_cast<long long>(percentile(takes, 0.5)), static_cast<long long>(percentile(takes, 0.99)),
              static_cast<long long>(percentile(gives, 0.5)), each(by.mapped), each(by.pages.calls),
              each(by.pages.nanoseconds) / 1000);
}

} // namespace

int main(int count, char** arguments) {
  if (count != 8) return 2;
  if (std::string_view(arguments[1]) == "pages") measure<ByPages>(arguments + 2);
  if (std::string_view(arguments[1]) == "best-fit") measure<ByBestFit>(arguments + 2);
}
