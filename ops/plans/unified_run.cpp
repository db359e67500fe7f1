// See unified_run.h.
#include "ops/plans/unified_run.h"

#include "ops/plans/unified.h"

#include <fmt/format.h>

#include <vector>

namespace cairn::ops::plans {
namespace {

class Pages {
public:
  Pages(const AccessPlan& run, const AccessPlan& plan, Policy policy, const Memory& memory, Ending ending)
      : run_(run), plan_(plan), policy_(policy), memory_(memory, policy == Policy::unified_prefetched),
        end_(ending == Ending::again ? run.size() : plan.size()), made_(run.blocks().size()) {
    for (std::uint32_t block = 0; block < made_.size(); ++block)
      if (!is_born(run.blocks()[block].name)) make(block, true);
  }

  Simulated simulate() {
    std::vector<Access> accesses;
    for (std::size_t at = 0; at < run_.size(); ++at) {
      for (const Change& change : run_.changes(at)) apply(change);
      if (policy_ == Policy::unified_planned) ask_ahead(at);
      accesses.clear();
      for (const PlannedUse& use : run_.uses(at)) {
        if (!made_[use.block]) make(use.block, false);
        accesses.push_back({name(use.block), run_.blocks()[use.block].bytes, use.use});
        if (policy_ == Policy::unified_prefetched && memory_.lacks(name(use.block))) ++result_.fetches;
      }
      const Picoseconds before = memory_.execute();
      const auto begins = memory_.launch(run_.duration(at), accesses);
      if (!begins) {
        result_.failed = fmt::format("launch {} finds no room", at);
        break;
      }
      result_.stalled += *begins - before;
    }
    const UnifiedMemory::Moved& moved = memory_.moved();
    result_.makespan = memory_.execute();
    result_.bytes_in = moved.bytes_in;
    result_.bytes_out = moved.bytes_out;
    result_.faults = moved.faults;
    result_.evictions = moved.evictions;
    result_.write_backs = moved.write_backs;
    result_.peak = moved.peak;
    return std::move(result_);
  }

private:
  Name name(std::uint32_t block) const { return run_.blocks()[block].name; }
  void make(std::uint32_t block, bool filled) {
    memory_.made(name(block), run_.blocks()[block].bytes, filled);
    made_[block] = true;
  }
  void apply(const Change& change) {
    if (!change.made) return memory_.dropped(name(change.block));
    // Filled by the host, if the first who uses it reads it.
    const auto uses = run_.uses_of(change.block);
    make(change.block, !uses.empty() && needs_elements(uses.front()));
  }

  // What the engine has been asked for until now. Nothing is known of what has been used and what has not.
  void ask_ahead(std::size_t at) {
    if (next_ < at) {
      next_ = at;
      use_ = 0;
    }
    while (memory_.engine() <= memory_.execute() && next_ < end_) {
      const auto uses = plan_.uses(next_ % plan_.size());
      if (use_ == uses.size()) {
        ++next_;
        use_ = 0;
        continue;
      }
      const Name wanted = plan_.blocks()[uses[use_++].block].name;
      if (!memory_.is_missing(wanted)) continue;
      if (!memory_.ask_for(wanted)) return;
      ++result_.ahead;
    }
  }

  const AccessPlan& run_;
  const AccessPlan& plan_;
  Policy policy_;
  UnifiedMemory memory_;
  std::size_t end_;                // of what is asked for
  std::vector<bool> made_;         // by block of the run
  std::size_t next_ = 0, use_ = 0; // what is asked for next
  Simulated result_;
};

} // namespace

Simulated simulate_unified(const AccessPlan& run, const AccessPlan& plan, Policy policy, const Memory& memory, Ending ending) {
  return Pages(run, plan, policy, memory, ending).simulate();
}

} // namespace cairn::ops::plans
