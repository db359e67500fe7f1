// See rule_cost.h. Rules are compositions of operators, and what an operator takes follows from shapes alone: so a rule that
// works on a device without memory spends what it would spend elsewhere.
#include "ops/operators/rule_cost.h"

#include "ops/operators/runtime.h"

#include <cstring>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace cairn::ops {

namespace {

// Takes nothing from anybody; but who looks at many indices asks the machine's meter whether to go on.
struct NobodysLedger final : Ledger {
  void charge(std::int64_t /*bytes*/, std::int64_t /*beside*/) override {}
  Meter* meter() override { return asked; }
  Meter* const asked = Meter::current();
};

// Has blocks of any size, all of them without memory, and does nothing when it is asked to compute. What is read there is 0,
// which is an index of any axis that has elements.
class DeviceWithoutMemory final : public Device {
public:
  explicit DeviceWithoutMemory(Ledger& ledger) : Device("none", ledger, 0) {}

  bool in_host_memory() const override { return false; }
  bool supports(const Operator& op) const override { return op.kernel != nullptr; }
  void launch(StreamKind /*stream*/, const Launch& /*launch*/) override {}
  void copy_in(Block& /*to*/, std::int64_t /*offset*/, const void* /*from*/, std::int64_t /*bytes*/) override {}
  void copy_out(const Block& /*from*/, std::int64_t /*offset*/, void* to, std::int64_t bytes) override {
    std::memset(to, 0, static_cast<std::size_t>(bytes));
  }
  void wait(const Block& /*block*/) override {}
  void wait_for_all() override {}

protected:
  Block* take_block(std::int64_t bytes) override { return std::make_unique<Block>(Block{nullptr, bytes}).release(); }
  void give_back_block(Block* block) override { delete block; }
};

// The same tensor on that device. Where its elements lie in their storage says nothing about costs.
Tensor without_elements(Tensor t, Device& device) {
  if (t.weak) return t;
  t.storage = StorageRef(device.make_storage(t.bytes()));
  t.home = nullptr;
  return t;
}

} // namespace

std::optional<RuleCost> cost_of_rule(const Call& call, std::span<const Tensor> results, std::span<const bool> given,
                                     std::span<const bool> wanted, std::span<const Tensor> smaller) {
  NobodysLedger ledger;
  DeviceWithoutMemory device(ledger);
  Runtime runtime(device);
  Meter meter;
  const Meter::Installed installed(&meter);
  std::vector<Tensor> inputs, outputs, cotangents, in_place, parts(call.inputs.size());
  for (const Tensor& t : call.inputs) inputs.push_back(without_elements(t, device));
  for (std::size_t i = 0; i < results.size(); ++i) {
    outputs.push_back(without_elements(results[i], device));
    Tensor& cotangent = cotangents.emplace_back();
    if (!given[i]) continue;
    cotangent = outputs.back();
    if (!cotangent.dense()) set_contiguous(cotangent);
    cotangent = without_elements(std::move(cotangent), device);
  }
  for (const Tensor& t : smaller) in_place.push_back(without_elements(t, device));
  AddedOnto onto;
  const bool adds = call.op.vjp_memory == VjpMemory::onto && Runtime::can_add_onto(inputs[0], inputs[0]);
  try {
    call.op.vjp({runtime, call.op, inputs, outputs, cotangents, call.attributes, wanted, parts, cotangents,
                 in_place.empty() ? nullptr : in_place.data(), adds ? &onto : nullptr});
    if (onto.op != nullptr) runtime.add_onto(inputs[0], std::move(onto));
  } catch (const OperatorError&) {
    return std::nullopt;
  }
  return RuleCost{meter.spent(), meter.operations()};
}

} // namespace cairn::ops
