// Which operators have kernels on the GPU: those in the tables of families.h, fold.h and rows.h.
#include "gpu/supported.h"

#include "gpu/families.h"

namespace cairn::gpu {
namespace {

// Tables are made for a runner; here nothing is run.
struct Nowhere {
  template <class Body, class T> void operator()(const Traversal& /*traversal*/) const {}
};

} // namespace

bool supported(ops::OperatorId id) {
  return has(kUnary<Nowhere>, id) || has(kBinary<Nowhere>, id) || has(kMoves<Nowhere>, id) || is_fold(id) || is_of_rows(id);
}

} // namespace cairn::gpu
