// Opcodes, operand roles and the packing of instruction words, all derived from opcodes.def.
#pragma once

#include "ops/pointwise_list.h"
#include "vm/bytecode/word.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cairn::bytecode {

enum class Opcode : std::uint16_t {
#define X(name, roles, traits, text) name,
#include "vm/bytecode/opcodes.def"
#undef X
  count
};

enum OpcodeTraits : std::uint8_t {
  kPure = 1,         // never fails and has no effect, so that it may be dropped or moved
  kBoolean = 2,      // its result is #t or #f
  kTail = 4,         // it replaces its frame
  kStoppable = 8,    // of the run_ instructions: it can be done again from its beginning after it was stopped
  kMachineOnly = 16, // no module may have it: the run_ instructions, which run operators are made of
};

struct OpcodeInfo {
  std::string_view name;
  std::string_view roles;
  std::uint8_t traits;
  std::string_view text;
};

inline constexpr OpcodeInfo kOpcodes[] = {
#define X(name, roles, traits, text) {#name, roles, traits, text},
#include "vm/bytecode/opcodes.def"
#undef X
};

// Functions of numbers, which programs call by these names (those with % are for the compiler), and their instructions.
struct NumberFunction {
  std::string_view name;
  Opcode op;
  unsigned operands;
};

inline constexpr NumberFunction kNumberFunctions[] = {
#define X(id, Struct, name, ...) {name, Opcode::id, 2},
    CAIRN_POINTWISE_BINARY(X)
#undef X
#define X(id, Struct, name, ...) {name, Opcode::id, 1},
        CAIRN_NUMBER_UNARY(X)
#undef X
};

enum class Primitive : std::uint16_t {
#define X(id, scheme, least, most, takes_long) id,
#include "vm/bytecode/primitives.def"
#undef X
  count
};

struct PrimitiveInfo {
  std::string_view name;
  unsigned least;
  unsigned most;
  bool takes_long;
};

inline constexpr PrimitiveInfo kPrimitives[] = {
#define X(id, scheme, least, most, takes_long) {scheme, least, most, takes_long},
#include "vm/bytecode/primitives.def"
#undef X
};

enum class RunOperator : std::uint16_t {
#define X(id, scheme, parameters) id,
#include "vm/bytecode/run_operators.def"
#undef X
  count
};

struct RunOperatorInfo {
  std::string_view name;
  unsigned parameters;
};

inline constexpr RunOperatorInfo kRunOperators[] = {
#define X(id, scheme, parameters) {scheme, parameters},
#include "vm/bytecode/run_operators.def"
#undef X
};

constexpr const OpcodeInfo& info_of(Opcode op) { return kOpcodes[static_cast<std::size_t>(op)]; }
constexpr bool has_trait(Opcode op, OpcodeTraits trait) { return (info_of(op).traits & trait) != 0; }

constexpr Word encode(Opcode op, std::uint16_t a = 0, std::uint16_t b = 0, std::uint16_t c = 0) {
  return static_cast<Word>(op) | Word{a} << 16 | Word{b} << 32 | Word{c} << 48;
}
constexpr Opcode opcode_of(Word w) { return static_cast<Opcode>(w & 0xFFFF); }
constexpr std::uint16_t field_a(Word w) { return static_cast<std::uint16_t>(w >> 16); }
constexpr std::uint16_t field_b(Word w) { return static_cast<std::uint16_t>(w >> 32); }
constexpr std::uint16_t field_c(Word w) { return static_cast<std::uint16_t>(w >> 48); }
constexpr std::uint16_t field(Word w, unsigned index) { return static_cast<std::uint16_t>(w >> (16 * (index + 1))); }
constexpr std::uint32_t wide_index(Word w) { return static_cast<std::uint32_t>(w >> 32); }
constexpr std::int32_t long_jump(Word w) { return static_cast<std::int32_t>(w >> 32); }

// True for instructions whose last role is N: `field_c` counts operands in the words that follow.
constexpr bool has_operands(Opcode op) {
  std::string_view roles = info_of(op).roles;
  return !roles.empty() && roles.back() == 'N';
}
constexpr std::uint16_t operand(const Word* instruction, unsigned index) {
  return static_cast<std::uint16_t>(instruction[1 + index / 4] >> (16 * (index % 4)));
}
constexpr std::size_t words_of(Word w) { return has_operands(opcode_of(w)) ? 1 + (field_c(w) + 3u) / 4 : 1; }

} // namespace cairn::bytecode
