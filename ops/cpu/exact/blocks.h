// Blocks of an exact encoding: see exact.h.
#pragma once

#include "ops/cpu/exact/exact.h"

namespace cairn::ops::exact {

// Where the block ends; null: it would go beyond `end`.
std::uint8_t* write_block(Workspace& work, const std::uint8_t* from, std::int64_t bytes, unsigned width, std::uint8_t* to,
                          std::uint8_t* end);
// From bytes that are no longer than `bytes` are, whatever they are; false: they are no block of so many.
bool read_block(Workspace& work, const std::uint8_t* from, std::int64_t size, std::uint8_t* to, std::int64_t bytes);

} // namespace cairn::ops::exact
