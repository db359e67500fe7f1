// The GPU's device with a streaming device around it, on a CUDA that is no GPU (fake_cuda.h): programs give what they give on the
// processor, in whatever order the streams do their work, and nothing is asked of the driver that it would refuse.
#include "fake_cuda.h"

#include "gpu/device.h"
#include "ops/cpu/device/device.h"
#include "ops/operator_ids.h"
#include "ops/operators/runtime.h"
#include "test/machine/embedding.h"
#include "test/machine/momentum.h"
#include "vm/api/handles.h"
#include "vm/machine/tensors.h"
#include "vm/runs/operators.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

using namespace cairn;
using machine::Engine;
using machine_testing::kMomentum;
using machine_testing::Program;

namespace {

// Tensors of more than a page, of which some lie in pages that do not follow one another.
constexpr const char* kLarge = R"(
(define w (map (lambda (i) (* 0.01 (randn (list (+ 300000 (* 177777 i)))))) (iota 6)))
(define (loss w) (if (null? w) 0 (+ (mean (* (sin (car w)) (car w))) (loss (cdr w)))))
(define (train n w)
  (if (= n 0)
      (map (lambda (t) (tensor->number (sum t))) w)
      (train (- n 1) (cadr (checkpoint-*j-update loss w 1.0 (lambda (p g s) (cons (- p (* 0.1 g)) s)) 0)))))
(write (train 3 w)))";

// The same with fewer of them.
constexpr const char* kPages = R"(
(define w (map (lambda (i) (* 0.01 (randn (list (+ 90000 (* 230000 i)))))) (iota 4)))
(define (loss w) (if (null? w) 0 (+ (mean (* (sin (car w)) (car w))) (loss (cdr w)))))
(write (map (lambda (t) (tensor->number (sum t))) (cadr (checkpoint-*j-update loss w 1.0 (lambda (p g s) (cons (- p (* 0.1 g)) s)) 0)))))";

// What it writes, and what was moved.
struct Ran {
  std::string output, error;
  ops::streaming::Counts counts;
  ops::Pinned pinned;
};
Ran run_on(const Program& program, const ops::DeviceMaker& device) {
  Ran ran;
  machine::Options options;
  options.device = device;
  options.output = [&](std::string_view text) { ran.output += text; };
  Engine e(std::move(options), runs::kOperators);
  std::string message;
  REQUIRE_MESSAGE(e.load(program.module()->module, message), message);
  const machine::Status status = e.run();
  if (status != machine::Status::done) ran.error = e.error.message;
  if (const ops::streaming::StreamingDevice* streaming = e.tensor_world->streaming()) {
    ran.counts = streaming->counts();
    ran.pinned = e.tensor_world->backing()->pinned();
  }
  return ran;
}

ops::CudaOptions with_memory(std::int64_t bytes) {
  ops::CudaOptions options;
  options.memory_bytes = bytes;
  options.streaming.by_default = true;
  return options;
}

// On a fresh fake, of which nothing may be left.
Ran run_on_fake(const Program& program, const ops::CudaOptions& options, const fake_cuda::Settings& settings) {
  fake_cuda::begin(settings);
  Ran ran = run_on(program, [&](ops::Ledger& ledger) { return std::make_unique<gpu::CudaDevice>(ledger, options); });
  for (const std::string& fault : fake_cuda::faults()) CHECK_MESSAGE(false, fault);
  CHECK(fake_cuda::left_over() == 0);
  return ran;
}

constexpr std::int64_t kMiB = 1 << 20;

} // namespace

TEST_CASE("trainings whose weights stream to a GPU are those of the processor, in whatever order its streams work") {
  for (const char* const text : {kMomentum, kLarge}) {
    CAPTURE(text);
    const Program program(text);
    const std::string right = run_on(program, {}).output;
    REQUIRE(right.size() > 20);
    const std::int64_t little = text == kMomentum ? 48 << 10 : 24 * kMiB;
    for (const std::int64_t memory : {little, 64 * kMiB})
      for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        CAPTURE(memory);
        CAPTURE(seed);
        const Ran ran = run_on_fake(program, with_memory(memory), {.seed = seed});
        CHECK(ran.error == "");
        CHECK(ran.output == right);
        CHECK((ran.counts.evictions > 0) == (memory == little));
        CHECK((ran.counts.write_backs > 0) == (memory == little));
        CHECK(ran.pinned.staged_bytes == 0);
        CHECK(fake_cuda::counts().copies_that_wait == 0);
        CHECK(fake_cuda::counts().out_of_order > 0);
        if (text == kLarge) CHECK(fake_cuda::counts().mapped_again > 0);
      }
  }
}

TEST_CASE("each policy that a GPU can have, and a disk behind the host's memory, give the same") {
  const Program program(kMomentum);
  const std::string right = run_on(program, {}).output;
  const std::filesystem::path folder = std::filesystem::temp_directory_path();
  for (const ops::plans::Policy policy : {ops::plans::Policy::planned, ops::plans::Policy::demand, ops::plans::Policy::waiting})
    for (const std::int64_t host : {0, 40 << 10}) {
      ops::CudaOptions options = with_memory(48 << 10);
      options.streaming.policy = policy;
      options.host_bytes = host;
      if (host != 0) {
        options.streaming.disk = folder.string();
        options.streaming.disk_bytes = kMiB;
      }
      const Ran ran = run_on_fake(program, options, {});
      CHECK(ran.error == "");
      CHECK(ran.output == right);
      CHECK((ran.counts.to_disk > 0) == (host != 0));
    }
}

