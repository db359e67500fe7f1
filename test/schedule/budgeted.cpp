// Runs that are planned under a budget, on a machine of layers: they never hold more than the budget.
#include "vm/schedule/budgeted.h"
#include "test/sanitized.h"
#include "test/schedule/layered_machine.h"
#include "vm/schedule/cost_table.h"
#include "vm/schedule/outlook.h"
#include "vm/schedule/repeats.h"

#include <algorithm>

using namespace cairn::schedule;
using namespace cairn::schedule::test;

TEST_CASE("a planned run is reversed and holds no more than its budget") {
  Random random(5);
  double replays = 0, runs = 0;
  for (int round = 0; round < cairn::test::rounds(40); ++round) {
    const Layers layers = random_layers(random, 1 + random.below(round % 4 == 0 ? 300 : 80));
    const std::uint64_t whole = layers.bytes(layers.tape(0, layers.size())) + layers.own_bytes(0, layers.size());
    for (const std::uint64_t part : {16u, 8u, 4u, 2u, 1u}) {
      // What must be there at once, whatever the plan: some layers, their cotangents, and those of x.
      std::uint64_t least = 2 * (layers.largest() + *std::max_element(layers.own.begin(), layers.own.end()));
      for (const std::uint64_t bytes : layers.weight) least += bytes;
      const std::uint64_t memory = whole / part + least;
      CAPTURE(round);
      CAPTURE(part);
      const Outcome outcome = planned(layers, memory, round % 2 == 0 ? 0 : CostTable().ticks_of_fresh());
      CHECK(outcome.reversed);
      CHECK(outcome.peak <= memory);
      replays += static_cast<double>(outcome.executed) / static_cast<double>(layers.size());
      ++runs;
    }
  }
  MESSAGE("each step runs ", replays / runs, " times on average");
  CHECK(replays / runs < 1.8);
}

TEST_CASE("a first run does not keep what costs less than memory that is used for the first time") {
  constexpr std::size_t kSteps = 60;
  constexpr std::uint64_t kKiB = 1024, kWhole = kSteps * 5 * kKiB;
  Layers layers;
  layers.activation.assign(kSteps + 1, 4 * kKiB);
  layers.activation[0] = 0;
  layers.own.assign(kSteps, kKiB);
  layers.weight.assign(kSteps, 0);
  for (std::size_t i = 0; i < kSteps; ++i) layers.skip.push_back(i);
  for (std::size_t i = 0; i <= kSteps; ++i) layers.level.push_back(i % 2);
  constexpr std::uint64_t kMemory = 2 * kWhole, kAgain = 10; // of each activation of that level, of 4 KiB
  const auto run = [&](std::uint64_t fresh, std::uint64_t older = 0) {
    return machine_for(layers, kMemory).with_fresh(fresh, older).run();
  };
  const Outcome all = run(0), dear = run(kAgain), cheap = run(kAgain / 5);
  CHECK((all.reversed && dear.reversed && cheap.reversed));
  CHECK((all.executed == kSteps && dear.executed == kSteps));
  CHECK((all.thinned == 0 && cheap.thinned == 0));
  CHECK(dear.thinned > 0);
  CHECK(dear.peak < all.peak * 3 / 4);
  // What the reversal uses in any case is used.
  CHECK(run(kAgain, kWhole / 3).thinned == 0);
  CHECK(run(kAgain, kWhole / 4).thinned < dear.thinned);
}

TEST_CASE("a first run goes on from the interval that took more than was left for it") {
  Layers layers; // of one size, but for a few that nothing foretells
  constexpr std::size_t kSteps = 60, kHeavy = 40;
  layers.activation.push_back(0);
  for (std::size_t i = 0; i < kSteps; ++i) {
    layers.activation.push_back((i >= kHeavy && i < kHeavy + 2 ? std::uint64_t{48} : 4) << 10);
    layers.own.push_back(1 << 10);
    layers.skip.push_back(i);
    layers.weight.push_back(0);
  }
  layers.level.assign(kSteps + 1, 0);
  constexpr std::uint64_t kMemory = 230 << 10; // of 390 KiB that one tape takes
  const Outcome outcome = planned(layers, kMemory);
  CHECK((outcome.reversed && outcome.peak <= kMemory));
  CHECK(outcome.relieved == 1);
  CHECK(outcome.executed == 160);
  CHECK(outcome.weighed == 21);
}

