// What must hold of every schedule over every length: legal actions, storage limits, equal continuation from a saved state.
#include "test/sanitized.h"
#include "test/schedule/helpers.h"

#include "vm/schedule/binomials.h"

#include <algorithm>
#include <cmath>

using namespace cairn::schedule;
using namespace cairn::schedule::test;

namespace {

std::vector<Spec> specs(Random& random) {
  const std::uint64_t base = 16 + random.below(80);
  std::vector<Spec> all = {spec_of("tape"),
                           spec_of("auto"),
                           spec_of("budget"),
                           spec_of("auto,memory=40000"),
                           spec_of("budget,memory=1"),
                           spec_of("budget,memory=40000"),
                           spec_of("budget,memory=400000"),
                           spec_with_base(Spec::Kind::bisection, base),
                           spec_with_base(Spec::Kind::binomial, base),
                           spec_with_base(Spec::Kind::sqrt, base),
                           spec_with_base(Spec::Kind::online, base)};
  for (const std::uint64_t snapshots :
       {std::uint64_t{1}, std::uint64_t{2}, 3 + random.below(6), 33 + random.below(40), UINT64_MAX}) {
    all.push_back(spec_with_base(Spec::Kind::binomial, base, snapshots));
    all.push_back(spec_with_base(Spec::Kind::online, base, snapshots));
  }
  Spec passes = spec_with_base(Spec::Kind::binomial, base);
  passes.passes = 1 + random.below(5);
  all.push_back(passes);
  return all;
}

std::uint64_t length(Random& random, std::uint64_t base) {
  switch (random.below(6)) {
  case 0:
    return random.below(3);
  case 1:
    return base - 1 + random.below(3);
  case 2:
    return base * (1 + random.below(20));
  case 3:
    return base * (1 + random.below(20)) + random.below(base);
  default:
    return random.below(9000);
  }
}

Limits limits_of(const Spec& spec) {
  Limits limits;
  if (spec.snapshots != 0) limits.snapshots = spec.snapshots;
  if (spec.kind == Spec::Kind::bisection || spec.kind == Spec::Kind::binomial || spec.kind == Spec::Kind::online)
    limits.tape_steps = spec.base;
  return limits;
}

// A small auto: a budget so tight that even short runs leave the first tape.
Resources tight(const Spec& spec) { return {spec.kind == Spec::Kind::automatic ? std::int64_t{64} << 10 : std::int64_t{0}}; }

std::vector<std::uint64_t> saved(const Schedule& schedule) {
  std::vector<std::uint64_t> words;
  schedule.save(words);
  return words;
}

} // namespace

TEST_CASE("every schedule reverses runs of every length within its limits") {
  Random random(1);
  for (int round = 0; round < cairn::test::rounds(10); ++round)
    for (const Spec& spec : specs(random)) {
      const Program program{length(random, spec.base), random.below(2048), random.below(4096)};
      run(spec, program, limits_of(spec));
      if (spec.kind == Spec::Kind::automatic) run(spec, program, limits_of(spec), tight(spec));
    }
}

TEST_CASE("lengths around nothing and one base case") {
  Random random(2);
  for (const std::uint64_t total : {0u, 1u, 2u, 15u, 16u, 17u, 31u, 32u, 33u})
    for (Spec spec : specs(random)) {
      spec.base = 16;
      run(spec, {total}, limits_of(spec));
    }
}

TEST_CASE("a schedule continues equally from its saved state, and its clone goes its own way") {
  Random random(3);
  for (int round = 0; round < cairn::test::rounds(2); ++round)
    for (const Spec& spec : specs(random)) {
      const Program program{length(random, spec.base), 700, 300};
      auto schedule = make(spec, tight(spec));
      Checker checker(program, limits_of(spec));
      // Where runs are planned, each of the copies plans as the original does: every third action is enough.
      const int step = spec.kind == Spec::Kind::budget ? std::max(3, cairn::test::poll_step()) : cairn::test::poll_step();
      int actions = 0;
      for (bool more = true; more;) {
        if (++actions % step != 0) {
          more = checker.perform(schedule->next(), *schedule);
          continue;
        }
        auto restored = restore(saved(*schedule));
        REQUIRE(restored != nullptr);
        CHECK(saved(*restored) == saved(*schedule));
        const auto cloned = schedule->clone();
        const Action action = schedule->next();
        const auto after = saved(*schedule);
        CHECK(restored->next() == action);
        CHECK(saved(*restored) == after);
        CHECK(cloned->next() == action);
        for (int i = 0; i < 3; ++i) cloned->next();
        CHECK(saved(*schedule) == after);
        schedule = std::move(restored);
        more = checker.perform(action, *schedule);
      }
      CHECK(checker.report().fault == "");
    }
}

