// The checker: an abstract machine that performs a schedule's actions on numbers alone. It knows how long the run is, which the
// schedule does not; it refuses what no executor could do, holds the schedule to storage limits, and reports what the run costs.
// Written apart from the generators, so that tests and --explain do not believe them.
#pragma once

#include "vm/schedule/schedule.h"
#include "vm/schedule/snapshot_sizes.h"

#include <map>
#include <optional>
#include <vector>

namespace cairn::schedule {

// The run that is reversed, as far as a schedule can notice it.
struct Program {
  std::uint64_t total = 0; // steps
  std::uint64_t records_per_1024_steps = 512;
  std::uint64_t snapshot_bytes = 512; // of each, unless more is known
  std::uint64_t stack_bytes = 0;      // at its deepest; taken for all of the run
  SnapshotSizes sizes = {};
};

struct Limits {
  std::uint64_t snapshots = UINT64_MAX;  // held at once
  std::uint64_t tape_steps = UINT64_MAX; // of one tape
};

struct Report {
  std::string fault; // what was wrong; empty if every action was legal and everything was reversed
  std::uint64_t actions = 0;
  std::uint64_t advanced = 0;    // steps run without tape, the first run included
  std::uint64_t taped = 0;       // steps run on tape
  std::uint64_t repetitions = 0; // the most often that one step was run without tape
  std::uint64_t snapshots = 0;   // taken
  std::uint64_t peak_snapshots = 0;
  std::uint64_t longest_tape = 0;      // steps
  std::uint64_t peak_tape_steps = 0;   // in work and aside together
  std::uint64_t peak_tape_records = 0; // in memory
  std::uint64_t spilled = 0;           // tapes that went to a file
  std::uint64_t peak_snapshot_bytes = 0;
  double replay_factor = 0; // (advanced + taped) / total; 1 for an empty run
};

class Checker {
public:
  Checker(const Program& program, const Limits& limits);
  // Performs an action and tells the schedule what it is told about it. False once something was wrong or the schedule is done.
  bool perform(const Action& action, Schedule& schedule);
  Report report() const;

private:
  struct TapeRange {
    bool there = false;
    std::uint64_t from = 0, to = 0;
    bool spilled = false;
  };
  bool fail(const Action& action, std::string_view why);
  bool run(const Action& action, std::uint64_t& reached);
  std::uint64_t records(const TapeRange& tape) const;
  std::uint64_t steps_for(std::uint64_t records, std::uint64_t from) const;
  void tell(const Action& action, Schedule& schedule);
  void note_tapes();
  std::uint64_t most_repetitions() const;
  // Of a snapshot of the current state beside the one before it.
  std::uint64_t bytes_of_snapshot() const;

  Program program_;
  Limits limits_;
  Report report_;
  bool here_ = true; // there is a current state
  bool end_seen_ = false, end_told_ = false, finished_ = false;
  std::uint64_t stopped_ = 0; // steps by which the last tape ended sooner
  std::uint64_t at_ = 0;      // position of the current state
  std::uint64_t unreversed_;  // everything from here on is reversed
  std::map<std::uint32_t, std::uint64_t> slots_;
  std::multimap<std::uint64_t, std::uint64_t> bytes_; // of snapshots by their positions,
  std::uint64_t held_bytes_ = 0;                      // and of all together
  TapeRange work_;
  std::vector<TapeRange> aside_;
  std::uint64_t weighed_ = 0;                    // how often the schedule was told weights
  std::map<std::uint64_t, std::int64_t> starts_; // where runs without tape begin (+1) and end (-1)
};

// Runs a whole schedule on the abstract machine.
Report check(Schedule& schedule, const Program& program, const Limits& limits = {});

// What a schedule will cost on a run of this length, for --explain. Nothing if the schedule has so many actions that to know
// would take seconds: a file may say of a run that it was as long as a number can be.
inline constexpr std::uint64_t kMostPredicted = std::uint64_t{1} << 20;
std::optional<Report> predict(const Spec& spec, const Program& program, const Resources& resources);

} // namespace cairn::schedule
