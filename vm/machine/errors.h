// What is said of errors, and of a machine that stands still: where it is, the calls that led there, and what may help.
#pragma once

#include "vm/bytecode/instruction.h"
#include "vm/machine/options.h"
#include "vm/value/object.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cairn::machine {

class Engine;

// What programs call the procedure behind an instruction of arithmetic.
const char* scheme_name(bytecode::Opcode op);

// The function that the call before word `pc` names, if it names one.
std::optional<std::uint32_t> called_before(const bytecode::Function& f, std::uint32_t pc);

// `behind`: the instruction meant is the one before the one at which the innermost frame stands.
Error located(const Engine& engine, const std::string& message, bool behind = false);

// For memory that is used up: procedures that wait for one another in great numbers, and a tape that checkpointing would spare.
// Lines to follow a message; empty if nothing is known.
std::string memory_hints(const Engine& engine);
// Behind the words that a file for tensors of so many bytes is full.
std::string file_hint(const Engine& engine, std::int64_t bytes);
// The same where a device has no room, of what does not speak of the machine's own budget.
std::string device_hints(const Engine& engine);
// What was probably meant where something else was expected: a list that was not quoted, commas in one, a list for a tensor or
// a tensor for a list; else nothing.
std::string_view hint_of_operand(std::string_view expected, value::Value given);
// What to do where one number was given as the cotangent (`what` ends in that word) of a value that is not one number; else
// nothing.
std::string_view hint_of_cotangent(std::string_view what, value::Value given);

// The option check_nan, for numbers: looks at the result of each instruction of arithmetic while the machine runs one at a time.
class NumberWatch {
public:
  void before(const Engine& engine);
  // The complaint about a NaN that the instruction has made; empty if there is none.
  std::string after(const Engine& engine) const;

private:
  const value::Code* code_ = nullptr; // null: the instruction makes no number
  std::uint32_t pc_ = 0;
};

} // namespace cairn::machine
