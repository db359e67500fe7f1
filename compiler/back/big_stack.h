// Runs a piece of the compiler on a stack of its own that is large enough for kDeepest levels of nesting.
#pragma once

#include <functional>

namespace cairn::compiler::back {

// Calls `work` and rethrows what it throws. False where no such stack can be had.
bool on_big_stack(const std::function<void()>& work);

} // namespace cairn::compiler::back
