// What the instruction `tensor` runs: the operators of ops/operators.def, then the procedures of tensor_procedures.def. Apart
// from the other tables, so that a new operator is known only where operators have names.
#pragma once

#include <cstdint>
#include <string_view>

namespace cairn::bytecode {

// Procedures whose name starts with % are for derivatives alone: a module may not run them.
struct TensorInfo {
  std::string_view name;
  unsigned least;
  unsigned most;
};

// Capital letters of a signature are operands that must be there, small ones may be left out; Z is none.
constexpr TensorInfo tensor_info(std::string_view name, std::string_view signature) {
  unsigned least = 0, most = 0;
  for (char c : signature) {
    if (c == 'Z') continue;
    ++most;
    if (c >= 'A' && c <= 'Z') ++least;
  }
  return {name, least, most};
}

inline constexpr TensorInfo kTensorOperators[] = {
#define X(id, scheme, signature, text) tensor_info(scheme, signature),
#include "ops/operators.def"
#undef X
#define X(id, scheme, least, most) {scheme, least, most},
#include "vm/bytecode/tensor_procedures.def"
#undef X
};

inline constexpr unsigned kFirstTensorProcedure = 0
#define X(id, scheme, signature, text) +1
#include "ops/operators.def"
#undef X
    ;
enum class TensorProcedure : std::uint16_t {
#define X(id, scheme, least, most) id,
#include "vm/bytecode/tensor_procedures.def"
#undef X
};

} // namespace cairn::bytecode
