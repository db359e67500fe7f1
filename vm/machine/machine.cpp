// The class Machine: an Engine behind a plain interface.
#include "vm/machine/machine.h"

#include "vm/machine/engine.h"
#include "vm/print/printer.h"

#include <algorithm>

namespace cairn::machine {

struct Machine::Impl {
  Engine engine;
  explicit Impl(Options options) : engine(std::move(options)) {}
};

Machine::Machine(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Machine::~Machine() = default;

bool Machine::load(bytecode::Module module, std::string& error) { return impl_->engine.load(std::move(module), error); }
Status Machine::run(std::uint64_t steps) { return impl_->engine.run(steps); }
const Error& Machine::error() const { return impl_->engine.error; }
std::string Machine::result_text() const { return print::abbreviated(impl_->engine.result, impl_->engine, SIZE_MAX); }
std::uint64_t Machine::output_bytes() const { return impl_->engine.output_length; }

Statistics Machine::statistics() const {
  Engine& e = impl_->engine;
  Statistics s = e.statistics;
  s.steps = e.clock;
  s.heap_peak_bytes = std::max(e.heap().heap_peak(), e.heap().heap_live());
  s.tape_peak_bytes = e.heap().tape.peak;
  s.capsules_peak = e.heap().capsule_count_peak;
  s.capsule_peak_bytes = std::max(e.heap().capsules.peak, e.snapshot_bytes_peak);
  s.live_objects_at_exit = e.heap().live_objects();
  return s;
}

std::int64_t Machine::drop_everything() {
  impl_->engine.drop_everything();
  return impl_->engine.heap().live_objects();
}

} // namespace cairn::machine
