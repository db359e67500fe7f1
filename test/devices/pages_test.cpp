// The arena of pages: random blocks against a model, what it promises when pages are free here and there, what happens when the
// system refuses something, and that the emulated device orders and checks work by memory and not by address.
#include "testing.h"

#include "ops/pages/host_pages.h"
#include "ops/pages/paged_arena.h"

#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <sys/resource.h>
#include <unistd.h>
#include <utility>

using namespace devices_testing;

namespace {

constexpr std::int64_t kPage = Pages::kBytes;

// Pages that count what is asked of them and refuse it when they are told to. They check that each call keeps the contract.
class WatchedPages final : public Pages {
public:
  WatchedPages(std::int64_t addresses, std::int64_t most, bool in_memory) : most_(most) {
    if (in_memory) host_ = std::make_unique<HostPages>(addresses * kPage, kPage);
    begin_ = in_memory ? host_->begin() : reinterpret_cast<std::byte*>(std::uintptr_t{1} << 40);
    addresses_ = addresses;
  }
  bool make(std::int64_t first, std::int64_t count) override {
    REQUIRE(first == made_);
    REQUIRE(count > 0);
    for (std::int64_t at = first; at < first + count; ++at) REQUIRE(!mapped_.contains(at));
    if (refused() || first + count > most_) return false;
    made_ += count;
    return host_ == nullptr || host_->make(first, count);
  }
  bool map(std::int64_t at, std::int64_t page, std::int64_t count) override {
    REQUIRE(page >= 0);
    REQUIRE(page + count <= made_);
    REQUIRE(at >= made_);
    REQUIRE(at + count <= addresses_);
    if (refused()) return false;
    for (std::int64_t i = at; i < at + count; ++i) REQUIRE(mapped_.insert(i).second);
    ++maps;
    return host_ == nullptr || host_->map(at, page, count);
  }
  bool unmap(std::int64_t at, std::int64_t count) override {
    REQUIRE(at >= made_);
    if (refused()) return false;
    for (std::int64_t i = at; i < at + count; ++i) mapped_.erase(i);
    ++unmaps;
    return host_ == nullptr || host_->unmap(at, count);
  }
  std::int64_t made() const { return made_; }

  int maps = 0, unmaps = 0;
  std::int64_t calls = 0;
  std::set<std::int64_t> refuses; // calls by number
  bool refuses_all = false;

private:
  bool refused() { return refuses.contains(calls++) || refuses_all; }
  std::int64_t made_ = 0, most_;
  std::unique_ptr<HostPages> host_;
  std::set<std::int64_t> mapped_; // addresses
};

// Remembers what was waited for.
struct Waits : Progress {
  void wait_for(const Tickets& tickets) override {
    join(waited, tickets);
    ++count;
  }
  Tickets waited{};
  int count = 0;
};

Block* as_block(PagedBlock* block) { return block; }

// Blocks of one page each; every second one is given back, so that no two free pages follow one another.
std::vector<PagedBlock*> every_second_page(PagedArena& arena, int pages) {
  std::vector<PagedBlock*> all, kept;
  for (int i = 0; i < pages; ++i) all.push_back(arena.take(kPage));
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i % 2 == 0) arena.give_back(all[i]);
    if (i % 2 != 0) kept.push_back(all[i]);
  }
  return kept;
}

void give_back(PagedArena& arena, const std::vector<PagedBlock*>& blocks) {
  for (PagedBlock* block : blocks) arena.give_back(block);
}

void check_all_free(const PagedArena& arena) {
  CHECK(arena.taken_bytes() == 0);
  CHECK(arena.free_pages() * kPage == arena.page_bytes());
}

} // namespace

