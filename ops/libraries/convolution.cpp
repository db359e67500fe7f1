// Convolutions of the module cairn_math, by oneDNN. Tensors are taken as they lie, channels closest; only weights are brought
// into the order that the primitive wants. Primitives take long to make and are kept, by everything that describes them.
//
// Where windows are at every position, what is large is made from what is small by a convolution too, of windows turned by half a
// circle: with channels closest, that one is the faster primitive.
#include "ops/libraries/convolution.h"

#include "ops/libraries/headroom.h"
#include "ops/libraries/onednn.h"
#include "ops/libraries/weight_order.h"

#include <dnnl.hpp>
#include <omp.h>

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

namespace {

using cairn::ops::math::describe;
using cairn::ops::math::describe_gradient;
using cairn::ops::math::Headroom;
using cairn::ops::math::layout_of;
using cairn::ops::math::next_block;
using cairn::ops::math::PlainWeights;
using cairn::ops::math::WeightOrder;
using dnnl::memory;
constexpr std::size_t kMostKept = 512; // primitives
using Key = std::array<int64_t, 6 + 7 * 3 + 1>;

struct Prepared {
  dnnl::primitive primitive;
  memory::desc small, large, weights, plain_weights, bias, scratchpad;
  std::optional<cairn::ops::math::WeightOrder> order; // one that is brought about here
  bool turned = false;                                // what is large is made by turned windows
};

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

Key key_of(const cairn_math_convolution& c) {
  Key key{c.kind, c.axes, c.batch, c.groups, c.small_channels, c.large_channels};
  std::size_t at = 6;
  for (const int64_t* sizes : {c.small, c.large, c.kernel, c.stride, c.padding, c.dilation, c.padding_after})
    for (int i = 0; i < 3; ++i) key[at++] = sizes[i];
  key[at] = c.bias_data != nullptr ? 1 : 0;
  return key;
}

memory::dims last(const int64_t* sizes, int axes, int64_t less = 0) {
  memory::dims dims;
  for (int i = 3 - axes; i < 3; ++i) dims.push_back(sizes[i] - less);
  return dims;
}

memory::desc activations(int64_t batch, int64_t channels, const int64_t* sizes, int axes) {
  memory::dims dims = last(sizes, axes);
  dims.insert(dims.begin(), {batch, channels});
  constexpr memory::format_tag tags[] = {memory::format_tag::nwc, memory::format_tag::nhwc, memory::format_tag::ndhwc};
  return memory::desc(dims, memory::data_type::f32, tags[axes - 1]);
}

std::shared_ptr<const Prepared> make(const cairn_math_convolution& c) {
  auto p = std::make_shared<Prepared>();
  p->small = activations(c.batch, c.small_channels, c.small, c.axes);
  p->large = activations(c.batch, c.large_channels, c.large, c.axes);
  memory::dims dims = last(c.kernel, c.axes);
  dims.insert(dims.begin(), {c.small_channels / c.groups, c.large_channels / c.groups});
  if (c.groups > 1) dims.insert(dims.begin(), c.groups);
  memory::dims strides(dims.size());
  int64_t stride = 1;
  for (std::size_t i = dims.size(); i-- > 0; stride *= dims[i]) strides[i] = stride;
  p->plain_weights = memory::desc(dims, memory::data_type::f32, strides);
  const memory::desc any(dims, memory::data_type::f32, memory::format_tag::any);
  const memory::dims step = last(c.stride, c.axes), wide = last(c.dilation, c.axes, 1), pad = last(c.padding, c.axes),
                     after = last(c.padding_after, c.axes);
  constexpr auto direct = dnnl::algorithm::convolution_direct;
  using Forward = dnnl::convolution_forward;
  dnnl::primitive_attr attributes; // the library's own scratchpad is of the thread that made the primitive alone
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (c.bias_data != nullptr) p->bias = memory::desc({c.small_channels}, memory::data_type::f32, memory::format_tag::a);
  const Forward::primitive_desc forward = c.bias_data != nullptr
                                              ? describe<Forward>(engine(), attributes, dnnl::prop_kind::forward_training, direct,
                                                                  p->large, any, p->bias, p->small, step, wide, pad, after)
                                              : describe<Forward>(engine(), attributes, dnnl::prop_kind::forward_training, direct,
                                                                  p->large, any, p->small, step, wide, pad, after);
  const bool depthwise = c.groups > 1 && c.small_channels == c.groups && c.large_channels == c.groups;
  const auto keep = [&](const auto& description, const memory::desc& weights, dnnl::primitive primitive) {
    const std::string_view kernel = description.impl_info_str();
    // Slower than our own loops: the library's plain ones, and a product of matrices of each of the channels, one after another.
    if (kernel.starts_with("ref") || (depthwise && kernel.find("gemm") != std::string_view::npos)) return false;
    p->weights = weights;
    p->scratchpad = description.scratchpad_desc();
    p->primitive = std::move(primitive);
    return true;
  };
  bool fast = false;
  if (c.kind == CAIRN_MATH_TO_SMALL) {
    fast = keep(forward, forward.weights_desc(), Forward(forward));
  } else if (c.kind == CAIRN_MATH_TO_LARGE) {
    memory::dims around, beyond;
    bool every_position = c.groups == 1;
    for (int i = 3 - c.axes; i < 3; ++i) {
      around.push_back(c.dilation[i] * (c.kernel[i] - 1) - c.padding[i]);
      beyond.push_back(c.dilation[i] * (c.kernel[i] - 1) - c.padding_after[i]);
      every_position = every_position && c.stride[i] == 1 && around.back() >= 0 && beyond.back() >= 0;
    }
    if (every_position) {
      std::swap(dims[0], dims[1]);
      const memory::desc turned(dims, memory::data_type::f32, memory::format_tag::any);
      const Forward::primitive_desc back = describe<Forward>(engine(), attributes, dnnl::prop_kind::forward_training, direct,
                                                             p->small, turned, p->large, step, wide, around, beyond);
      p->order = WeightOrder::of(back.weights_desc(), c.axes, true);
      if (p->order && keep(back, back.weights_desc(), Forward(back))) {
        p->turned = true;
        return p;
      }
    }
    using Data = dnnl::convolution_backward_data;
    const Data::primitive_desc data =
        describe_gradient<Data>(engine(), attributes, forward, direct, p->large, any, p->small, step, wide, pad, after);
    fast = keep(data, data.weights_desc(), Data(data));
  } else {
    using Weights = dnnl::convolution_backward_weights;
    const Weights::primitive_desc weights =
        describe_gradient<Weights>(engine(), attributes, forward, direct, p->large, any, p->small, step, wide, pad, after);
    fast = keep(weights, weights.diff_weights_desc(), Weights(weights));
  }
  p->order = c.groups == 1 && c.kind != CAIRN_MATH_TO_WEIGHTS ? WeightOrder::of(p->weights, c.axes, false) : std::nullopt;
  return fast ? p : nullptr;
}

// Whatever oneDNN makes or runs in a thread after this is for that thread alone. Null: not by oneDNN, or not now.
std::shared_ptr<const Prepared> prepared(const cairn_math_convolution& c) {
  const Headroom headroom;
  if (!headroom) return nullptr;
  omp_set_num_threads(1);
  static std::mutex mutex;
  static std::map<Key, std::shared_ptr<const Prepared>> known;
  const Key key = key_of(c);
  {
    const std::lock_guard lock(mutex);
    const auto found = known.find(key);
    if (found != known.end()) return found->second;
  }
  std::shared_ptr<const Prepared> made; // while others go on
  try {
    made = make(c);
  } catch (const dnnl::error&) { // not by oneDNN: the empty entry says so
  }
  const std::lock_guard lock(mutex);
  if (known.size() >= kMostKept) known.clear();
  return known.try_emplace(key, std::move(made)).first->second;
}

int64_t padded(std::size_t bytes) { return static_cast<int64_t>((bytes + 63) / 64 * 64); }

PlainWeights plain_weights(const cairn_math_convolution& c) {
  return {c.weights_data, c.large_channels, c.kernel[0] * c.kernel[1] * c.kernel[2]};
}

int64_t block_of_first_axis(const memory::desc& weights) {
  const auto layout = layout_of(weights);
  int64_t block = 1;
  for (std::size_t i = 0; i < layout.blocks.size(); ++i)
    if (layout.block_axes[i] == 0) block *= layout.blocks[i];
  return block;
}

// The weights that are given lie as the primitive wants them.
bool in_order(const Prepared& p, const cairn_math_convolution& c) {
  return (p.weights == p.plain_weights && !p.turned) || c.arranged != nullptr;
}

} // namespace

