// The streaming device: what it computes is what a device with room for everything computes, and what it moves is what the ladder
// says.
#include "../devices/spilling.h"
#include "../devices/testing.h"

#include "ops/elements_lost.h"
#include "ops/streaming/device.h"

#include <fmt/format.h>

#include <csignal>
#include <cstdlib>
#include <random>

#include <sys/resource.h>

using namespace devices_testing;
namespace streaming = cairn::ops::streaming;

namespace {

struct Pair {
  explicit Pair(const EmulatedOptions& options)
      : device(make_emulated_device(account, options)), stream(streaming::make_streaming_device(account, *device)) {}
  Account account;
  std::unique_ptr<Device> device;
  std::unique_ptr<streaming::StreamingDevice> stream;
  const streaming::Counts& counts() const { return stream->counts(); }
};

EmulatedOptions with_room_for(std::int64_t numbers) {
  EmulatedOptions options;
  options.memory_bytes = 8 * numbers;
  return options;
}

void launch_here(Pair& pair, const std::vector<Part>& inputs, const Part& output, std::int64_t number) {
  bool streams = output.storage->device == pair.stream.get();
  for (const Part& in : inputs) streams = streams || in.storage->device == pair.stream.get();
  launch(streams ? static_cast<Device&>(*pair.stream) : *pair.device, StreamKind::execute, kMix, inputs, output, number);
}

} // namespace

TEST_CASE("what does not fit on the device is worked on all the same, and comes and goes as it must") {
  Pair pair(with_room_for(30));
  std::vector<Part> parts;
  for (int i = 0; i < 6; ++i) {
    parts.push_back(make(*pair.stream, 10));
    write(*pair.stream, parts.back(), counting(10, 10 * i));
  }
  CHECK(pair.counts().bytes_in == 0); // nobody has worked on them yet
  const Part sum = make(*pair.stream, 10);
  launch_here(pair, {parts[0], parts[1]}, sum, 3);
  CHECK(pair.counts().misses == 2);
  CHECK(pair.counts().bytes_in == 160);
  CHECK(pair.counts().evictions == 0);
  launch_here(pair, {parts[2], sum}, sum, 5); // one of the first two goes, which has a copy on the host
  CHECK(pair.counts().evictions == 1);
  CHECK(pair.counts().write_backs == 0);
  CHECK(pair.counts().hits == 1);
  launch_here(pair, {parts[3], parts[4]}, parts[5], 7); // the sum has none: it is written back
  CHECK(pair.counts().write_backs == 1);
  CHECK(pair.counts().bytes_out == 80);
  const Numbers first = mixed({counting(10), counting(10, 10)}, 3);
  CHECK(read(*pair.stream, sum) == mixed({counting(10, 20), first}, 5));
  CHECK(read(*pair.stream, parts[5]) == mixed({counting(10, 30), counting(10, 40)}, 7));
  pair.stream->wait_for_all();
  CHECK(pair.device->backing()->device_peak().ever == 240);
}

TEST_CASE("results of what streams and what is on the device are where they are made") {
  Pair pair(with_room_for(25));
  const Part here = make(*pair.device, 10), weights = make(*pair.stream, 10);
  write(*pair.device, here, counting(10));
  write(*pair.stream, weights, counting(10, 7));
  launch_here(pair, {here, weights}, here, 1);
  CHECK(read(*pair.device, here) == mixed({counting(10), counting(10, 7)}, 1));
  const Part other = make(*pair.device, 15); // the weights give way to the device's own
  CHECK(pair.counts().evictions == 1);
  CHECK(error_of([&] { launch_here(pair, {weights}, weights, 1); }) ==
        "streaming: emulated has no room for 80 bytes: 200 of its 200 bytes are in use, 0 of them by what streams and is needed "
        "at the same time\n"
        "  the device's memory (memory=): 200 of 200 bytes in use\n"
        "  the host's memory for what streams (host=): 80 bytes in use\n"
        "  of --device, what would have been enough for this operation: memory=1KiB at least\n"
        "  what is enough for the whole run is `least_memory_bytes` in --stats of one without memory=");
  CHECK(read(*pair.stream, weights) == counting(10, 7));
}

