// Budgets by bisection: of a schedule's answers, which fit or do not, and take more or less time.
#include "vm/schedule/outlook.h"

#include <algorithm>
#include <cmath>

namespace cairn::schedule {

namespace {

constexpr std::uint64_t kBudgetParts = 32;
constexpr std::uint64_t kFineParts = 100;
constexpr int kMostQuestions = 12;    // until there is a budget that does
constexpr std::uint64_t kAround = 32; // such a part for what a profile does not know

// A run may come to intervals that are a little less handy than those that were rehearsed.
std::uint64_t careful(std::uint64_t budget) { return budget + budget / 16; }

struct Questions {
  const Schedule& schedule;
  const std::function<void()>& between;
  std::optional<Schedule::Prospect> prospect(std::uint64_t budget) const {
    between();
    return schedule.prospect(budget);
  }
};

// The least budget in (below, above] for which `good` holds, to within a part of it; `above` is good.
template <class F> std::uint64_t bisected(std::uint64_t below, std::uint64_t above, std::uint64_t parts, F&& good) {
  while (above - below > std::max<std::uint64_t>(1, above / parts)) {
    const std::uint64_t middle = below + (above - below) / 2;
    (good(middle) ? above : below) = middle;
  }
  return above;
}

// What the whole tape fits into.
std::optional<std::uint64_t> whole_budget(const Questions& schedule) {
  const auto everything = schedule.prospect(kUnlimitedBudget);
  if (!everything || !everything->fits) return std::nullopt;
  const auto holds = [&](std::uint64_t budget) {
    const auto prospect = schedule.prospect(budget);
    return prospect && prospect->fits && prospect->time <= everything->time;
  };
  std::uint64_t above = std::max<std::uint64_t>(1, everything->peak);
  while (above < kUnlimitedBudget && !holds(above)) above += above / 8 + 1;
  return std::max(kLeastPlanned, bisected(above - above / 8, above, kBudgetParts, holds));
}

std::uint64_t least_within(const Questions& schedule, std::uint64_t whole) {
  const std::uint64_t least = bisected(0, whole, kBudgetParts, [&](std::uint64_t budget) {
    const auto prospect = schedule.prospect(budget);
    return prospect && prospect->fits;
  });
  return std::max(kLeastPlanned, std::min(whole, careful(least)));
}

} // namespace

std::optional<std::uint64_t> enough_budget(const Schedule& schedule, std::uint64_t from) {
  std::uint64_t budget = std::max(kLeastPlanned, from), below = budget - 1;
  for (int asked = 0; asked < kMostQuestions && budget < kUnlimitedBudget; ++asked, budget += budget / 4) {
    const auto prospect = schedule.prospect(budget);
    if (!prospect) return std::nullopt;
    if (prospect->fits)
      return careful(bisected(below, budget, kBudgetParts, [&](std::uint64_t less) {
        const auto found = schedule.prospect(less);
        return found && found->fits;
      }));
    below = budget;
    budget = std::max(budget, prospect->peak);
  }
  return std::nullopt;
}

std::optional<std::uint64_t> least_budget(const Schedule& schedule, std::uint64_t from) {
  const auto fits = [&](std::uint64_t budget) { return schedule.fits(budget); };
  std::uint64_t below = std::max({kLeastPlanned, from, schedule.least_of_any()}), above = below;
  for (int asked = 1; !fits(above); ++asked) {
    if (asked == kMostQuestions || above >= kUnlimitedBudget) return std::nullopt;
    below = above;
    above += above / 4;
  }
  const std::uint64_t least = bisected(below, above, kFineParts, fits);
  return least + least / kAround;
}

namespace {

// A first run that does not fit begins again, and is known by then.
std::optional<Point> least_of_known(const Schedule& of, const std::function<void()>& between) {
  constexpr double kRunBefore = 2. / 3; // it was run and then weighed, each a third of one tape with its sweep
  const std::unique_ptr<Schedule> known = of.planned(kUnlimitedBudget);
  if (known == nullptr) return std::nullopt;
  between();
  const std::optional<std::uint64_t> least = least_budget(*known, 0);
  if (!least) return std::nullopt;
  between();
  const auto prospect = known->prospect(*least);
  if (!prospect || !prospect->fits) return std::nullopt;
  return Point{*least, prospect->time + kRunBefore, true};
}

} // namespace

std::vector<Point> outlook(const Schedule& of, std::size_t points, const std::function<void()>& between) {
  const Questions schedule{of, between};
  const auto whole = whole_budget(schedule);
  if (!whole) return {};
  const std::uint64_t least = least_within(schedule, *whole);
  std::vector<Point> curve;
  if (const auto known = least_of_known(of, between); known && known->budget < least) {
    curve.push_back(*known);
    --points;
  }
  for (std::size_t i = 0; i < points; ++i) {
    const double part = static_cast<double>(i) / static_cast<double>(points - 1);
    const double between = static_cast<double>(least) * std::pow(static_cast<double>(*whole) / static_cast<double>(least), part);
    const std::uint64_t budget = i + 1 == points ? *whole : static_cast<std::uint64_t>(between);
    if (!curve.empty() && budget <= curve.back().budget) continue;
    if (const auto prospect = schedule.prospect(budget); prospect && prospect->fits) curve.push_back({budget, prospect->time});
  }
  return curve;
}

} // namespace cairn::schedule