TEST_CASE("what the driver does not keep in its place is copied through a buffer, and said") {
  const Program program(kLarge);
  const std::string right = run_on(program, {}).output;
  const ops::CudaOptions options = with_memory(24 * kMiB);
  const Ran few = run_on_fake(program, options, {.registered_bytes = 5 * kMiB});
  CHECK(few.output == right);
  CHECK(few.pinned.bytes == 4 * kMiB);
  CHECK(few.pinned.staged_bytes > 0);
  CHECK(few.pinned.warning ==
        "4194304 bytes of the host's memory for what streams are locked (pinned=), and no more: out of memory; "
        "copies from and to the rest go through buffers");
  CHECK(fake_cuda::counts().copies > 0);
  CHECK(fake_cuda::counts().copies_that_wait > 0);

  for (const std::int64_t pinned : {std::int64_t{0}, 3 * kMiB + 4096}) { // as pinned=off and pinned=SIZE
    ops::CudaOptions less = options;
    less.pinned_bytes = pinned;
    const Ran ran = run_on_fake(program, less, {});
    CHECK(ran.output == right);
    CHECK(ran.pinned.bytes == pinned);
    CHECK(ran.pinned.warning == "");
    CHECK(fake_cuda::counts().copies_that_wait > 0);
  }
}

TEST_CASE("memory that somebody else has taken is as if it had never been there") {
  const Program program(kLarge);
  const std::string right = run_on(program, {}).output;
  const Ran streams = run_on_fake(program, with_memory(64 * kMiB), {.device_bytes = 24 * kMiB});
  CHECK(streams.error == "");
  CHECK(streams.output == right);
  CHECK(streams.counts.evictions > 0);

  ops::CudaOptions stays = with_memory(64 * kMiB);
  stays.streaming.by_default = false;
  CHECK(run_on_fake(program, stays, {}).output == right);
  const Ran none = run_on_fake(program, stays, {.device_bytes = 8 * kMiB});
  CHECK_MESSAGE(none.error.find("cuda:0: ") != std::string::npos, none.error);
  CHECK_MESSAGE(none.error.find("the system gives no more pages, of 6291456 bytes in all") != std::string::npos, none.error);
}

TEST_CASE("whatever the driver refuses, what is computed is right or there is an error, and nothing is lost") {
  const Program program(kPages);
  const std::string right = run_on(program, {}).output;
  CHECK(run_on_fake(program, with_memory(10 * kMiB), {}).output == right);
  const std::int64_t calls = fake_cuda::counts().refusable;
  CHECK(fake_cuda::counts().mapped_again > 0);
  int done = 0;
  for (std::int64_t call = 0; call < calls; ++call) {
    CAPTURE(call);
    const Ran ran = run_on_fake(program, with_memory(10 * kMiB), {.refused_call = call});
    if (!ran.error.empty()) {
      CHECK_MESSAGE(ran.error.find("cuda") != std::string::npos, ran.error);
      continue;
    }
    CHECK(ran.output == right);
    ++done;
  }
  MESSAGE(done << " of " << calls << " refused calls changed nothing");
  CHECK(done > calls / 2);
}

TEST_CASE("a device that is lost ends the run with an error, and no number is read from it") {
  const Program program(kMomentum);
  const std::string right = run_on(program, {}).output;
  run_on_fake(program, with_memory(48 << 10), {});
  const std::int64_t steps = fake_cuda::counts().steps;
  CHECK(steps > 1000);
  int lost = 0;
  for (std::int64_t step = 0; step < steps; step += steps / 17) {
    CAPTURE(step);
    const Ran ran = run_on_fake(program, with_memory(48 << 10), {.lost_at = step});
    CHECK((ran.output == right || ran.output.empty()));
    CHECK(ran.error.empty() == !ran.output.empty());
    if (ran.error.empty()) continue;
    ++lost;
    CHECK_MESSAGE(ran.error.starts_with("cuda:0: "), ran.error);
    CHECK_MESSAGE(ran.error.find("an error") != std::string::npos, ran.error);
  }
  CHECK(lost >= 15);
}

TEST_CASE("two devices of one thread do not get in each other's way") {
  fake_cuda::begin({});
  {
    struct : ops::Ledger {
      void charge(std::int64_t, std::int64_t) override {}
    } ledger;
    const std::unique_ptr<ops::Device> cpu = ops::make_cpu_device(ledger);
    ops::CudaOptions options = with_memory(kMiB);
    gpu::CudaDevice first(ledger, options);
    options.index = 1;
    gpu::CudaDevice second(ledger, options);
    ops::Runtime runtime{*cpu};
    const std::vector<float> numbers(1000, 1.F);
    ops::Tensor a = runtime.from_host(ops::DType::f32, {1000}, first, numbers.data());
    ops::Tensor b = runtime.from_host(ops::DType::f32, {1000}, second, numbers.data());
    for (int i = 0; i < 5; ++i) {
      a = runtime.apply(ops::OperatorId::add, {a, a});
      b = runtime.apply(ops::OperatorId::add, {b, runtime.apply(ops::OperatorId::add, {b, b})});
    }
    CHECK(runtime.read_numbers(a)[999] == 32);
    CHECK(runtime.read_numbers(b)[0] == 243);
  }
  for (const std::string& fault : fake_cuda::faults()) CHECK_MESSAGE(false, fault);
  CHECK(fake_cuda::left_over() == 0);
}

TEST_CASE("a driver without virtual memory is refused with a reason") {
  fake_cuda::begin({.has_virtual_memory = false});
  std::string what;
  try {
    struct : ops::Ledger {
      void charge(std::int64_t, std::int64_t) override {}
    } ledger;
    const gpu::CudaDevice device(ledger, with_memory(kMiB));
  } catch (const std::exception& e) {
    what = e.what();
  }
  CHECK(what ==
        "cuda: the driver has no cuMemGetAllocationGranularity, which maps memory; version 11.0 of CUDA or later is needed");
  CHECK(fake_cuda::left_over() == 0);
}