TEST_CASE("elements on the device become those of what streams without a copy") {
  Pair pair(with_room_for(20));
  Part part = make(*pair.device, 10);
  write(*pair.device, part, counting(10));
  const std::int64_t charged = pair.account.bytes;
  Storage* const taken = pair.stream->take_over(*part.storage.get());
  REQUIRE(taken != nullptr);
  part.storage = StorageRef(taken);
  CHECK(pair.account.bytes == charged);
  CHECK(pair.device->live_bytes() == 0);
  CHECK(pair.stream->live_bytes() == 80);
  launch_here(pair, {part}, part, 2);
  CHECK(pair.counts().bytes_in == 0);
  CHECK(read(*pair.stream, part) == mixed({counting(10)}, 2));
}

TEST_CASE("virtual time is that of the rates, whatever this machine does meanwhile") {
  for (const std::uint64_t delays : {0, 7}) {
    EmulatedOptions options = with_room_for(1000);
    options.random_delays = delays;
    options.rates.bytes_in = 8e6; // a number takes a microsecond
    options.rates.bytes_out = 4e6;
    options.rates.latency = 1e-6;
    options.rates.launch = 50e-6;
    Pair pair(options);
    const Part a = make(*pair.stream, 100), b = make(*pair.stream, 100), out = make(*pair.stream, 100);
    write(*pair.stream, a, counting(100));
    write(*pair.stream, b, counting(100));
    launch_here(pair, {a}, out, 1);      // copy to 101, kernel to 151
    launch_here(pair, {b, out}, out, 1); // copy to 202, kernel to 252
    const ModelledTime time = pair.device->backing()->modelled_time();
    CHECK(time.end == doctest::Approx(252e-6));
    CHECK(time.copy_in == doctest::Approx(202e-6));
    CHECK(time.execute == doctest::Approx(100e-6));
    CHECK(time.stalled == doctest::Approx(152e-6));
    read(*pair.stream, out); // 200 and the latency
    CHECK(pair.device->backing()->modelled_time().end == doctest::Approx(453e-6));
  }
}

TEST_CASE("random work on what streams gives what work in plain memory gives, within any budget of device, host and disk") {
  struct Tier {
    std::int64_t device, host;
    bool disk;
  };
  for (const Tier& tier :
       {Tier{0, 0, false}, Tier{400, 0, false}, Tier{220, 0, false}, Tier{400, 500, true}, Tier{220, 160, true}})
    for (const std::uint64_t seed : {1, 2, 3}) {
      CAPTURE(tier.device);
      CAPTURE(seed);
      EmulatedOptions options = with_room_for(tier.device);
      options.host_bytes = 8 * tier.host;
      options.random_delays = seed;
      if (tier.disk) {
        options.streaming.disk = std::getenv("TMPDIR") != nullptr ? std::getenv("TMPDIR") : "/tmp";
        options.streaming.disk_bytes = 1 << 20;
      }
      Pair pair(options);
      std::mt19937_64 random(seed);
      const auto below = [&](std::uint64_t n) { return random() % n; };
      struct Known {
        Part part;
        Numbers numbers;
      };
      std::vector<Known> all;
      const auto add = [&] {
        // A few are on the device itself, as far as there is always room for what streams beside them.
        const bool here = below(8) == 0 && pair.device->live_bytes() < 8 * 60;
        Known known{make(here ? *pair.device : static_cast<Device&>(*pair.stream), 30),
                    counting(30, static_cast<std::int64_t>(random() % 1000))};
        write(*known.part.storage->device, known.part, known.numbers);
        all.push_back(std::move(known));
      };
      for (int i = 0; i < 25; ++i) add();
      for (int round = 0; round < 400; ++round) {
        Known& to = all[below(all.size())];
        const auto sort = below(16);
        if (sort == 0) {
          all[below(all.size())] = Known{all.back().part, all.back().numbers};
          all.pop_back();
          add();
        } else if (sort == 1) {
          REQUIRE(read(*to.part.storage->device, to.part) == to.numbers);
        } else if (sort == 2) { // a part of it from the host
          to.numbers[3] = round;
          write(*to.part.storage->device, to.part.narrow(3, 1), {round});
        } else if (sort == 3) { // and from a kernel
          const Known& from = all[below(all.size())];
          const Numbers made = mixed({Numbers(from.numbers.begin(), from.numbers.begin() + 4)}, round);
          launch_here(pair, {from.part.narrow(0, 4)}, to.part.narrow(10, 4), round);
          std::copy(made.begin(), made.end(), to.numbers.begin() + 10);
        } else {
          const Known &a = all[below(all.size())], &b = all[below(all.size())];
          Numbers made = mixed({a.numbers, b.numbers}, round);
          launch_here(pair, {a.part, b.part}, to.part, round);
          to.numbers = std::move(made);
        }
      }
      for (const Known& known : all) REQUIRE(read(*known.part.storage->device, known.part) == known.numbers);
      pair.stream->wait_for_all();
      if (tier.device != 0) CHECK(pair.device->backing()->device_peak().ever <= 8 * tier.device);
      if (tier.device != 0) CHECK(pair.counts().evictions + pair.counts().write_backs > 0);
      if (tier.host != 0) CHECK(pair.device->backing()->host_peak().ever <= 8 * tier.host);
      CHECK((pair.counts().to_disk > 0) == tier.disk);
      all.clear();
      CHECK(pair.account.bytes == 0);
    }
}

