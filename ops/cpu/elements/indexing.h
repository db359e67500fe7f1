// Elements and rows taken from the positions that tensors of indices name, and indices as vectors. The runtime has seen that all
// of them are there.
#pragma once

#include "ops/operator.h"

namespace cairn::ops::cpu {

void embedding(const KernelCall& call);
void gather(const KernelCall& call);
void one_hot(const KernelCall& call);

} // namespace cairn::ops::cpu
