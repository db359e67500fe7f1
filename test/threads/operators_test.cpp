// The same kernels on another thread, with delays and with copies beside them, give the same bits.
#include "ops/cpu/device/device.h"
#include "ops/cpu/device/workers.h"
#include "ops/emulated/device.h"
#include "ops/operators/registry.h"
#include "ops/operators/runtime.h"
#include "ops/streaming/device.h"
#include "test/devices/samples.h"

#include <doctest/doctest.h>

#include <atomic>
#include <new>

using namespace samples;

namespace {

// What one operator gave on the CPU device.
struct Expected {
  Sample sample;
  std::vector<char> bytes;
};

std::vector<Expected> on_cpu(OperatorId id, std::uint32_t seed, int rounds) {
  Free ledger;
  auto cpu = make_cpu_device(ledger, 1);
  Runtime runtime(*cpu);
  Maker maker(seed * 1000 + static_cast<std::uint32_t>(id));
  std::vector<Expected> all;
  for (int i = 0; i < rounds; ++i) {
    Expected e;
    e.sample = maker.make(id);
    e.bytes = bytes_of_all(runtime, applied(runtime, e.sample, placed(runtime, e.sample, *cpu)));
    all.push_back(std::move(e));
  }
  return all;
}

constexpr std::int64_t kFew = 40 << 10; // bytes: operands and results of a few samples

EmulatedOptions delays(std::uint64_t seed) {
  EmulatedOptions options;
  options.random_delays = seed;
  return options;
}

} // namespace

TEST_CASE("every operator gives on the emulated device what it gives on the CPU, to the bit") {
  for (const OperatorId id : sampled_ids()) {
    CAPTURE(operator_of(id).name);
    Free ledger;
    auto device = make_emulated_device(ledger, delays(static_cast<std::uint64_t>(id) + 1));
    {
      Runtime runtime(*device);
      for (const Expected& e : on_cpu(id, 1, 12))
        REQUIRE(bytes_of_all(runtime, applied(runtime, e.sample, placed(runtime, e.sample, *device))) == e.bytes);
    }
    CHECK_NOTHROW(device->wait_for_all());
    CHECK(ledger.held == 0);
  }
}

TEST_CASE("many operators in flight, their operands copied in and results copied out beside them, their memory used again") {
  for (std::uint32_t seed = 1; seed <= 3; ++seed) {
    std::vector<Expected> all;
    for (const OperatorId id : sampled_ids())
      for (Expected& e : on_cpu(id, 10 + seed, 2)) all.push_back(std::move(e));
    std::shuffle(all.begin(), all.end(), std::mt19937(seed));
    Free ledger;
    EmulatedOptions options = delays(seed);
    options.memory_bytes = 64 << 20;
    auto device = make_emulated_device(ledger, options);
    Runtime runtime(*device);
    constexpr std::size_t kInFlight = 8;
    std::vector<std::vector<Tensor>> results(all.size());
    for (std::size_t i = 0; i < all.size() + kInFlight; ++i) {
      if (i < all.size()) results[i] = applied(runtime, all[i].sample, placed(runtime, all[i].sample, *device));
      if (i >= kInFlight) {
        const Expected& e = all[i - kInFlight];
        CAPTURE(operator_of(e.sample.op).name);
        REQUIRE(bytes_of_all(runtime, results[i - kInFlight]) == e.bytes);
        results[i - kInFlight].clear();
      }
    }
    CHECK_NOTHROW(device->wait_for_all());
    CHECK(ledger.held == 0);
  }
}

TEST_CASE("many operators whose operands stream to a device that has room for few of them") {
  for (std::uint32_t seed = 1; seed <= 3; ++seed) {
    std::vector<Expected> all;
    for (const OperatorId id : sampled_ids())
      for (Expected& e : on_cpu(id, 20 + seed, 2)) all.push_back(std::move(e));
    std::shuffle(all.begin(), all.end(), std::mt19937(seed));
    Free ledger;
    EmulatedOptions options = delays(seed);
    options.memory_bytes = kFew;
    auto device = make_emulated_device(ledger, options);
    auto streaming = streaming::make_streaming_device(ledger, *device);
    std::size_t refused = 0;
    {
      Runtime runtime(*streaming);
      constexpr std::size_t kInFlight = 200;
      std::vector<std::vector<Tensor>> operands(all.size()), results(all.size());
      for (std::size_t i = 0; i < all.size() + kInFlight; ++i) {
        if (i < all.size()) {
          operands[i] = placed(runtime, all[i].sample, *streaming);
          try {
            results[i] = applied(runtime, all[i].sample, operands[i]);
          } catch (const DeviceMemoryExceeded&) { // of one operation; nothing of it has happened
            ++refused;
          }
        }
        if (i < kInFlight || results[i - kInFlight].empty()) continue;
        const Expected& e = all[i - kInFlight];
        CAPTURE(operator_of(e.sample.op).name);
        REQUIRE(bytes_of_all(runtime, results[i - kInFlight]) == e.bytes);
        results[i - kInFlight].clear();
        operands[i - kInFlight].clear();
      }
    }
    CHECK(refused < all.size() / 20);
    CHECK(streaming->counts().evictions > 100);
    CHECK(streaming->counts().write_backs > 100);
    CHECK_NOTHROW(device->wait_for_all());
    CHECK(ledger.held == 0);
  }
}

