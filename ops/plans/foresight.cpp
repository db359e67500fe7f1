// See foresight.h.
#include "ops/plans/foresight.h"

#include "ops/plans/residents.h"

#include <optional>
#include <utility>

namespace cairn::ops::plans {
namespace {

constexpr int kTimes = 4;

class Walk {
public:
  Walk(const AccessPlan& plan, std::uint64_t capacity, Ending ending, const Foresight& known)
      : plan_(plan), capacity_(capacity), ending_(ending), follower_(plan, ending), residents_(&follower_, &known) {
    result_.written_back.resize(plan.parts().uses.size());
  }

  Foresight go() {
    result_.fits = true;
    const int laps = ending_ == Ending::again ? 2 : 1;
    for (lap_ = 0; lap_ < laps && result_.fits; ++lap_) {
      result_.bytes = 0;
      for (std::size_t at = 0; at < plan_.size() && result_.fits; ++at) {
        drop(at);
        launch(at);
      }
      drop(plan_.size());
    }
    return std::move(result_);
  }

private:
  // What is made is another block each time.
  Name name(std::uint32_t block) const {
    const Name name = plan_.blocks()[block].name;
    return is_born(name) ? name ^ static_cast<Name>(lap_) << 62 : name;
  }

  void drop(std::size_t at) {
    for (const Change& change : plan_.changes(at)) {
      if (change.made) continue;
      residents_.dropped(name(change.block));
      follower_.dropped(name(change.block));
    }
  }

  void launch(std::size_t at) {
    const auto uses = plan_.uses(at);
    accesses_.clear();
    for (const PlannedUse& use : uses) accesses_.push_back({name(use.block), plan_.blocks()[use.block].bytes, use.use});
    follower_.launch(accesses_);
    for (const Access& access : accesses_)
      if (residents_.find(access.name) != nullptr) residents_.pin(access.name);
    for (const Access& access : accesses_) {
      if (residents_.find(access.name) == nullptr && !bring(access)) return;
      if (residents_.find(access.name)->pins == 0) residents_.pin(access.name);
    }
    for (const Access& access : accesses_) {
      residents_.put(access.name, access.bytes, writes(access.use) || residents_.find(access.name)->dirty);
      residents_.unpin(access.name);
    }
    residents_.tick();
  }

  bool bring(const Access& access) {
    if (residents_.bytes() + access.bytes > capacity_) {
      const auto victims = residents_.choose({residents_.bytes() + access.bytes - capacity_});
      if (victims.empty()) return result_.fits = false;
      for (const Name victim : victims) leave(victim);
    }
    if (needs_elements(access.use)) result_.bytes += access.bytes;
    residents_.put(access.name, access.bytes, false);
    return true;
  }

  void leave(Name victim) {
    const Residents::Resident& there = *residents_.find(victim);
    if (there.dirty) {
      result_.bytes += there.bytes;
      if (const auto use = follower_.last_write(victim)) result_.written_back[*use] = true;
    }
    residents_.remove(victim);
  }

  const AccessPlan& plan_;
  std::uint64_t capacity_;
  Ending ending_;
  Follower follower_;
  Residents residents_;
  std::vector<Access> accesses_;
  int lap_ = 0;
  Foresight result_;
};

} // namespace

Foresight foresee(const AccessPlan& plan, std::uint64_t capacity, Ending ending) {
  Foresight best;
  for (const std::uint64_t twice : {2, 4, 16, 1 << 16}) {
    Foresight known;
    known.written_back.resize(plan.parts().uses.size());
    known.twice = twice;
    for (int i = 0; i < kTimes; ++i) {
      Foresight found = Walk(plan, capacity, ending, known).go();
      if (!found.fits) return {};
      const bool is_best = !best.fits || found.bytes < best.bytes;
      std::swap(found.written_back, known.written_back);
      found.twice = twice;
      if (is_best) best = std::move(found);
    }
  }
  return best;
}

} // namespace cairn::ops::plans