TEST_CASE("a device that is lost gives errors from there on, and before that what was computed; never anything else") {
  constexpr int kParts = 8, kRounds = 24;
  struct Outcome {
    int right = 0, lost = 0;
  };
  // One launch a round, and one tensor read; each on its own may be the one that is refused.
  const auto outcome = [&](std::uint64_t lost_after, std::int64_t host) {
    EmulatedOptions options = with_room_for(40);
    options.host_bytes = 8 * host;
    options.lost_after = lost_after;
    if (host != 0) {
      options.streaming.disk = std::getenv("TMPDIR") != nullptr ? std::getenv("TMPDIR") : "/tmp";
      options.streaming.disk_bytes = 1 << 20;
    }
    Pair pair(options);
    std::vector<Part> parts;
    std::vector<Numbers> numbers;
    Outcome outcome;
    const auto attempt = [&](auto&& what) {
      try {
        what();
        CHECK(outcome.lost == 0);
      } catch (const DeviceLost& e) {
        ++outcome.lost;
        CHECK(std::string(e.what()) == fmt::format("emulated: the device was lost after {} operations", lost_after));
      }
    };
    for (int i = 0; i < kParts; ++i) {
      parts.push_back(make(*pair.stream, 10));
      numbers.push_back(counting(10, i));
      write(*pair.stream, parts.back(), numbers.back());
    }
    for (int round = 0; round < kRounds && outcome.lost == 0; ++round) {
      const auto a = static_cast<std::size_t>(round % kParts), b = static_cast<std::size_t>((5 * round + 1) % kParts);
      const auto to = static_cast<std::size_t>((3 * round + 2) % kParts);
      attempt([&] {
        launch_here(pair, {parts[a], parts[b]}, parts[to], round);
        numbers[to] = mixed({numbers[a], numbers[b]}, round);
        const Numbers seen = read(*pair.stream, parts[to]);
        CHECK(seen == numbers[to]);
        ++outcome.right;
      });
    }
    if (outcome.lost == 0) return outcome;
    // What has a copy that was made in time may still be read; all else is an error each time.
    for (int again = 0; again < 2; ++again)
      for (std::size_t i = 0; i < parts.size(); ++i) {
        try {
          const Numbers seen = read(*pair.stream, parts[i]);
          CHECK(seen == numbers[i]);
        } catch (const DeviceLost&) {
        }
      }
    return outcome;
  };
  for (const std::int64_t host : {0, 40}) {
    CAPTURE(host);
    CHECK(outcome(0, host).right == kRounds);
    int right = 0;
    for (std::uint64_t lost_after = 1; lost_after < 100; ++lost_after) {
      CAPTURE(lost_after);
      const Outcome now = outcome(lost_after, host);
      CHECK(now.right >= right); // later losses spare more
      CHECK(now.lost == (now.right == kRounds ? 0 : 1));
      right = now.right;
    }
    CHECK(right == kRounds);
  }
}