int64_t cairn_math_arranged_bytes(const cairn_math_convolution* call) {
  try {
    const std::shared_ptr<const Prepared> p = prepared(*call);
    const bool whole = (call->groups == 1 || call->kind != CAIRN_MATH_TO_WEIGHTS) && p != nullptr &&
                       (p->turned || !(p->weights == p->plain_weights));
    return whole ? static_cast<int64_t>(p->weights.get_size()) : 0;
  } catch (...) {
    return 0;
  }
}

int cairn_math_same_order(const cairn_math_convolution* one, const cairn_math_convolution* other) {
  try {
    const std::shared_ptr<const Prepared> p = prepared(*one), q = prepared(*other);
    return p != nullptr && q != nullptr && p->turned == q->turned && p->weights == q->weights ? 1 : 0;
  } catch (...) {
    return 0;
  }
}

int cairn_math_arrange(const cairn_math_convolution* call, int64_t begin, int64_t end) {
  try {
    const std::shared_ptr<const Prepared> p = prepared(*call);
    const Headroom headroom;
    if (p == nullptr || !headroom) return 1;
    if (p->order) {
      p->order->arrange(plain_weights(*call), begin, end, call->arranged);
      return 0;
    }
    memory::dims sizes = layout_of(p->plain_weights).sizes, offsets(sizes.size());
    const int64_t block = block_of_first_axis(p->weights);
    offsets[0] = std::min(next_block(begin, block), sizes[0]);
    sizes[0] = std::min(next_block(end, block), sizes[0]) - offsets[0];
    if (sizes[0] == 0) return 0;
    memory plain(p->plain_weights.submemory_desc(sizes, offsets), engine(), call->weights_data);
    memory arranged(p->weights.submemory_desc(sizes, offsets), engine(), call->arranged);
    const bool back = call->kind == CAIRN_MATH_TO_WEIGHTS;
    memory &from = back ? arranged : plain, &to = back ? plain : arranged;
    dnnl::stream stream(engine());
    dnnl::reorder(from, to).execute(stream, from, to);
    stream.wait();
    return 0;
  } catch (...) {
    return 1;
  }
}

