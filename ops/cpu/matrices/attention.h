// Attention on the CPU: softmax of products with keys, times values, of a tile of queries after the other, so that scores exist
// for a tile at a time only.
#pragma once

#include "ops/operator.h"

namespace cairn::ops::cpu {

// Products of queries [..., m, width] and keys [..., n, width] are multiplied by `scale`; with `causal` row i sees rows 0 to i of
// keys and values [..., n, width of v] alone. Leading axes of size 1, or missing, are stretched to those of the result.
struct Attention {
  double scale = 1;
  bool causal = false;
};
void attend(const Attention& attention, const View& out, const View& q, const View& k, const View& v);

// The cotangents of q, k and v, with the leading axes of the cotangent c of the result.
struct AttentionParts {
  const View &q, &k, &v;
};
void attend_vjp(const Attention& attention, const AttentionParts& parts, const View& c, const View& q, const View& k,
                const View& v);

} // namespace cairn::ops::cpu
