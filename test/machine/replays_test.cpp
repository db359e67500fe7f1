// Cotangents find their objects by serials, so a replay in which an object gets another one gives wrong gradients. Here a replay
// is made to: the gradient is then still right, or the program ends with an error.
#include "embedding.h"

#include "vm/api/handles.h"
#include "vm/image/image.h"
#include "vm/runs/operators.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

using namespace cairn;
using machine::Engine;
using machine_testing::Program;

namespace {

// What is made before is used long after: pairs, frames below others, closures and tensors.
std::string gradient_under(const std::string& schedule) {
  return "(define (f x) (let loop ((i 0) (l (list x)) (s x))"
         "  (if (= i 12) (+ s (apply + l))"
         "    (let* ((held (list (* s .9) (car l))) (g (lambda (y) (* y (car held)))))"
         "      (loop (+ i 1) (cons (g (+ (sin s) (cadr held))) l) (- (car held) (* .1 (number (tanh (* s (fill '(2) "
         ".3)))))))))))"
         "(define (number t) (sumall t))"
         "(with-schedule \"" +
         schedule + "\" (lambda () (checkpoint-*j f .7 1.)))";
}

// A program that has run so many steps; null: it has ended before.
std::unique_ptr<Engine> after(const Program& program, std::uint64_t steps) {
  auto e = std::make_unique<Engine>(machine::Options{}, runs::kOperators);
  std::string message;
  REQUIRE(e->load(program.module()->module, message));
  if (e->run(steps) != machine::Status::out_of_steps) return nullptr;
  return e;
}

std::string outcome(Engine& e) {
  const machine::Status status = e.run();
  std::string text = status == machine::Status::done ? e.describe(e.result) : e.error.message;
  e.drop_everything();
  return text;
}

std::string outcome_in_another(Engine& e) {
  const std::vector<std::byte> bytes = image::write_image(e);
  e.drop_everything();
  Engine other({}, runs::kOperators);
  std::string message;
  REQUIRE(image::read_image(other, bytes, message));
  return outcome(other);
}

} // namespace

TEST_CASE("where a replay makes more objects than the run before it, the program ends, and no gradient is wrong") {
  for (const std::string schedule : {"bisection,base=16", "binomial,base=16,snapshots=2", "sqrt,base=16", "online,base=16"}) {
    CAPTURE(schedule);
    const Program program(gradient_under(schedule));
    const std::string expected = outcome(*after(program, 1));
    int right = 0, refused = 0;
    for (std::uint64_t at = 1;; ++at) {
      const std::unique_ptr<Engine> e = after(program, at);
      if (e == nullptr) break;
      ++e->heap().next_serial;
      const std::string came = at % 4 == 0 ? outcome_in_another(*e) : outcome(*e);
      CAPTURE(at);
      ++(came == expected ? right : refused);
      CHECK((came == expected || came.starts_with("a replay did not repeat the run before it")));
    }
    CHECK(right > 0);
    CHECK(refused > 0);
  }
}

TEST_CASE("no handler is asked where a replay did not repeat the run before it") {
  const std::string gradient = gradient_under("bisection,base=16");
  const std::size_t call = gradient.find("(with-schedule");
  const Program program(gradient.substr(0, call) + "(call-with-error-handler (lambda (message list) 'handled) (lambda () " +
                        gradient.substr(call) + "))");
  const std::unique_ptr<Engine> e = after(program, 1000);
  REQUIRE(e != nullptr);
  ++e->heap().next_serial;
  CHECK(outcome(*e).starts_with("a replay did not repeat the run before it"));
}
