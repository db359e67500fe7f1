// Reads that are expected are done by a thread of their own: they are there when they are asked for, or are not and leave no
// trace.
#include "vm/machine/expected_file.h"
#include "vm/machine/read_ahead.h"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

using cairn::machine::CountedPages;
using cairn::machine::ExpectedFile;
using cairn::machine::ReadAhead;
using cairn::ops::Cancelled;
using cairn::ops::Meter;

namespace {

class Job final : public ReadAhead::Job {
public:
  Job(int number, std::function<void()> does, bool quick = false)
      : ReadAhead::Job(quick), number(number), does_(std::move(does)) {}
  const int number;

private:
  void perform() override { does_(); }
  std::function<void()> does_;
};

Job* find(const ReadAhead& ahead, int number) {
  return ahead.find<Job>([&](const Job& job) { return job.number == number; });
}

void until(const std::atomic<bool>& that) {
  while (!that) std::this_thread::yield();
}

void poll_for_ever() {
  for (;;) {
    Meter::poll_current();
    std::this_thread::yield();
  }
}

} // namespace

TEST_CASE("what was expected is there, whatever the order") {
  ReadAhead ahead;
  Meter meter;
  constexpr int kMany = 300, kBehind = 3;
  std::vector<int> results(kMany);
  int there = 0;
  for (int i = 0; i < kMany; ++i) {
    ahead.begin(std::make_unique<Job>(i, [&results, i] { results[static_cast<std::size_t>(i)] = i * i; }));
    if (i < kBehind) continue;
    Job* const job = find(ahead, i - kBehind);
    REQUIRE(job != nullptr);
    if (const auto done = ahead.take(*job, meter)) {
      ++there;
      CHECK(results[static_cast<std::size_t>(done->number)] == done->number * done->number);
    }
    CHECK(find(ahead, i - kBehind) == nullptr);
  }
  CHECK(there <= kMany - kBehind);
}

// Read 1, which ends when it is told to. What it writes to lives longer than `ahead`.
static void begin_held(ReadAhead& ahead, std::atomic<bool>& begun, const std::atomic<bool>& goes_on) {
  ahead.begin(std::make_unique<Job>(1, [&] {
    begun = true;
    until(goes_on);
  }));
}

TEST_CASE("a read that has begun is waited for; one that has not, or has failed, is not there") {
  Meter meter;
  std::atomic<bool> begun{false}, goes_on{false};
  ReadAhead ahead;
  begin_held(ahead, begun, goes_on);
  ahead.begin(std::make_unique<Job>(2, [] {}));
  ahead.begin(std::make_unique<Job>(3, [] { throw ExpectedFile::Unexpected{}; }));
  until(begun);
  CHECK(ahead.take(*find(ahead, 2), meter) == nullptr);
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    goes_on = true;
  });
  CHECK(ahead.take(*find(ahead, 1), meter) != nullptr);
  later.join();
  CHECK(ahead.take(*find(ahead, 3), meter) == nullptr);
  CHECK(ahead.empty());
}

TEST_CASE("whoever waits can be cancelled, and finds the read again") {
  Meter meter;
  std::atomic<bool> begun{false}, goes_on{false};
  ReadAhead ahead;
  begin_held(ahead, begun, goes_on);
  until(begun);
  meter.cancel();
  CHECK_THROWS_AS(ahead.take(*find(ahead, 1), meter), Cancelled);
  CHECK(meter.take_cancellation());
  goes_on = true;
  CHECK(ahead.take(*find(ahead, 1), meter) != nullptr);
}

TEST_CASE("what is given up is stopped, wherever it is, and so is what is there at the end") {
  Meter meter;
  for (int round = 0; round < 50; ++round) {
    std::atomic<bool> begun{false};
    ReadAhead ahead; // whose thread writes there until it has gone
    ahead.begin(std::make_unique<Job>(1, [&] {
      begun = true;
      poll_for_ever();
    }));
    for (int i = 2; i < 6; ++i) ahead.begin(std::make_unique<Job>(i, poll_for_ever));
    if (round % 2 != 0) until(begun);
    if (round % 5 == 0) continue;
    CHECK(ahead.give_up());
    CHECK(!ahead.give_up());
    begun = false;
    ahead.begin(std::make_unique<Job>(7, [&] { begun = true; })); // a request to stop was for the others
    until(begun);
    CHECK(ahead.take(*find(ahead, 7), meter) != nullptr);
  }
}