TEST_CASE("a run that comes again is reversed from what the first one has shown, in no more time and memory") {
  Random random(9);
  std::uint64_t first_executed = 0, executed = 0, peaks = 0, careful_peaks = 0;
  int known = 0;
  for (int round = 0; round < cairn::test::rounds(60); ++round) {
    const Layers layers = random_layers(random, 2 + random.below(round % 4 == 0 ? 300 : 80));
    const std::uint64_t whole = layers.bytes(layers.tape(0, layers.size())) + layers.own_bytes(0, layers.size());
    std::uint64_t least = 2 * (layers.largest() + *std::max_element(layers.own.begin(), layers.own.end()));
    for (const std::uint64_t bytes : layers.weight) least += bytes;
    Spec spec = spec_of("budget");
    spec.memory = whole / (1 + random.below(12)) + least;
    CAPTURE(round);
    Machine first(layers, spec);
    const Outcome before = first.run();
    std::unique_ptr<Schedule> again = first.schedule().again(0);
    if (again == nullptr) continue;
    ++known;
    first_executed += before.executed;
    for (int call = 0; call < 2; ++call) {
      Machine next(layers, again->clone());
      const Outcome outcome = next.run();
      CHECK((outcome.reversed && outcome.weighed == 1));
      CHECK(outcome.peak <= spec.memory);
      const auto foreseen = next.schedule().foreseen();
      REQUIRE(foreseen);
      CHECK(outcome.executed == foreseen->executed);
      CHECK(outcome.peak <= foreseen->peak);
      if (call == 0) executed += outcome.executed, peaks += outcome.peak;
      again = next.schedule().again(0);
      REQUIRE(again != nullptr);
    }
    // After failures more is left alone.
    const Outcome careful = Machine(layers, first.schedule().again(4)).run();
    CHECK((careful.reversed && careful.peak <= spec.memory));
    careful_peaks += careful.peak;
    // Longer or shorter it is found out, once its end was seen elsewhere.
    Layers other = layers;
    for (auto* facts : {&other.own, &other.weight}) facts->resize(layers.size() + (round % 2 == 0 ? 1 : -1), facts->front());
    other.skip.resize(other.size(), other.size() - 1);
    other.activation.resize(other.size() + 1, layers.activation.back());
    other.level.resize(other.size() + 1, 0);
    const Outcome outcome = Machine(other, again->clone()).run();
    CHECK((outcome.misled && !outcome.reversed && outcome.executed <= layers.size()));
  }
  MESSAGE(known, " known runs; ", executed, " steps where the first calls took ", first_executed);
  CHECK(known > cairn::test::rounds(60) / 2);
  CHECK(executed < first_executed);
  CHECK(careful_peaks < peaks * 9 / 10);
}

TEST_CASE("what is remembered of calls waits where they differ, and is forgotten where it is too much") {
  const Layers layers = random_layers(*std::make_unique<Random>(3), 40);
  Spec spec = spec_of("budget");
  spec.memory = std::uint64_t{1} << 18;
  Machine machine(layers, spec);
  machine.run();
  constexpr std::size_t kMany = std::size_t{1} << 20;
  Repeats repeats;
  CHECK(repeats.next(1) == nullptr);
  repeats.learn(1, machine.schedule(), 40, kMany);
  CHECK(repeats.next(1) != nullptr);
  CHECK(repeats.next(2) == nullptr);
  repeats.misled(1);
  for (const std::uint64_t steps : {39, 39, 40, 40, 40}) { // one that is unlike the last begins the wait anew
    CHECK(repeats.next(1) == nullptr);
    repeats.learn(1, machine.schedule(), steps, kMany);
  }
  CHECK(repeats.next(1) != nullptr);
  for (std::uint64_t kind = 2; kind < 2 + Repeats::kMost; ++kind) repeats.learn(kind, machine.schedule(), 40, kMany);
  CHECK(repeats.next(1) == nullptr);
  CHECK(repeats.next(2) != nullptr);
  repeats.learn(2, machine.schedule(), 40, kMany); // is now the latest
  repeats.learn(1, machine.schedule(), 40, kMany);
  CHECK((repeats.next(2) != nullptr && repeats.next(3) == nullptr));
  std::vector<std::uint64_t> words;
  repeats.each_word([&](std::uint64_t word) { words.push_back(word); });
  CHECK(words.size() == repeats.words());
  REQUIRE(Repeats::restore(words));
  CHECK(Repeats::restore(words)->next(2) != nullptr);
  for (const std::size_t at : {std::size_t{0}, std::size_t{5}, words.size() - 1}) {
    std::vector<std::uint64_t> damaged = words;
    damaged[at] = UINT64_MAX;
    CHECK(!Repeats::restore(damaged));
  }
  repeats.learn(2, machine.schedule(), 40, repeats.words() / 2);
  CHECK((repeats.next(2) != nullptr && repeats.next(17) != nullptr && repeats.next(4) == nullptr));
  repeats.learn(2, machine.schedule(), 40, 100);
  CHECK((repeats.next(2) == nullptr && repeats.words() <= 100));
}