TEST_CASE("where neither host nor disk has room, nothing is lost") {
  EmulatedOptions options = with_room_for(20);
  options.host_bytes = 80;
  Pair pair(options);
  const Part a = make(*pair.stream, 10), b = make(*pair.stream, 10), c = make(*pair.stream, 10), d = make(*pair.stream, 10);
  write(*pair.stream, a, counting(10));
  launch_here(pair, {a}, b, 1);
  launch_here(pair, {b}, c, 2); // the first one leaves the device, and has the host's memory
  const std::string error = error_of([&] { launch_here(pair, {c}, d, 3); });
  CHECK(error == "streaming: the host's memory for what streams (host=SIZE) has no room for 80 bytes: 80 of its 80 bytes are in "
                 "use, and there is no disk to move them to (disk=FOLDER)\n"
                 "  the device's memory (memory=): 160 of 160 bytes in use\n"
                 "  the host's memory for what streams (host=): 80 of 80 bytes in use\n"
                 "  of --device, what would have been enough for this operation: host=1KiB at least; or disk=FOLDER\n"
                 "  of the host's memory `host_peak_bytes` in --stats of one with host=1TiB is enough for the whole run");
  const Numbers second = mixed({counting(10)}, 1);
  CHECK(read(*pair.stream, a) == counting(10));
  CHECK(read(*pair.stream, b) == second);
  CHECK(read(*pair.stream, c) == mixed({second}, 2));
}

TEST_CASE("what the host makes begins on the device where the host is full, as long as there is room") {
  EmulatedOptions options = with_room_for(20);
  options.host_bytes = 80;
  Pair pair(options);
  const Part a = make(*pair.stream, 10), b = make(*pair.stream, 10), c = make(*pair.stream, 10), d = make(*pair.stream, 10);
  write(*pair.stream, a, counting(10));
  write(*pair.stream, b, counting(10, 1));
  CHECK(pair.device->backing()->device_in_use() == 80);
  write(*pair.stream, b, counting(10, 2)); // where it is
  write(*pair.stream, c, counting(10, 3));
  CHECK(error_of([&] { write(*pair.stream, d, counting(10, 4)); }).find("host=1KiB at least; or disk=FOLDER") !=
        std::string::npos);
  launch_here(pair, {b}, c, 1);
  CHECK(read(*pair.stream, a) == counting(10));
  CHECK(read(*pair.stream, b) == counting(10, 2));
  CHECK(read(*pair.stream, c) == mixed({counting(10, 2)}, 1));
}

TEST_CASE("a device's own tensor that has no room is told what cannot leave for it") {
  EmulatedOptions options = with_room_for(1000);
  Pair pair(options);
  const Part streams = make(*pair.stream, 400), here = make(*pair.device, 500);
  write(*pair.stream, streams, counting(400));
  launch_here(pair, {streams}, streams, 1);
  CHECK(error_of([&] { make(*pair.device, 600); }) ==
        "emulated: 4800 bytes wanted, but 7200 of its 8000 bytes are in use\n"
        "  the device's memory (memory=): 7200 of 8000 bytes in use\n"
        "  of --device, what would have been enough for this operation: "
        "memory=9KiB at least; or host=SIZE, so that tensors stream\n"
        "  what is enough for the whole run is `least_memory_bytes` in --stats of one without memory=");
}