TEST_CASE("random blocks share no memory, keep what is written there, and carry the tickets of who had it") {
  constexpr std::int64_t unit = 4096, most = 48;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    WatchedPages pages(4 * most, most, true);
    Waits waits;
    PagedArena arena(pages, waits, unit);
    Ordering ordering;
    std::vector<int> owner(static_cast<std::size_t>(most * kPage / unit), 0);
    std::vector<Tickets> users(owner.size());
    struct Live {
      PagedBlock* block;
      int number;
    };
    std::vector<Live> live;
    const auto units_of = [&](const PagedBlock& block, auto&& visit) {
      std::int64_t covered = 0;
      block.physical(0, block.taken, [&](std::uintptr_t begin, std::uintptr_t end) {
        const auto from = static_cast<std::int64_t>(begin - reinterpret_cast<std::uintptr_t>(pages.begin()));
        const auto to = from + static_cast<std::int64_t>(end - begin);
        REQUIRE(from % unit == 0);
        REQUIRE(to <= pages.made() * kPage);
        for (std::int64_t at = from; at < to; at += unit, covered += unit)
          visit(static_cast<std::size_t>(at / unit), static_cast<std::byte*>(block.data) + covered);
      });
      REQUIRE(covered == block.taken);
    };
    int number = 0, failed = 0, in_parts = 0;
    for (int step = 0; step < 1500; ++step) {
      const bool small = random() % 2 == 0;
      const auto bytes = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(small ? 200'000 : 12'000'000));
      PagedBlock* const block = random() % 16 < 9 || live.empty() ? arena.take(bytes) : nullptr;
      if (block != nullptr) {
        REQUIRE(block->bytes == bytes);
        REQUIRE(block->taken >= bytes);
        ++number;
        if (!block->alias.empty()) ++in_parts;
        units_of(*block, [&](std::size_t at, std::byte* here) {
          REQUIRE(std::exchange(owner[at], number) == 0);
          for (std::size_t i = 0; i < kStreams; ++i) REQUIRE(block->earlier[i] >= users[at][i]);
          std::memcpy(here, &number, sizeof number);
        });
        live.push_back({block, number});
        Block* const blocks[] = {as_block(block)};
        const Operation writing = ordering.add(static_cast<StreamKind>(random() % kStreams), {}, blocks);
        Operation reading = writing;
        if (random() % 2 == 0) reading = ordering.add(static_cast<StreamKind>(random() % kStreams), blocks, {});
        units_of(*block, [&](std::size_t at, std::byte*) {
          users[at] = {}; // the writer has waited for them
          for (const Operation& operation : {writing, reading}) users[at][index_of(operation.stream)] = operation.ticket;
        });
        continue;
      }
      ++failed;
      if (live.empty()) continue;
      std::swap(live[random() % live.size()], live.back());
      const Live gone = live.back();
      live.pop_back();
      units_of(*gone.block, [&](std::size_t at, std::byte* here) {
        int there = 0, own = 0;
        std::memcpy(&there, here, sizeof there);
        std::memcpy(&own, pages.begin() + static_cast<std::int64_t>(at) * unit, sizeof own);
        REQUIRE(there == gone.number);
        REQUIRE(own == gone.number);
        owner[at] = 0;
      });
      arena.give_back(gone.block);
    }
    CHECK(number > 500);
    CHECK(in_parts > 20);
    CHECK(pages.unmaps > 0);
    for (const Live& each : live) arena.give_back(each.block);
    check_all_free(arena);
  }
}

TEST_CASE("at 95 per cent of all pages nothing fails, and without a bound a tenth more than is in use is enough") {
  constexpr std::int64_t bound = 2048;
  for (const bool bounded : {true, false}) {
    CAPTURE(bounded);
    WatchedPages pages(8 * bound, bounded ? bound : 8 * bound, false);
    Waits waits;
    PagedArena arena(pages, waits, 64);
    std::mt19937_64 random(5);
    std::vector<PagedBlock*> live;
    std::int64_t in_use = 0, failures = 0;
    const std::int64_t most = bound * kPage / 100 * 95;
    for (int step = 0; step < 20'000; ++step) {
      const double share = static_cast<double>(random() % 4096) / 4096;
      const auto bytes = static_cast<std::int64_t>(256 * std::pow(2.0, 18 * share)); // 256 bytes to 64 MiB
      while (in_use + bytes > most) {
        std::swap(live[random() % live.size()], live.back());
        in_use -= live.back()->bytes;
        arena.give_back(live.back());
        live.pop_back();
      }
      PagedBlock* const block = arena.take(bytes);
      if (block == nullptr) {
        ++failures;
        continue;
      }
      in_use += bytes;
      live.push_back(block);
    }
    CHECK(failures == 0);
    CHECK(pages.maps > 0);
    CHECK(arena.page_bytes() <= most / 10 * 11);
    give_back(arena, live);
    check_all_free(arena);
  }
}

