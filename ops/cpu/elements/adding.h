// Elements and rows added up at the positions that tensors of indices name. The runtime has seen that all of them are there.
#pragma once

#include "ops/operator.h"

namespace cairn::ops::cpu {

void embedding_vjp(const KernelCall& call);
void add_rows(const KernelCall& call);
void scatter_add(const KernelCall& call);

} // namespace cairn::ops::cpu
