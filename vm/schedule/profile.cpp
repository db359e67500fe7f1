// Profiles of runs: whether one is sound, and what its states and tapes may share.
#include "vm/schedule/profile.h"

#include <algorithm>

namespace cairn::schedule {

namespace {

bool small(std::uint64_t value) { return value <= kMostOfOne; }

bool sound(const Interval& interval, std::size_t index, const std::vector<std::uint64_t>& alive) {
  for (const std::uint64_t value :
       {interval.forward, interval.taped, interval.sweep, interval.tape, interval.advancing, interval.taping, interval.sweeping})
    if (!small(value)) return false;
  if (interval.shares.size() > index + 1) return false;
  return std::all_of(interval.shares.begin(), interval.shares.end(), [&](const TapeShare& share) {
    return share.birth <= index && small(share.bytes) && (share.birth == index || share.bytes <= alive[share.birth]);
  });
}

} // namespace

bool Profile::sound() const {
  const std::size_t last = intervals.size();
  if (last > kMostIntervals || reach.size() != last + 1 || cotangents.size() != last + 1) return false;
  for (std::size_t i = 0; i <= last; ++i) {
    if (reach[i].size() != i || !std::all_of(reach[i].begin(), reach[i].end(), small) || !small(cotangents[i])) return false;
    for (std::size_t k = 0; k + 1 < i; ++k)
      if (reach[i][k] > reach[i - 1][k]) return false;
  }
  for (std::size_t i = 0; i < last; ++i)
    if (!schedule::sound(intervals[i], i, reach[i])) return false;
  return true;
}

std::vector<std::uint64_t> shared_births(const Profile& profile) {
  std::vector<std::uint64_t> most(profile.size(), 0);
  for (std::size_t k = 0; k < profile.size(); ++k) most[k] = profile.reach[k + 1][k];
  for (const Interval& interval : profile.intervals)
    for (const TapeShare& share : interval.shares) most[share.birth] = std::max(most[share.birth], share.bytes);
  return most;
}

} // namespace cairn::schedule
