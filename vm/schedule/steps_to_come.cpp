// How many steps a schedule is about to have executed, counted by a copy of it that goes on alone. Behind the end of the run a
// schedule is told nothing that could change what it does, but that memory has run out.
#include "vm/schedule/schedule.h"

namespace cairn::schedule {

std::optional<std::uint64_t> Schedule::steps_to_come() const {
  constexpr std::uint64_t kMostActions = 1 << 23; // takes less than a second
  const std::unique_ptr<Schedule> ahead = clone();
  std::uint64_t steps = 0;
  for (std::uint64_t i = 0; i < kMostActions; ++i) {
    const Action action = ahead->next();
    if (action.kind == Action::Kind::done) return steps;
    if (action.kind == Action::Kind::advance || action.kind == Action::Kind::tape) steps += action.steps;
  }
  return std::nullopt;
}

} // namespace cairn::schedule