int64_t cairn_math_scratch_bytes(const cairn_math_convolution* call) {
  try {
    const std::shared_ptr<const Prepared> p = prepared(*call);
    return p == nullptr
               ? 0
               : padded(p->scratchpad.get_size()) + (in_order(*p, *call) ? 0 : static_cast<int64_t>(p->weights.get_size()));
  } catch (...) {
    return 0;
  }
}

int cairn_math_convolve(const cairn_math_convolution* call) {
  const cairn_math_convolution& c = *call;
  try {
    const std::shared_ptr<const Prepared> p = prepared(c);
    const Headroom headroom;
    if (p == nullptr || !headroom) return 1;
    dnnl::stream stream(engine());
    const memory small(p->small, engine(), c.small_data), large(p->large, engine(), c.large_data);
    memory plain(p->plain_weights, engine(), c.weights_data);
    const bool same = in_order(*p, c);
    if (c.scratch == nullptr && cairn_math_scratch_bytes(call) != 0) return 1;
    const memory scratchpad(p->scratchpad, engine(), c.scratch);
    memory weights =
        same ? plain : memory(p->weights, engine(), static_cast<char*>(c.scratch) + padded(p->scratchpad.get_size()));
    if (c.arranged != nullptr) weights = memory(p->weights, engine(), c.arranged);
    if (c.kind == CAIRN_MATH_TO_WEIGHTS) {
      p->primitive.execute(stream, {{DNNL_ARG_SRC, large},
                                    {DNNL_ARG_DIFF_DST, small},
                                    {DNNL_ARG_DIFF_WEIGHTS, weights},
                                    {DNNL_ARG_SCRATCHPAD, scratchpad}});
      if (!same) dnnl::reorder(weights, plain).execute(stream, weights, plain);
    } else {
      if (!same && p->order)
        p->order->arrange(plain_weights(c), 0, c.small_channels, static_cast<float*>(weights.get_data_handle()));
      else if (!same)
        dnnl::reorder(plain, weights).execute(stream, plain, weights);
      if (p->turned)
        p->primitive.execute(
            stream,
            {{DNNL_ARG_SRC, small}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DST, large}, {DNNL_ARG_SCRATCHPAD, scratchpad}});
      else if (c.kind == CAIRN_MATH_TO_LARGE)
        p->primitive.execute(stream, {{DNNL_ARG_DIFF_DST, small},
                                      {DNNL_ARG_WEIGHTS, weights},
                                      {DNNL_ARG_DIFF_SRC, large},
                                      {DNNL_ARG_SCRATCHPAD, scratchpad}});
      else if (c.bias_data != nullptr)
        p->primitive.execute(stream, {{DNNL_ARG_SRC, large},
                                      {DNNL_ARG_WEIGHTS, weights},
                                      {DNNL_ARG_BIAS, memory(p->bias, engine(), c.bias_data)},
                                      {DNNL_ARG_DST, small},
                                      {DNNL_ARG_SCRATCHPAD, scratchpad}});
      else
        p->primitive.execute(
            stream,
            {{DNNL_ARG_SRC, large}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DST, small}, {DNNL_ARG_SCRATCHPAD, scratchpad}});
    }
    stream.wait();
    return 0;
  } catch (...) { // no memory: nothing that counts was written
    return 1;
  }
}
