// Examples of operators over space; see examples.h.
#include "test/ops/examples.h"

namespace cairn::ops::test {

namespace {

Operand in(Shape shape) {
  Operand o;
  o.shape = shape;
  return o;
}
// Channels lie closest, as they do in results.
Operand channels_last(Shape shape) {
  Operand o;
  o.shape = Shape{shape[0], shape[2], shape[3], shape[1]};
  o.order = {0, 3, 1, 2};
  return o;
}
Operand flags(Shape shape) {
  Operand o = in(shape);
  o.low = 0;
  o.flags = true;
  return o;
}

} // namespace

void add_network_examples(std::vector<Example>& all) {
  using O = OperatorId;
  all.push_back(Example{O::convolve, {in({2, 3, 5}), in({4, 3, 3})}, {}});
  all.push_back(Example{O::convolve, {in({2, 2, 4, 5}), in({3, 2, 3, 2})}, {list({2, 1}), list({1, 2})}});
  all.push_back(Example{O::convolve, {channels_last({2, 4, 5, 4}), in({6, 2, 2, 2})}, {list({1}), list({1}), list({2, 1}), integer(2)}});
  all.push_back(Example{O::convolve, {in({1, 2, 3, 3, 2}), in({2, 2, 2, 2, 1})}, {list({1}), list({1, 0, 0})}});
  all.push_back(Example{O::convolve, {in({2, 3, 4, 4}), in({3, 1, 3, 3})}, {list({2}), list({1}), absent(), integer(3)}});
  all.push_back(Example{O::convolve_add_tied, {in({2, 2, 4, 3}), in({3, 2, 2, 2}), in({3})}, {list({1}), list({1})}});
  all.push_back(Example{O::convolve_add_tied, {in({2, 2, 6}), in({4, 1, 2}), in({4})}, {absent(), absent(), absent(), integer(2)}});
  all.push_back(Example{O::transpose_convolve, {in({2, 3, 4}), in({3, 2, 3})}, {}});
  all.push_back(Example{O::transpose_convolve,
                        {channels_last({1, 4, 3, 2}), in({4, 3, 3, 2})},
                        {list({2}), list({1, 0}), list({1, 2}), integer(2), list({1, 0})}});
  all.push_back(Example{O::along_channels, {in({3}), flags({2, 3, 4})}, {}});
  all.push_back(Example{O::channel_mean, {in({2, 3, 4})}, {}});
}

} // namespace cairn::ops::test
