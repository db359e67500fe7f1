// First steps.
#include "ops/operator.h"

#include <doctest/doctest.h>

using namespace cairn::ops;

namespace {
struct Free : Ledger {
  void charge(std::int64_t bytes) override { held += bytes; }
  std::int64_t held = 0;
};
} // namespace

TEST_CASE("tensors of numbers are added") {
  Free ledger;
  {
    auto cpu = make_cpu_device(ledger);
    Runtime rt(*cpu);
    const float a[] = {1, 2, 3, 4, 5, 6}, b[] = {10, 20, 30};
    Tensor x = rt.from_host(DType::f32, {2, 3}, *cpu, a), y = rt.from_host(DType::f32, {3}, *cpu, b);
    CHECK(rt.read_numbers(rt.apply(OperatorId::add, {x, y})) == std::vector<double>{11, 22, 33, 14, 25, 36});
    CHECK(rt.read_numbers(rt.apply(OperatorId::less, {x, weak_number(3, true)})) == std::vector<double>{1, 1, 0, 0, 0, 0});
  }
  CHECK(ledger.held == 0);
}
