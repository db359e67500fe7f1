// Binomial coefficients, saturating, and what follows from them.
#include "vm/schedule/binomials.h"

#include <algorithm>

namespace cairn::schedule {
namespace {

// The least value in [0, most] that satisfies a predicate which stays true once it is; most must satisfy it. Gallops first,
// because the answer is small wherever the predicate is expensive.
template <class Predicate> std::uint64_t least(std::uint64_t most, Predicate holds) {
  if (holds(0)) return 0;
  std::uint64_t below = 0;
  std::uint64_t above = std::min<std::uint64_t>(1, most);
  while (above < most && !holds(above)) {
    below = above;
    above = above > most / 2 ? most : above * 2;
  }
  while (above - below > 1) {
    const std::uint64_t middle = below + (above - below) / 2;
    (holds(middle) ? above : below) = middle;
  }
  return above;
}

// C(slots + r, slots) with r = -1 meaning 0, as the bounds of the split need it.
std::uint64_t reach(std::uint64_t slots, std::uint64_t r_plus_one) {
  return r_plus_one == 0 ? 0 : binomial(slots + r_plus_one - 1, slots);
}

// Few repetitions are the rule and are found one by one, each coefficient from the one before.
constexpr std::uint64_t kFewRepetitions = 24;

struct Repetitions {
  std::uint64_t repetitions = 0;
  std::uint64_t reach_before = 0; // of one repetition less: C(slots + r - 1, slots), less than the units
};

Repetitions longest_within(std::uint64_t slots, std::uint64_t units) {
  if (units <= 1) return {};
  if (slots == 1) return {units - 1, units - 1};
  std::uint64_t reached = 1;
  for (std::uint64_t r = 1; r <= kFewRepetitions; ++r) {
    std::uint64_t product = 0;
    const std::uint64_t next = __builtin_mul_overflow(reached, slots + r, &product) ? binomial(slots + r, r) : product / r;
    if (next >= units) return {r, reached};
    reached = next;
  }
  const std::uint64_t r = least(units, [&](std::uint64_t n) { return binomial(slots + n, slots) >= units; });
  return {r, binomial(slots + r - 1, slots)};
}

} // namespace

std::uint64_t binomial(std::uint64_t n, std::uint64_t k) {
  if (k > n) return 0;
  k = std::min(k, n - k);
  Wide value = 1;
  // After i factors the value is C(n - k + i, i): whole, and never decreasing, so it may stop early.
  for (std::uint64_t i = 1; i <= k; ++i) {
    value = value * (n - k + i) / i;
    if (value >= kManyUnits) return kManyUnits;
  }
  return static_cast<std::uint64_t>(value);
}

std::uint64_t repetitions(std::uint64_t slots, std::uint64_t units) { return longest_within(slots, units).repetitions; }

Wide advances(std::uint64_t slots, std::uint64_t units) {
  if (units <= 1) return 0;
  const auto [r, reach_before] = longest_within(slots, units);
  // r * units - C(slots + r, slots + 1), the coefficient through its predecessor C(slots + r - 1, slots), which is below `units`.
  return Wide{r} * units - Wide{reach_before} * (slots + r) / (slots + 1);
}

std::uint64_t split(std::uint64_t slots, std::uint64_t units) {
  if (slots <= 1) return units - 1;
  const std::uint64_t r = repetitions(slots, units);
  // The part before the split is reversed with all slots and one repetition less, the part after it with one slot less; each part
  // may be as long as its reach allows and must be as long as the other's leaves over. All splits in between are optimal, and
  // the middle one takes the fewest snapshots of the simple choices.
  const std::uint64_t right_most = reach(slots - 1, r + 1);
  const std::uint64_t right_least = reach(slots - 1, r);
  const std::uint64_t lowest = std::max(reach(slots, r - 1), units > right_most ? units - right_most : 0);
  const std::uint64_t highest = std::min(reach(slots, r), units - right_least);
  return std::max<std::uint64_t>(1, lowest + (highest - lowest) / 2);
}

std::uint64_t slots_for_passes(std::uint64_t passes, std::uint64_t units) {
  if (units <= 1) return 1;
  return std::max<std::uint64_t>(1, least(units, [&](std::uint64_t d) { return binomial(d + passes, passes) >= units; }));
}

std::uint64_t balanced_slots(std::uint64_t units) {
  std::uint64_t slots = 1;
  while (binomial(2 * slots, slots) < units) ++slots;
  return slots;
}

} // namespace cairn::schedule
