// Plans against optima computed by other programs, and judged by the checker.
#include "test/schedule/helpers.h"
#include "test/schedule/random_profiles.h"

#include "vm/schedule/asking.h"
#include "vm/schedule/outlook.h"
#include "vm/schedule/plan_checker.h"

#include <functional>
#include <limits>
#include <optional>
#include <random>

using namespace cairn::schedule;
using namespace cairn::schedule::test;

namespace {

// Tables that count single bytes.
PlannerLimits exactly(Family family) {
  PlannerLimits limits;
  limits.cells = 500;
  limits.family = family;
  return limits;
}

// The plan within `budget`, judged; no cost if there is none.
std::optional<double> judged(const Profile& profile, const Planner& planner, std::uint64_t budget) {
  const std::optional<Plan> plan = planner.plan(budget);
  if (!plan) return std::nullopt;
  const PlanReport report = check(profile, plan->moves);
  REQUIRE_MESSAGE(report.fault.empty(), report.fault);
  CHECK(report.peak <= budget);
  CHECK(static_cast<double>(report.cost) == plan->cost);
  CHECK(plan->cost == doctest::Approx(*planner.cost(budget)).epsilon(1e-4));
  return plan->cost;
}

// Seed 001's chains: a tape holds what its stage leaves, and needs what the stage began from.
Profile chain_of(const nlohmann::json& chain, bool strict) {
  const auto n = chain.at("n").get<std::size_t>();
  auto at = [&](const char* name, std::size_t i) { return chain.at(name).at(i).get<std::uint64_t>(); };
  Profile profile;
  profile.reach.resize(n + 1);
  for (std::size_t i = 0; i <= n; ++i) {
    profile.cotangents.push_back(at("wd", i));
    profile.reach[i].assign(i, 0);
    if (i > 0) profile.reach[i][i - 1] = at("wa", i);
  }
  for (std::size_t i = 1; i <= n; ++i) {
    Interval interval;
    interval.forward = interval.taped = at("uf", i);
    interval.sweep = at("ub", i);
    interval.tape = at("wabar", i) - at("wa", i);
    interval.shares.push_back(shared(i - 1, at("wa", i)));
    if (i > 1) interval.shares.push_back(shared(i - 2, at("wa", i - 1)));
    interval.advancing = interval.taping = at("of", i);
    interval.sweeping_of[0] = at("ob", i) + (strict ? at("wd", i - 1) : 0);
    profile.intervals.push_back(std::move(interval));
  }
  profile.born = least_born(profile);
  REQUIRE(profile.sound());
  return profile;
}

Profile run_of(const nlohmann::json& run) {
  const auto n = run.at("L").get<std::size_t>();
  auto at = [&](const char* name, std::size_t i) { return run.at(name).at(i).get<std::uint64_t>(); };
  Profile profile;
  profile.reach.resize(n + 1);
  for (std::size_t i = 0; i <= n; ++i) {
    profile.cotangents.push_back(at("c", i));
    for (std::size_t k = 1; k <= i; ++k) profile.reach[i].push_back(run.at("B").at(i).at(k));
  }
  for (std::size_t i = 1; i <= n; ++i) {
    Interval interval{at("f", i), at("tf", i), at("b", i), at("t", i), {}, at("of", i), at("ot", i)};
    interval.sweeping_of[0] = at("ob", i) + at("c", i - 1);
    profile.intervals.push_back(std::move(interval));
  }
  profile.born = least_born(profile);
  REQUIRE(profile.sound());
  return profile;
}

} // namespace

TEST_CASE("plans of heterogeneous chains take exactly the published least time at every budget") {
  const auto chains = data("rotor_chains.json").at("chains");
  int compared = 0;
  for (const auto& entry : chains) {
    for (const bool strict : {false, true}) {
      const Profile profile = chain_of(entry.at("chain"), strict);
      const Planner planner(profile, 499, exactly(Family::mixed)), free(profile, 499, exactly(Family::free));
      for (const auto& result : entry.at("results")) {
        // The published budgets count what the chain starts from.
        const std::uint64_t budget = result.at("M").get<std::uint64_t>() - entry.at("chain").at("wa").at(0).get<std::uint64_t>();
        const auto& least = result.at(strict ? "strict" : "paper");
        CAPTURE(entry.at("seed").dump());
        CAPTURE(strict);
        CAPTURE(budget);
        const auto cost = judged(profile, planner, budget), lower = judged(profile, free, budget);
        REQUIRE(cost.has_value() == !least.is_null());
        if (cost) CHECK(*cost == least.get<double>());
        if (cost) CHECK(*lower <= *cost);
        ++compared;
      }
    }
  }
  CHECK(compared > 250);
}

