// The optimising passes on the tree: constant folding, inlining, beta reduction, copy propagation, removal of what is not needed.
#pragma once

#include "compiler/back/globals.h"

namespace cairn::compiler::back {

// Numbers that bound inlining.
inline constexpr std::size_t kSmallBody = 30; // nodes of a procedure that is copied to each call
inline constexpr std::size_t kDeepestInlining = 12;
inline constexpr std::size_t kGrowthAllowance = 4000; // nodes a form may gain beyond kGrowthFactor times its size
inline constexpr std::size_t kGrowthFactor = 6;

void simplify(Tree& tree, Globals& globals);

} // namespace cairn::compiler::back
