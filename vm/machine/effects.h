// What a program does to the world outside and takes from it: output, reports, input, random numbers. Each effect is new at every
// run around it, or is taken again from the log of the innermost run that has it (docs/design.md, invariant 4).
#pragma once

#include "vm/machine/options.h"
#include "vm/machine/run.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::machine {

class Effects {
public:
  // All of them the machine's, whose runs have the logs.
  Effects(Heap& heap, ops::Meter& meter, const Options& options, const std::vector<Run>& runs)
      : heap_(heap), meter_(meter), options_(options), runs_(runs) {}

  // As print::Environment has them.
  void write(std::string_view text);
  void report(std::span<const print::Reported> values);
  bool read_number(double& flonum, std::int64_t& integer, bool& exact);
  std::uint64_t random_bits();
  double seconds();
  // Something that is done to the world where it is new to every enclosing run, and not otherwise. It may be stopped; then it has
  // not happened.
  template <class F> void once(F&& perform) {
    std::vector<EffectLog*> fresh;
    EffectLog* log = replaying_log(fresh);
    make_room(fresh);
    if (log != nullptr) {
      if (log->position < log->happened) ++log->position;
    } else {
      perform();
    }
    record(fresh, value::kUnspecified);
  }
  // What is asked of the world: a number, new to every enclosing run or what the log says. `what` names it where a replay lacks
  // it.
  template <class F> Value asked(std::string_view what, F&& ask) {
    std::vector<EffectLog*> fresh;
    EffectLog* log = replaying_log(fresh);
    if (log != nullptr && log->position == log->happened)
      throw print::WorldError(std::string(what) + " of a replay is not known");
    make_room(fresh);
    const Value v = log != nullptr ? log->inputs[log->position++] : ask();
    record(fresh, v);
    return v;
  }
  // BudgetExceeded, if with so many bytes more the program would have written more than it may.
  void check_limit(std::uint64_t bytes) const;
  // Is there a run around that may be executed again, or that reads again what another one has read?
  bool replayed() const;

  // The log that the next effect is read from, or null: it is new at every enclosing run, and goes into all of `fresh`.
  EffectLog* replaying_log(std::vector<EffectLog*>& fresh);
  // For so many more effects. Before they happen: once it has, it must come into the logs, or a gradient that begins again for
  // want of memory would do it a second time.
  void make_room(const std::vector<EffectLog*>& fresh, std::uint64_t effects = 1);
  void record(const std::vector<EffectLog*>& fresh, Value v);

  // An instruction that can be stopped begins, perhaps not for the first time; and has happened, so that nothing of it will be
  // done again or put back.
  void begin_instruction() { repeated_ = 0; }
  void end_instruction() {
    counters.done = 0;
    draws_.clear();
  }
  // How many random numbers the instruction in work has drawn; all but the first so many are put back, or stay drawn for good.
  std::size_t draws() const { return draws_.size(); }
  void put_back_draws(std::size_t first);
  void keep_draws(std::size_t first) { draws_.resize(first); }

  // What a machine's state has of them.
  struct Counters {
    std::uint64_t drawn = 0; // random numbers drawn for the first time: replays take theirs from the logs
    // Effects of the instruction to be executed next that have happened: parts of a text that a printer wrote before it was
    // stopped, which it will not write again.
    std::uint64_t done = 0;
    std::uint64_t reports = 0; // made by the program
    std::uint64_t output_bytes = 0;
    std::uint64_t file_bytes = 0;  // written into files, and what reports would take in one
    std::uint64_t input_bytes = 0; // taken from the host, used or not
    bool input_ended = false;
  };
  Counters counters;
  // What was taken from the host and not read yet.
  std::string_view input_left() const { return std::string_view(input_).substr(input_at_); }
  void set_input_left(std::string text) {
    input_ = std::move(text);
    input_at_ = 0;
  }

private:
  EffectLog* log_of(std::size_t run) const { return runs_[run].state != nullptr ? runs_[run].run_state()->effects() : nullptr; }
  void put_back_draw();
  Heap& heap_;
  ops::Meter& meter_;
  const Options& options_;
  const std::vector<Run>& runs_;
  std::uint64_t repeated_ = 0;     // of counters.done, how many have been passed over this time
  std::vector<std::size_t> draws_; // of the instruction in work: from which run on each number was new
  std::string input_;
  std::size_t input_at_ = 0;
};

} // namespace cairn::machine
