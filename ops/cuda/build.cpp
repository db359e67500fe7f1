// The mark by which library and module know that they were built from the same sources.
#include "ops/cuda/module.h"
#include "ops/operator_ids.h"

#include <fmt/format.h>

namespace cairn::ops {

#ifndef CAIRN_BUILD
#define CAIRN_BUILD "unversioned"
#endif

std::string cuda_build() {
  return fmt::format("cairn " CAIRN_BUILD ", {} operators, {} {} {} {} {}", kAllOperators, sizeof(View), sizeof(Operator),
                     sizeof(Launch), sizeof(Device), sizeof(CudaOptions));
}

} // namespace cairn::ops
