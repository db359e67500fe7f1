// What a machine is given, and what it tells: options, procedures of the host, how a run ended, errors, statistics.
#pragma once

#include "ops/device_spec.h"
#include "vm/bytecode/module.h"
#include "vm/print/environment.h"
#include "vm/schedule/cost_table.h"
#include "vm/value/block_pool.h"
#include "vm/value/value.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::machine {

using print::ProgramError;

// A procedure of the host, which modules import by name. Arguments are without tapes and bundles and borrowed, the result is
// owned; both are thrown away by the machine as any value is. A complaint is a ProgramError.
struct HostProcedure {
  std::string name;
  std::uint16_t parameters = 0;
  bool repeatable = false; // a replay may call it again; otherwise its results are logged
  std::function<value::Value(std::span<const value::Value>)> call;
  // The Jacobian, row by row, of the numbers of the result by the numbers of the arguments, both in preorder. Without it the
  // result is a constant to every derivative.
  std::function<void(std::span<const double> x, std::span<const double> y, std::span<double> jacobian)> derivative;
  // Of an operator on tensors, instead. Everything is borrowed but what it makes: cotangents that stay unspecified are none,
  // tangents that are unspecified likewise.
  std::function<void(std::span<const value::Value> arguments, value::Value result, value::Value cotangent,
                     std::span<value::Value> cotangents)>
      reverse;
  std::function<value::Value(std::span<const value::Value> arguments, value::Value result,
                             std::span<const value::Value> tangents)>
      forward;
  bool is_operator() const { return reverse != nullptr || forward != nullptr; }
};

// Of what goes to the file for tensors that wait: where the costs say that it saves time, wherever it saves bytes, nowhere.
enum class SpillEncoding : std::uint8_t { by_cost, always, never };

struct Options {
  std::int64_t memory_bytes = 0; // budget of all accounts together; 0: none
  bool memory_asked = false;     // somebody said so: plans may take all of it
  std::uint64_t seed = 0;
  std::string schedule = "auto"; // of checkpoint-*j; must be valid (schedule::parse)
  std::string lossy = "none";    // of tapes; must be valid (parse of lossy_policy.h)
  schedule::CostTable costs;     // for its plans; sound
  std::int64_t spill_bytes = 0;  // of a file for tensors that wait (Engine::spill_to); 0: there is none
  SpillEncoding spill_encoding = SpillEncoding::by_cost;
  std::vector<std::string> arguments;                           // (command-line)
  std::function<void(std::string_view)> output;                 // the program's output
  std::function<std::size_t(char*, std::size_t)> input;         // fills a buffer, returns bytes read, 0 at the end
  std::function<void(std::span<const print::Reported>)> report; // what the program reports; may be empty
  std::function<void(std::string_view)> explain;                // a report after each outermost checkpoint-*j; may be empty
  std::uint64_t output_limit = UINT64_MAX;                      // bytes of output
  bool one_shot = false;                                        // definitions go when the program ends: nobody will look them up
  bool check_nan = false;                                       // a NaN in a tensor is an error where it first appears
  bool survey = false;  // outermost gradients are planned for `explain`, and the run ends there
  bool profile = false; // count steps, time and bytes by procedure and line
  // The device for everything that does not name one; empty: the processor.
  ops::DeviceMaker device;
  // Others that programs may name; empty ones are the processor, which is there in any case.
  std::vector<ops::DeviceMaker> more_devices;
  std::vector<HostProcedure> hosts;
  value::MemorySource memory; // of slabs, chunks of tape and large objects
};

// cancelled, out_of_work: it stands before an instruction of which nothing has happened.
enum class Status { done, out_of_steps, error, over_budget, cancelled, out_of_work };

struct ChainEntry {
  std::string procedure;
  std::string where; // FILE:LINE:COLUMN, may be empty
};

struct Error {
  std::string message;                  // without location
  const text::Source* source = nullptr; // lives as long as the machine's module
  text::Span span;
  bool located = false;
  std::vector<ChainEntry> chain; // innermost first, long ones abbreviated
  // FILE:LINE:COLUMN: error: ... with line and caret, then the call chain
  std::string rendered(std::string_view severity = "error") const;
};

struct Statistics { // docs/tools.md, --stats
  std::uint64_t steps = 0, work = 0, gradient_steps = 0, gradient_steps_executed = 0, tape_peak_records = 0, capsules_taken = 0;
  std::int64_t heap_peak_bytes = 0, tape_peak_bytes = 0, capsules_peak = 0, capsule_peak_bytes = 0, tensor_peak_bytes = 0,
               scratch_peak_bytes = 0, live_objects_at_exit = 0;
  std::int64_t spilled_bytes = 0, fetched_bytes = 0;  // by this process, to the file for tensors that wait and from it
  std::int64_t stored_bytes = 0;                      // what the former came to there, as some of it was encoded
  std::int64_t encoded_bytes = 0, encoding_bytes = 0; // of tensors that tapes kept with an error, and of what they kept of these
  double largest_bound = 0;                           // of the error of an element of these
  std::uint64_t reads_expected = 0, reads_wanted = 0; // by this process, of those ahead of time (read_ahead.h)
  std::string schedule;
};

} // namespace cairn::machine