TEST_CASE("with a file a run is reversed within its budget, and what would take longer to run again goes there") {
  Random random(15);
  std::uint64_t spilled = 0, kept = 0, worse = 0, longer = 0, runs = 0;
  for (int round = 0; round < cairn::test::rounds(20); ++round) {
    Layers layers = random_layers(random, 40 + random.below(round % 4 == 0 ? 300 : 80));
    for (std::uint64_t& own : layers.own) own /= 32; // beside elements, records are small
    const std::uint64_t whole = layers.bytes(layers.tape(0, layers.size())) + layers.own_bytes(0, layers.size());
    std::uint64_t least = 2 * (layers.largest() + *std::max_element(layers.own.begin(), layers.own.end()));
    for (const std::uint64_t bytes : layers.weight) least += bytes;
    Spec spec = spec_of("budget");
    for (const std::uint64_t part : {16u, 8u, 4u, 2u}) {
      CAPTURE(round);
      CAPTURE(part);
      spec.memory = whole / part + least;
      const Outcome without = planned(layers, spec.memory);
      auto with = [&](std::uint64_t bytes, std::uint64_t ticks) {
        Resources resources;
        resources.alone = true;
        resources.spill_bytes = static_cast<std::int64_t>(bytes);
        resources.spill_ticks = ticks;
        Machine machine(layers, spec, resources);
        const Outcome outcome = machine.within(spec.memory).run();
        CHECK(outcome.reversed);
        CHECK(outcome.in_file <= bytes);
        if (const auto foreseen = machine.schedule().foreseen()) CHECK(outcome.in_file <= foreseen->in_file);
        return outcome;
      };
      // A file that costs nothing, a little one, and one that takes longer than anything.
      const Outcome all = with(4 * whole, 1), some = with(whole / 8, 1), none = with(4 * whole, std::uint64_t{1} << 40);
      CHECK(all.peak <= spec.memory);
      // With room for all tapes in the file, few plans come out longer: those that are foreseen to take too much with it give way
      // to what is left without it, which is not what would have been planned without it from the start.
      CHECK(all.executed <= without.executed + layers.size());
      longer += all.executed > without.executed + layers.size() / 8 ? 1 : 0;
      worse += some.executed > without.executed + layers.size() / 4 ? 1 : 0;
      ++runs;
      CHECK((none.spilled == 0 && none.executed == without.executed && none.peak == without.peak));
      spilled += all.executed;
      kept += without.executed;
    }
  }
  MESSAGE("with a file ", spilled, " steps are run, without one ", kept);
  CHECK(spilled * 10 < kept * 9);
  // A file that holds a little may be used up by the wrong tapes, in one of fifty runs; few runs may have one of them. Where the
  // budget is a sixteenth of the tape, room for what is on its way to the file may cost more than the file saves.
  const std::uint64_t most = std::max<std::uint64_t>(1, runs / 50);
  CAPTURE(worse);
  CAPTURE(longer);
  CHECK((worse <= most && longer <= 2 * most));
}

