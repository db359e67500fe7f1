// Whole trainings on a device whose streams begin everything late and in another order each time: the same bits as on the
// processor, and no work that began too early (whoever waits for it is told).
#include "ops/emulated/device.h"
#include "test/machine/embedding.h"
#include "test/machine/momentum.h"
#include "vm/api/handles.h"
#include "vm/machine/tensors.h"
#include "vm/runs/operators.h"

#include <doctest/doctest.h>

#include <string>

using namespace cairn;
using machine::Engine;
using machine_testing::kMomentum;
using machine_testing::Program;

namespace {

constexpr const char* kAdam = R"(
(import network)
(define blocks (map (lambda (i) (new-transformer 16)) (iota 3)))
(define x (randn '(2 8 16)))
(define (loss p) (let loop ((p p) (y x)) (if (null? p) (mean (* y y)) (loop (cdr p) (transformer 2 (car p) y #t)))))
(define (train n p s)
  (if (= n 0)
      (tensor->number (loss p))
      (let (((list value p s) (checkpoint-*j-update loss p 1 (adam .01) s))) (cons (tensor->number value) (train (- n 1) p s)))))
(write (train 3 blocks 0)))";
constexpr const char* kSweep = R"(
(define x (randn '(4 3 12 12)))
(define (net p) (mean (max-pool (ReLU (convolve (ReLU (convolve x (car p))) (cadr p))) 2)))
(define (train n p)
  (if (= n 0)
      (map (lambda (t) (tensor->number (sum t))) p)
      (train (- n 1) (map (lambda (a g) (- a (* 0.1 g))) p (cdr (*j net p 1.0))))))
(write (train 4 (list (* 0.1 (randn '(8 3 3 3))) (* 0.1 (randn '(8 8 3 3)))))))";

// What it writes.
std::string output_of(const Program& program, ops::DeviceMaker device) {
  std::string output;
  machine::Options options;
  options.device = std::move(device);
  options.output = [&](std::string_view text) { output += text; };
  Engine e(std::move(options), runs::kOperators);
  std::string message;
  REQUIRE_MESSAGE(e.load(program.module()->module, message), message);
  const machine::Status status = e.run();
  REQUIRE_MESSAGE(status == machine::Status::done, e.error.message);
  return output;
}

} // namespace

TEST_CASE("trainings on streams that begin late") {
  for (const char* const text : {kMomentum, kAdam, kSweep}) {
    const Program program(text);
    const std::string right = output_of(program, {});
    for (std::uint64_t seed = 1; seed <= 3; ++seed)
      for (const std::int64_t memory : {0, 1 << 20, 48 << 10}) {
        CAPTURE(text);
        CAPTURE(seed);
        CAPTURE(memory);
        ops::EmulatedOptions options;
        options.random_delays = seed;
        options.memory_bytes = memory;
        options.streaming.by_default = memory != 0;
        CHECK(output_of(program, [&](ops::Ledger& ledger) { return ops::make_emulated_device(ledger, options); }) == right);
      }
  }
}
