// See simulator.h. What streams by blocks; unified_run.cpp has the pages.
#include "ops/plans/simulator.h"

#include "ops/plans/residents.h"
#include "ops/plans/room.h"
#include "ops/plans/unified_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace cairn::ops::plans {
namespace {

class Blocks {
public:
  Blocks(const AccessPlan& run, const AccessPlan& plan, Policy policy, const Memory& memory, Ending ending,
         const Foresight* foresight, const std::function<void(const Move&)>& each)
      : run_(run), policy_(policy), memory_(memory), each_(each), follower_(plan, ending),
        residents_(is_planned() ? &follower_ : nullptr, is_planned() ? foresight : nullptr),
        prefetcher_(follower_, residents_, memory_.link, memory.capacity), room_(memory.capacity), below_(run.blocks().size()),
        here_(run.blocks().size()) {
    for (std::size_t i = 0; i < below_.size(); ++i) {
      const PlannedBlock& block = run.blocks()[i];
      below_[i].current = !is_born(block.name);
      here_[i].name = block.name;
      here_[i].bytes = block.bytes;
    }
  }

  Simulated simulate() {
    for (at_ = 0; at_ < run_.size() && result_.failed.empty(); ++at_) {
      change();
      launch();
    }
    result_.makespan = now_.execute;
    result_.stalled = now_.stalled;
    result_.divergences = is_planned() ? follower_.divergences() : 0;
    return std::move(result_);
  }

private:
  // The copy in the memory below.
  struct Below {
    bool current = false;
    Picoseconds ready = 0;   // when it has been written
    Picoseconds arrived = 0; // when it came from there
  };

  bool is_planned() const { return policy_ == Policy::planned || policy_ == Policy::planned_on_demand; }
  Name name(std::uint32_t block) const { return run_.blocks()[block].name; }
  std::uint64_t bytes(std::uint32_t block) const { return run_.blocks()[block].bytes; }
  void note(Move::Kind kind, std::uint32_t block) const {
    if (each_) each_({kind, block, at_, now_.execute, waited_});
  }

  void change() {
    for (const Change& change : run_.changes(at_)) {
      if (change.made) {
        // By the host, if the first who uses it reads it.
        const auto uses = run_.uses_of(change.block);
        below_[change.block].current = !uses.empty() && needs_elements(uses.front());
        continue;
      }
      note(Move::Kind::drop, change.block);
      Resident& there = here_[change.block];
      if (there.here) room_.give(there.bytes, there.free_at);
      residents_.dropped(there);
      follower_.dropped(name(change.block));
    }
  }

  // When it has been copied.
  Picoseconds write_back(std::uint32_t block, Picoseconds ready) {
    note(Move::Kind::write_back, block);
    ++result_.write_backs;
    result_.bytes_out += bytes(block);
    below_[block] = {true, now_.out(memory_.link, bytes(block), ready), below_[block].arrived};
    return below_[block].ready;
  }

  void evict(Resident& victim) {
    const auto block = static_cast<std::uint32_t>(&victim - here_.data());
    Picoseconds free = victim.free_at;
    if (victim.dirty) free = write_back(block, free);
    note(Move::Kind::evict, block);
    ++result_.evictions;
    room_.give(victim.bytes, free);
    residents_.remove(victim);
  }

  // Into room that is there.
  void bring(std::uint32_t block, bool with_elements, Picoseconds ready) {
    ready = std::max(ready, room_.take(bytes(block)));
    note(with_elements ? Move::Kind::fetch : Move::Kind::take, block);
    if (with_elements) {
      ready = now_.in(memory_.link, bytes(block), std::max(ready, below_[block].ready));
      ++result_.fetches;
      result_.bytes_in += bytes(block);
    }
    below_[block].arrived = ready;
    residents_.put(here_[block], false, ready);
    result_.peak = std::max(result_.peak, residents_.bytes());
  }

  bool make_room(std::uint64_t bytes) {
    if (bytes <= room_.bytes()) return true;
    for (Resident* const victim : residents_.choose({bytes - room_.bytes()})) evict(*victim);
    return bytes <= room_.bytes();
  }

  void launch() {
    room_ready_ = 0;
    const auto uses = run_.uses(at_);
    accesses_.clear();
    for (const PlannedUse& use : uses) accesses_.push_back({name(use.block), bytes(use.block), use.use});
    if (is_planned()) {
      const Follower::Step step = follower_.launch(accesses_);
      if (step == Follower::Step::diverges || step == Follower::Step::returns) residents_.replan();
    }
    for (const PlannedUse& use : uses)
      if (here_[use.block].here) ++here_[use.block].pins;
    for (const PlannedUse& use : uses) {
      if (here_[use.block].here) continue;
      if (!make_room(bytes(use.block))) {
        result_.failed = fmt::format("launch {} finds no room for {} bytes", at_, bytes(use.block));
        return;
      }
      const bool elements = needs_elements(use.use) && below_[use.block].current;
      bring(use.block, elements, policy_ == Policy::waiting ? now_.execute : 0);
      if (!elements) room_ready_ = std::max(room_ready_, below_[use.block].arrived);
      ++here_[use.block].pins;
    }
    Picoseconds ready = 0;
    waited_ = room_ready_ > now_.execute ? room_ready_ - now_.execute : 0;
    for (const PlannedUse& use : uses) {
      ready = std::max(ready, below_[use.block].arrived);
      if (writes(use.use)) ready = std::max(ready, below_[use.block].ready);
    }
    const Picoseconds end = now_.launch(run_.duration(at_), ready);
    for (const PlannedUse& use : uses) {
      note(Move::Kind::launch, use.block);
      Resident& there = here_[use.block];
      residents_.put(there, writes(use.use) || there.dirty, end);
      --there.pins;
      if (!writes(use.use)) continue;
      below_[use.block].current = false;
      if (policy_ == Policy::planned && residents_.must_out(there)) residents_.cleaned(there, write_back(use.block, end));
    }
    residents_.tick();
    if (policy_ == Policy::planned) fetch_ahead();
  }

  void fetch_ahead() {
    while (const auto fetch = prefetcher_.next(room_.bytes(), now_)) {
      const auto block = run_.find(fetch->name);
      if (!block || !below_[*block].current || bytes(*block) != fetch->bytes) return; // the plan is of another run
      for (Resident* const victim : fetch->evicted) evict(*victim);
      bring(*block, true, 0);
      residents_.put_ahead(here_[*block], below_[*block].arrived);
      ++result_.ahead;
    }
  }

  const AccessPlan& run_;
  Policy policy_;
  const Memory& memory_;
  Picoseconds room_ready_ = 0, waited_ = 0; // of the launch that comes
  const std::function<void(const Move&)>& each_;
  Follower follower_;
  Residents residents_;
  Prefetcher prefetcher_;
  Room room_;
  Timeline now_;
  std::vector<Below> below_; // by block of the run
  std::vector<Resident> here_;
  std::vector<Access> accesses_;
  std::size_t at_ = 0;
  Simulated result_;
};

} // namespace

Simulated simulate(const AccessPlan& run, const AccessPlan* plan, Policy policy, const Memory& memory, Ending ending,
                   const Foresight* foresight, const std::function<void(const Move&)>& each) {
  if (is_unified(policy)) return simulate_unified(run, plan == nullptr ? run : *plan, policy, memory, ending);
  return Blocks(run, plan == nullptr ? run : *plan, policy, memory, ending, foresight, each).simulate();
}

} // namespace cairn::ops::plans