TEST_CASE("runs whose states share memory: at most what the model's recursion takes") {
  const auto runs = data("sharing_runs.json").at("runs");
  for (const auto& entry : runs) {
    const Profile profile = run_of(entry.at("run"));
    const Planner mixed(profile, 499, exactly(Family::mixed)), simple(profile, 499, exactly(Family::simple)),
        free(profile, 499, exactly(Family::free));
    for (const auto& result : entry.at("results")) {
      const auto budget = result.at("M").get<std::uint64_t>();
      CAPTURE(entry.at("seed").dump());
      CAPTURE(budget);
      const auto cost = judged(profile, mixed, budget);
      REQUIRE(cost.has_value());
      CHECK(*cost == result.at("recursion").get<double>());
      const auto plain = judged(profile, simple, budget);
      CHECK(plain.has_value() == !result.at("simple").is_null());
      if (plain) CHECK(*plain == result.at("simple").get<double>());
      const auto lower = judged(profile, free, budget);
      REQUIRE(lower.has_value());
      CHECK(*lower <= *cost);
    }
  }
}

TEST_CASE("whoever plans is asked all the while whether that should go on, and what that throws is thrown") {
  Draws random{std::mt19937_64(7)};
  const Profile profile = random_profile(random, 40, true);
  std::uint64_t asked = 0, most = UINT64_MAX;
  struct Enough {};
  const Asking asking([&] {
    if (++asked == most) throw Enough();
  });
  const auto planned = [&] {
    asked = 0;
    return Planner(profile, 499, exactly(Family::simple)).plan(499)->moves;
  };
  const std::vector<Move> moves = planned();
  const std::uint64_t all = asked;
  CHECK(all > profile.size());
  for (most = 1; most <= all; most += 1 + all / 10) CHECK_THROWS_AS(planned(), Enough);
  most = UINT64_MAX;
  CHECK(planned() == moves);
  {
    const Asking nobody([] {});
    CHECK(planned() == moves);
    CHECK(asked == 0);
  }
  CHECK(planned() == moves);
  CHECK(asked == all);
}

TEST_CASE("a budget that does is looked for with some twenty questions at most") {
  struct Asked final : Schedule {
    std::uint64_t least = 0;
    mutable int questions = 0;
    bool fits(std::uint64_t budget) const override { return ++questions, budget >= least; }
    std::optional<Prospect> prospect(std::uint64_t budget) const override { return ++questions, Prospect{1, 1, budget >= least}; }
    Action next() override { return {}; }
    void ended(std::uint64_t) override {}
    std::string explanation() const override { return ""; }
    std::unique_ptr<Schedule> clone() const override { return std::make_unique<Asked>(*this); }
    void save(std::vector<std::uint64_t>&) const override {}
  };
  for (std::uint64_t least = 1; least < std::uint64_t{1} << 50; least += 1 + least / 3) {
    Asked schedule;
    schedule.least = least;
    for (const auto& look : {least_budget, enough_budget}) {
      schedule.questions = 0;
      const std::optional<std::uint64_t> budget = look(schedule, 1);
      CHECK(schedule.questions <= 20);
      if (budget) CHECK(*budget >= least);
      if (least <= std::uint64_t{11} << 20) CHECK(budget.has_value()); // a MiB, and a quarter more eleven times
      if (least > std::uint64_t{12} << 20) CHECK_FALSE(budget.has_value());
    }
  }
}

TEST_CASE("tapes in two forms: never above plans with either of them, and below both where a plan mixes them") {
  int compared = 0, lower = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Draws random{std::mt19937_64(seed)};
    const Profile profile = random_profile(random, random.between(4, 14), seed % 2 == 1);
    Profile light = profile;
    for (Interval& interval : light.intervals) {
      interval.tape /= 2;
      interval.sweep += random.between(1, 4);
    }
    const Planner both(profile, 499, exactly(Family::simple), {light}), heavy(profile, 499, exactly(Family::simple)),
        other(light, 499, exactly(Family::simple));
    for (std::uint64_t budget = 4; budget < 90; budget += 3) {
      CAPTURE(seed);
      CAPTURE(budget);
      const std::optional<Plan> plan = both.plan(budget);
      const std::optional<double> of_heavy = heavy.cost(budget), of_light = other.cost(budget);
      CHECK(plan.has_value() >= (of_heavy.has_value() || of_light.has_value()));
      if (!plan) continue;
      Profile mixed = profile;
      for (const Move& move : plan->moves)
        if (move.kind == Move::Kind::tape && move.form == 1) mixed.intervals[move.at] = light.intervals[move.at];
      const PlanReport report = check(mixed, plan->moves);
      CHECK(report.fault.empty());
      CHECK(report.peak <= budget);
      CHECK(report.cost == doctest::Approx(plan->cost));
      double least = std::numeric_limits<double>::infinity();
      for (const std::optional<double>& of_one : {of_heavy, of_light}) least = std::min(least, of_one.value_or(least));
      CHECK(plan->cost <= least);
      ++compared;
      lower += plan->cost < least ? 1 : 0;
    }
  }
  CHECK(compared > 300);
  CHECK(lower > compared / 10);
}

