// See foresight.h.
#include "ops/plans/foresight.h"

#include "ops/plans/simulator.h"

#include <algorithm>
#include <string>
#include <utility>

namespace cairn::ops::plans {
namespace {

// How often what costs two copies is tried to be kept how long, and how many launches and uses are gone through in all.
constexpr std::uint64_t kTwice[] = {2, 16, 4, 1 << 16};
constexpr int kTimes = 3;
constexpr std::size_t kMost = std::size_t{1} << 21;
// The uses of a launch are looked for among each other.
std::size_t length(const AccessPlan& plan) {
  constexpr std::size_t kCompared = 64; // for which there is time in that of a use
  std::size_t length = plan.size();
  for (std::size_t at = 0; at < plan.size(); ++at) {
    const std::size_t uses = plan.uses(at).size();
    length += uses + uses / kCompared * uses;
  }
  return length;
}

// The plan twice, one behind the other; what is made is another block each time.
constexpr Name kSecond = Name{1} << 62;
AccessPlan doubled(const AccessPlan& plan) {
  Recorder recorder(plan.program());
  std::vector<Access> accesses;
  for (const Name second : {Name{0}, kSecond}) {
    const auto name_of = [&](std::uint32_t block) {
      const Name name = plan.blocks()[block].name;
      return is_born(name) ? name ^ second : name;
    };
    for (std::size_t at = 0; at <= plan.size(); ++at) {
      for (const Change& change : plan.changes(at))
        if (change.made)
          recorder.made(name_of(change.block), plan.blocks()[change.block].bytes);
        else
          recorder.dropped(name_of(change.block));
      if (at == plan.size()) break;
      accesses.clear();
      for (const PlannedUse& use : plan.uses(at))
        accesses.push_back({name_of(use.block), plan.blocks()[use.block].bytes, use.use});
      recorder.launch(plan.duration(at), accesses);
    }
  }
  std::string fault;
  return recorder.finish(fault).value_or(AccessPlan());
}

// Which use of the plan wrote what leaves the memory in that move, and so has been copied out.
void note(const AccessPlan& run, const Move& move, const AccessPlan& plan, std::vector<bool>& copied_out) {
  const auto positions = run.positions(move.block);
  const auto uses = run.uses_of(move.block);
  auto use = static_cast<std::size_t>(std::ranges::upper_bound(positions, move.launch) - positions.begin());
  while (use > 0 && !writes(uses[use - 1])) --use;
  const Name name = run.blocks()[move.block].name;
  const auto block = plan.find(is_born(name) ? name & ~kSecond : name);
  if (use == 0 || !block) return;
  const auto planned = std::ranges::lower_bound(plan.positions(*block), positions[use - 1] % plan.size());
  copied_out[plan.first_use(*block) + static_cast<std::size_t>(planned - plan.positions(*block).begin())] = true;
}

// Whether nothing ever has to give way, even if all leaves are there from the beginning.
bool fits(const AccessPlan& run, const Memory& memory) {
  std::uint64_t here = 0, most = 0;
  std::vector<bool> is_here(run.blocks().size());
  const auto come = [&](std::uint32_t block) {
    if (is_here[block]) return;
    is_here[block] = true;
    here += run.blocks()[block].bytes;
    most = std::max(most, here);
  };
  for (std::uint32_t block = 0; block < is_here.size(); ++block)
    if (!is_born(run.blocks()[block].name)) come(block);
  for (std::size_t at = 0; at < run.size(); ++at) {
    for (const Change& change : run.changes(at))
      if (!change.made && is_here[change.block]) here -= run.blocks()[change.block].bytes;
    for (const PlannedUse& use : run.uses(at)) come(use.block);
  }
  return most <= memory.capacity;
}

// Where it is too long to be gone through so often, nothing.
std::size_t times_of(const AccessPlan& plan) {
  const std::size_t once = 2 * length(plan);
  return plan.size() == 0 || once > kMost / 2 ? 0 : std::min<std::size_t>(kMost / once, std::size(kTwice) * kTimes);
}

struct Tried {
  Foresight with;
  Picoseconds makespan = 0;
  std::uint64_t bytes = 0;
};

} // namespace

std::uint64_t work_to_foresee(const AccessPlan& plan) {
  constexpr std::uint64_t kWorkOfUse = 16;
  return kWorkOfUse * 2 * length(plan) * times_of(plan);
}

Foresight foresee(const AccessPlan& plan, const Memory& memory, Ending ending) {
  const bool is_again = ending == Ending::again;
  if (times_of(plan) == 0) return {};
  const AccessPlan run = is_again ? doubled(plan) : plan;
  if (run.size() == 0 || fits(run, memory)) return {};
  std::size_t left = kMost / length(run);
  std::vector<Tried> tried;
  for (const std::uint64_t twice : kTwice) {
    Foresight known{std::vector<bool>(plan.parts().uses.size()), twice};
    for (int i = 0; i < kTimes && left > 0; ++i, --left) {
      Foresight next{std::vector<bool>(plan.parts().uses.size()), twice};
      const Simulated did = simulate(run, &plan, Policy::planned, memory, ending, &known, [&](const Move& move) {
        if (move.kind == Move::Kind::evict) note(run, move, plan, next.copied_out);
      });
      if (!did.failed.empty()) return {};
      const bool is_same = next.copied_out == known.copied_out;
      tried.push_back({std::move(known), did.makespan, did.bytes_in + did.bytes_out});
      if (is_same) break;
      known = std::move(next);
    }
  }
  // The fewest bytes of those that take hardly longer than the fastest.
  const Picoseconds fastest = std::ranges::min_element(tried, {}, &Tried::makespan)->makespan;
  const auto cost = [&](const Tried& one) { return one.makespan <= fastest + fastest / 50 ? one.bytes : UINT64_MAX; };
  return std::move(std::ranges::min_element(tried, {}, cost)->with);
}

} // namespace cairn::ops::plans
