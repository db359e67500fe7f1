// The arithmetic of optimal checkpointing: how often steps repeat, how many advances a reversal takes, and where to split, all
// from binomial coefficients in closed form, so that a decision costs the same for ten units and for 10^9.
//
// Source: Griewank and Walther, "Algorithm 799: revolve: an implementation of checkpointing for the reverse or adjoint mode of
// computational differentiation", ACM Transactions on Mathematical Software 26 (2000): the repetitions, the number of advances,
// and where splits are optimal. The tests have tables of these that another program made.
//
// Convention: `slots` snapshots can be held at once and the state at the start of the units occupies one of them.
#pragma once

#include <cstdint>

namespace cairn::schedule {

// Counts of advances outgrow 64 bits (one slot and n units take n(n-1)/2).
__extension__ using Wide = unsigned __int128;

// C(n, k), or kManyUnits if it is larger.
inline constexpr std::uint64_t kManyUnits = UINT64_MAX;
std::uint64_t binomial(std::uint64_t n, std::uint64_t k);

// The least r with C(slots + r, slots) >= units: no step has to be advanced more than r times.
std::uint64_t repetitions(std::uint64_t slots, std::uint64_t units);

// The fewest unit advances that reverse `units` units, the taped pass over each of them not counted.
Wide advances(std::uint64_t slots, std::uint64_t units);

// How many units to advance from the start before the next snapshot (or, with nothing left to split, the tape): an optimal split.
// units >= 2.
std::uint64_t split(std::uint64_t slots, std::uint64_t units);

// The fewest slots with which no step is advanced more than `passes` times.
std::uint64_t slots_for_passes(std::uint64_t passes, std::uint64_t units);

// The least d with C(2d, d) >= units: snapshots and repetitions both grow with the logarithm.
std::uint64_t balanced_slots(std::uint64_t units);

} // namespace cairn::schedule
