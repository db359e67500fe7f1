// What is moved when: always allowed, never more than the memory holds, and as fast as a plan promises.
#include "test/streaming/checker.h"

#include "ops/plans/optimum.h"

#include <algorithm>
#include <functional>
#include <unordered_set>

using namespace cairn::ops::plans;
using namespace cairn::ops::plans::test;

namespace {

std::uint64_t largest_launch(const AccessPlan& run) {
  std::uint64_t largest = 0;
  for (std::size_t i = 0; i < run.size(); ++i) {
    std::uint64_t bytes = 0;
    for (const PlannedUse& use : run.uses(i)) bytes += run.blocks()[use.block].bytes;
    largest = std::max(largest, bytes);
  }
  return largest;
}

// Judged while it is done.
Simulated judged(const AccessPlan& run, const AccessPlan* plan, Policy policy, const Memory& memory, Ending ending = Ending::once,
                 const Foresight* foresight = nullptr) {
  Checker checker(run, memory.capacity);
  Simulated did = simulate(run, plan, policy, memory, ending, foresight, std::ref(checker));
  REQUIRE_MESSAGE(did.failed.empty(), did.failed);
  REQUIRE_MESSAGE(checker.fault().empty(), name_of(policy), ": ", checker.fault());
  CHECK(checker.peak() == did.peak);
  CHECK(did.peak <= memory.capacity);
  CHECK(did.makespan == run.duration() + did.stalled);
  return did;
}

// The run, but that it leaves out launches, makes others in between, and goes back, at random.
AccessPlan gone_astray(const AccessPlan& run, std::mt19937_64& random) {
  Recorder recorder(run.program());
  std::unordered_set<Name> dropped;
  const std::uint64_t rare = 3 + random() % 60;
  std::uint64_t births = std::uint64_t{1} << 40;
  for (std::size_t i = 0, most = 2 * run.size(); i < run.size() && most > 0; ++i, --most) {
    if (random() % rare == 0) {
      if (random() % 3 == 0)
        i = random() % run.size();
      else if (random() % 2 == 0)
        i = std::min(i + random() % 9, run.size() - 1);
      else {
        const Name fresh = born_name(births++);
        recorder.made(fresh, 1 + random() % 3);
        recorder.launch(1 + random() % 100, std::vector{random() % 2 == 0 ? write(fresh, 2) : read(fresh, 2)});
      }
    }
    std::vector<Access> accesses;
    for (const PlannedUse& use : run.uses(i))
      if (const PlannedBlock& block = run.blocks()[use.block]; !dropped.contains(block.name))
        accesses.push_back({block.name, block.bytes, use.use});
    recorder.launch(run.duration(i), accesses);
    for (const Change& change : run.changes(i + 1)) {
      const Name name = run.blocks()[change.block].name;
      if (change.made || !dropped.insert(name).second) continue;
      recorder.dropped(name);
    }
  }
  return finished(recorder);
}

constexpr Policy kByBlocks[] = {Policy::planned, Policy::planned_on_demand, Policy::demand, Policy::queued_demand};
constexpr Policy kAllPolicies[] = {Policy::planned, Policy::planned_on_demand,  Policy::demand,         Policy::queued_demand,
                                   Policy::unified, Policy::unified_prefetched, Policy::unified_planned};

Memory memory_of(std::uint64_t capacity, std::mt19937_64& random) {
  Memory memory;
  memory.capacity = capacity;
  memory.link.latency = random() % 3000;
  memory.link.bytes_in = std::uint64_t{1} << 30 << random() % 12;
  memory.link.bytes_out = std::uint64_t{1} << 30 << random() % 12;
  return memory;
}

// Copies in take so many eighths of the time of launches, launch by launch.
Network balanced(std::uint64_t eighths, const Link& link) {
  Network network;
  network.layers = 96;
  network.weight = std::uint64_t{16} << 20;
  network.forward = network.backward = link.in(network.weight) * 8 / eighths;
  network.update = network.forward / 100;
  return network;
}

} // namespace

TEST_CASE("every policy does what is allowed, whatever the run, the memory and the link") {
  std::mt19937_64 random(11);
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const AccessPlan run = chance_run(seed, {.launches = 150, .leaves = 5 + seed % 20, .least = 1, .most = 1 + seed * seed});
    const Memory memory = memory_of(largest_launch(run) + random() % (1 + 8 * seed * seed), random);
    const Foresight foresight = foresee(run, memory, Ending::once);
    for (const Policy policy : kByBlocks) judged(run, nullptr, policy, memory);
    judged(run, nullptr, Policy::planned, memory, Ending::once, &foresight);
    judged(run, nullptr, Policy::planned, memory, Ending::again);
  }
}

