// How long planning takes: milliseconds of processor time for the tables of a network in so many intervals, and for one plan.
//
//     planning INTERVALS CELLS BUDGET FAMILY(simple|mixed) FORMS(0|1)
//
// Layers are of different sizes, each fourth has a connection that skips two, and tapes share what states have. The whole tape
// takes four times the budget, in bytes.
#include "vm/schedule/lean_forms.h"
#include "vm/schedule/plan.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <string_view>

using namespace cairn::schedule;

namespace {

TapeShare share_of(std::size_t birth, std::uint64_t bytes, std::uint64_t after) {
  TapeShare share;
  share.birth = static_cast<std::uint32_t>(birth);
  for (std::size_t f = 0; f < kTapeForms; ++f) {
    share.forms[f].bytes = bytes / (f + 1);
    share.forms[f].after = std::min(after, share.forms[f].bytes);
  }
  return share;
}

Profile network(std::size_t layers, std::uint64_t whole) {
  std::mt19937_64 random(1);
  const std::uint64_t unit = whole / layers / 8; // a layer has 8 on average
  const auto between = [&](std::uint64_t least, std::uint64_t most) { return unit * least + random() % (unit * (most - least)); };
  Profile profile;
  profile.reach.resize(layers + 1);
  for (std::size_t i = 0; i <= layers; ++i) {
    profile.reach[i].assign(i, 0);
    profile.cotangents.push_back(unit);
  }
  for (std::size_t k = 0; k < layers; ++k) {
    const std::uint64_t state = between(1, 3);
    const std::size_t last = std::min(layers, k + (k % 4 == 0 ? 3 : 1));
    for (std::size_t i = k + 1; i <= last; ++i) profile.reach[i][k] = state;
  }
  for (std::size_t i = 0; i < layers; ++i) {
    Interval interval;
    interval.forward = between(1, 9);
    interval.taped = interval.forward;
    interval.sweep = 2 * interval.forward;
    interval.tape = between(0, 2);
    for (std::size_t k = 0; k < i; ++k)
      if (profile.reach[i][k] != 0) interval.shares.push_back(share_of(k, profile.reach[i][k], profile.reach[i + 1][k]));
    interval.shares.push_back(share_of(i, between(3, 6), profile.reach[i + 1][i]));
    interval.advancing = interval.taping = unit;
    for (std::size_t f = 0; f < kTapeForms; ++f) {
      interval.again_of[f] = f * interval.forward / kTapeForms;
      interval.sweeping_of[f] = unit * (2 + f);
    }
    profile.intervals.push_back(std::move(interval));
  }
  profile.born = least_born(profile);
  return profile;
}

double milliseconds() { return 1e3 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

} // namespace

int main(int count, char** arguments) {
  if (count != 6) return 2;
  const std::uint64_t budget = std::strtoull(arguments[3], nullptr, 10);
  const Profile profile = network(std::strtoull(arguments[1], nullptr, 10), 4 * budget);
  if (!profile.sound()) return 1;
  PlannerLimits limits;
  limits.cells = static_cast<std::uint32_t>(std::strtoul(arguments[2], nullptr, 10));
  limits.family = std::string_view(arguments[4]) == "mixed" ? Family::mixed : Family::simple;
  const std::vector<Profile> forms = std::string_view(arguments[5]) == "1" ? lean_forms(profile) : std::vector<Profile>{};
  const double start = milliseconds();
  const Planner planner(profile, budget, limits, forms);
  const double filled = milliseconds();
  const std::optional<Plan> plan = planner.plan(budget);
  const double end = milliseconds();
  if (!plan) return 1;
  std::printf("%.1f %.1f %zu %.17g\n", filled - start, end - filled, forms.size() + 1, plan->cost);
}
