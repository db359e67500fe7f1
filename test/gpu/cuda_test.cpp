// The GPU against the CPU: operators, copies, memory, order.
#include "ops/cpu/device/device.h"
#include "ops/cuda/loader.h"
#include "ops/operators/registry.h"
#include "ops/operators/runtime.h"
#include "ops/streaming/device.h"
#include "test/devices/samples.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>

using namespace samples;

namespace {

double tolerance(DType type) { return type == DType::f64 ? 1e-12 : type == DType::bf16 ? 2e-2 : 2e-5; }

struct Devices {
  Free ledger;
  std::unique_ptr<Device> cpu = make_cpu_device(ledger), gpu = make_cuda_device(ledger, {});
  Runtime runtime{*cpu};
  Devices() {}
};

std::vector<float> counting(std::int64_t n) {
  std::vector<float> numbers(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 1000003);
  return numbers;
}

} // namespace

TEST_CASE("every operator of the GPU gives what the CPU gives") {
  Devices d;
  CHECK_FALSE(d.gpu->in_host_memory());
  int had = 0, left_out = 0;
  for (const OperatorId id : sampled_ids()) {
    CAPTURE(operator_of(id).name);
    Maker maker(static_cast<std::uint32_t>(id) + 77);
    for (int round = 0; round < 40; ++round) {
      const Sample sample = maker.make(id);
      d.runtime.set_default_device(*d.cpu);
      const std::vector<Tensor> expected = applied(d.runtime, sample, placed(d.runtime, sample, *d.cpu));
      d.runtime.set_default_device(*d.gpu);
      try {
        const std::vector<Tensor> got = applied(d.runtime, sample, placed(d.runtime, sample, *d.gpu));
        REQUIRE(got.size() == expected.size());
        for (std::size_t r = 0; r < got.size(); ++r) {
          const std::vector<double> x = d.runtime.read_numbers(expected[r]), y = d.runtime.read_numbers(got[r]);
          CHECK(got[r].device() == d.gpu.get());
          REQUIRE(x.size() == y.size());
          for (std::size_t i = 0; i < x.size(); ++i) {
            if ((std::isnan(x[i]) && std::isnan(y[i])) || x[i] == y[i]) continue;
            REQUIRE(std::abs(x[i] - y[i]) <= tolerance(got[r].dtype) * std::max(1.0, std::abs(x[i])));
          }
        }
        if (round == 0) ++had;
      } catch (const OperatorError& e) {
        if (round == 0) ++left_out;
        CHECK(std::string(e.what()).find("cuda:0") != std::string::npos);
        break;
      }
    }
  }
  MESSAGE(fmt::format("{} operators, {} left out", had, left_out));
  CHECK_NOTHROW(d.gpu->wait_for_all());
}

TEST_CASE("copies of all sizes arrive, whole and in part") {
  Devices d;
  for (const std::int64_t n : {1, 1000, (1 << 20) - 1, (1 << 20) + 1, 5 << 20}) {
    CAPTURE(n);
    const std::vector<float> numbers = counting(n);
    Storage* const made = d.gpu->make_storage(4 * n);
    const StorageRef storage(made);
    d.gpu->copy_in(made->block(), 0, numbers.data(), 4 * n);
    std::vector<float> back(numbers.size());
    d.gpu->copy_out(made->block(), 0, back.data(), 4 * n);
    REQUIRE(back == numbers);
    const std::int64_t part = n / 3;
    d.gpu->copy_in(made->block(), 4 * part, numbers.data(), 4 * part);
    d.gpu->copy_out(made->block(), 4 * part, back.data(), 4 * part);
    REQUIRE(std::equal(numbers.begin(), numbers.begin() + part, back.begin()));
  }
  CHECK(d.gpu->live_bytes() == 0);
}