TEST_CASE("a block takes free pages wherever they are, and no others while there are enough") {
  WatchedPages pages(64, 16, true);
  Waits waits;
  PagedArena arena(pages, waits, 64);
  const std::vector<PagedBlock*> kept = every_second_page(arena, 16);
  PagedBlock* const block = arena.take(8 * kPage - 100);
  REQUIRE(block != nullptr);
  CHECK(pages.made() == 16);
  CHECK(pages.maps == 8);
  std::memset(block->data, 1, static_cast<std::size_t>(block->bytes)); // one piece
  CHECK(arena.free_pages() == 0);
  arena.give_back(block);
  give_back(arena, kept);
  check_all_free(arena);
}

TEST_CASE("a block may lie in the ends of other blocks' pages") {
  WatchedPages pages(64, 4, true);
  Waits waits;
  PagedArena arena(pages, waits, 64);
  const std::int64_t three_quarters = kPage / 4 * 3;
  std::vector<PagedBlock*> kept;
  for (int i = 0; i < 4; ++i) kept.push_back(arena.take(kPage));
  arena.give_back(kept[0]);
  arena.give_back(kept[2]);
  kept[0] = arena.take(kPage - three_quarters); // a head of three quarters is left, and the third page
  PagedBlock* const block = arena.take(kPage + three_quarters);
  REQUIRE(block != nullptr);
  CHECK(pages.maps == 2);
  std::memset(block->data, 1, static_cast<std::size_t>(block->bytes));
  CHECK(arena.take(64) == nullptr); // to the last byte
  CHECK(arena.taken_bytes() == 4 * kPage);
}

TEST_CASE("small blocks do not hold pages that large ones could have") {
  WatchedPages pages(512, 512, false);
  Waits waits;
  PagedArena arena(pages, waits, 64);
  std::vector<PagedBlock*> small, large;
  for (int i = 0; i < 100; ++i) {
    large.push_back(arena.take(kPage));
    small.push_back(arena.take(1000));
  }
  give_back(arena, large);
  CHECK(arena.free_pages() >= 99);
  give_back(arena, small);
  check_all_free(arena);
}

TEST_CASE("what the system refuses is a block that is not there, and nothing is lost") {
  std::int64_t calls = 0;
  const auto run = [&](std::int64_t refused, bool all_after) {
    WatchedPages pages(128, 24, false);
    Waits waits;
    PagedArena arena(pages, waits, 64);
    std::vector<PagedBlock*> blocks = every_second_page(arena, 16);
    const std::int64_t before = pages.calls;
    pages.refuses = {before + refused};
    for (int round = 0; round < 12; ++round) {
      if (all_after && pages.calls > before + refused) pages.refuses_all = true;
      const std::int64_t taken = arena.taken_bytes();
      PagedBlock* const block = arena.take(5 * kPage + 1000 * round);
      if (block == nullptr) CHECK(arena.taken_bytes() == taken);
      if (block != nullptr && round % 3 != 0) arena.give_back(block);
      if (block != nullptr && round % 3 == 0) blocks.push_back(block);
    }
    calls = std::max(calls, pages.calls - before);
    pages.refuses_all = false;
    give_back(arena, blocks);
    check_all_free(arena);
    const std::int64_t free_pages = arena.free_pages();
    PagedBlock* const all = arena.take(free_pages * kPage); // and everything can be had again
    REQUIRE(all != nullptr);
    arena.give_back(all);
  };
  run(-1, false);
  REQUIRE(calls > 20);
  const std::int64_t all = calls;
  for (std::int64_t refused = 0; refused < all; ++refused) {
    CAPTURE(refused);
    run(refused, false);
    run(refused, true);
  }
}

