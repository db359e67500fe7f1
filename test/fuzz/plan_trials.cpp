// Plans that were made up, and what becomes of the bytes of one (trials.h): whoever follows a plan must stand anything that it
// says.
#include "ops/plans/foresight.h"
#include "ops/plans/optimum.h"
#include "ops/plans/plan_bytes.h"
#include "ops/plans/simulator.h"
#include "test/fuzz/trials.h"

#include <algorithm>

namespace fuzzing {

namespace {

namespace plans = cairn::ops::plans;
using plans::Access;
using plans::AccessPlan;
using plans::Use;

constexpr std::size_t kMostLaunches = 512; // of a plan that is followed; others are only read
constexpr plans::Policy kPolicies[] = {
    plans::Policy::planned, plans::Policy::planned_on_demand,  plans::Policy::waiting,        plans::Policy::demand,
    plans::Policy::unified, plans::Policy::unified_prefetched, plans::Policy::unified_planned};
constexpr std::uint64_t kMostUnified = std::uint64_t{16} << 20; // bytes of all blocks, where their pages are counted

AccessPlan made_up(std::uint64_t seed) {
  Random random(seed);
  plans::Recorder recorder(random());
  std::vector<std::pair<plans::Name, std::uint64_t>> live;
  std::uint64_t births = 0;
  for (std::size_t launches = below(random, 40); launches > 0; --launches) {
    std::vector<Access> accesses;
    for (std::size_t n = below(random, 3); n > 0; --n) {
      const std::uint64_t leaf = below(random, 6);
      accesses.push_back({plans::leaf_name(leaf), std::uint64_t{100} << leaf, static_cast<Use>(below(random, 3))});
    }
    if (!live.empty()) {
      const auto& [name, bytes] = live[below(random, live.size())];
      accesses.push_back({name, bytes, static_cast<Use>(below(random, 3))});
    }
    if (random() % 2 == 0) {
      live.emplace_back(plans::born_name(births++), below(random, 3000));
      recorder.made(live.back().first, live.back().second);
      accesses.push_back({live.back().first, live.back().second, Use::write_whole});
    }
    recorder.launch(below(random, 100'000'000), accesses);
    if (live.size() > 3 || (!live.empty() && random() % 3 == 0)) {
      const std::size_t gone = below(random, live.size());
      recorder.dropped(live[gone].first);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(gone));
    }
  }
  std::string fault;
  std::optional<AccessPlan> plan = recorder.finish(fault);
  promise(plan.has_value(), "what was recorded is a plan:", fault);
  return *std::move(plan);
}

// Whoever does what the plan says never leaves it.
void follow_itself(const AccessPlan& plan, plans::Ending ending) {
  plans::Follower follower(plan, ending);
  std::vector<Access> accesses;
  for (std::size_t at = 0; at < plan.size(); ++at) {
    accesses.clear();
    for (const plans::PlannedUse& use : plan.uses(at)) {
      const plans::PlannedBlock& block = plan.blocks()[use.block];
      accesses.push_back({block.name, block.bytes, use.use});
    }
    follower.launch(accesses);
    for (const Access& access : accesses) follower.next_use(access.name);
    for (const plans::Change& change : plan.changes(at + 1))
      if (!change.made) follower.dropped(plan.blocks()[change.block].name);
  }
  promise(follower.followed() + follower.strayed() == plan.size(), "each launch is the plan's or another");
}

// With room for a part of it and for all of it.
void simulate(const AccessPlan& plan, const AccessPlan& other) {
  std::uint64_t largest = 0, all = 0;
  for (std::size_t at = 0; at < plan.size(); ++at) {
    std::uint64_t one = 0;
    for (const plans::PlannedUse& use : plan.uses(at)) one += plan.blocks()[use.block].bytes;
    largest = std::max(largest, one);
  }
  for (const plans::PlannedBlock& block : plan.blocks()) all += block.bytes;
  for (const std::uint64_t capacity : {largest, largest + largest / 2, all}) {
    const plans::Memory memory{capacity, {}};
    for (const plans::Policy policy : kPolicies) {
      if (plans::is_unified(policy) && all > kMostUnified) continue;
      for (const AccessPlan* const known : {&plan, &other}) {
        const plans::Simulated did = plans::simulate(plan, known, policy, memory);
        promise(plans::is_unified(policy) || did.failed.empty(), "what has room for each launch can be done:", did.failed);
        promise(plans::is_unified(policy) || did.peak <= capacity, "no more is there than there is room for");
      }
    }
    for (const plans::Ending ending : {plans::Ending::once, plans::Ending::again}) {
      const plans::Foresight foresight = plans::foresee(plan, memory, ending);
      plans::simulate(plan, &plan, plans::Policy::planned, memory, ending, foresight.copied_out.empty() ? nullptr : &foresight);
    }
    plans::belady_bytes(plan, capacity);
  }
}

} // namespace

std::vector<Bytes> plan_seeds() {
  constexpr std::uint64_t kPlans = 60;
  std::vector<Bytes> list;
  for (std::uint64_t seed = 0; seed < kPlans; ++seed) list.push_back(to_bytes(made_up(seed)));
  return list;
}

Verdict try_plan(const Bytes& file) {
  static const AccessPlan* other = new AccessPlan(made_up(7)); // for as long as the process
  std::string fault;
  const std::optional<AccessPlan> plan = plans::from_bytes(file, fault);
  if (!plan) {
    promise(!fault.empty(), "who refuses says why");
    return {};
  }
  const Bytes again = to_bytes(*plan);
  const std::optional<AccessPlan> back = plans::from_bytes(again, fault);
  promise(back && *back == *plan && back->digest() == plan->digest(), "a plan comes back from its bytes:", fault);
  promise(!plan->summary().empty() && (plan->size() == 0 || !plan->listing(3).empty()), "a plan can be shown");
  if (plan->size() == 0 || plan->size() > kMostLaunches) return {true, false};
  follow_itself(*plan, plans::Ending::once);
  follow_itself(*plan, plans::Ending::again);
  simulate(*plan, *other);
  return {true, true};
}

} // namespace fuzzing
