// What can be done in one go from one held state, and what it takes: the building blocks of plans. Private to this room.
#pragma once

#include "vm/schedule/profile.h"

#include <algorithm>

namespace cairn::schedule {

// A part of a plan starts from a held state, its base: advance to boundary `first`, run the intervals from there to boundary
// `last` on tapes, reverse what lies behind `last` from the state there, sweep the tapes. Bytes are those beside the base and
// everything that is held for what lies before it.
class Parts {
public:
  // Of what lies between two boundaries of the profile, which outlives it; the base may be moved to `least_base`.
  Parts(const Profile& profile, std::size_t base, std::size_t end) : Parts(profile, base, end, base) {}
  Parts(const Profile& profile, std::size_t base, std::size_t end, std::size_t least_base);

  std::size_t base() const { return base_; }
  std::size_t end() const { return end_; }
  // To the boundary in front of it. What was weighed is added to, which takes a part of the time that weighing it takes.
  void move_base();
  // Of the state at `boundary`.
  std::uint64_t newer(std::size_t boundary) const { return newer_[boundary - least_base_]; }
  // Of running one interval: if the states at both its ends are held meanwhile, or that at its end alone.
  struct Running {
    std::uint64_t beside_both = 0, beside_end = 0;
    std::uint64_t least() const { return std::min(beside_both, beside_end); } // no more than either is needed
  };
  // Of what is older than the interval the state at its start has all.
  Running advancing(std::size_t at) const {
    const Interval& interval = profile_->intervals[at];
    return {newer(at) + profile_->reach[at + 1][at] + interval.advancing, newer(at + 1) + interval.advancing_alone};
  }
  // Of advancing over interval `at`, and from the base to `first`, the cotangents not counted.
  std::uint64_t step_peak(std::size_t at) const { return advancing(at).least(); }
  std::uint64_t advance_peak(std::size_t first) const { return advance_peak_[first - least_base_]; }
  // Of advancing from the base to `first`, running [first, last) on tapes and sweeping these.
  float cost(std::size_t first, std::size_t last) const {
    return static_cast<float>(static_cast<double>(forward_to(first) - forward_to(base_) + taped_to(last) - taped_to(first)));
  }
  // The same if the state at `first` is current.
  float cost_there(std::size_t first, std::size_t last) const {
    return static_cast<float>(static_cast<double>(taped_to(last) - taped_to(first)));
  }
  // Of running [first, last) on tapes, and sweeping these: the most bytes while it is taped, the cotangents not counted, and
  // while it is swept, with them.
  struct Tapes {
    std::uint64_t tape_peak = 0;
    std::uint64_t sweep_peak = 0;
    std::uint64_t keep = 0; // what the tapes and the state at `last` weigh while what lies behind is reversed
  };
  // What begins there has to be weighed before it is asked for.
  void weigh(std::size_t first);
  bool is_weighed(std::size_t first) const { return !row(first).tapes.empty(); }
  const Tapes& tapes(std::size_t first, std::size_t last) const { return row(first).tapes[last - first]; }
  // Of the last of them: on the tape behind those from `first` on; and while it is swept, if all were put aside before, what is
  // held beside what its sweep takes.
  Running taping(std::size_t first, std::size_t at) const { return running(row(first).sums[at + 1 - first], at); }
  std::uint64_t beside_sweep(std::size_t first, std::size_t at) const {
    return row(first).sums[at + 1 - first].aside + profile_->cotangents[at + 1];
  }

private:
  // What tapes hold together, those before the last one put aside, that neither the base nor the states beside them hold.
  struct Sums {
    std::uint64_t beside_both = 0, beside_end = 0; // while the last one is in work, beside these states of its interval
    std::uint64_t alone = 0;                       // before it is lean, beside none
    std::uint64_t aside = 0, aside_beside_end = 0; // when it has been put aside: beside none, and beside the state at its end
  };
  struct Taken { // by an interval itself: while it is on a tape in work, and swept, with cotangents
    std::uint64_t beside_both = 0, beside_end = 0;
    std::uint64_t sweep = 0, sweep_not_lean = 0;
    bool lean = false;
  };
  struct Row { // of what begins at the same boundary, by where it ends; empty until it is weighed
    std::vector<Sums> sums;
    std::vector<Tapes> tapes;
  };
  struct Shared { // what is of one birth on the tape of an interval
    std::size_t interval;
    const TapeShare* share;
  };
  std::uint64_t forward_to(std::size_t boundary) const { return forward_[boundary - least_base_]; }
  std::uint64_t taped_to(std::size_t boundary) const { return taped_[boundary - least_base_]; }
  Running running(const Sums& sums, std::size_t at) const {
    return {sums.beside_both + newer(at) + taken_[at - least_base_].beside_both,
            sums.beside_end + newer(at + 1) + taken_[at - least_base_].beside_end};
  }
  const Row& row(std::size_t first) const { return rows_[first - least_base_]; }
  Row& row(std::size_t first) { return rows_[first - least_base_]; }
  void weigh_states();
  void note_alive(std::size_t birth);
  void add_birth(std::size_t birth, std::size_t first);
  void weigh_tapes(std::size_t first);

  const Profile* profile_;
  std::size_t least_base_, base_, end_;
  std::vector<std::uint64_t> forward_, taped_; // the cost of what lies in front of each boundary
  std::vector<std::uint64_t> newer_, advance_peak_;
  std::vector<Taken> taken_;                // by interval
  std::vector<std::vector<Shared>> shared_; // by birth
  std::vector<Row> rows_;
  std::vector<std::uint64_t> alive_; // of one birth, at each boundary
};

// For each form of tapes, that of the profile first.
std::vector<Parts> parts_of(const Profile& profile, const std::vector<Profile>& forms, std::size_t base, std::size_t end,
                            std::size_t least_base);

} // namespace cairn::schedule
