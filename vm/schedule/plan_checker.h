// Judges plans: performs their moves on a run's numbers alone, adds up what is held at each moment from sets of states and tapes,
// and refuses what no executor could do. Written apart from the planner, so that tests and predictions do not believe it.
#pragma once

#include "vm/schedule/plan.h"

#include <set>
#include <string>

namespace cairn::schedule {

struct PlanReport {
  std::string fault;                 // what was wrong; empty if every move was possible and everything was reversed
  std::uint64_t cost = 0;            // modelled
  std::uint64_t peak = 0;            // bytes beside the initial state
  std::vector<std::uint32_t> runs;   // how often each interval was run, with and without tape
  std::vector<std::uint64_t> sweeps; // the most bytes of each sweep and of what is run for it, in the order of sweeps
};

PlanReport check(const Profile& profile, const std::vector<Move>& moves);
// The same from where these states are held, none is current, and everything from boundary `to` on is reversed.
PlanReport check(const Profile& profile, const std::vector<Move>& moves, const std::vector<std::uint32_t>& held, std::size_t to);

// Where a part of the run is reversed that begins at boundary `from`: states and tapes that are held then, older ones among them,
// which stay. Moves and runs are those of the part, by its own numbers; the peak has all that is held.
struct PartHeld {
  std::size_t from = 0, to = 0;
  std::set<std::size_t> states, tapes;
};
PlanReport check_part(const Profile& profile, const std::vector<Move>& moves, const PartHeld& held);

} // namespace cairn::schedule
