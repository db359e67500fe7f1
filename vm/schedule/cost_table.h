// How long the parts of a program take, for plans. Plans are made from counts and these rates, never from clocks, and the rates
// are part of a machine's state: so a replayed gradient plans alike, and a saved run goes on with its plan.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// Name, nanoseconds if nobody says otherwise (what `vmrun --calibrate` measured on one core of an AMD EPYC of the Zen 3
// generation, rounded, but for `spill` and `encode`, which are assumed, and `record` and `taped`, twice a step and twice an
// operation as on other machines), and what takes so long.
#define CAIRN_COSTS(X)                                                                                                           \
  X(step, 2, "a step of the machine")                                                                                            \
  X(record, 4, "a number on a tape, from its making to the end of its sweep")                                                    \
  X(operation, 400, "an operation on tensors, beside what follows")                                                              \
  X(taped, 800,                                                                                                                  \
    "such an operation on a tape, beside itself and its reverse rule, from its record's making to the end of its sweep")         \
  X(product, .015, "a flop of a product of matrices or of a convolution")                                                        \
  X(flop, .065, "any other flop")                                                                                                \
  X(byte, .015, "a byte of an operand or result")                                                                                \
  X(fresh, 1, "a byte of memory that is used for the first time")                                                                \
  X(spill, 1, "a byte that is written to a file of --spill, or read there")                                                      \
  X(encode, 5, "a byte that is encoded for a file of --spill, and decoded when it comes back")                                   \
  X(lossy, .8, "a byte that a tape keeps with an error: encoded when it is recorded, decoded in the sweep, in the fast form")    \
  X(lossy_small, 3, "the same in the small form")

namespace cairn::schedule {

struct CostTable {
#define X(name, nanoseconds, text) double name = nanoseconds;
  CAIRN_COSTS(X)
#undef X
  bool operator==(const CostTable&) const = default;
  bool sound() const; // every rate is one that parse_costs would take

  // Modelled time is counted in ticks, whole tenths of a nanosecond.
  static constexpr double kTicks = 10;
  static double seconds(std::uint64_t ticks) { return static_cast<double>(ticks) / kTicks * 1e-9; }
  // Of a step at least one.
  std::uint64_t ticks_of_step() const;
  // Of a number that is put onto a tape and swept, beside its step.
  std::uint64_t ticks_of_record() const;
  // Of an operation on tensors that is put onto a tape and swept, beside what itself and its reverse rule take.
  std::uint64_t ticks_of_taped() const;
  // That take as long as such a number does where its so many bytes are used for the first time. At least one.
  std::uint64_t steps_of_record(std::uint64_t bytes) const;
  // Of a MiB that goes to a file and comes back. At least one.
  std::uint64_t ticks_of_spilling() const;
  // Of operations on tensors: what they take beside their steps.
  std::uint64_t ticks(double operations, double products, double flops, double bytes) const;
  // Of so many bytes, in each form, that are encoded with an error, or are decoded: either counts as half of both.
  std::uint64_t ticks_of_lossy(double fast, double small) const;
  // Elements are encoded on their way to a file and back where they come to at most such a part of themselves: what the disk is
  // spared is worth it then. 0: it never is.
  double part_worth_encoding() const;
  // Of a KiB of memory that was never used before.
  std::uint64_t ticks_of_fresh() const;

  template <class Self, class F> static void each(Self& self, F&& f) { // f(name, rate)
#define X(name, nanoseconds, text) f(std::string_view(#name), self.name);
    CAIRN_COSTS(X)
#undef X
  }
};

// Lines "NAME NANOSECONDS"; empty ones, and what follows a '#', say nothing. What is not named keeps what it has without a table.
// False with a message that names the line and says what would be right.
bool parse_costs(std::string_view text, CostTable& costs, std::string& error);
// Such lines, each with what takes so long; parse_costs gives the same table back.
std::string to_string(const CostTable& costs);

} // namespace cairn::schedule
