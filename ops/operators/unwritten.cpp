// Definitions that are still to be written, so that the others can be linked.
#include "ops/operators/definitions.h"

namespace cairn::ops::definitions {

#define X(id) constinit const Definition id{};
X(cast)
X(to_device) X(contiguous) X(view) X(transpose) X(permute) X(narrow) X(expand) X(fill) X(random_uniform) X(random_normal)
    X(concat) X(pad) X(sum) X(mean) X(max_over) X(sum_to) X(matmul) X(softmax) X(log_softmax) X(max_over_vjp) X(softmax_vjp)
        X(log_softmax_vjp)
#undef X

} // namespace cairn::ops::definitions