TEST_CASE("letting go of states and computing them again: at or below the published examples") {
  for (const auto& example : data("rotor_nonpersistent_examples.json")) {
    const Profile profile = chain_of(example.at("chain"), false);
    const std::uint64_t budget = example.at("M").get<std::uint64_t>() - example.at("chain").at("wa").at(0).get<std::uint64_t>();
    const Planner planner(profile, budget, exactly(Family::free));
    const auto cost = judged(profile, planner, budget);
    REQUIRE(cost.has_value());
    CHECK(*cost <= example.at("nonpersistent").get<double>());
  }
}

namespace {

// What may be let go of by search.
enum class Rule : std::uint8_t {
  persistent, // a state once the interval behind it is reversed
  taped,      // or is on a held tape
  free        // anything at any time, tapes too
};

// The least cost by looking at everything that can be done, for a run of a few intervals whose tapes share nothing.
class Search {
public:
  Search(const Profile& profile, std::uint64_t budget, Rule rule, unsigned held = 1)
      : profile_(profile), budget_(budget), rule_(rule), last_(static_cast<unsigned>(profile.size())), held_(held),
        least_(size(), kNever), states_(std::size_t{2} << last_) {
    for (unsigned set = 0; set < states_.size(); ++set)
      for (unsigned k = 0; k < last_; ++k) states_[set] += weight_of(set, k);
  }

  std::optional<double> run() {
    visit({held_, 0, held_ == 1 ? 0 : last_ + 1, last_}, 0);
    for (std::uint32_t cost = 0; cost < open_.size(); ++cost) {
      for (std::size_t n = 0; n < open_[cost].size(); ++n) {
        const State s = open_[cost][n];
        if (least_[index(s)] < cost) continue;
        if (s.unreversed == 0) return cost;
        expand(s, cost);
      }
    }
    return std::nullopt;
  }

private:
  static constexpr std::uint32_t kNever = UINT32_MAX;
  struct State {
    unsigned states, tapes, current, unreversed; // current: last + 1 if there is none
  };
  static bool has(unsigned set, unsigned i) { return (set >> i & 1U) != 0; }
  std::size_t size() const { return (std::size_t{2} << last_) * (std::size_t{1} << last_) * (last_ + 2) * (last_ + 1); }
  std::size_t index(const State& s) const {
    return (((std::size_t{s.states} << last_) + s.tapes) * (last_ + 2) + s.current) * (last_ + 1) + s.unreversed;
  }
  // Of birth k, what the first of these states behind it has.
  std::uint64_t weight_of(unsigned set, unsigned k) const {
    for (unsigned i = k + 1; i <= last_; ++i)
      if (has(set, i)) return profile_.reach[i][k];
    return 0;
  }
  std::uint64_t held(unsigned states, unsigned tapes, unsigned unreversed) const {
    std::uint64_t sum = profile_.cotangents[unreversed] + states_[states];
    for (unsigned k = 0; k < last_; ++k)
      if (has(tapes, k)) sum += profile_.intervals[k].tape;
    return sum;
  }
  void visit(const State& s, std::uint64_t cost) {
    std::uint32_t& least = least_[index(s)];
    if (least <= cost) return;
    least = static_cast<std::uint32_t>(cost);
    if (open_.size() <= cost) open_.resize(cost + 1);
    open_[cost].push_back(s);
  }
  void expand(const State& s, std::uint64_t cost) {
    const unsigned none = last_ + 1;
    if (s.current < s.unreversed && !has(s.tapes, s.current)) {
      const Interval& interval = profile_.intervals[s.current];
      const unsigned both = s.states | 3U << s.current, tapes = s.tapes | 1U << s.current;
      if (held(both, s.tapes, s.unreversed) + interval.advancing <= budget_)
        visit({s.states, s.tapes, s.current + 1, s.unreversed}, cost + interval.forward);
      if (held(both, tapes, s.unreversed) + interval.taping <= budget_)
        visit({s.states, tapes, s.current + 1, s.unreversed}, cost + interval.taped);
    }
    if (s.current != none) {
      visit({s.states, s.tapes, none, s.unreversed}, cost);
      if (s.current < s.unreversed) visit({s.states | 1U << s.current, s.tapes, s.current, s.unreversed}, cost);
    } else {
      for (unsigned i = 0; i < s.unreversed; ++i)
        if (has(s.states, i)) visit({s.states, s.tapes, i, s.unreversed}, cost);
    }
    const unsigned top = s.unreversed - 1;
    if (has(s.tapes, top) &&
        held(s.states | (s.current != none ? 1U << s.current : 0U), s.tapes, s.unreversed) + profile_.intervals[top].sweeping() <=
            budget_)
      visit({s.states, s.tapes & ~(1U << top), s.current <= top ? s.current : none, top}, cost + profile_.intervals[top].sweep);
    for (unsigned i = 0; i <= last_; ++i) {
      if (has(s.states, i) && (i >= s.unreversed || rule_ == Rule::free || (rule_ == Rule::taped && has(s.tapes, i))))
        visit({s.states & ~(1U << i), s.tapes, s.current, s.unreversed}, cost);
      if (has(s.tapes, i) && rule_ == Rule::free) visit({s.states, s.tapes & ~(1U << i), s.current, s.unreversed}, cost);
    }
  }

