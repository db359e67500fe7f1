// Parts of runs, judged among what is held beside them; and cotangents that are parts of others.
#include "test/schedule/helpers.h"
#include "test/schedule/random_profiles.h"

#include "vm/schedule/budgeted.h"
#include "vm/schedule/plan_checker.h"

#include <numeric>

using namespace cairn::schedule;
using namespace cairn::schedule::test;

TEST_CASE("a part of a run takes at most what is held and what it takes alone, and less once what is held has been let go of") {
  int compared = 0, less = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Draws random{std::mt19937_64(seed)};
    const Profile profile = random_profile(random, random.between(2, 20), true);
    const std::size_t to = profile.size(), from = random.between(0, to - 1);
    PartHeld held{from, to, {from}, {}};
    for (std::size_t i = 0; i < from; ++i) {
      if (random.between(0, 2) == 0) held.states.insert(i);
      if (random.between(0, 2) == 0) held.tapes.insert(i);
    }
    const std::uint64_t before = held_bytes(profile, held.states, held.tapes);
    const Profile part = part_of(profile, from, to);
    const Planner planner(part, kMostOfOne);
    for (const Planner::Point& point : planner.curve()) {
      CAPTURE(seed);
      CAPTURE(point.budget);
      const std::optional<Plan> plan = planner.plan(point.budget, {0}, to - from);
      REQUIRE(plan.has_value());
      const PlanReport alone = check(part, plan->moves, {0}, to - from), among = check_part(profile, plan->moves, held);
      REQUIRE_MESSAGE(among.fault.empty(), among.fault);
      CHECK(among.runs == alone.runs);
      CHECK(among.cost == alone.cost);
      CHECK(among.peak <= before + alone.peak);
      PartHeld others = held;
      others.states.erase(from);
      CHECK(among.peak >= held_bytes(profile, others.states, others.tapes));
      ++compared;
      less += among.peak < before + alone.peak ? 1 : 0;
    }
  }
  CHECK(compared > 400);
  CHECK(less > compared / 10);
}

TEST_CASE("a part leaves nothing behind but what was held in front of it") {
  Draws random{std::mt19937_64(3)};
  const Profile profile = random_profile(random, 4, false);
  const auto fault = [&](const std::vector<Move>& moves) { return check_part(profile, moves, {2, 4, {0, 2}, {1}}).fault; };
  using Kind = Move::Kind;
  const std::vector<Move> all = {{Kind::restore, 0, 0}, {Kind::drop, 0, 0},  {Kind::tape, 0, 0},
                                 {Kind::tape, 1, 0},    {Kind::sweep, 1, 0}, {Kind::sweep, 0, 0}};
  CHECK(fault(all) == "");
  std::vector<Move> kept = all;
  kept.erase(kept.begin() + 1);
  CHECK(fault(kept) == "move 5: a state is still held");
  CHECK(fault({all.begin(), all.end() - 1}) == "move 5: something is not reversed");
}

namespace {

// A run of some intervals of a hundred bytes each, of which the last is told to read a joined tensor. What is foreseen of it, and
// of a call like it.
struct Run {
  std::vector<std::uint64_t> sweeping;
  std::optional<JoinedCotangent> joined;
  std::uint64_t more_if_parts = kMostOfOne;

  Weights weights(std::size_t i) const {
    Weights weights;
    weights.state.assign(i + 1, 0);
    TapeForm& form = weights.forms[0];
    weights.state[i] = form.together = 100;
    form.tape = form.before[0] = form.after = weights.state;
    form.tape[i] = 0;
    weights.own = 10;
    form.sweeping = sweeping[i];
    form.more_if_parts = more_if_parts;
    weights.step = 1;
    weights.cost = 1000;
    weights.sweep = 2000;
    if (joined && i + 2 == sweeping.size()) weights.joined.push_back(*joined);
    return weights;
  }

  std::uint64_t peak() const {
    constexpr std::uint64_t kSteps = 10;
    Budgeted run(std::uint64_t{1} << 40, kSteps, 1000, 1);
    std::size_t told = 0;
    std::uint64_t steps = kSteps;
    for (std::optional<Action> action = run.next(); action && !run.foreseen(steps); action = run.next()) {
      if (action->kind == Action::Kind::weigh) run.weighed(weights(told++));
      if (action->kind != Action::Kind::tape) continue;
      run.taped(1);
      steps += kSteps;
      if (told + 1 == sweeping.size())
        run.ended(steps);
      else
        run.stopped(action->steps - kSteps);
    }
    REQUIRE(run.foreseen(steps));
    const std::uint64_t peak = run.foreseen(steps)->peak;
    std::optional<Budgeted> again = run.again(0);
    REQUIRE(again);
    again->next();
    again->weighed({});
    CHECK(again->foreseen(steps)->peak == peak);
    return peak;
  }
};

} // namespace

TEST_CASE("while a part of a joined cotangent is held, all of it is, and a later call foresees that as well") {
  // What was made in interval 1 is alive from boundary 2 on.
  const JoinedCotangent joined{1000, {{1, 100}}};
  CHECK(Run{{0, 0, 5000, 0, 0}, joined}.peak() == Run{{0, 0, 5000, 0, 0}, {}}.peak() + 900);
  // Where that is made, what comes of its cotangent has memory of its own.
  CHECK(Run{{0, 5000, 0, 0, 0}, joined}.peak() == Run{{0, 5000, 0, 0, 0}, {}}.peak() + 900 + 100);
  CHECK(Run{{5000, 0, 0, 0, 0}, joined}.peak() == Run{{5000, 0, 0, 0, 0}, {}}.peak());
  // What the parts come to is counted with the state.
  CHECK(Run{{0, 0, 5000, 0, 0}, JoinedCotangent{1000, {{1, 100}, {0, 900}}}}.peak() == Run{{0, 0, 5000, 0, 0}, {}}.peak());
  CHECK(Run{{0, 5000, 0, 0, 0}, JoinedCotangent{1000, {{1, 100}, {2, 900}}}}.peak() ==
        Run{{0, 5000, 0, 0, 0}, {}}.peak() + 900 + 100);
  // As far as the sweep of that interval takes more for it.
  CHECK(Run{{0, 5000, 0, 0, 0}, joined, 30}.peak() == Run{{0, 5000, 0, 0, 0}, {}}.peak() + 900 + 30);
  CHECK(Run{{0, 5000, 0, 0, 0}, joined, 0}.peak() == Run{{0, 5000, 0, 0, 0}, {}}.peak() + 900);
}