TEST_CASE("a full host without a disk gives up what the device has as well, and nothing else") {
  EmulatedOptions options = with_room_for(30);
  options.host_bytes = 80;
  Pair pair(options);
  const Part a = make(*pair.stream, 10), b = make(*pair.stream, 10), c = make(*pair.stream, 10), d = make(*pair.stream, 10);
  write(*pair.stream, a, counting(10)); // fills the host
  launch_here(pair, {a}, b, 1);
  launch_here(pair, {a}, c, 2); // fills the device
  CHECK(pair.counts().host_copies_dropped == 0);
  launch_here(pair, {a, c}, d, 3); // b has no copy below, and must leave
  CHECK(pair.counts().host_copies_dropped == 1);
  CHECK(pair.counts().write_backs == 1);
  const Numbers third = mixed({counting(10)}, 2);
  CHECK(error_of([&] { launch_here(pair, {b, d}, d, 4); }).find("there is no disk to move them to") != std::string::npos);
  CHECK(read(*pair.stream, a) == counting(10));
  CHECK(read(*pair.stream, b) == mixed({counting(10)}, 1));
  CHECK(read(*pair.stream, c) == third);
  CHECK(read(*pair.stream, d) == mixed({counting(10), third}, 3));
}

namespace {

// Eight tensors where the host has room for two, and the device for two more.
struct Crowded {
  explicit Crowded(std::int64_t disk_bytes) : pair(options(disk_bytes)) {}
  Folder folder;
  Pair pair;
  std::vector<Part> parts;

  EmulatedOptions options(std::int64_t disk_bytes) const {
    EmulatedOptions options = with_room_for(2 * kNumbers);
    options.host_bytes = 2 * 8 * kNumbers;
    options.streaming.disk = folder.path.string();
    options.streaming.disk_bytes = disk_bytes;
    return options;
  }
  void add(std::int64_t from) {
    parts.push_back(make(*pair.stream, kNumbers));
    write(*pair.stream, parts.back(), counting(kNumbers, from));
  }
  static constexpr std::int64_t kNumbers = 1 << 14; // 128 KiB
};

} // namespace

TEST_CASE("what the disk does lies beside the work in virtual time, and each version of a block is written once") {
  Folder folder;
  EmulatedOptions options = with_room_for(40);
  options.host_bytes = 8 * 40;
  options.streaming.disk = folder.path.string();
  options.streaming.disk_bytes = 1 << 20;
  options.rates.latency = 0;
  options.rates.launch = 50e-6;
  options.rates.disk = 8e6; // ten numbers take 10 us
  Pair pair(options);
  std::vector<Part> parts;
  const int count = 12, rounds = 10;
  for (int i = 0; i < count; ++i) {
    parts.push_back(make(*pair.stream, 10));
    write(*pair.stream, parts.back(), counting(10, i));
  }
  const Part sum = make(*pair.stream, 10);
  Numbers right = counting(10, 0);
  write(*pair.stream, sum, right);
  for (int round = 0; round < rounds; ++round)
    for (int i = 0; i < count; ++i) {
      launch_here(pair, {parts[static_cast<std::size_t>(i)], sum}, sum, i);
      right = mixed({counting(10, i), right}, i);
    }
  const ModelledTime time = pair.device->backing()->modelled_time();
  CHECK(pair.counts().from_disk > count * (rounds - 1) / 2);
  CHECK(pair.counts().to_disk <= count + 1);
  CHECK(time.disk > 0.1 * time.execute);
  CHECK(time.end < 1.05 * time.execute + time.disk / rounds);
  CHECK(read(*pair.stream, sum) == right);
}