  const Profile& profile_;
  std::uint64_t budget_;
  Rule rule_;
  unsigned last_;
  unsigned held_; // the states that are held at the start; if there are others than the first, none is current
  std::vector<std::uint32_t> least_;
  std::vector<std::uint64_t> states_;    // bytes of each set of states
  std::vector<std::vector<State>> open_; // by cost
};

std::uint64_t whole_tape(const Profile& profile) {
  std::uint64_t sum = 0;
  for (const Interval& interval : profile.intervals) {
    sum += interval.tape + interval.taping + interval.sweeping();
    for (const TapeShare& share : interval.shares) sum += share.forms[0].bytes;
  }
  return sum + 100;
}

} // namespace

TEST_CASE("letting go of states early takes at most the least of that in most of the runs where it helps") {
  int helps = 0, reached = 0, compared = 0, persistent = 0;
  for (std::uint64_t seed = 0; helps < 50; ++seed) {
    Draws random{std::mt19937_64(seed)};
    const Profile profile = random_profile(random, random.between(4, 5), false);
    const Planner planner(profile, 499, exactly(Family::free));
    const auto curve = planner.curve();
    const std::uint64_t least = curve.front().budget, enough = curve.back().budget;
    for (std::uint64_t i = 0; i < 3; ++i) {
      const std::uint64_t budget = least + (enough - least) * i / 3;
      CAPTURE(seed);
      CAPTURE(budget);
      const auto cost = judged(profile, planner, budget);
      const auto of_persistent = Search(profile, budget, Rule::persistent).run(),
                 of_free = Search(profile, budget, Rule::free).run();
      REQUIRE(cost.has_value());
      REQUIRE(of_free.has_value());
      CHECK(*cost >= *of_free);
      ++compared;
      if (of_persistent && *cost <= *of_persistent) ++persistent;
      if (of_persistent && *of_free == *of_persistent) continue;
      ++helps;
      const auto of_taped = Search(profile, budget, Rule::taped).run();
      if (of_taped && *cost <= *of_taped) ++reached;
    }
  }
  MESSAGE("at most the persistent optimum in ", persistent, " of ", compared, ", at most the taped one in ", reached, " of ",
          helps, " where it helps");
  CHECK(2 * reached >= helps);
}

TEST_CASE("from states that are held already: never below what a search finds, and mostly as little") {
  int compared = 0, least = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Draws random{std::mt19937_64(seed)};
    const Profile profile = random_profile(random, random.between(4, 5), false);
    const Planner planner(profile, 499, exactly(Family::free));
    const auto curve = planner.curve();
    std::vector<std::uint32_t> held{0};
    unsigned set = 1;
    for (std::uint32_t i = 1; i < profile.size(); ++i)
      if (random.between(0, 1) == 0) held.push_back(i), set |= 1U << i;
    if (held.size() == 1) continue;
    const std::uint64_t budget = random.between(curve.front().budget, curve.back().budget);
    CAPTURE(seed);
    CAPTURE(budget);
    const std::optional<Plan> plan = planner.plan(budget, held, profile.size());
    REQUIRE(plan.has_value());
    const PlanReport report = check(profile, plan->moves, held, profile.size());
    REQUIRE_MESSAGE(report.fault.empty(), report.fault);
    CHECK(report.peak <= budget);
    CHECK(static_cast<double>(report.cost) == plan->cost);
    CHECK(plan->cost <= *planner.cost(budget));
    const auto of_free = Search(profile, budget, Rule::free, set).run();
    REQUIRE(of_free.has_value());
    CHECK(plan->cost >= *of_free);
    ++compared;
    if (plan->cost == *of_free) ++least;
  }
  MESSAGE("the least cost in ", least, " of ", compared);
  CHECK(5 * least >= 4 * compared);
}

