// The ways to decide what is in a memory that is too small.
#pragma once

#include <cstdint>
#include <string_view>

namespace cairn::ops::plans {

enum class Policy : std::uint8_t {
  planned,            // by a plan: brought ahead, and evicted by next use
  planned_on_demand,  // by a plan, but nothing is brought ahead: a copy is queued when its launch is
  waiting,            // least recently used; copies for a launch begin when the launch before has ended
  demand,             // the same, but copies are queued with their launch, and may run beside the launches before it
  unified,            // pages of 64 KiB, each fetched when a kernel stops at it; what leaves is always copied back
  unified_prefetched, // the same, but a launch's operands are asked for as a whole in front of it
  unified_planned     // the same, and a thread asks for all blocks of the plan in order, as fast as they come
};
std::string_view name_of(Policy policy);
constexpr bool is_unified(Policy policy) { return policy >= Policy::unified; }

} // namespace cairn::ops::plans
