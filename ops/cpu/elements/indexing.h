// Elements taken from, and added to, positions that tensors of indices name. The runtime has seen that all of them are there.
#pragma once

#include "ops/operator.h"

namespace cairn::ops::cpu {

void embedding(const KernelCall& call);
void embedding_vjp(const KernelCall& call);
void add_rows(const KernelCall& call);
void gather(const KernelCall& call);
void scatter_add(const KernelCall& call);
void one_hot(const KernelCall& call);

} // namespace cairn::ops::cpu