TEST_CASE("where nothing can be mapped twice, blocks lie in one piece, and more pages are made") {
  WatchedPages pages(64, 64, false);
  Waits waits;
  PagedArena arena(pages, waits, 64);
  const std::vector<PagedBlock*> kept = every_second_page(arena, 16);
  pages.refuses = {pages.calls, pages.calls + 1}; // it tries again when it has unmapped what it could
  PagedBlock* const block = arena.take(4 * kPage);
  REQUIRE(block != nullptr);
  CHECK(block->alias.empty());
  CHECK(pages.made() == 20);
}

TEST_CASE("addresses are unmapped when there are many of no use, and only after the work that used them") {
  WatchedPages pages(256, 16, true); // 32 addresses may stay mapped
  Waits waits;
  PagedArena arena(pages, waits, 64);
  Ordering ordering;
  const std::vector<PagedBlock*> kept = every_second_page(arena, 16);
  for (Ticket ticket = 1; ticket <= 60; ++ticket) {
    PagedBlock* const block = arena.take(4 * kPage);
    REQUIRE(block != nullptr);
    REQUIRE(!block->alias.empty());
    std::memset(block->data, 1, static_cast<std::size_t>(block->bytes));
    Block* const blocks[] = {as_block(block)};
    ordering.add(StreamKind::update, {}, blocks);
    arena.give_back(block);
    CHECK(waits.waited[index_of(StreamKind::update)] == (ticket <= 9 ? 0 : ticket - 9));
    CHECK(waits.count == pages.unmaps);
  }
  CHECK(waits.count == 51);
}