TEST_CASE("a call that comes again takes no longer beside a file than the first one did") {
  Random random(21);
  double all_first = 0, all_next = 0, worst = 1;
  int runs = 0;
  for (int round = 0; round < cairn::test::rounds(30); ++round) {
    Layers layers = random_layers(random, 40 + random.below(100));
    for (std::uint64_t& own : layers.own) own /= 32;
    const std::uint64_t whole = layers.bytes(layers.tape(0, layers.size())) + layers.own_bytes(0, layers.size());
    Spec spec = spec_of("budget");
    spec.memory = whole / (2 + random.below(6)) + 4 * layers.largest();
    for (const std::uint64_t bytes : layers.weight) spec.memory += bytes;
    Resources resources;
    resources.alone = true;
    resources.spill_bytes = static_cast<std::int64_t>(4 * whole);
    // From a file that takes a tenth of the time of the run to one that takes ten times as long.
    resources.spill_ticks = static_cast<std::uint64_t>(1000 * layers.size() / 10 << random.below(7)) * (1 << 20) / whole;
    CAPTURE(round);
    Machine first(layers, spec, resources);
    CHECK(first.run().reversed);
    const auto foreseen = first.schedule().foreseen();
    std::unique_ptr<Schedule> known = first.schedule().again(0);
    if (!foreseen || !known) continue;
    Machine next(layers, std::move(known));
    const Outcome outcome = next.run();
    CHECK((outcome.reversed && !outcome.misled && outcome.peak <= spec.memory));
    REQUIRE(next.schedule().foreseen());
    const double first_time = foreseen->time, next_time = next.schedule().foreseen()->time;
    worst = std::max(worst, next_time / first_time);
    all_first += first_time;
    all_next += next_time;
    ++runs;
  }
  MESSAGE(runs, " runs: ", all_first / runs, " and ", all_next / runs, " times one tape on average, at most ", worst,
          " times the first");
  REQUIRE(runs >= 5); // of 30, or of fewer where everything is slower
  CHECK(all_next <= all_first);
  CHECK(worst < 1.05);
}

TEST_CASE("what only the last steps of a run read has room while everything before them is reversed") {
  Random random(8);
  std::uint64_t executed = 0, steps = 0;
  for (int round = 0; round < 10; ++round) {
    Layers layers = random_layers(random, 400 + random.below(100));
    const std::uint64_t whole = layers.bytes(layers.tape(0, layers.size())) + layers.own_bytes(0, layers.size());
    std::fill(layers.weight.begin(), layers.weight.end(), 0);
    layers.weight.back() = 2 * whole;
    const std::uint64_t memory = layers.weight.back() + whole / 2;
    CAPTURE(round);
    const Outcome outcome = planned(layers, memory);
    CHECK(outcome.reversed);
    CHECK(outcome.peak <= memory);
    CHECK(outcome.executed <= layers.size() * 2);
    executed += outcome.executed;
    steps += layers.size();
  }
  CHECK(executed <= steps * 7 / 4); // a third of each tape fits
}

TEST_CASE("with any budget a planned run is reversed, the same way each time") {
  Random random(6);
  for (int round = 0; round < cairn::test::rounds(12); ++round) {
    const Layers layers = random_layers(random, 1 + random.below(120));
    const std::uint64_t memory = 1 + random.below(std::uint64_t{1} << (1 + random.below(23)));
    CAPTURE(memory);
    const Outcome outcome = machine_for(layers, memory).run(), again = machine_for(layers, memory).run();
    CHECK(outcome.reversed);
    CHECK((outcome.executed == again.executed && outcome.peak == again.peak));
  }
}

TEST_CASE("what fits is run once, and a little less memory costs a little") {
  Random random(7);
  const Layers layers = random_layers(random, 200);
  CHECK(planned(layers, std::uint64_t{1} << 40).executed == layers.size());
  const std::uint64_t whole = planned(layers, std::uint64_t{1} << 40).peak;
  std::uint64_t last = UINT64_MAX / 2;
  for (const std::uint64_t sixteenths : {6u, 8u, 10u, 12u, 14u, 16u, 18u}) {
    const Outcome outcome = planned(layers, whole / 16 * sixteenths);
    CAPTURE(sixteenths);
    CHECK(outcome.peak <= whole / 16 * sixteenths);
    CHECK(outcome.executed <= last + layers.size() / 16);
    last = outcome.executed;
  }
  CHECK(last <= layers.size() * 5 / 4);
}

