// Sweeps over tensors believe no cotangent: it may come from a file.
#include "embedding.h"

#include "ops/operators/runtime.h"
#include "vm/api/handles.h"
#include "vm/machine/engine.h"
#include "vm/machine/tensors.h"
#include "vm/runs/operators.h"

#include <doctest/doctest.h>

using namespace cairn;
using ops::DType;
using tape::TensorRecord;

TEST_CASE("a cotangent that is not like its tensor ends the sweep") {
  const double numbers[3] = {1, 2, 3};
  struct {
    DType dtype;
    std::int64_t size;
    bool fine;
  } cases[] = {{DType::f64, 2, true}, {DType::f64, 3, false}, {DType::f32, 2, false}};
  for (auto [dtype, size, fine] : cases) {
    machine::Engine e({}, runs::kOperators);
    ops::Runtime& runtime = e.tensors().runtime;
    tape::Tape tape(e.heap(), 0, 0, 0);
    auto record = std::make_shared<TensorRecord>(e.heap());
    record->kind = TensorRecord::Kind::identity;
    record->serial = 1;
    record->operands = {tape.leaf(0).tape_node()};
    record->outputs = tape::KeptTensors({{ops::description(runtime.from_host(DType::f64, {2}, e.tensors().cpu(), numbers))}});
    std::uint32_t node = tape.add_tensor(std::move(record)).node;
    tape.tensor_cotangents.emplace(node, runtime.from_host(dtype, {size}, e.tensors().cpu(), numbers));
    if (fine) {
      machine::tensors::sweep(e, tape);
      CHECK(tape.tensor_cotangents.count(0) == 1);
    } else {
      CHECK_THROWS_AS(machine::tensors::sweep(e, tape), machine::ProgramError);
    }
    tape.tensor_cotangents.clear();
    tape.release(e.heap());
  }
}

TEST_CASE("wherever a cotangent that is not like its tensor turns up, the program ends with an error") {
  const double numbers[3] = {1, 2, 3};
  const char* const programs[] = {
      "(*j (lambda (x) (tanh (* x x))) (list->tensor '(1. 2.)) (list->tensor '(1. 1.)))",
      // The sweep of the outer gradient meets that of the inner one as a whole.
      "(define (inner x) (cdr (*j (lambda (y) (tanh (* y y))) x (list->tensor '(1. 1.)))))"
      "(*j inner (list->tensor '(1. 2.)) (list->tensor '(1. 1.)))",
      "(define (f x) (tanh (* x x)))"
      "(with-schedule \"binomial,snapshots=2\" (lambda () (checkpoint-*j f (list->tensor '(1. 2.)) (list->tensor '(1. 1.)))))"};
  for (const char* const text : programs) {
    const machine_testing::Program program(text);
    unsigned errors = 0;
    bool ended = false;
    for (std::uint64_t steps = 1; !ended; ++steps) {
      machine::Engine e({}, runs::kOperators);
      std::string message;
      REQUIRE(e.load(program.module()->module, message));
      const machine::Status before = e.run(steps);
      REQUIRE(before != machine::Status::error);
      ended = before == machine::Status::done;
      for (const machine::Run& r : e.runs) {
        if (r.tape == nullptr) continue;
        for (const auto& record : r.tape->tensors())
          r.tape->tensor_cotangents.insert_or_assign(record->node,
                                                     e.tensors().runtime.from_host(DType::f64, {3}, e.tensors().cpu(), numbers));
      }
      const machine::Status status = e.run();
      CAPTURE(text);
      CAPTURE(steps);
      CHECK((status == machine::Status::done || status == machine::Status::error));
      errors += status == machine::Status::error;
      e.drop_everything();
    }
    CHECK(errors > 0);
  }
}