TEST_CASE("where blocks lie depends on what was taken and given back, and on nothing else") {
  std::vector<std::int64_t> first;
  for (int round = 0; round < 2; ++round) {
    WatchedPages pages(256, 48, round == 1);
    Waits waits;
    PagedArena arena(pages, waits, 64);
    std::mt19937 random(3);
    std::vector<PagedBlock*> live;
    std::vector<std::int64_t> places;
    for (int step = 0; step < 3000; ++step) {
      PagedBlock* const block = arena.take(static_cast<std::int64_t>(random() % (random() % 2 == 0 ? 100'000 : 9'000'000)));
      if (block == nullptr) {
        std::swap(live[random() % live.size()], live.back());
        arena.give_back(live.back());
        live.pop_back();
      } else {
        places.push_back(static_cast<std::byte*>(block->data) - pages.begin());
        live.push_back(block);
      }
    }
    if (round == 0) first = places;
    if (round == 1) CHECK(places == first);
  }
}

// --- on the emulated device

namespace {

std::unique_ptr<Device> device_with(Ledger& ledger, bool forget) {
  EmulatedOptions options;
  options.memory_bytes = 16 * kPage;
  options.forget_ordering = forget;
  return make_emulated_device(ledger, options);
}

const PagedBlock& paged(const Part& part) { return static_cast<const PagedBlock&>(part.storage->block()); }

// Blocks of a page, of which every second one goes: what is longer than a page is mapped then.
std::vector<Part> every_second_part(Device& device) {
  std::vector<Part> parts, kept;
  for (int i = 0; i < 8; ++i) parts.push_back(make(device, kPage / 8));
  for (std::size_t i = 1; i < parts.size(); i += 2) kept.push_back(parts[i]);
  return kept;
}

} // namespace

TEST_CASE("memory that is used again at another address waits for who used it, and nobody sees the other's numbers") {
  Account account;
  auto device = device_with(account, false);
  const std::vector<Part> others = every_second_part(*device);
  const Part keep = make(*device, 1000);
  Gate gate;
  const std::int64_t size = 2 * kPage / 8;
  {
    const Part gone = make(*device, size);
    REQUIRE(!paged(gone).alias.empty());
    write(*device, gone, counting(size));
    launch(*device, StreamKind::execute, kPassGate, {gone.narrow(size - 1000, 1000)}, keep, gate.address());
  }
  std::vector<Part> again;
  for (int i = 0; i < 4; ++i) {
    again.push_back(make(*device, kPage / 8));
    CHECK(paged(again.back()).alias.empty());
    write(*device, again.back(), Numbers(static_cast<std::size_t>(kPage / 8), -7));
  }
  gate.open = true; // so far nobody has waited
  CHECK(read(*device, keep) == counting(1000, size - 1000 + 1));
  for (const Part& part : again) CHECK(read(*device, part.narrow(0, 3)) == Numbers(3, -7));
  device->wait_for_all();
}

TEST_CASE("the race checker sees memory and not addresses") {
  Account account;
  auto device = device_with(account, true);
  const std::vector<Part> others = every_second_part(*device);
  const std::int64_t size = 2 * kPage / 8;
  {
    const Part gone = make(*device, size);
    REQUIRE(!paged(gone).alias.empty());
    launch(*device, StreamKind::execute, kSlowMix, {}, gone);
  }
  std::vector<Part> again;
  for (int i = 0; i < 4; ++i) again.push_back(make(*device, kPage / 8));
  for (const Part& part : again) launch(*device, StreamKind::update, kMix, {}, part.narrow(0, 10));
  CHECK(
      contains(error_of([&] { device->wait_for_all(); }), "mix (operation 1 of stream update) began before the end of slow-mix"));
}

TEST_CASE("a budget is of bytes in use, however full the pages are") {
  Account account;
  auto device = device_with(account, false);
  std::vector<Part> parts;
  for (std::int64_t left = 16 * kPage; left > 0;) { // a page and a little: as many pages again would be needed for their ends
    const std::int64_t bytes = std::min(left, kPage / 8 * 9);
    parts.push_back(make(*device, bytes / 8));
    left -= bytes;
  }
  for (int round = 0; round < 200; ++round) {
    const std::size_t one = static_cast<std::size_t>(round * 7) % parts.size(),
                      other = static_cast<std::size_t>(round * 5 + 3) % parts.size();
    if (one == other) continue;
    const std::int64_t sum = parts[one].size + parts[other].size;
    parts[one] = parts[other] = {};
    parts[one] = make(*device, sum / 3);
    parts[other] = make(*device, sum - sum / 3);
  }
  CHECK(device->live_bytes() == 16 * kPage);
}

TEST_CASE("all that is locked is one sum against the limit, and what is given back does not count") {
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_MEMLOCK, &before) == 0);
  constexpr std::int64_t kMiB = std::int64_t{1} << 20;
  constexpr auto kLimit = static_cast<rlim_t>(kMiB + kMiB / 2);
  if (before.rlim_max < kLimit) return; // nobody may lock as much here
  const rlimit limit{kLimit, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_MEMLOCK, &limit) == 0);
  {
    auto pages = std::make_unique<HostPages>(4 * kPage, kPage, kMiB); // half a page of them
    REQUIRE(pages->make(0, 2));
    CHECK(pages->locked_bytes() == kMiB);
    CHECK(pages->lock_fault().empty());
    CHECK(pages->locked_end() == reinterpret_cast<std::uintptr_t>(pages->begin()) + kMiB);
    const LockedBuffer less(kMiB), none(kMiB);
    CHECK(less.locked_bytes() == kMiB / 2);
    CHECK(none.locked_bytes() == 0);
    for (const LockedBuffer* const buffer : {&less, &none}) CHECK(buffer->lock_fault() == "`ulimit -l` allows 1572864 bytes");
    pages = nullptr;
    const LockedBuffer all(kMiB);
    CHECK(all.locked_bytes() == kMiB);
    CHECK(all.lock_fault().empty());
  }
  HostPages pages(kPage, kPage, 1);
  REQUIRE(pages.make(0, 1));
  CHECK(pages.locked_bytes() == sysconf(_SC_PAGESIZE));
  REQUIRE(setrlimit(RLIMIT_MEMLOCK, &before) == 0);
}