TEST_CASE("nothing ends sooner than it can") {
  std::mt19937_64 random(17);
  std::uint64_t bound = 0; // by copies
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    Network network{.layers = 8, .steps = 2, .weight = 1 << 16, .activation = std::uint64_t{1} << (12 + seed % 6)};
    network.states = seed % 4 == 1;
    network.streamed = seed % 3 != 0;
    network.uneven = seed % 5;
    const AccessPlan run =
        seed % 2 == 0 ? training(network)
                      : chance_run(seed, {.launches = 100, .least = 1, .most = std::uint64_t{1} << (seed % 12), .longest = 4000});
    Memory memory = memory_of(largest_launch(run) * (1 + random() % 4), random);
    memory.link.latency = random() % 3'000'000;
    const Picoseconds least = least_time(run, memory);
    CHECK(least >= run.duration());
    bound += least > run.duration() ? 1 : 0;
    const Foresight foresight = foresee(run, memory, Ending::once);
    for (const Policy policy : kByBlocks) {
      const Simulated did = simulate(run, nullptr, policy, memory, Ending::once, &foresight);
      REQUIRE_MESSAGE(did.failed.empty(), did.failed);
      CHECK(did.makespan >= least);
    }
  }
  CHECK(bound >= 20);
}

TEST_CASE("a training is hardly slower than it can be, whichever direction of the link bounds which of its passes") {
  for (const std::uint64_t eighths : {4, 8, 12, 16}) {
    CAPTURE(eighths);
    Memory memory;
    // Activations are more than weights, so going out bounds the forward pass where coming in bounds the other.
    Network network{.layers = 48, .weight = 1 << 20, .activation = 3 << 19, .streamed = true};
    network.forward = memory.link.out(network.activation) * 8 / eighths;
    network.backward = network.forward * 3 / 2;
    memory.capacity = 16 << 20;
    const AccessPlan plan = training(network);
    const Foresight foresight = foresee(plan, memory, Ending::again);
    const auto of_steps = [&](std::size_t steps, auto&& what) {
      network.steps = steps;
      return what(training(network));
    };
    const auto takes = [&](const AccessPlan& run) {
      return judged(run, &plan, Policy::planned, memory, Ending::again, &foresight).makespan;
    };
    const auto least = [&](const AccessPlan& run) { return least_time(run, memory); };
    const auto step = static_cast<double>(of_steps(5, takes) - of_steps(4, takes));
    const auto bound = static_cast<double>(of_steps(4, least) - of_steps(3, least));
    CHECK(step >= 0.999 * bound);
    CHECK(step <= 1.1 * bound);
  }
}

TEST_CASE("with plans that are wrong on purpose everything is allowed still") {
  std::mt19937_64 random(12);
  std::uint64_t divergences = 0, ahead = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    const AccessPlan plan = chance_run(seed, {.launches = 150, .leaves = 5 + seed % 20, .least = 1, .most = 1 + 8 * seed});
    // One that went another way, or of another program altogether.
    const AccessPlan run = seed % 8 == 0 ? chance_run(seed + 1000, {.launches = 150, .leaves = 9, .least = 1, .most = 100})
                                         : gone_astray(plan, random);
    const Memory memory = memory_of(std::max(largest_launch(run), largest_launch(plan)) + random() % (1 + 30 * seed), random);
    for (const Ending ending : {Ending::once, Ending::again}) {
      const Foresight foresight = foresee(plan, memory, ending);
      for (const Policy policy : {Policy::planned, Policy::planned_on_demand}) {
        const Simulated did = judged(run, &plan, policy, memory, ending, &foresight);
        divergences += did.divergences;
        ahead += did.ahead;
      }
    }
  }
  CHECK(divergences > 1000);
  CHECK(ahead > 1000); // it is followed in between
}

TEST_CASE("a launch that the memory does not hold is said to fail") {
  const AccessPlan run = training({.layers = 4, .weight = 1000});
  Memory memory;
  memory.capacity = 999;
  for (const Policy policy : kAllPolicies)
    CHECK(simulate(run, nullptr, policy, memory).failed.starts_with("launch 0 finds no room"));
  memory.capacity = 1000;
  for (const Policy policy : kByBlocks) CHECK(simulate(run, nullptr, policy, memory).failed.empty());
}

TEST_CASE("where all fits each block comes once and nothing leaves") {
  const Network network{.layers = 30, .steps = 3, .streamed = true};
  const AccessPlan run = training(network);
  Memory memory;
  memory.capacity = std::uint64_t{1} << 32;
  for (const Policy policy : kAllPolicies) {
    const Simulated did = simulate(run, nullptr, policy, memory);
    CHECK(did.bytes_in == network.layers * network.weight);
    CHECK(did.bytes_out == 0);
    CHECK(did.evictions == 0);
  }
}

