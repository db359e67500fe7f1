// The streaming device: what it computes is what a device with room for everything computes, and what it moves is what the ladder
// says.
#include "../devices/testing.h"

#include "ops/streaming/device.h"

#include <cstdlib>
#include <random>

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
  CHECK(pair.device->backing()->device_peak() == 240);
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
        "at the same time");
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
      if (tier.device != 0) CHECK(pair.device->backing()->device_peak() <= 8 * tier.device);
      if (tier.device != 0) CHECK(pair.counts().evictions + pair.counts().write_backs > 0);
      if (tier.host != 0) CHECK(pair.device->backing()->host_peak() <= 8 * tier.host);
      CHECK((pair.counts().to_disk > 0) == tier.disk);
      all.clear();
      CHECK(pair.account.bytes == 0);
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
                 "use, and there is no disk to move them to (disk=FOLDER)");
  const Numbers second = mixed({counting(10)}, 1);
  CHECK(read(*pair.stream, a) == counting(10));
  CHECK(read(*pair.stream, b) == second);
  CHECK(read(*pair.stream, c) == mixed({second}, 2));
}
