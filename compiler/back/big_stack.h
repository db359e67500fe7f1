// Runs a piece of the compiler on a stack of its own that is large enough for the nesting of the program.
#pragma once

#include <cstddef>
#include <functional>

namespace cairn::compiler::back {

// Calls `work`, which may recurse over `levels` levels of nesting, with the caller's workspace (it must have one) and arena, and rethrows what
// it throws. False where no such stack can be had.
bool on_big_stack(std::size_t levels, const std::function<void()>& work);

} // namespace cairn::compiler::back