TEST_CASE("blocks of one size: along a plan as many bytes come as with Belady's rule, within 2 %") {
  std::mt19937_64 random(13);
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    // Only read: what is written back is none of Belady's business.
    Chance chance{.launches = 400, .leaves = 40, .least = 4096, .most = 4096, .written = 0, .born = 0};
    if (seed % 2 == 0) chance.repeats = 60;
    const AccessPlan run = chance_run(seed, chance);
    Memory memory;
    memory.capacity = 4096 * (8 + random() % 20);
    memory.link.latency = 1;
    const auto least = static_cast<double>(belady_bytes(run, memory.capacity).value());
    CHECK(static_cast<double>(judged(run, nullptr, Policy::planned_on_demand, memory).bytes_in) == least);
    CHECK(static_cast<double>(judged(run, nullptr, Policy::demand, memory).bytes_in) > 1.02 * least);
  }
  for (const std::uint64_t eighths : {2, 4, 8, 12}) {
    Memory memory;
    Network network = balanced(eighths, memory.link);
    network.steps = 3;
    const AccessPlan run = training(network);
    for (const std::uint64_t part : {2, 4, 10}) {
      memory.capacity = network.layers * network.weight / part;
      const auto least = static_cast<double>(belady_bytes(run, memory.capacity).value());
      CHECK(static_cast<double>(judged(run, nullptr, Policy::planned, memory).bytes_in) <= 1.02 * least);
    }
  }
}

TEST_CASE("a planned training takes as long as if all fitted, where the link allows it") {
  for (const std::uint64_t eighths : {2, 4, 8}) {
    Memory memory;
    Network network = balanced(eighths, memory.link);
    const AccessPlan plan = training(network);
    network.steps = 4;
    const AccessPlan run = training(network);
    memory.capacity = network.layers * network.weight / 10;
    const Foresight foresight = foresee(plan, memory, Ending::again);
    const Simulated planned = judged(run, &plan, Policy::planned, memory, Ending::again, &foresight);
    CHECK(planned.divergences == 0);
    CHECK(planned.makespan * 95 <= run.duration() * 100);
    const Simulated demand = judged(run, nullptr, Policy::demand, memory);
    const auto faster = static_cast<double>(demand.makespan) / static_cast<double>(planned.makespan);
    if (eighths == 4) CHECK(faster >= 1.4);
    if (eighths == 8) CHECK(faster >= 1.8);
  }
}

TEST_CASE("the order of the ways to stream is that of the measurements in the thesis") {
  for (const std::uint64_t eighths : {4, 8}) {
    Memory memory;
    Network network = balanced(eighths, memory.link);
    network.steps = 3;
    const AccessPlan run = training(network);
    memory.capacity = network.layers * network.weight / 10;
    const auto takes = [&](Policy policy) {
      const Simulated did = simulate(run, nullptr, policy, memory);
      REQUIRE_MESSAGE(did.failed.empty(), did.failed);
      return did.makespan;
    };
    CHECK(takes(Policy::planned) < takes(Policy::planned_on_demand));
    CHECK(takes(Policy::planned) < takes(Policy::queued_demand));
    CHECK(takes(Policy::queued_demand) < takes(Policy::demand));
    CHECK(takes(Policy::demand) < takes(Policy::unified_prefetched));
    CHECK(takes(Policy::demand) < takes(Policy::unified_planned));
    CHECK(takes(Policy::unified_prefetched) < takes(Policy::unified));
    // Where copies are much faster than launches, what was asked for long ago has left again when it is needed.
    CHECK((takes(Policy::unified_planned) < takes(Policy::unified_prefetched)) == (eighths == 8));
    CHECK((takes(Policy::unified_planned) < takes(Policy::unified)) == (eighths == 8));
  }
}

TEST_CASE("activations that stream come back in time") {
  Memory memory;
  Network network{.layers = 48, .weight = std::uint64_t{1} << 22, .activation = std::uint64_t{1} << 23, .streamed = true};
  network.forward = 2 * memory.link.out(network.activation);
  network.backward = 2 * network.forward;
  const AccessPlan plan = training(network);
  network.steps = 3;
  network.births = 500;
  const AccessPlan run = training(network);
  memory.capacity = std::uint64_t{1} << 27;
  const Simulated did = judged(run, &plan, Policy::planned, memory, Ending::again);
  CHECK(did.divergences == 0);
  CHECK(did.makespan * 95 <= run.duration() * 100);
}