TEST_CASE("a disk that takes no more is an error where nothing else is left, and nothing is lost") {
  const auto fills = [](Crowded& crowded) {
    std::string error;
    for (int i = 0; error.empty() && i < 8; ++i) error = error_of([&] { crowded.add(i); });
    return error;
  };
  const auto all_there = [](Crowded& crowded) {
    crowded.parts.pop_back(); // which had no elements yet
    for (std::size_t i = 0; i < crowded.parts.size(); ++i)
      CHECK(read(*crowded.pair.stream, crowded.parts[i]) == counting(Crowded::kNumbers, static_cast<std::int64_t>(i)));
  };
  SUBCASE("its own limit") {
    Crowded crowded(2 * 8 * Crowded::kNumbers);
    CHECK(fills(crowded).find("and the 262144 bytes that may be used in ") != std::string::npos);
    CHECK(crowded.parts.size() == 7); // two on the disk, two on the host, two on the device, and one without elements
    all_there(crowded);
  }
  SUBCASE("that of the process") {
    Crowded crowded(1 << 30);
    rlimit before{};
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
    const rlimit little{8 * Crowded::kNumbers, before.rlim_max};
    REQUIRE(setrlimit(RLIMIT_FSIZE, &little) == 0);
    const std::string error = fills(crowded);
    setrlimit(RLIMIT_FSIZE, &before);
    CHECK(error.find("takes no more: File too large") != std::string::npos);
    CHECK(crowded.parts.size() == 6);
    all_there(crowded);
  }
  SUBCASE("its folder has gone") {
    Crowded crowded(1 << 30);
    fs::remove_all(crowded.folder.path);
    CHECK(fills(crowded).find("tensors cannot be put aside there: No such file or directory") != std::string::npos);
    all_there(crowded);
  }
}

TEST_CASE("what comes back changed from the disk is an error each time, and what is elsewhere is right") {
  for (const bool cut : {false, true}) {
    CAPTURE(cut);
    Crowded crowded(1 << 30);
    for (int i = 0; i < 4; ++i) crowded.add(i); // the first two go to the disk
    CHECK(crowded.pair.counts().to_disk >= 2);
    const int file = nameless_file(crowded.folder.path);
    REQUIRE(file >= 0);
    if (cut) {
      REQUIRE(ftruncate(file, 0) == 0);
    } else {
      alignas(4096) static const char other[4096] = {1};
      REQUIRE(pwrite(file, other, sizeof other, 8192) == sizeof other);
    }
    const char* const why = "elements of tensors that were put aside in ";
    for (int i = 0; i < 2; ++i)
      CHECK(error_of([&] { read(*crowded.pair.stream, crowded.parts[0]); }).find(why) != std::string::npos);
    CHECK(error_of([&] { launch_here(crowded.pair, {crowded.parts[0]}, crowded.parts[3], 1); }).find(why) != std::string::npos);
    CHECK(read(*crowded.pair.stream, crowded.parts[2]) == counting(Crowded::kNumbers, 2));
    CHECK(read(*crowded.pair.stream, crowded.parts[3]) == counting(Crowded::kNumbers, 3));
  }
}

TEST_CASE("memory that is not locked is copied through a buffer, and only then") {
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_MEMLOCK, &before) == 0);
  for (const bool allowed : {true, false}) {
    if (allowed && before.rlim_cur < std::uint64_t{8} << 20) continue;
    CAPTURE(allowed);
    const rlimit limit{allowed ? before.rlim_cur : 0, before.rlim_max};
    REQUIRE(setrlimit(RLIMIT_MEMLOCK, &limit) == 0);
    EmulatedOptions options = with_room_for(30);
    options.pinned_bytes = INT64_MAX;
    Pair pair(options);
    std::vector<Part> parts;
    for (int i = 0; i < 6; ++i) {
      parts.push_back(make(*pair.stream, 10));
      write(*pair.stream, parts.back(), counting(10, i));
    }
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) launch_here(pair, {parts[i]}, parts[i + 1], 1);
    Numbers right = counting(10);
    for (const Part& part : parts) {
      CHECK(read(*pair.stream, part) == right);
      right = mixed({right}, 1);
    }
    const Pinned pinned = pair.device->backing()->pinned();
    CHECK((pinned.bytes >= 1 << 21) == allowed);
    CHECK((pinned.staged_bytes > 0) == !allowed);
    CHECK((pinned.warning.find("`ulimit -l` allows 0 bytes") != std::string::npos) == !allowed);
  }
  setrlimit(RLIMIT_MEMLOCK, &before);
}
