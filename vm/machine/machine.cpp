// The class Machine: an Engine behind a plain interface.
#include "vm/machine/machine.h"

#include "vm/machine/engine.h"
#include "vm/machine/image.h"
#include "vm/print/printer.h"

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
std::string Machine::result_text() const {
  try {
    return print::abbreviated(impl_->engine.result, impl_->engine, SIZE_MAX);
  } catch (const ProgramError& e) {  // bytecode that no compiler made may return a number of a tape that is gone
    return std::string("#<") + e.what() + ">";
  }
}
std::uint64_t Machine::output_bytes() const { return impl_->engine.output_length; }

Statistics Machine::statistics() const { return impl_->engine.statistics_now(); }

std::vector<std::byte> Machine::save() const { return write_image(impl_->engine); }

bool Machine::restore(std::span<const std::byte> bytes, std::string& error) { return read_image(impl_->engine, bytes, error); }

Engine& Machine::engine() { return impl_->engine; }
const Engine& Machine::engine() const { return impl_->engine; }

std::int64_t Machine::drop_everything() {
  impl_->engine.drop_everything();
  return impl_->engine.heap().live_objects();
}

} // namespace cairn::machine
