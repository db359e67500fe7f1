// Examples of operators over space; see examples.h.
#include "test/ops/examples.h"

namespace cairn::ops::test {

namespace {

// Channels lie closest, as they do in results.
Operand channels_last(Shape shape) {
  Operand o;
  o.shape = Shape{shape[0], shape[2], shape[3], shape[1]};
  o.order = {0, 3, 1, 2};
  return o;
}

} // namespace

void add_network_examples(std::vector<Example>& all) {
  using O = OperatorId;
  all.push_back(Example{O::convolve, {in({2, 3, 5}), in({4, 3, 3})}, {}});
  all.push_back(Example{O::convolve, {in({2, 2, 4, 5}), in({3, 2, 3, 2})}, {list({2, 1}), list({1, 2})}});
  all.push_back(
      Example{O::convolve, {channels_last({2, 4, 5, 4}), in({6, 2, 2, 2})}, {list({1}), list({1}), list({2, 1}), integer(2)}});
  all.push_back(Example{O::convolve, {in({1, 2, 3, 3, 2}), in({2, 2, 2, 2, 1})}, {list({1}), list({1, 0, 0})}});
  all.push_back(Example{O::convolve, {in({2, 3, 4, 4}), in({3, 1, 3, 3})}, {list({2}), list({1}), absent(), integer(3)}});
  all.push_back(Example{O::convolve_add_tied, {in({2, 2, 4, 3}), in({3, 2, 2, 2}), in({3})}, {list({1}), list({1})}});
  all.push_back(
      Example{O::convolve_add_tied, {in({2, 2, 6}), in({4, 1, 2}), in({4})}, {absent(), absent(), absent(), integer(2)}});
  all.push_back(Example{O::transpose_convolve, {in({2, 3, 4}), in({3, 2, 3})}, {}});
  all.push_back(Example{O::transpose_convolve,
                        {channels_last({1, 4, 3, 2}), in({4, 3, 3, 2})},
                        {list({2}), list({1, 0}), list({1, 2}), integer(2), list({1, 0})}});

  all.push_back(Example{O::max_pool, {in({2, 3, 5})}, {list({2})}, false});
  all.push_back(Example{O::max_pool, {in({2, 2, 5, 4})}, {list({3}), list({2}), list({1})}, false});
  all.push_back(Example{O::max_pool, {channels_last({1, 3, 4, 5})}, {list({2, 3}), list({1})}, false});
  all.push_back(Example{O::pick_max, {in({2, 2, 5}), flags({2, 2, 5})}, {list({3}), list({1}), list({1})}});
  all.push_back(Example{O::average_pool, {in({2, 2, 5, 4})}, {list({3}), list({2}), list({1})}});
  all.push_back(Example{O::average_pool, {channels_last({2, 3, 4, 4})}, {list({3, 2}), list({1}), list({1}), integer(0)}});
  all.push_back(Example{O::average_pool, {in({1, 2, 4, 3, 4})}, {list({2})}});
  all.push_back(Example{O::adaptive_average_pool, {in({2, 3, 5, 7})}, {list({2, 3})}});
  all.push_back(Example{O::adaptive_average_pool, {in({1, 2, 3})}, {list({5})}});
  all.push_back(Example{O::adaptive_max_pool, {in({2, 3, 5, 7})}, {list({2, 3})}, false});
  all.push_back(Example{O::adaptive_max_pool, {channels_last({1, 3, 4, 3})}, {list({5})}, false});
  all.push_back(Example{O::adaptive_pick_max, {in({2, 2, 5}), flags({2, 2, 5})}, {list({3})}});
  for (const std::int64_t size : {1, 3, 4, 9}) {
    all.push_back(Example{O::interpolate_nearest, {in({2, 3, 4})}, {list({size})}});
    all.push_back(Example{O::interpolate_nearest, {channels_last({1, 3, 4, 5})}, {list({size, 2})}});
    for (const bool corners : {false, true}) {
      all.push_back(Example{O::interpolate_linear, {in({2, 3, 4})}, {list({size}), integer(corners ? 1 : 0)}});
      all.push_back(Example{O::interpolate_linear, {channels_last({1, 3, 5, 4})}, {list({2, size}), integer(corners ? 1 : 0)}});
    }
  }
  all.push_back(Example{O::interpolate_nearest, {in({1, 2, 2, 3, 2})}, {list({3, 2, 4})}});
  all.push_back(Example{O::interpolate_linear, {in({1, 2, 2, 3, 2})}, {list({3, 2, 4}), absent()}});

  for (const O op : {O::batch_normalization_training, O::batch_normalization_test}) {
    for (const bool last : {false, true}) {
      Example e{op, {last ? channels_last({3, 2, 2, 3}) : in({3, 2, 4}), in({2}), in({2})}, {number(0.1)}};
      if (op == O::batch_normalization_test) {
        e.operands.push_back(flags({2}));
        e.operands.push_back(flags({2}));
      }
      all.push_back(e);
    }
  }
  all.push_back(Example{O::batch_normalization_training, {in({4, 3}), in({3}), in({3})}, {}});
  all.push_back(Example{O::group_normalization, {in({2, 4, 3}), in({4}), in({4})}, {integer(2), number(0.01)}});
  all.push_back(Example{O::group_normalization, {channels_last({2, 6, 2, 2}), in({6}), in({6})}, {integer(3)}});
  all.push_back(Example{O::layer_normalization, {in({3, 2, 5}), in({5}), in({5})}, {number(0.1)}});
  all.push_back(Example{O::layer_normalization, {channels_last({2, 3, 2, 3}), in({2, 3}), in({2, 3})}, {}});
  all.push_back(Example{O::rms_normalization, {in({3, 2, 5}), in({5})}, {}});
  for (const bool causal : {false, true}) {
    all.push_back(Example{O::attend, {in({3, 4}), in({5, 4}), in({5, 2})}, {number(.5), integer(causal ? 1 : 0)}});
    all.push_back(Example{O::attend,
                          {permuted(in({2, 4, 2, 3}), {0, 2, 1, 3}), permuted(in({2, 3, 2, 3}), {0, 2, 1, 3}), in({1, 3, 1})},
                          {number(-.3), integer(causal ? 1 : 0)}});
    all.push_back(Example{
        O::attend, {in({1, 1}), permuted(in({1, 3, 2}), {2, 1, 0}), in({2, 3, 2})}, {number(1), integer(causal ? 1 : 0)}});
  }
  all.push_back(Example{O::mean_within, {in({3, 4}), flags({4})}, {integer(0)}});
  all.push_back(Example{O::mean_within, {in({2, 4, 3}), flags({4})}, {integer(2)}});
  all.push_back(Example{O::along_channels, {in({3}), flags({2, 3, 4})}, {}});
  all.push_back(Example{O::channel_mean, {in({2, 3, 4})}, {}});
}

} // namespace cairn::ops::test
