// Every operator that the GPU has, element by element on the host, against the kernels of the CPU.
#include "gpu/families.h"
#include "gpu/supported.h"
#include "ops/cpu/device/device.h"
#include "ops/operators/registry.h"
#include "ops/operators/runtime.h"
#include "test/devices/samples.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace samples;
namespace gpu = cairn::gpu;

namespace {

// One element after the other, where the GPU takes many at once.
struct OnHost {
  template <class Body, class T> void operator()(const gpu::Traversal& traversal) const {
    for (std::int64_t i = 0; i < traversal.count; ++i) gpu::element<Body, T>(traversal, i);
  }
  template <class T> void fold(const gpu::Fold& fold) const {
    std::vector<T> parts(static_cast<std::size_t>(fold.lanes));
    for (std::int64_t i = 0; i < fold.kept.count; ++i) {
      for (int lane = 0; lane < fold.lanes; ++lane) parts[static_cast<std::size_t>(lane)] = gpu::fold_lane<T>(fold, i, lane);
      for (std::size_t half = parts.size() / 2; half > 0; half /= 2)
        for (std::size_t lane = 0; lane < half; ++lane) parts[lane] = gpu::fold_pair<T>(fold, parts[lane], parts[lane + half]);
      gpu::fold_store(fold, i, parts[0]);
    }
  }
  template <class T> void rows(const gpu::Rows& rows) const {
    std::vector<gpu::Found<T>> parts(static_cast<std::size_t>(rows.lanes));
    for (std::int64_t row = 0; row < rows.kept.count; ++row) {
      gpu::Found<T> found[2] = {{T(0), 0}, {T(0), 0}};
      for (int round = 0; round < gpu::rounds_of(rows.op); ++round) {
        for (int lane = 0; lane < rows.lanes; ++lane)
          parts[static_cast<std::size_t>(lane)] = gpu::row_lane<T>(rows, row, lane, round, found[0]);
        for (std::size_t half = parts.size() / 2; half > 0; half /= 2)
          for (std::size_t lane = 0; lane < half; ++lane)
            parts[lane] = gpu::row_pair(rows, round, parts[lane], parts[lane + half]);
        found[round] = parts[0];
      }
      for (int lane = 0; lane < rows.lanes; ++lane) gpu::row_write<T>(rows, row, lane, found[0], found[1]);
    }
  }
};

bool run(OperatorId id, const KernelCall& call) {
  const OnHost run;
  return gpu::unary(id, call, run) || gpu::binary(id, call, run) || gpu::moves(id, call, run) || gpu::folds(id, call, run) ||
         gpu::rows(id, call, run);
}

View view_of(const Tensor& t) {
  View v;
  v.dtype = t.dtype;
  v.weak = t.weak;
  v.number = t.number;
  v.shape = t.shape;
  v.strides = t.strides;
  if (t.storage) v.data = static_cast<char*>(t.storage->block().data) + t.offset * bytes_of(t.dtype);
  return v;
}

// Sums are taken in another order, and a reverse rule may be the difference of numbers that are larger than it: that of softmax
// was seen to differ by 1.1e-5.
double tolerance(DType type) { return type == DType::f64 ? 1e-13 : type == DType::bf16 ? 1e-2 : 3e-5; }

} // namespace

TEST_CASE("what a thread of the GPU computes for an element is what the CPU computes") {
  Free ledger;
  auto cpu = make_cpu_device(ledger, 1);
  Runtime runtime(*cpu);
  int had = 0;
  for (const OperatorId id : sampled_ids()) {
    if (!gpu::supported(id)) continue;
    ++had;
    CAPTURE(operator_of(id).name);
    Maker maker(static_cast<std::uint32_t>(id) + 1);
    for (int round = 0; round < 60; ++round) {
      const Sample sample = maker.make(id);
      const std::vector<Tensor> inputs = placed(runtime, sample, *cpu), results = applied(runtime, sample, inputs);
      REQUIRE(results.size() == 1); // those of more are not among them
      const Tensor& expected = results[0];
      bool shared = false; // a view
      for (const Tensor& in : inputs) shared = shared || in.storage.get() == expected.storage.get();
      if (shared) continue;
      Tensor got = runtime.empty(expected.dtype, expected.shape, *cpu);
      got.strides = expected.strides;
      std::vector<View> in;
      for (const Tensor& t : inputs) in.push_back(view_of(t));
      const View out = view_of(got);
      REQUIRE(run(id, KernelCall{in, {&out, 1}, sample.attributes}));
      const std::vector<double> x = runtime.read_numbers(expected), y = runtime.read_numbers(got);
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (std::isnan(x[i]) && std::isnan(y[i])) continue;
        if (x[i] == y[i]) continue;
        REQUIRE(std::abs(x[i] - y[i]) <= tolerance(expected.dtype) * std::max(1.0, std::abs(x[i])));
      }
    }
  }
  CHECK(had > 80);
}

TEST_CASE("what the device does not say it has, no family has") {
  for (const OperatorId id : sampled_ids()) {
    CAPTURE(operator_of(id).name);
    if (!gpu::supported(id)) CHECK_FALSE(run(id, KernelCall{{}, {}, {}}));
  }
}

TEST_CASE("traversals join axes that lie behind each other, and follow the layout of the output") {
  View a, out;
  out.shape = a.shape = Shape{4, 1, 5, 6};
  out.strides = {30, 30, 6, 1};
  a.strides = {30, 0, 6, 1};
  CHECK(gpu::traversal_of({&a, 1}, out).rank == 1);
  a.shape = Shape{5, 1};
  a.strides = {1, 0};
  const gpu::Traversal traversal = gpu::traversal_of({&a, 1}, out);
  CHECK(traversal.rank == 3);
  CHECK(traversal.sizes[0] == 6);
  CHECK(traversal.in[0].strides[0] == 0);
  CHECK(traversal.in[0].strides[1] == 1);
  CHECK(traversal.in[0].strides[2] == 0);
  out.strides = {30, 30, 1, 5}; // the last two axes exchanged in memory
  CHECK(gpu::traversal_of({}, out).rank == 1);
}
