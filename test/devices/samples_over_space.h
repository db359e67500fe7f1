// Applications of operators of networks (samples.h).
#pragma once

#include "samples.h"

namespace samples {

// Operators of networks. Sizes are at least 1.
inline bool Maker::over_space(OperatorId id, Sample& sample) {
  std::vector<Attribute>& values = sample.attributes.values;
  const DType type = floating();
  const std::int64_t batch = large_ ? 5 : 1 + below(3), axes = 1 + below(3), groups = 1 + below(2);
  const std::int64_t channels = groups * (large_ ? about(0, 17) : 1 + below(4)), outs = about(2, 19);
  Shape x{batch, channels}, with_window{batch, channels};
  std::vector<std::int64_t> sizes, window;
  for (std::int64_t i = 0; i < axes; ++i) {
    sizes.push_back(large_ ? about(0, axes == 1 ? 401 : axes == 2 ? 25 : 9) : 3 + below(5));
    window.push_back(1 + below(3));
    x.push_back(sizes.back());
  }
  const auto weights = [&](std::int64_t first, std::int64_t second) {
    Shape w{first, second};
    for (const std::int64_t size : window) w.push_back(size);
    return w;
  };
  const Shape vector{channels};
  switch (id) {
  case OperatorId::convolve:
  case OperatorId::convolve_add_tied:
    sample.inputs = {tensor(type, x), tensor(type, weights(outs * groups, channels / groups))};
    if (id == OperatorId::convolve_add_tied) sample.inputs.push_back(tensor(type, {outs * groups}));
    values = {list_of({1 + below(2)}), list_of({below(3)}), Attribute{}, integer(groups)};
    return true;
  case OperatorId::transpose_convolve:
    sample.inputs = {tensor(type, x), tensor(type, weights(channels, outs))};
    values = {list_of({1 + below(2)}), Attribute{}, list_of({1 + below(2)}), integer(groups), Attribute{}};
    return true;
  case OperatorId::convolve_vjp_input: {
    // The cotangent has the sizes of a result, which kernels believe.
    const std::int64_t stride = 1 + below(2), padding = below(2);
    std::int64_t dilation = 1 + below(2);
    for (std::size_t i = 0; i < sizes.size(); ++i)
      if (sizes[i] + 2 * padding <= dilation * (window[i] - 1)) dilation = 1;
    Shape cotangent{batch, channels};
    for (std::size_t i = 0; i < sizes.size(); ++i)
      cotangent.push_back((sizes[i] + 2 * padding - dilation * (window[i] - 1) - 1) / stride + 1);
    sample.inputs = {tensor(type, cotangent), tensor(type, weights(channels, outs))};
    values = {list_of({stride}), list_of({padding}), list_of({dilation}), integer(groups), list_of(sizes)};
    return true;
  }
  case OperatorId::convolve_vjp_weights: {
    Shape large = x;
    for (int i = 2; i < large.rank(); ++i) large[i] += window[static_cast<std::size_t>(i - 2)] - 1;
    sample.inputs = {tensor(type, x), tensor(type, large)};
    values = {list_of({1}), list_of({0}), list_of({1}), integer(groups), list_of(window)};
    return true;
  }
  case OperatorId::max_pool:
  case OperatorId::max_pool_places:
  case OperatorId::pick_max:
  case OperatorId::average_pool:
    sample.inputs = {tensor(type, x)};
    if (id == OperatorId::pick_max) sample.inputs.push_back(tensor(type, x));
    values = {list_of({3}), list_of({1 + below(2)}), list_of({1})};
    if (id == OperatorId::average_pool) values.push_back(integer(below(2)));
    return true;
  case OperatorId::max_pool_vjp: {
    Shape small = x;
    for (int i = 2; i < x.rank(); ++i) small[i] = (x[i] - 1) / 2 + 1;
    sample.inputs = {tensor(type, small), tensor(type, x)};
    values = {list_of({3}), list_of({2}), list_of({1})};
    return true;
  }
  case OperatorId::max_pool_vjp_by_places: {
    Shape small = x;
    std::int64_t places = 1;
    for (int i = 2; i < x.rank(); ++i) {
      small[i] = (x[i] - 1) / 2 + 1;
      places *= 2; // those at a border have so many along an axis at least
    }
    sample.inputs = {tensor(type, small), bytes(small, places)};
    values = {list_of({3}), list_of({2}), list_of({1}), list_of(sizes)};
    return true;
  }
  case OperatorId::average_pool_vjp: {
    Shape small = x;
    for (int i = 2; i < x.rank(); ++i) small[i] = (x[i] - 1) / 2 + 1;
    sample.inputs = {tensor(type, small)};
    values = {list_of({3}), list_of({2}), list_of({1}), integer(below(2)), list_of(sizes)};
    return true;
  }
  case OperatorId::adaptive_max_pool_vjp: {
    Shape small = x;
    for (int i = 2; i < x.rank(); ++i) small[i] = 2;
    sample.inputs = {tensor(type, small), tensor(type, x)};
    values = {list_of({2})};
    return true;
  }
  case OperatorId::interpolate_nearest:
  case OperatorId::interpolate_linear:
  case OperatorId::interpolate_nearest_vjp:
  case OperatorId::interpolate_linear_vjp:
    sample.inputs = {tensor(id == OperatorId::interpolate_nearest ? dtype() : type, x)};
    values = {list_of({about(1 + below(9), 21)})};
    if (id == OperatorId::interpolate_linear || id == OperatorId::interpolate_linear_vjp) values.push_back(integer(below(2)));
    return true;
  case OperatorId::adaptive_max_pool:
  case OperatorId::adaptive_pick_max:
  case OperatorId::adaptive_average_pool:
  case OperatorId::adaptive_average_pool_vjp:
    sample.inputs = {tensor(type, x)};
    if (id == OperatorId::adaptive_pick_max) sample.inputs.push_back(tensor(type, x));
    values = {list_of(std::vector<std::int64_t>(static_cast<std::size_t>(axes), about(1 + below(6), 11)))};
    return true;
  case OperatorId::batch_normalization_training:
  case OperatorId::batch_normalization_test:
  case OperatorId::group_normalization:
    sample.inputs = {tensor(type, x), tensor(type, vector), tensor(type, vector)};
    if (id == OperatorId::batch_normalization_test)
      for (int i = 0; i < 2; ++i) sample.inputs.push_back(tensor(DType::u8, vector));
    if (id == OperatorId::group_normalization) values = {integer(groups)};
    values.push_back(number(0.5));
    return true;
  case OperatorId::layer_normalization:
  case OperatorId::rms_normalization:
    sample.inputs = {tensor(type, x), tensor(type, {x[x.rank() - 1]})};
    if (id == OperatorId::layer_normalization) sample.inputs.push_back(tensor(type, {x[x.rank() - 1]}));
    values = {number(0.5)};
    return true;
  case OperatorId::layer_normalization_vjp:
  case OperatorId::layer_normalized_vjp: {
    Shape scale{x[x.rank() - 1]};
    if (one_in(2)) scale = {x[x.rank() - 2], x[x.rank() - 1]};
    sample.inputs = {tensor(type, x), tensor(type, x), tensor(type, scale)};
    if (id == OperatorId::layer_normalized_vjp)
      sample.inputs.push_back(tensor(DType::u8, Shape(x.sizes().first(static_cast<std::size_t>(x.rank() - scale.rank())))));
    values = {integer(below(2)), number(0.5)};
    return true;
  }
  case OperatorId::batch_normalization_vjp:
  case OperatorId::batch_normalized_vjp:
    sample.inputs = {tensor(type, x), tensor(type, x), tensor(type, vector)};
    if (id == OperatorId::batch_normalized_vjp) sample.inputs.push_back(tensor(DType::u8, vector));
    values = {number(0.5)};
    return true;
  case OperatorId::mean_within:
    sample.inputs = {tensor(type, x), tensor(type, one_in(2) ? vector : Shape{x[x.rank() - 1]})};
    values = {integer(one_in(2) ? groups : 0)};
    return true;
  case OperatorId::normalization_vjp:
  case OperatorId::normalized:
  case OperatorId::normalized_with_variances:
  case OperatorId::group_normalized_vjp: {
    const std::int64_t kind = id == OperatorId::group_normalized_vjp ? 1 : below(3);
    const Shape scale = kind < 2 ? vector : Shape{x[x.rank() - 1]};
    if (id == OperatorId::normalization_vjp || id == OperatorId::group_normalized_vjp) sample.inputs.push_back(tensor(type, x));
    sample.inputs.push_back(tensor(type, x));
    sample.inputs.push_back(tensor(type, scale));
    if (id == OperatorId::group_normalized_vjp) sample.inputs.push_back(tensor(DType::u8, {x[0], groups}));
    values = {integer(kind), integer(groups), integer(below(2)), number(0.5)};
    return true;
  }
  case OperatorId::along_channels:
    sample.inputs = {tensor(type, vector), tensor(type, x)};
    return true;
  case OperatorId::channel_mean:
    sample.inputs = {tensor(type, x)};
    return true;
  default:
    return false;
  }
}

} // namespace samples
