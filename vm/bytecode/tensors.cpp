// See tensors.h.
#include "vm/bytecode/tensors.h"

#include "ops/signature.h"

namespace cairn::bytecode {
namespace {

consteval TensorInfo info_of(std::string_view name, const ops::Signature& signature) {
  return {name, signature.least(), signature.most()};
}

constexpr TensorInfo kTensorOperators[] = {
#define X(id, scheme, signature, text) info_of(scheme, ops::Signature(signature)),
#include "ops/operators.def"
#undef X
#define X(id, scheme, least, most) {scheme, least, most},
#include "vm/bytecode/tensor_procedures.def"
#undef X
};

} // namespace

constinit const unsigned kFirstTensorProcedure = 0
#define X(id, scheme, signature, text) +1
#include "ops/operators.def"
#undef X
    ;

std::span<const TensorInfo> tensor_operators() { return kTensorOperators; }

} // namespace cairn::bytecode
