// Planners of gaps. Trials of how a run may end differ in what is held, and seldom in what a gap is made of, so they share them.
// Private to this room.
#pragma once

#include "vm/schedule/lean_forms.h"
#include "vm/schedule/plan.h"
#include "vm/schedule/profile.h"

#include <memory>
#include <vector>

namespace cairn::schedule {

// Of plans of gaps; those of whole runs have kWholeTables.
inline constexpr PlannerLimits kTables = {std::uint64_t{4} << 20, 128, Family::simple};

class PlannedGaps {
public:
  // Plans within any budget up to that one.
  explicit PlannedGaps(std::uint64_t most_budget) : most_budget_(most_budget) {}
  struct Gap {
    Gap(Profile of, std::uint64_t most_budget)
        : profile(std::move(of)), forms(lean_forms(profile)), planner(profile, most_budget, kTables, forms) {}
    // One that knows plans within more, for when none fits. Many trials fail alike, so it is made once.
    const Planner& unlimited();
    Profile profile; // with tapes as they are recorded,
    std::vector<Profile> forms;
    Planner planner; // which chooses among these

  private:
    std::unique_ptr<Planner> unlimited_;
  };
  // Intervals [from, to) of the same run each time, whatever forms their tapes have. It is there until the next question.
  Gap& of(const Profile& whole, std::size_t from, std::size_t to);

private:
  struct Known {
    std::size_t from, to;
    std::unique_ptr<Gap> gap;
  };
  std::uint64_t most_budget_;
  std::vector<Known> known_; // the latest last
};

} // namespace cairn::schedule
