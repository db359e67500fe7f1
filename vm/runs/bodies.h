// What the instructions run_open and run_operate are told: which derivative operator is meant.
#pragma once

#include <cstdint>

namespace cairn::runs {

// Their operand b.
enum class Derivative : std::uint16_t {
  reverse,
  checkpoint_reverse,
  reverse_update,
  checkpoint_update,
  reverse_update_in_place,
  checkpoint_update_in_place
};

constexpr bool has_schedule(Derivative d) {
  return d == Derivative::checkpoint_reverse || d == Derivative::checkpoint_update || d == Derivative::checkpoint_update_in_place;
}
constexpr bool updates(Derivative d) { return d >= Derivative::reverse_update; }
constexpr bool is_in_place(Derivative d) { return d >= Derivative::reverse_update_in_place; }

} // namespace cairn::runs
