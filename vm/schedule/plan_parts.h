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
  // Of what lies between two boundaries.
  Parts(const Profile& profile, std::size_t base, std::size_t end);

  std::size_t base() const { return base_; }
  // Of the state at `boundary`.
  std::uint64_t newer(std::size_t boundary) const { return newer_[boundary - base_]; }
  // Of running one interval: if the states at both its ends are held meanwhile, or that at its end alone.
  struct Running {
    std::uint64_t beside_both = 0, beside_end = 0;
    std::uint64_t least() const { return std::min(beside_both, beside_end); } // no more than either is needed
  };
  Running advancing(std::size_t at) const { return advancing_[at - base_]; }
  // On the tape behind those from `first` on.
  Running taping(std::size_t first, std::size_t at) const { return tapes_[index(first, at + 1)].taping; }
  // Of advancing over interval `at`, and from the base to `first`, the cotangents not counted.
  std::uint64_t step_peak(std::size_t at) const { return advancing(at).least(); }
  double advance_cost(std::size_t first) const { return advance_cost_[first - base_]; }
  std::uint64_t advance_peak(std::size_t first) const { return advance_peak_[first - base_]; }
  // Of taping and sweeping [first, last): what it costs; the most bytes while it is taped, the cotangents not counted, and while
  // it is swept, with them.
  struct Tapes {
    double cost = 0;
    std::uint64_t tape_peak = 0;
    std::uint64_t sweep_peak = 0;
    std::uint64_t sweep_peak_aside = 0; // if all of them have been put aside before; the last one may not be lean otherwise
    std::uint64_t keep = 0;             // what the tapes and the state at `last` weigh while what lies behind is reversed
    Running taping;                     // of the last of them; and while that is swept, what is held if all were put aside
    std::uint64_t beside_sweep = 0;     // before, beside what its sweep takes
  };
  const Tapes& tapes(std::size_t first, std::size_t last) const { return tapes_[index(first, last)]; }

private:
  std::size_t index(std::size_t first, std::size_t last) const { return (first - base_) * count_ + (last - base_); }
  void weigh(const Profile& profile, std::size_t first);

  std::size_t base_;
  std::size_t count_; // boundaries, the base and the last one among them
  std::vector<std::uint64_t> newer_, advance_peak_, born_;
  std::vector<Running> advancing_;
  std::vector<double> advance_cost_;
  std::vector<Tapes> tapes_;
};

// For each form of tapes, that of the profile first.
std::vector<Parts> parts_of(const Profile& profile, const std::vector<Profile>& forms, std::size_t base, std::size_t end);

} // namespace cairn::schedule