TEST_CASE("what is planned for a coarser run fits the run itself, and costs there what was planned") {
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Draws random{std::mt19937_64(seed)};
    Profile fine = random_profile(random, random.between(2, 40), true);
    std::vector<std::uint32_t> boundaries{0};
    for (std::uint32_t i = 1; i < fine.size(); ++i)
      if (random.between(0, 2) == 0) boundaries.push_back(i);
    boundaries.push_back(static_cast<std::uint32_t>(fine.size()));
    for (std::size_t c = 0; c + 1 < boundaries.size(); ++c) { // parts have the same form
      const auto form = static_cast<std::uint32_t>(seed % 3 == 0 ? boundaries[c] % kTapeForms : 0);
      for (std::uint32_t i = boundaries[c]; i < boundaries[c + 1]; ++i) fine.intervals[i].form = form;
    }
    const Profile coarse = coarsened(fine, boundaries);
    REQUIRE(coarse.sound());
    const Planner planner(coarse, whole_tape(fine));
    for (const Planner::Point& point : planner.curve()) {
      CAPTURE(seed);
      CAPTURE(point.budget);
      const std::optional<Plan> plan = planner.plan(point.budget);
      REQUIRE(plan.has_value());
      CHECK(check(coarse, plan->moves).peak <= point.budget);
      const PlanReport report = check(fine, refined(plan->moves, boundaries));
      REQUIRE_MESSAGE(report.fault.empty(), report.fault);
      CHECK(report.peak <= point.budget);
      CHECK(static_cast<double>(report.cost) == plan->cost);
      ++compared;
    }
  }
  CHECK(compared > 250);
}

TEST_CASE("with more memory no plan takes longer, whatever is shared, and no plan holds more than it was given") {
  for (std::uint64_t seed = 0; seed < 25; ++seed) {
    Draws random{std::mt19937_64(seed)};
    const Profile profile = random_profile(random, random.between(1, 30), true);
    PlannerLimits limits;
    limits.cells = static_cast<std::uint32_t>(random.between(8, 40));
    const std::uint64_t most = whole_tape(profile);
    const Planner planner(profile, most, limits);
    std::optional<double> before;
    for (std::uint64_t budget = 0; budget <= most; budget += 1 + most / 64) {
      CAPTURE(seed);
      CAPTURE(budget);
      const auto cost = judged(profile, planner, budget);
      if (before) REQUIRE(cost.has_value());
      if (before) CHECK(*cost <= *before);
      before = cost;
    }
    REQUIRE(before.has_value());
    double taped = 0;
    for (const Interval& interval : profile.intervals) taped += static_cast<double>(interval.taped + interval.sweep);
    CHECK(*before == taped);
  }
}

TEST_CASE("long runs: the simple plans are within a hundredth of the mixed ones on average") {
  double sum = 0, most = 0;
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    Draws random{std::mt19937_64(seed)};
    const Profile profile = random_profile(random, 48, seed % 2 == 1);
    PlannerLimits limits;
    limits.family = Family::simple;
    const Planner simple(profile, whole_tape(profile), limits);
    limits.family = Family::mixed;
    const Planner mixed(profile, whole_tape(profile), limits);
    const auto curve = mixed.curve();
    for (int i = 0; i <= 8; ++i) {
      const std::uint64_t budget =
          curve.front().budget + (curve.back().budget - curve.front().budget) * static_cast<std::uint64_t>(i) / 8;
      const auto few = judged(profile, simple, budget), all = judged(profile, mixed, budget);
      if (!few || !all) continue;
      sum += *few / *all - 1;
      most = std::max(most, *few / *all - 1);
      ++compared;
    }
  }
  MESSAGE("simple plans are ", 100 * sum / compared, " % above mixed ones on average, ", 100 * most, " % at most");
  CHECK(sum / compared <= 0.01);
}
