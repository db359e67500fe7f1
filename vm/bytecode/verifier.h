// Proves, before the first step, that a module cannot harm the machine: operands, jumps, constants, arities, and which
// registers hold an owned value before every instruction. The last is also what the machine needs to copy and drop frames.
#pragma once

#include "vm/bytecode/module.h"
#include "vm/bytecode/register_sets.h"

#include <string>
#include <vector>

namespace cairn::bytecode {

// live[pc * mask_words + i], bit r % 64 of word r / 64: register r holds an owned value before the instruction at word pc.
// Unreachable words and operand words hold zero. Only where control can come is anything proven: a frame may stand nowhere else.
struct FunctionFacts {
  std::uint32_t mask_words = 1;
  std::vector<std::uint64_t> live;
  std::vector<bool> reached; // by word
};

struct VerifyError {
  std::uint32_t function = 0;
  std::uint32_t pc = 0;
  std::string message;
};

// True if the module is sound; then `facts` has one entry a function. Linear time.
bool verify(const Module& module, std::vector<FunctionFacts>& facts, VerifyError& error);

// How much of a module that grows has been proven.
struct Proven {
  Ends ends;
  RegisterSets sets;
};

// The same for what `module` holds beyond `proven`, which moves to its end; `facts` are those of the functions there alone.
bool verify(const Module& module, Proven& proven, std::vector<FunctionFacts>& facts, VerifyError& error);

// The same analysis for code of the machine's own, in which the run_ instructions are allowed. It is compiled in, so it must be
// sound.
FunctionFacts verify_machine_code(const Function& function);

} // namespace cairn::bytecode
