// What is told of one gradient, an outermost checkpoint-*j: facts that the executor of schedules notes while it runs. They are
// read by nothing that decides, and no state or capsule has them.
#pragma once

#include "vm/schedule/schedule.h"
#include "vm/schedule/snapshot_sizes.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cairn::explain {

enum class Doing : std::uint8_t { advance, tape, sweep };

// A part of the time of a gradient in which one thing was done. Time is modelled by counts that every run of the program repeats
// and the machine's table of costs, in its ticks; the rate `record` of that table is added where a record is swept.
struct Stretch {
  Doing doing = Doing::advance;
  bool placed = true;             // `from` and `to` are known
  std::uint64_t from = 0, to = 0; // steps of the run, from < to also for a sweep
  std::uint64_t steps = 0;        // advanced, taped or reversed
  std::uint64_t begin = 0, end = 0;
  std::int64_t peak = 0;               // bytes of all accounts meanwhile, at most
  std::int64_t level = 0;              // at its end
  std::uint64_t tapes = 0, states = 0; // bytes of both at its end
  std::uint64_t actions = 1;           // of the schedule: more where neighbours were put together
};

// A state that was kept, or several neighbours.
struct KeptState {
  std::uint64_t step = 0;
  std::uint64_t begin = 0, end = 0; // from the time when it was kept to that when it was let go of
  std::uint64_t bytes = 0;          // beside the state before it
  std::uint64_t number = 1;
  std::uint64_t open = 1; // so many of them are still held
};

// Tensors that one place in the program made.
struct Maker {
  std::string device, text; // "PROCEDURE at LOCATION"
  std::int64_t bytes = 0;
  std::uint64_t tensors = 0;
};

// Who held memory when the accounts stood at `level`, near the peak.
struct Holders {
  std::int64_t level = 0;
  std::int64_t objects = 0, tapes = 0, capsules = 0, tensors = 0, scratch = 0;
  std::vector<Maker> makers; // of each device the largest
};

// A memory of a device that tensors stream to, or one below it; bytes.
struct Tier {
  std::string name;                      // "device", "host" or "disk"
  std::int64_t budget = 0;               // 0: none of its own
  std::int64_t held = 0;                 // when the gradient ended
  std::int64_t peak = 0;                 // while it was computed,
  std::optional<std::int64_t> predicted; // and what was foreseen of that, at most
};

// Of such a device.
struct Tiers {
  std::vector<Tier> all;
  std::int64_t at_once = 0; // that had to be on the device together, of all tensors
};

// Tensors that a tape keeps, made by one place in the program, for the reverse rule of one operator. What several keep counts for
// the first of them.
struct KeptBy {
  std::string name, maker;
  std::int64_t bytes = 0;
  std::uint64_t tensors = 0;
  std::int64_t encoded = 0;                  // bytes of the tensors that these are encodings of; 0: they are what they seem
  double least_bound = 0, largest_bound = 0; // of the error of an element in these
};

// What the heaviest tape held when its sweep began: records and tables, and the tensors made in the run, each once.
struct KeptOnTape {
  std::int64_t bytes = 0, records = 0;
  std::vector<KeptBy> parts; // the largest first
};

// What was foreseen of a gradient, and what came of it.
struct Outcome {
  double replay = 0;                         // steps executed for each step of the run
  std::optional<std::int64_t> peak;          // bytes of all accounts; foreseen by plans alone
  std::uint64_t tapes = 0;                   // bytes, 32 a record and those of each tensor as often as it is kept
  std::uint64_t states = 0, state_bytes = 0; // held at once
  std::uint64_t in_file = 0;                 // bytes, at the most at once; foreseen by plans alone
  std::optional<double> seconds;             // by a clock; foreseen by the table of costs
};

// Where memory ran out on the way: what had been done then that is in no plan of what is left, or was done in vain.
struct Spent {
  std::uint64_t executed = 0;                            // steps
  std::uint64_t time = 0;                                // modelled, in ticks,
  std::uint64_t time_of_first_run = 0;                   // and of that in vain in the first run, since it began
  std::int64_t peak = 0;                                 // bytes of all accounts
  std::uint64_t before_rest = 0;                         // steps executed, when what was left was known:
  std::shared_ptr<const cairn::schedule::Schedule> rest; // as it went on then
};

// What the plan would have been for another budget.
struct OtherBudget {
  std::uint64_t budget = 0; // bytes
  double time = 1;          // modelled, of that of one tape
  bool fits = false;
};

struct Gradient {
  std::uint64_t number = 0;          // from 1
  std::string place;                 // of the call, "FILE:LINE:COLUMN"
  std::string schedule, explanation; // the second one only at its end
  std::int64_t budget = 0;           // bytes; 0: none
  bool whole = true;                 // seen from its beginning: not resumed from a capsule
  bool complete = false;
  std::uint64_t steps = 0;                // of the run; 0: its end was not reached
  std::uint64_t executed = 0;             // by the schedule, from the beginning
  std::uint64_t executed_before = 0;      // of these before it began again, the last time
  std::uint64_t advanced = 0;             // seen: run without a tape,
  std::uint64_t taped = 0;                // on a tape,
  std::uint64_t retaped = 0;              // of these after the end was known,
  std::uint64_t spilled = 0, fetched = 0; // bytes that went to a file, and that came back;
  std::uint64_t stored = 0;               // and what the former came to there
  std::uint64_t swept = 0;                // and reversed
  std::uint64_t states_kept = 0;
  Spent spent;
  std::optional<Outcome> predicted;              // no tapes and states where `peak` is there
  std::optional<double> time_beside_one_tape;    // modelled, of what is foreseen, against that of one tape of the whole run,
  double seconds_of_one_tape = 0;                // and what that takes, modelled too;
  cairn::schedule::SnapshotSizes snapshot_sizes; // as they were taken, for what is foreseen
  double fresh_seconds = 0;                      // beside it, to use memory for the first time, of what is foreseen,
  double fresh_seconds_of_one_tape = 0;          // and of one tape
  double planning_seconds = 0;                   // by a clock: of all that was measured, to weigh and plan, which nobody foresees
  std::vector<OtherBudget> others;
  std::vector<cairn::schedule::KnownInterval> profile; // what was planned with; empty: nothing was
  Outcome measured;
  Holders held;
  Tiers tiers; // none: there is no device that tensors may stream to
  KeptOnTape kept;
  std::uint64_t time = 0;
  std::optional<std::uint64_t> first_run;                // when it ended
  std::uint64_t encoding = 0, encoding_of_first_run = 0; // of that time, encoding with an error and decoding took
  std::uint64_t operations_of_first_run = 0;             // on tensors
  std::vector<Stretch> timeline;
  std::vector<KeptState> states;
  std::uint64_t states_left_out = 0; // of `states`: the shortest-lived
};

// All calls from one place.
struct Calls {
  std::string place;
  std::uint64_t number = 0, told = 0; // and of how many something was said
  struct Range {
    std::uint64_t least = UINT64_MAX, most = 0;
    void add(std::uint64_t n) {
      least = n < least ? n : least;
      most = n > most ? n : most;
    }
  };
  struct Sums {
    Range steps, executed;
    std::int64_t peak = 0;
    double least_replay = 0, most_replay = 0;
  };
  Sums all, untold;
};

} // namespace cairn::explain
