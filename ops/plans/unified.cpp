// See unified.h. Pages of 64 KiB are here or below, never both: what leaves is copied back whether it was changed or not. One
// engine moves them, so what makes room and what comes take turns. Kernels use blocks from their first page to their last, so
// pages of one block leave in the order of their blocks, the least recently used first.
#include "ops/plans/unified.h"

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <utility>
#include <vector>

namespace cairn::ops::plans {
namespace {

constexpr std::uint64_t kPage = std::uint64_t{64} << 10;

class Pages {
public:
  Pages(const AccessPlan& run, const AccessPlan& plan, Policy policy, const Memory& memory, Ending ending)
      : run_(run), plan_(plan), policy_(policy), memory_(memory), end_(ending == Ending::again ? run.size() : plan.size()),
        free_(memory.capacity / kPage), blocks_(run.blocks().size()) {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      blocks_[i].pages = (run.blocks()[i].bytes + kPage - 1) / kPage;
      blocks_[i].exists = blocks_[i].filled = !is_born(run.blocks()[i].name);
    }
  }

  Simulated simulate() {
    for (std::size_t at = 0; at < run_.size(); ++at) {
      for (const Change& change : run_.changes(at)) apply(change);
      if (!launch(at)) {
        result_.failed = fmt::format("launch {} finds no room", at);
        break;
      }
    }
    result_.makespan = execute_;
    return std::move(result_);
  }

private:
  struct Paged {
    std::uint64_t pages = 0, here = 0;
    bool exists = false, filled = false; // its pages have elements
    Picoseconds arrives = 0;
    std::list<std::uint32_t>::iterator place; // if any page is here
  };

  void apply(const Change& change) {
    Paged& block = blocks_[change.block];
    if (change.made) {
      const auto uses = run_.uses_of(change.block);
      block.filled = !uses.empty() && needs_elements(uses.front());
      return;
    }
    if (block.here != 0) order_.erase(block.place);
    free_ += std::exchange(block.here, 0);
    block.exists = false;
  }

  // The block becomes the one that was used last.
  void touch(std::uint32_t which) {
    Paged& block = blocks_[which];
    if (block.here != 0) order_.splice(order_.end(), order_, block.place);
  }

  // Pages of others leave, from `at` on; when they have.
  bool make_room(std::uint64_t pages, Picoseconds& at) {
    while (free_ < pages) {
      const auto victim = std::ranges::find_if(
          order_, [this](std::uint32_t block) { return std::ranges::find(in_use_, block) == in_use_.end(); });
      if (victim == order_.end()) return false;
      Paged& block = blocks_[*victim];
      const std::uint64_t leave = std::min(block.here, pages - free_);
      if (block.filled) {
        at += Link::at_rate(leave * kPage, memory_.link.bytes_out);
        result_.bytes_out += leave * kPage;
        ++result_.write_backs;
      }
      ++result_.evictions;
      free_ += leave;
      if ((block.here -= leave) == 0) order_.erase(victim);
    }
    return true;
  }

  // So many pages of the block come, from `at` on.
  bool come(std::uint32_t which, std::uint64_t pages, Picoseconds& at) {
    if (!make_room(pages, at)) return false;
    Paged& block = blocks_[which];
    if (block.here == 0) block.place = order_.insert(order_.end(), which);
    block.here += pages;
    free_ -= pages;
    result_.peak = std::max(result_.peak, (memory_.capacity / kPage - free_) * kPage);
    if (!block.filled) return true;
    at += Link::at_rate(pages * kPage, memory_.link.bytes_in);
    result_.bytes_in += pages * kPage;
    return true;
  }

  bool launch(std::size_t at) {
    const auto uses = run_.uses(at);
    if (policy_ == Policy::unified_planned) ask_ahead(at);
    in_use_.clear();
    for (const PlannedUse& use : uses) in_use_.push_back(use.block);
    Picoseconds ready = execute_;
    for (const PlannedUse& use : uses) {
      Paged& block = blocks_[use.block];
      block.exists = true;
      touch(use.block);
      ready = std::max(ready, block.arrives);
      const std::uint64_t missing = block.pages - block.here;
      if (missing == 0) continue;
      Picoseconds moved = policy_ == Policy::unified_planned ? ready : std::max(ready, engine_);
      if (policy_ == Policy::unified_prefetched) {
        moved += memory_.link.latency;
        ++result_.fetches;
      } else {
        moved += missing * memory_.fault;
        result_.faults += missing;
      }
      if (!come(use.block, missing, moved)) return false;
      // Faults go before what was asked for ahead.
      engine_ = std::max(engine_, ready) + (moved - ready);
      ready = moved;
    }
    result_.stalled += ready - execute_;
    execute_ = ready + run_.duration(at);
    for (const PlannedUse& use : uses)
      if (writes(use.use)) blocks_[use.block].filled = true;
    return true;
  }

  // What the engine has been asked for until now. Nothing is known of what has been used and what has not.
  void ask_ahead(std::size_t at) {
    if (next_ < at) {
      next_ = at;
      use_ = 0;
    }
    while (engine_ <= execute_ && next_ < end_) {
      const auto uses = plan_.uses(next_ % plan_.size());
      if (use_ == uses.size()) {
        ++next_;
        use_ = 0;
        continue;
      }
      const auto which = run_.find(plan_.blocks()[uses[use_++].block].name);
      if (!which || !(blocks_[*which].exists && blocks_[*which].filled) || blocks_[*which].pages == blocks_[*which].here)
        continue;
      Paged& block = blocks_[*which];
      touch(*which);
      in_use_.push_back(*which); // beside what the last launch uses
      Picoseconds moved = engine_ + memory_.link.latency;
      const bool came = come(*which, block.pages - block.here, moved);
      in_use_.pop_back();
      if (!came) return;
      block.arrives = engine_ = moved;
      ++result_.ahead;
    }
  }

  const AccessPlan& run_;
  const AccessPlan& plan_;
  Policy policy_;
  const Memory& memory_;
  std::size_t end_;    // of what is asked for
  std::uint64_t free_; // pages
  std::vector<Paged> blocks_;
  std::list<std::uint32_t> order_;    // of what has pages here, the least recently used first
  std::vector<std::uint32_t> in_use_; // by the launch in work
  Picoseconds execute_ = 0, engine_ = 0;
  std::size_t next_ = 0, use_ = 0; // what is asked for next
  Simulated result_;
};

} // namespace

Simulated simulate_unified(const AccessPlan& run, const AccessPlan& plan, Policy policy, const Memory& memory, Ending ending) {
  return Pages(run, plan, policy, memory, ending).simulate();
}

} // namespace cairn::ops::plans
