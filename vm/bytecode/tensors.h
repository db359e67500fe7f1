// What the instruction `tensor` runs: the operators of ops/operators.def, then the procedures of tensor_procedures.def. Whoever
// includes this knows no row of the first: a new operator leaves it as it is.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace cairn::bytecode {

// Those whose name starts with % are for derivatives alone: a module may not run them.
struct TensorInfo {
  std::string_view name;
  unsigned least;
  unsigned most;
};

std::span<const TensorInfo> tensor_operators();
// The number of the first that is no operator.
extern const unsigned kFirstTensorProcedure;
// Programs write arithmetic in other ways than by these operators' names, which begin with a %; such procedures are the
// library's.
inline bool is_called_by_name(std::size_t i) { return i >= kFirstTensorProcedure || tensor_operators()[i].name.front() != '%'; }

enum class TensorProcedure : std::uint16_t {
#define X(id, scheme, least, most) id,
#include "vm/bytecode/tensor_procedures.def"
#undef X
};

} // namespace cairn::bytecode
