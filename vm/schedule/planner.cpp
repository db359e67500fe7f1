// Octaves of tables, and which of them answers.
#include "vm/schedule/plan_tables.h"

#include <limits>
#include <utility>

namespace cairn::schedule {
namespace {

// Additions of numbers in a table that take about a second on one core.
constexpr double kOperations = 1.5e9;

// Bases whose rows are filled together: they are made from the same rows of later ones, which are in the cache then.
constexpr std::size_t kTogether = 8;

// How many rows are added up for one table: parts of the run, times what can be done first.
double rows(std::size_t intervals, Family family) {
  const double count = static_cast<double>(intervals);
  switch (family) {
  case Family::simple:
    return count * count * count / 2;
  case Family::mixed:
    return count * count * count * count / 24;
  case Family::free:
    return count * count * count * count / 8;
  }
  return 0;
}

// Nothing is reversed in less: each interval has to be on tape while the states at both its ends are there.
std::uint64_t least_possible(const Profile& profile, const Parts& whole) {
  std::uint64_t least = 0;
  for (std::size_t i = 0; i < profile.size(); ++i) {
    const Interval& interval = profile.intervals[i];
    const std::uint64_t scratch = std::min(interval.taping, interval.taping_alone);
    least = std::max({least, whole.newer(i + 1) + interval.tape + scratch + profile.cotangents[i + 1],
                      interval.tape + profile.cotangents[i + 1] + interval.sweeping()});
  }
  return least;
}

unsigned octave_of(std::uint64_t bytes, std::uint32_t cells) {
  unsigned octave = 0;
  while ((std::uint64_t{cells} << octave) < bytes) ++octave;
  return octave;
}

Family affordable(std::size_t intervals, std::uint64_t octaves, const PlannerLimits& limits) {
  for (const Family family : {Family::free, Family::mixed}) {
    const double operations = rows(intervals, family) * limits.cells * static_cast<double>(octaves);
    const std::uint64_t blocks = family == Family::free ? 0 : kTogether * Blocks::bytes(intervals);
    if (operations <= kOperations && octaves * Tables::bytes(intervals, family, limits.cells) + blocks <= limits.table_bytes)
      return family;
  }
  return Family::simple;
}

} // namespace

Planner::Planner(const Profile& profile, std::uint64_t most_budget, const PlannerLimits& limits, std::vector<Profile> forms)
    : profile_(profile), forms_(std::move(forms)) {
  unsigned finest = 0, coarsest = 0;
  {
    Parts whole(profile, 0, profile.size());
    whole.weigh(0);
    const Parts::Tapes& all = whole.tapes(0, profile.size());
    const std::uint64_t enough = std::max(all.tape_peak + profile.cotangents.back(), all.sweep_peak);
    coarsest = octave_of(std::min(most_budget, enough), limits.cells);
    finest = std::min(coarsest, octave_of(least_possible(profile, whole), limits.cells));
  }
  family_ = limits.family ? *limits.family : affordable(profile.size(), coarsest - finest + 1, limits);
  if (family_ != Family::simple) forms_.clear();
  for (unsigned octave = finest; octave <= coarsest; ++octave)
    tables_.push_back(std::make_unique<Tables>(profile, forms_, family_, octave, limits.cells,
                                               family_ == Family::free || tables_.empty() ? nullptr : tables_.back().get()));
  std::vector<Parts> parts = parts_of(profile, forms_, profile.size(), profile.size(), 0);
  std::vector<Blocks> bases(kTogether, Blocks(family_));
  std::size_t together = 0;
  for (std::size_t base = profile.size(); base-- > 0;) {
    for (Parts& of_form : parts) {
      of_form.move_base();
      of_form.weigh(base);
    }
    if (family_ == Family::free) {
      for (const auto& tables : tables_) tables->fill_free(parts.front());
      continue;
    }
    bases[together++].assign(parts, profile_.cotangents);
    if (together < kTogether && base > 0) continue;
    for (const auto& tables : tables_) tables->fill(std::span(bases).first(together));
    together = 0;
  }
}

Planner::~Planner() = default;

const Tables* Planner::best(std::uint64_t budget) const {
  const Tables* best = nullptr;
  float least = std::numeric_limits<float>::infinity();
  for (const auto& tables : tables_) {
    const float cost = tables->cost(tables->cells_of(budget));
    if (cost < least) {
      least = cost;
      best = tables.get();
    }
    if (tables->counts(budget)) break;
  }
  return best;
}

std::optional<double> Planner::cost(std::uint64_t budget) const {
  const Tables* tables = best(budget);
  if (tables == nullptr) return std::nullopt;
  return tables->cost(tables->cells_of(budget));
}

std::optional<Plan> Planner::plan(std::uint64_t budget) const {
  const Tables* tables = best(budget);
  if (tables == nullptr) return std::nullopt;
  return priced(tables->moves(tables->cells_of(budget)));
}

std::optional<Plan> Planner::plan(std::uint64_t budget, const std::vector<std::uint32_t>& held, std::size_t to) const {
  const Tables* best = nullptr;
  std::vector<Row> of_best;
  float least = std::numeric_limits<float>::infinity();
  for (const auto& tables : tables_) {
    std::vector<Row> entry = tables->entry(held, to);
    const std::size_t cells = tables->cells_of(budget);
    if (entry[0][cells] < least) {
      least = entry[0][cells];
      best = tables.get();
      of_best = std::move(entry);
    }
    if (tables->counts(budget)) break;
  }
  if (best == nullptr) return std::nullopt;
  return priced(best->moves(held, of_best, to, best->cells_of(budget)));
}

Plan Planner::priced(std::vector<Move> moves) const {
  Plan plan;
  for (const Move& move : moves) {
    switch (move.kind) {
    case Move::Kind::advance:
      plan.cost += static_cast<double>(profile_.intervals[move.at].forward);
      break;
    case Move::Kind::tape:
      plan.cost += static_cast<double>(of_form(move.form).intervals[move.at].taped);
      break;
    case Move::Kind::sweep:
      plan.cost += static_cast<double>(of_form(move.form).intervals[move.at].sweep);
      break;
    case Move::Kind::keep:
    case Move::Kind::drop:
    case Move::Kind::restore:
      break;
    }
  }
  plan.moves = std::move(moves);
  return plan;
}

std::vector<Planner::Point> Planner::curve() const {
  std::vector<Point> points;
  float least = std::numeric_limits<float>::infinity();
  std::uint64_t reached = 0;
  for (const auto& tables : tables_) {
    const std::size_t most = tables->cells_of(UINT64_MAX);
    for (std::size_t cells = tables->cells_of(reached); cells <= most; ++cells) {
      const float cost = tables->cost(cells);
      if (cost >= least) continue;
      least = cost;
      points.push_back({tables->budget_of(cells), cost});
    }
    reached = tables->budget_of(most);
  }
  return points;
}

} // namespace cairn::schedule
