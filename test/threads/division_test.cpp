// Where the work of a kernel is divided decides nothing: results have the same bits however many threads there are, and where
// kernels run alone, as on other devices. Sizes are multiples of nothing, and beyond what threads and libraries are asked for.
#include "ops/cpu/device/device.h"
#include "ops/emulated/device.h"
#include "ops/operators/registry.h"
#include "ops/operators/runtime.h"
#include "test/devices/samples.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <memory>

using namespace samples;

namespace {

// The first has one thread; on the last, kernels know no threads to share with.
struct Devices {
  Free ledger;
  std::vector<std::unique_ptr<Device>> all;
  Devices() {
    for (const unsigned threads : {1u, 2u, 3u, 5u}) all.push_back(make_cpu_device(ledger, threads));
    all.push_back(make_emulated_device(ledger, {}));
  }
};

std::vector<char> bytes_on(Device& device, const Sample& sample) {
  Runtime runtime(device);
  return bytes_of_all(runtime, applied(runtime, sample, placed(runtime, sample, device)));
}

std::string shapes_of(const Sample& sample) {
  std::string text;
  for (const Input& in : sample.inputs) text += fmt::format("{} {}; ", name_of(in.dtype), in.shape.text());
  return text;
}

void same_on_all(Devices& devices, const Sample& sample) {
  const std::vector<char> one = bytes_on(*devices.all[0], sample);
  for (std::size_t i = 1; i < devices.all.size(); ++i) {
    CAPTURE(i);
    CHECK(bytes_on(*devices.all[i], sample) == one);
  }
}

} // namespace

TEST_CASE("every operator gives the same bits on any number of threads, and on none") {
  Devices devices;
  for (const OperatorId id : sampled_ids()) {
    const std::string_view name = operator_of(id).name;
    CAPTURE(name);
    Maker maker(7000 + static_cast<std::uint32_t>(id), Extent::large);
    for (int round = 0; round < 2; ++round) {
      const Sample sample = maker.make(id);
      CAPTURE(shapes_of(sample));
      same_on_all(devices, sample);
    }
  }
}

TEST_CASE("products of all types and layouts give the same bits on any number of threads, and on none") {
  Devices devices;
  Maker maker(3);
  const auto matrix = [&](DType type, std::int64_t rows, std::int64_t columns, bool turned) {
    Input in;
    in.dtype = type;
    in.shape = turned ? Shape{columns, rows} : Shape{rows, columns};
    if (turned) in.first = 0, in.second = 1;
    std::vector<double> numbers(static_cast<std::size_t>(rows * columns));
    in.bytes.resize(numbers.size() * static_cast<std::size_t>(bytes_of(type)));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const double d = static_cast<double>(maker.below(2000001)) / 1000000.0 - 1;
      if (type == DType::f64) std::memcpy(in.bytes.data() + 8 * i, &d, 8);
      const float f = static_cast<float>(d);
      if (type == DType::f32) std::memcpy(in.bytes.data() + 4 * i, &f, 4);
      const Bf16 b = rounded(f);
      if (type == DType::bf16) std::memcpy(in.bytes.data() + 2 * i, &b, 2);
    }
    return in;
  };
  struct Size {
    std::int64_t m, k, n;
  };
  for (const DType type : {DType::f32, DType::f64, DType::bf16})
    for (const Size size : {Size{300, 211, 257}, Size{257, 211, 300}, Size{531, 97, 41}, Size{37, 513, 607}, Size{1031, 67, 129},
                            Size{1, 1021, 613}, Size{1301, 303, 1}, Size{701, 1, 303}})
      for (const bool left : {false, true})
        for (const bool right : {false, true}) {
          CAPTURE(name_of(type));
          CAPTURE(size.m);
          CAPTURE(size.k);
          CAPTURE(size.n);
          CAPTURE(left);
          CAPTURE(right);
          same_on_all(devices,
                      {OperatorId::matmul, {matrix(type, size.m, size.k, left), matrix(type, size.k, size.n, right)}, {}});
        }
}
