// The words that code is made of, and the numbers of registers in them: what frames need to know of instructions.
#pragma once

#include <cstdint>

namespace cairn::bytecode {

using Word = std::uint64_t;

inline constexpr std::uint16_t kLastUse = 0x8000;       // bit of a source operand: the value moves out
inline constexpr std::uint16_t kRegister = 0x7FFF;      // the other bits of an operand: the number of a register
inline constexpr std::uint16_t kNoRegister = kRegister; // in `drop`
inline constexpr std::uint16_t kMostRegisters = 0x7FFE; // of one function

} // namespace cairn::bytecode