TEST_CASE("nobody waits for what is quick: the thread leaves it when it can") {
  Meter meter;
  for (int round = 0; round < 50; ++round) {
    std::atomic<bool> begun{false}, done{false};
    ReadAhead ahead; // whose thread writes there until it has gone
    for (int i = 0; i < 2; ++i) {
      begun = false;
      ahead.begin(std::make_unique<Job>(
          i,
          [&] {
            begun = true;
            poll_for_ever();
          },
          true));
      until(begun);
      CHECK(ahead.take(*find(ahead, i), meter) == nullptr);
    }
    ahead.begin(std::make_unique<Job>(
        2, [&] { done = true; }, true));
    if (round % 2 == 0) until(done);
    if (round % 3 == 0) ahead.give_up();
  }
}

TEST_CASE("the oldest make way") {
  ReadAhead ahead;
  const int many = 3 * static_cast<int>(ReadAhead::kMost);
  for (int i = 0; i < many; ++i) ahead.begin(std::make_unique<Job>(i, poll_for_ever));
  for (int i = 0; i < many; ++i) CHECK((find(ahead, i) != nullptr) == (i >= many - static_cast<int>(ReadAhead::kMost)));
}

TEST_CASE("parts of a file are read with as many checksums as were counted, and a file that changes is not expected") {
  char folder[] = "/tmp/cairn-ahead-XXXXXX";
  REQUIRE(mkdtemp(folder) != nullptr);
  const std::string path = std::string(folder) + "/x";
  std::string content(100'001, ' ');
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 7 % 251);
  std::ofstream(path) << content;
  cairn::files::Grants grants;
  CHECK(ExpectedFile::open(grants, path) == nullptr);
  REQUIRE(grants.add(cairn::files::kMayRead, folder));
  CHECK(ExpectedFile::open(grants, std::string(folder) + "/y") == nullptr);
  CHECK(ExpectedFile::open(grants, folder) == nullptr);
  struct Part {
    std::size_t from, bytes;
  };
  for (const std::vector<Part>& parts : {std::vector<Part>{{0, 100'001}},
                                         {{5, 10}, {15, 5000}, {4090, 12}, {99'999, 2}, {7, 0}},
                                         {{0, 70'000}, {69'000, 31'001}}}) {
    const auto file = ExpectedFile::open(grants, path);
    REQUIRE(file != nullptr);
    CountedPages pages(file->size());
    for (const Part& part : parts) pages.read(part.from, part.bytes);
    for (const bool room : {true, false}) {
      std::vector<std::uint64_t> sums(pages.count() - (room ? 0 : 1));
      const auto again = ExpectedFile::open(grants, path);
      again->sum_into(sums);
      const auto read = [&] {
        for (const Part& part : parts) {
          std::string bytes(part.bytes, '\0');
          again->read(part.from, std::as_writable_bytes(std::span(bytes)));
          CHECK(bytes == content.substr(part.from, part.bytes));
        }
        CHECK(again->finish() == sums.size());
      };
      if (room)
        read();
      else
        CHECK_THROWS_AS(read(), ExpectedFile::Unexpected);
    }
    std::vector<std::uint64_t> sums(pages.count());
    file->sum_into(sums);
    CHECK(truncate(path.c_str(), 100'000) == 0);
    std::string bytes(content.size(), '\0');
    CHECK_THROWS_AS(file->read(0, std::as_writable_bytes(std::span(bytes))), ExpectedFile::Unexpected);
    CHECK_THROWS_AS(file->finish(), ExpectedFile::Unexpected);
    std::ofstream(path) << content;
  }
  std::remove(path.c_str());
  rmdir(folder);
}