// A chain of operators on four tensors, each put on some stream: by hand, since the runtime uses one alone.
std::vector<float> chain(Device& device, std::uint32_t seed) {
  constexpr std::int64_t n = 500;
  constexpr OperatorId ops[] = {OperatorId::sub, OperatorId::max, OperatorId::min, OperatorId::atan2};
  Runtime runtime(device);
  std::mt19937 random(seed);
  std::vector<float> numbers(n), seen;
  std::vector<Tensor> tensors;
  const auto draw = [&] {
    for (float& x : numbers) x = std::uniform_real_distribution(0.5f, 2.0f)(random);
    return numbers.data();
  };
  for (int i = 0; i < 4; ++i) tensors.push_back(runtime.from_host(DType::f32, {n}, device, draw()));
  const auto view_of = [](const Tensor& t) {
    View view;
    view.data = t.storage->block().data;
    view.shape = t.shape;
    view.strides = t.strides;
    return view;
  };
  for (int step = 0; step < 200; ++step) {
    const Tensor a = tensors[random() % 4], b = tensors[random() % 4];
    Tensor& to = tensors[random() % 4];
    if (random() % 4 == 0) to = runtime.empty(DType::f32, {n}, device);
    View in[] = {view_of(a), view_of(b)}, out[] = {view_of(to)};
    Block *const reads[] = {&a.storage->block(), &b.storage->block()}, *const writes[] = {&to.storage->block()};
    const Attributes none;
    device.launch(static_cast<StreamKind>(random() % kStreams),
                  Launch{operator_of(ops[random() % 4]), in, out, none, reads, writes});
    if (step % 7 == 0) {
      std::vector<float> now(n);
      runtime.read(tensors[1], now.data());
      seen.insert(seen.end(), now.begin(), now.end());
    }
    if (step % 11 == 0) device.copy_in(tensors[2].storage->block(), 0, draw(), 4 * n);
  }
  device.wait_for_all();
  return seen;
}

TEST_CASE("operators on several streams at once give what they give one after the other") {
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    CAPTURE(seed);
    Free ledger;
    auto cpu = make_cpu_device(ledger, 1);
    auto device = make_emulated_device(ledger, delays(seed));
    const std::vector<float> first = chain(*cpu, seed), second = chain(*device, seed);
    REQUIRE(first.size() == second.size());
    CHECK(std::memcmp(first.data(), second.data(), first.size() * sizeof(float)) == 0);
  }
}

TEST_CASE("kernels of the emulated device take denormal numbers for zeros, like those of the CPU") {
  Free ledger;
  auto device = make_emulated_device(ledger, {});
  Runtime runtime(*device);
  const float tiny[] = {1e-39f, 1.0f};
  const Tensor t = runtime.from_host(DType::f32, {2}, *device, tiny);
  CHECK(runtime.read_numbers(runtime.apply(OperatorId::mul, {t, weak_number(1024, true)})) == std::vector<double>{0, 1024});
}

TEST_CASE("what a piece of work throws reaches the thread that waits for all") {
  cpu::Workers workers(4);
  cpu::Workers::current() = &workers;
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> begun = 0;
    const auto run = [&](int bad) {
      cpu::parallel_for(64, 1, [&](std::int64_t begin, std::int64_t) {
        ++begun;
        if (begin == bad) throw std::bad_alloc();
      });
    };
    CHECK_THROWS_AS(run(round % 64), std::bad_alloc);
    CHECK(begun >= 1);
    begun = 0;
    run(-1); // they go on working
    CHECK(begun == 64);
  }
  cpu::Workers::current() = nullptr;
}

TEST_CASE("the threads that share the work of large kernels give what one gives") {
  Free ledger;
  auto one = make_cpu_device(ledger, 1), four = make_cpu_device(ledger, 4);
  std::mt19937 random(5);
  std::vector<float> numbers(1 << 18);
  for (float& x : numbers) x = std::uniform_real_distribution(-2.0f, 2.0f)(random);
  const auto run = [&](Device& device, OperatorId id) {
    Runtime runtime(device);
    const bool product = id == OperatorId::matmul;
    const Tensor a = runtime.from_host(DType::f32, product ? Shape{256, 256} : Shape{512, 512}, device, numbers.data());
    const bool two = operator_of(id).signature.letters().substr(0, 2) == "XX" || product;
    const Tensor result = two ? runtime.apply(id, {a, a}) : runtime.apply(id, {a});
    return bytes_of_all(runtime, {&result, 1});
  };
  for (const OperatorId id :
       {OperatorId::add, OperatorId::expt, OperatorId::exp, OperatorId::gelu, OperatorId::sum, OperatorId::mean,
        OperatorId::max_over, OperatorId::softmax, OperatorId::log_softmax, OperatorId::matmul, OperatorId::norm,
        OperatorId::logsumexp, OperatorId::variance, OperatorId::argmax, OperatorId::sort}) {
    CAPTURE(operator_of(id).name);
    CHECK(run(*one, id) == run(*four, id));
  }
}
