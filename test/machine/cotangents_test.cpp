// Sweeps over tensors believe no cotangent: it may come from a file.
#include "ops/operators/runtime.h"
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
