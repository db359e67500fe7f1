// What primitives and the printer may ask of the machine they run in.
#pragma once

#include "ops/meter.h"
#include "vm/value/heap.h"

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::print {

// An error in the user's program. Thrown by slow paths and primitives, caught by the machine, which adds location and call chain.
struct ProgramError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// One that depends on the world outside, or on whether a derivative is asked for. Where something may be executed again it is
// not handled, since then it might not come again.
struct WorldError : ProgramError {
  using ProgramError::ProgramError;
};

// Something that is not done with recorded tensors (vm/machine/recorded.h). What is not recorded has no such error, so no
// handler gets it: what it gave would be another value than without tiles, and nobody would see that.
struct RecordedError : ProgramError {
  using ProgramError::ProgramError;
  // One was asked for its elements, by `who`, a name and ": ", or nothing; `instead`: what would do without, or nothing.
  static RecordedError of_elements(const std::string& who, const std::string& instead = "") {
    return RecordedError(who +
                         "the elements of this tensor are not known: a procedure given to `tiled` runs once on sizes alone, and "
                         "may not decide by elements or differentiate what it computes; " +
                         instead + "compute what decides outside of it");
  }
};

// A number that the program tells whoever runs it, under a name.
struct Reported {
  std::string name;
  double value = 0;
};

class Environment {
public:
  explicit Environment(value::MemorySource source = {}) : heap_(source) {}
  virtual ~Environment() = default;
  value::Heap& heap() { return heap_; }
  // The heap of a machine that may not be changed: for functions that only look at values, and charge the memory which that
  // takes.
  value::Heap& accounts() const { return heap_; }
  // Long work asks it whether to go on, and memory that goes to no account is taken from it.
  ops::Meter& meter() { return meter_; }
  const ops::Meter& meter() const { return meter_; }
  // The primal of a taped number or bundle (all levels); any other value itself. Borrowed in, borrowed out.
  virtual value::Value primal(value::Value v) const = 0;
  // Output of the program. Effects happen once: under replay nothing is written again.
  virtual void write(std::string_view text) = 0;
  // Tells them to whoever runs the machine, together; an effect as output is.
  virtual void report(std::span<const Reported> values) = 0;
  // The next number of the input, through the log of the run; nothing at the end of input.
  // Throws ProgramError where the text is no number.
  virtual bool read_number(double& flonum, std::int64_t& integer, bool& exact) = 0;
  // Seconds since a point in the past, through the log of the run.
  virtual double seconds() = 0;
  // 64 random bits from the counter-based generator of the machine.
  virtual std::uint64_t random_bits() = 0;
  virtual const std::vector<std::string>& arguments() const = 0;
  // Steps and finished flag of a capsule; throws ProgramError if v is none.
  virtual std::uint64_t capsule_steps(value::Value v) const = 0;
  virtual bool capsule_finished(value::Value v) const = 0;

protected:
  ops::Meter meter_;
  mutable value::Heap heap_;
};

} // namespace cairn::print
