// See trials.h.
#include "test/fuzz/trials.h"

#include "ops/devices/devices.h"
#include "ops/plans/plan_bytes.h"
#include "vm/bytecode/bytes.h"
#include "vm/bytecode/file.h"
#include "vm/image/reseal.h"
#include "vm/machine/engine.h"
#include "vm/value/heap.h"

#include <algorithm>
#include <numeric>

namespace fuzzing {

namespace {

using cairn::machine::HostProcedure;
using cairn::value::Heap;
using cairn::value::Value;

Value half(Value v) {
  return v.is_integer()  ? cairn::value::flonum(.5 * static_cast<double>(v.integer()))
         : v.is_flonum() ? cairn::value::flonum(.5 * v.flonum())
                         : throw cairn::machine::ProgramError("host-half: expected a number");
}

// Of each kind of procedure one: a function of numbers, one without derivative whose results are logged, an operator on tensors.
std::vector<HostProcedure> hosts() {
  std::vector<HostProcedure> list(3);
  list[0].name = "host-half";
  list[0].parameters = 1;
  list[0].repeatable = true;
  list[0].call = [](std::span<const Value> a) { return half(a[0]); };
  list[0].derivative = [](std::span<const double>, std::span<const double>, std::span<double> jacobian) {
    std::ranges::fill(jacobian, .5);
  };
  list[1].name = "host-log";
  list[1].parameters = 1;
  list[1].call = list[0].call;
  list[2].name = "host-same";
  list[2].parameters = 2;
  list[2].repeatable = true;
  list[2].call = [](std::span<const Value> a) { return Heap::retain(a[0]); };
  list[2].reverse = [](std::span<const Value>, Value, Value cotangent, std::span<Value> cotangents) {
    cotangents[0] = Heap::retain(cotangent);
  };
  list[2].forward = [](std::span<const Value>, Value, std::span<const Value> tangents) { return Heap::retain(tangents[0]); };
  return list;
}

// After everything is dropped there is what a machine has that was loaded with the same module and never ran. (The count of
// objects, which is exact too, is kept in debug builds only.)
void expect_nothing_left(Engine& machine) {
  promise(drop_everything(machine) == 0, "nothing is left");
  Engine fresh(with_hosts(nullptr), cairn::runs::kOperators);
  std::string error;
  promise(fresh.load(machine.loaded.module, error), "what ran can be loaded:", error);
  fresh.drop_everything();
  const Heap &heap = machine.heap(), &other = fresh.heap();
  promise(heap.heap_live() == other.heap_live(), "no bytes are left",
          std::to_string(heap.heap_live()) + " / " + std::to_string(other.heap_live()));
  promise(heap.tape.live == 0 && heap.capsules.live == 0 && heap.tensors.live == 0,
          "no bytes are left of tapes, capsules and tensors");
}

} // namespace

cairn::machine::Options with_hosts(std::string* output) {
  cairn::machine::Options options = bounded(output);
  options.hosts = hosts();
  return options;
}

cairn::machine::Options streaming(cairn::machine::Options options) {
  std::string error;
  promise(cairn::ops::parse_device("emulated,memory=8KiB,host=256KiB", options.device, error), "there is such a device:", error);
  return options;
}

Verdict try_module(const Bytes& file) {
  constexpr std::size_t kProducerAt = 32, kProducerBytes = 32;
  std::string error;
  cairn::bytecode::Module module;
  if (!cairn::bytecode::read_module(file, module, error)) {
    promise(!error.empty(), "who refuses says why");
    return {};
  }
  Bytes again = cairn::bytecode::write_module(module);
  std::copy_n(file.begin() + kProducerAt, std::min(file.size() - kProducerAt, kProducerBytes), again.begin() + kProducerAt);
  cairn::image::reseal_file(again, error);
  promise(again == file, "there is one file for each module, but for who made it");
  Engine machine(with_hosts(nullptr), cairn::runs::kOperators);
  bool loaded = false;
  try {
    loaded = machine.load(std::move(module), error);
  } catch (const cairn::value::BudgetExceeded& e) {
    error = e.what();
  }
  if (!loaded) {
    promise(!error.empty(), "who refuses says why");
    return {};
  }
  run_to_the_end(machine);
  const std::uint64_t steps = machine.statistics_now().steps;
  expect_nothing_left(machine);
  return {true, steps > 0};
}

Verdict try_capsule(const Bytes& file) {
  std::string error;
  // Every other one goes on where tensors stream.
  const auto parity = std::accumulate(file.begin(), file.end(), std::byte{0}, [](std::byte a, std::byte b) { return a ^ b; });
  const cairn::machine::Options options =
      (parity & std::byte{1}) != std::byte{0} ? streaming(with_hosts(nullptr)) : with_hosts(nullptr);
  Engine machine(options, cairn::runs::kOperators);
  bool accepted = false;
  try {
    accepted = cairn::image::read_image(machine, file, error);
  } catch (const cairn::value::BudgetExceeded& e) {
    error = e.what();
  }
  if (!accepted) {
    promise(!error.empty(), "who refuses says why");
    promise(drop_everything(machine) == 0, "nothing is left of what was refused");
    return {};
  }
  const std::uint64_t before = machine.statistics_now().steps;
  run_to_the_end(machine);
  const std::uint64_t steps = machine.statistics_now().steps;
  expect_nothing_left(machine);
  return {true, steps > before};
}

void try_reading(std::span<const std::byte> file, FileKind kind) {
  std::string error;
  if (kind == FileKind::plan) {
    cairn::ops::plans::from_bytes(file, error);
    return;
  }
  if (kind == FileKind::module) {
    cairn::bytecode::Module module;
    cairn::bytecode::read_module(file, module, error);
    return;
  }
  Engine machine(with_hosts(nullptr), cairn::runs::kOperators);
  try {
    cairn::image::read_image(machine, file, error);
  } catch (const cairn::value::BudgetExceeded&) {
    return; // what was read until then is known
  }
}

} // namespace fuzzing