TEST_CASE("a budget that nobody asked for is not used up: a little more time saves much memory") {
  Random random(10);
  double time = 0, part = 0;
  int saved = 0;
  constexpr std::int64_t kBudget = std::int64_t{16} << 30;
  for (int round = 0; round < cairn::test::rounds(6); ++round) {
    Layers layers = random_layers(random, 60 + random.below(100));
    for (auto* bytes : {&layers.activation, &layers.own, &layers.weight})
      for (std::uint64_t& b : *bytes) b <<= 8 + round % 5;
    const std::uint64_t whole = layers.bytes(layers.tape(0, layers.size())) + layers.own_bytes(0, layers.size());
    CAPTURE(round);
    const Resources resources{.budget_bytes = kBudget, .alone = true};
    Machine frugal(layers, spec_of("auto"), resources);
    const Outcome outcome = frugal.run();
    CHECK((outcome.reversed && outcome.peak <= static_cast<std::uint64_t>(kBudget)));
    const auto foreseen = frugal.schedule().foreseen();
    if (!foreseen) { // it was short
      CHECK(outcome.executed == layers.size());
      continue;
    }
    CHECK(outcome.executed == foreseen->executed);
    CHECK(foreseen->time < 1.5);
    if (whole < kFrugalBytes / 2) CHECK(outcome.executed == layers.size());
    Resources asked = resources;
    asked.asked = true;
    CHECK(Machine(layers, spec_of("auto"), asked).run().executed == layers.size());
    // A second call knows the run, and takes no more than the first one.
    const std::unique_ptr<Schedule> again = frugal.schedule().again(0);
    REQUIRE(again != nullptr);
    Machine second(layers, again->clone());
    CHECK(second.run().reversed);
    CHECK((second.schedule().foreseen()->time < 1.3 && second.schedule().foreseen()->budget <= foreseen->budget * 2));
    if (whole < 4 * kFrugalBytes) continue;
    ++saved;
    time += foreseen->time;
    part += static_cast<double>(outcome.peak) / static_cast<double>(whole);
  }
  MESSAGE("time ", time / saved, " times that of one tape in ", part / saved, " of its memory, in ", saved, " runs");
  CHECK((time / saved < 1.3 && part / saved < .75));
}

TEST_CASE("a survey keeps next to nothing, and tells what budgets buy") {
  Random random(9);
  for (int round = 0; round < cairn::test::rounds(10); ++round) {
    const Layers layers = random_layers(random, 60 + random.below(200));
    const std::uint64_t whole = layers.bytes(layers.tape(0, layers.size())) + layers.own_bytes(0, layers.size());
    CAPTURE(round);
    Machine survey(layers, spec_of("budget"), {.alone = true, .survey = true});
    const Outcome seen = survey.run();
    REQUIRE(survey.schedule().surveyed());
    CHECK(!seen.reversed);
    CHECK(seen.executed == layers.size());
    if (whole > (std::uint64_t{1} << 20)) CHECK(seen.peak < whole / 2);
    const std::vector<Point> curve = outlook(survey.schedule(), 8);
    REQUIRE(curve.size() >= 2);
    const std::optional<std::uint64_t> enough = enough_budget(survey.schedule(), 1);
    REQUIRE(enough);
    const Outcome within_enough = planned(layers, *enough);
    CHECK(within_enough.reversed);
    CHECK(within_enough.peak <= *enough);
    CHECK(curve.back().time == 1);
    for (std::size_t i = 0; i < curve.size(); ++i) {
      CAPTURE(i);
      if (i > 0) CHECK(curve[i].budget > curve[i - 1].budget);
      CHECK((curve[i].time >= 1 && curve[i].time <= curve.front().time * 1.05));
      if (curve[i].again) {
        CHECK(i == 0);
        CHECK(survey.schedule().planned(curve[i].budget)->fits(curve[i].budget));
        continue;
      }
      const Outcome outcome = planned(layers, curve[i].budget);
      CHECK(outcome.reversed);
      CHECK(outcome.peak <= curve[i].budget);
    }
    // It says the same of a budget however the survey is stored.
    std::vector<std::uint64_t> words;
    survey.schedule().save(words);
    const auto restored = restore(words);
    REQUIRE(restored != nullptr);
    CHECK(restored->prospect(whole / 2)->peak == survey.schedule().prospect(whole / 2)->peak);
  }
}
