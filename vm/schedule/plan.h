// Plans: what to keep, tape, sweep and run again so that a profiled run is reversed within a number of bytes. Numbers in, moves
// out; no machine is known here. An executor performs moves, plan_checker.h judges them.
//
// Source of the recursion: Beaumont et al., "Optimal checkpointing for heterogeneous chains" (rotor), section 4, with what a
// state weighs depending on the state that its part of the run starts from, tapes put aside on a stack, and states that are let
// go of and computed again.
#pragma once

#include "vm/schedule/profile.h"

#include <memory>
#include <optional>
#include <vector>

namespace cairn::schedule {

struct Move {
  enum class Kind : std::uint8_t {
    advance, // run interval `at` without tape; the current state is at its start, and is at its end afterwards
    tape,    // the same on a tape of its own, which is held until it is swept
    keep,    // hold the current state, which is at boundary `at`
    drop,    // hold it no longer
    restore, // the state held at boundary `at` becomes current
    sweep    // reverse interval `at`, the last one not yet reversed, with its tape; there is no current state afterwards
  };
  Kind kind = Kind::advance;
  std::uint32_t at = 0;
  std::uint32_t form = 0; // of a tape, and of its sweep
  bool operator==(const Move&) const = default;
};

// The moves of a plan for a coarsened run as moves of the run itself.
std::vector<Move> refined(const std::vector<Move>& moves, const std::vector<std::uint32_t>& boundaries);

// From the initial state, which is current and held, to where everything is reversed and nothing is held.
struct Plan {
  std::vector<Move> moves;
  double cost = 0; // modelled
};

// Which plans are looked at. With `simple`, tapes begin at a held state or end where everything is reversed already. With `mixed`
// they lie anywhere, and states are held until what follows them is reversed. With `free`, states may be let go of before and
// computed again. Machines plan with `simple` alone, which takes a power of the length less, for hardly more time of the run. The
// others are there to tell how much more: tests and measurements compare simple plans with all moves.
enum class Family : std::uint8_t { simple, mixed, free };

struct PlannerLimits {
  std::uint64_t table_bytes = std::uint64_t{64} << 20; // of all tables together, with what they are made from
  std::uint32_t cells = 250;                           // that a table counts memory in
  std::optional<Family> family; // none, for tests: the largest that `table_bytes` and a second of time allow
};

class Tables;

// The best plans of one profile for every budget at once. Memory is counted in cells of 2^q bytes, a table for each octave from
// the finest one that reverses the run at all; an answer is the best over all octaves up to that of the budget. So a plan with
// more memory is never slower than one with less.
class Planner {
public:
  // The profile is sound and outlives the planner. Tables of octaves beyond that of `most_budget` are not made. Tapes may have
  // other forms, form 0 being that of the profile: the same run, where tapes weigh less and sweeps cost more, say. Only plans of
  // the simple family have them.
  Planner(const Profile& profile, std::uint64_t most_budget, const PlannerLimits& limits = {}, std::vector<Profile> forms = {});
  ~Planner();
  Planner(const Planner&) = delete;
  Planner& operator=(const Planner&) = delete;

  // The modelled cost of the best plan within `budget` bytes, beside the initial state and whatever is older than the run; none
  // if there is no plan.
  std::optional<double> cost(std::uint64_t budget) const;
  std::optional<Plan> plan(std::uint64_t budget) const;
  // The same when these states are held at the start (boundary 0 first, in order) and there is no current state, as at the end of
  // a run that kept some, or where the rest is planned anew: everything in front of boundary `to` is reversed. A state is
  // restored for nothing; one that is not worth its bytes is let go of.
  std::optional<Plan> plan(std::uint64_t budget, const std::vector<std::uint32_t>& held, std::size_t to) const;
  // Where the cost falls: budgets in rising order, with the cost from there on. The first is the least for which there is a plan.
  struct Point {
    std::uint64_t budget = 0;
    double cost = 0;
  };
  std::vector<Point> curve() const;

private:
  const Tables* best(std::uint64_t budget) const;
  Plan priced(std::vector<Move> moves) const;
  const Profile& of_form(std::uint32_t form) const { return form == 0 ? profile_ : forms_[form - 1]; }
  const Profile& profile_;
  std::vector<Profile> forms_; // the others
  Family family_ = Family::simple;
  std::vector<std::unique_ptr<Tables>> tables_; // the finest octave first
};

} // namespace cairn::schedule