TEST_CASE("memory is used again at once, in order over all streams") {
  Devices d;
  d.runtime.set_default_device(*d.gpu);
  const std::int64_t n = 3 << 20;
  const std::vector<float> numbers = counting(n);
  std::vector<float> back(numbers.size());
  for (int round = 0; round < 50; ++round) {
    Tensor t = d.runtime.from_host(DType::f32, {n}, *d.gpu, numbers.data());
    for (int i = 0; i < 5; ++i) t = d.runtime.apply(OperatorId::add, {t, weak_number(1, true)});
    d.runtime.read(t, back.data());
    for (std::size_t i = 0; i < back.size(); i += 1009) REQUIRE(back[i] == numbers[i] + 5);
  }
  CHECK(d.gpu->peak_bytes() <= 3 * 4 * n);
}

TEST_CASE("tensors that stream to the GPU are what they are where all fit, whatever is locked") {
  constexpr std::int64_t n = 1 << 20, count = 24; // 96 MiB
  const auto computed = [&](Device& device, Runtime& rt) {
    rt.set_default_device(device);
    std::vector<Tensor> tensors;
    for (std::int64_t i = 0; i < count; ++i) {
      std::vector<float> numbers = counting(n);
      for (float& x : numbers) x = x * 1e-6f + static_cast<float>(i);
      tensors.push_back(rt.from_host(DType::f32, {n}, device, numbers.data()));
    }
    for (std::size_t i = 0; i < 4 * tensors.size(); ++i) {
      Tensor& t = tensors[i * 5 % tensors.size()];
      t = rt.apply(OperatorId::mul, {rt.apply(OperatorId::sin, {t}), tensors[i * 7 % tensors.size()]});
    }
    std::vector<std::vector<double>> all;
    for (const Tensor& t : tensors) all.push_back(rt.read_numbers(t));
    return all;
  };
  Devices d;
  const auto right = computed(*d.gpu, d.runtime);
  for (const std::int64_t pinned : {std::int64_t{0}, std::int64_t{21} << 20, INT64_MAX}) {
    CudaOptions options;
    options.memory_bytes = 40 << 20;
    options.pinned_bytes = pinned;
    const std::unique_ptr<Device> little = make_cuda_device(d.ledger, options);
    const auto streams = streaming::make_streaming_device(d.ledger, *little);
    Runtime rt{*d.cpu};
    const bool same = computed(*streams, rt) == right;
    CHECK(same);
    CHECK(streams->counts().evictions > 0);
    CHECK(streams->counts().write_backs > 0);
    const Pinned locked = little->backing()->pinned();
    CHECK_MESSAGE(locked.warning == "", locked.warning);
    CHECK((locked.staged_bytes == 0) == (pinned == INT64_MAX));
  }
}

TEST_CASE("what does not fit is refused with figures, and the device works on") {
  Devices d;
  CHECK_THROWS_AS(d.gpu->make_storage(std::int64_t{1} << 50), DeviceMemoryExceeded);
  const StorageRef small(d.gpu->make_storage(1000));
  CHECK(d.gpu->live_bytes() == 1000);
  CHECK_NOTHROW(d.gpu->wait_for_all());
}

TEST_CASE("work on four streams comes in the order of its blocks") {
  Devices d;
  Runtime& rt = d.runtime;
  rt.set_default_device(*d.gpu);
  const std::int64_t n = 1 << 20;
  Tensor a = rt.from_host(DType::f32, {n}, *d.gpu, counting(n).data());
  const auto view_of = [](const Tensor& t) {
    View v;
    v.data = t.storage->block().data;
    v.shape = t.shape;
    v.strides = t.strides;
    return v;
  };
  Tensor b = rt.empty(DType::f32, {n}, *d.gpu);
  View one;
  one.weak = true;
  one.number = 1;
  const Attributes none;
  for (int i = 0; i < 400; ++i) {
    View in[] = {view_of(a), one}, out[] = {view_of(b)};
    Block *const reads[] = {&a.storage->block()}, *const writes[] = {&b.storage->block()};
    d.gpu->launch(static_cast<StreamKind>(i % 4), Launch{operator_of(OperatorId::add), in, out, none, reads, writes});
    std::swap(a, b);
  }
  const std::vector<double> numbers = rt.read_numbers(a);
  CHECK(numbers[5] == 405);
  CHECK(numbers.back() == static_cast<double>((n - 1) % 1000003 + 400));
}
