// The class Machine: an Engine behind a plain interface.
#include "vm/machine/machine.h"

#include "vm/machine/engine.h"
#include "vm/machine/image.h"
#include "vm/print/printer.h"

namespace cairn::machine {

Machine::Machine(Options options) : engine_(std::make_unique<Engine>(std::move(options))) {}
Machine::~Machine() = default;

bool Machine::load(bytecode::Module module, std::string& error) { return engine_->load(std::move(module), error); }
Status Machine::run(std::uint64_t steps) { return engine_->run(steps); }
const Error& Machine::error() const { return engine_->error; }
std::string Machine::result_text() const {
  try {
    return print::abbreviated(engine_->result, *engine_, SIZE_MAX);
  } catch (const ProgramError& e) {  // bytecode that no compiler made may return a number of a tape that is gone
    return std::string("#<") + e.what() + ">";
  }
}
std::uint64_t Machine::output_bytes() const { return engine_->output_length; }

Statistics Machine::statistics() const { return engine_->statistics_now(); }

std::vector<std::byte> Machine::save() const { return write_image(*engine_); }

bool Machine::restore(std::span<const std::byte> bytes, std::string& error) { return read_image(*engine_, bytes, error); }

std::int64_t Machine::drop_everything() {
  engine_->drop_everything();
  return engine_->heap().live_objects();
}

} // namespace cairn::machine