TEST_CASE("words that are no schedule are refused, and damaged ones do no harm") {
  CHECK(restore({}) == nullptr);
  CHECK(restore({0}) == nullptr);
  CHECK(restore({99, 1, 2, 3}) == nullptr);
  Random random(4);
  for (const Spec& spec : specs(random)) {
    const auto schedule = make(spec, tight(spec));
    const Program program{5000, 700, 300};
    Checker checker(program, {});
    for (int i = 0; i < 40 && checker.perform(schedule->next(), *schedule); ++i) {
      const auto words = saved(*schedule);
      CHECK(restore({words.begin(), words.end() - 1}) == nullptr);
      auto longer = words;
      longer.push_back(0);
      CHECK(restore(longer) == nullptr);
      for (std::size_t at = 0; at < words.size(); ++at) {
        auto damaged = words;
        damaged[at] = random.below(2) == 0 ? random.below(50) : UINT64_MAX - random.below(3);
        const auto other = restore(damaged);
        for (int step = 0; other != nullptr && step < 20; ++step) other->next();
      }
    }
  }
}

TEST_CASE("decisions cost the same for a billion units") {
  const std::uint64_t units = 1'000'000'000;
  for (const std::uint64_t slots : {1u, 2u, 3u, 8u, 64u, 4096u, 1u << 30}) {
    CAPTURE(slots);
    const std::uint64_t cut = split(slots, units);
    CHECK(cut >= 1);
    CHECK(cut < units);
    if (slots > 1) CHECK(advances(slots, units) == cut + advances(slots - 1, units - cut) + advances(slots, cut));
  }
  CHECK(advances(1, units) == Wide{units} * (units - 1) / 2);
  CHECK(binomial(200, 100) == kManyUnits);
  CHECK(binomial(67, 33) == 14226520737620288370u);
  CHECK(binomial(3, 4) == 0);
}

TEST_CASE("passes: no step is advanced more often, and one snapshot less would not do") {
  for (const std::uint64_t units : {1u, 2u, 7u, 50u, 333u, 1000u})
    for (std::uint64_t passes = 1; passes < 7; ++passes) {
      CAPTURE(units);
      CAPTURE(passes);
      Spec spec = spec_with_base(Spec::Kind::binomial, 16);
      spec.passes = passes;
      const Report report = run(spec, {16 * units});
      CHECK(report.repetitions <= passes + 1); // the measuring run
      const std::uint64_t slots = slots_for_passes(passes, units);
      CHECK(report.peak_snapshots <= slots);
      CHECK(repetitions(slots, units) <= passes);
      if (slots > 1) CHECK(repetitions(slots - 1, units) > passes);
    }
}

TEST_CASE("binomial without a number of snapshots grows with the logarithm in both space and time") {
  for (const std::uint64_t units : {10u, 100u, 1000u, 10000u, 100000u}) {
    const Report report = run(spec_with_base(Spec::Kind::binomial, 16), {16 * units});
    const auto bound = static_cast<std::uint64_t>(std::log2(units)) + 1;
    CHECK(report.peak_snapshots <= bound);
    CHECK(report.repetitions <= bound + 1);
  }
}

TEST_CASE("sqrt keeps one level of snapshots of the first run: every step runs twice") {
  for (const std::uint64_t total : {1000u, 4096u, 10000u, 123456u, 1000000u, 3000000u}) {
    const Report report = run(spec_of("sqrt,base=16"), {total});
    const double root = std::sqrt(static_cast<double>(total));
    CAPTURE(total);
    CHECK(report.advanced == total);
    CHECK(static_cast<double>(report.peak_snapshots) >= 0.49 * root);
    CHECK(static_cast<double>(report.peak_snapshots) <= 1.01 * root + 1);
    CHECK(static_cast<double>(report.longest_tape) <= 2.01 * root);
  }
  // Below base squared a part is one base case.
  const Report report = run(spec_of("sqrt"), {1000000});
  CHECK(report.longest_tape == 4096);
  CHECK(report.peak_snapshots == 245);
}

TEST_CASE("online stays near the optimum of a known length, whatever the number of snapshots") {
  for (const std::uint64_t slots : {2u, 4u, 7u, 16u, 40u, 100u, 500u})
    for (const std::uint64_t units : {30u, 77u, 300u, 1234u, 5000u}) {
      CAPTURE(slots);
      CAPTURE(units);
      const Report report = run(spec_with_base(Spec::Kind::online, 16, slots), {16 * units}, {slots, 16});
      const double optimum = static_cast<double>(units) + static_cast<double>(advances(slots, units));
      CHECK(static_cast<double>(report.advanced + report.taped) / 16 <= 1.2 * optimum);
    }
}

TEST_CASE("online without a number of snapshots grows with the logarithm") {
  for (const std::uint64_t units : {10u, 100u, 1000u, 20000u}) {
    const Report report = run(spec_with_base(Spec::Kind::online, 16), {16 * units});
    const auto slots = 4 * (static_cast<std::uint64_t>(std::log2(units)) + 1);
    CAPTURE(units);
    CHECK(report.peak_snapshots <= slots);
    const double optimum = static_cast<double>(units) + static_cast<double>(advances(slots, units));
    CHECK(static_cast<double>(report.advanced + report.taped) / 16 <= 1.25 * optimum);
  }
}
