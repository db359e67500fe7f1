// See libraries_onednn.h. Versions 2 and 3 differ in how a primitive is described.
#include "libraries_onednn.h"

#include <dnnl.hpp>
#include <omp.h>

#include <algorithm>
#include <string>
#include <unordered_map>

using dnnl::memory;

struct bench_prepared {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  dnnl::primitive primitive;
  memory given, ordered, result, plain_result; // what is given is brought into order in each run where that has to be
  memory other;
  int given_name = 0, other_name = 0, result_name = 0;
  bool reorders_operand = false, reorders_result = false;
};

namespace {

memory filled(bench_prepared& p, const memory::desc& wanted, const memory::desc& plain, const float* from) {
  memory row_major(plain, p.engine, const_cast<float*>(from)), made(wanted, p.engine);
  dnnl::reorder(row_major, made).execute(p.stream, row_major, made);
  p.stream.wait();
  return made;
}

#if DNNL_VERSION_MAJOR >= 3
template <class Primitive, class... More>
typename Primitive::primitive_desc described(const dnnl::engine& engine, More&&... more) {
  return typename Primitive::primitive_desc(engine, more...);
}
template <class Primitive, class... More>
typename Primitive::primitive_desc backward(const dnnl::engine& engine, const dnnl::convolution_forward::primitive_desc& hint,
                                            More&&... more) {
  return typename Primitive::primitive_desc(engine, more..., hint);
}
#else
template <class Primitive, class... More>
typename Primitive::primitive_desc described(const dnnl::engine& engine, More&&... more) {
  return typename Primitive::primitive_desc(typename Primitive::desc(more...), engine);
}
template <class Primitive, class... More>
typename Primitive::primitive_desc backward(const dnnl::engine& engine, const dnnl::convolution_forward::primitive_desc& hint,
                                            More&&... more) {
  return typename Primitive::primitive_desc(typename Primitive::desc(more...), engine, hint);
}
#endif

} // namespace

extern "C" {

__attribute__((visibility("default"))) const char* bench_version() {
  const dnnl_version_t* const v = dnnl_version();
  static const std::string text = std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
  return text.c_str();
}

__attribute__((visibility("default"))) bench_prepared* bench_prepare(const bench_convolution* of, const float* a,
                                                                     const float* b) {
  omp_set_num_threads(1);
  auto* const p = new bench_prepared;
  using tag = memory::format_tag;
  constexpr auto f32 = memory::data_type::f32;
  constexpr auto direct = dnnl::algorithm::convolution_auto;
  constexpr auto training = dnnl::prop_kind::forward_training;
  const auto images = [&](long channels, tag as) { return memory::desc({of->batch, channels, of->pixels, of->pixels}, f32, as); };
  const auto weights = [&](tag as) { return memory::desc({of->out, of->in, of->window, of->window}, f32, as); };
  const tag as = of->as_cairn ? tag::nhwc : tag::any;
  const memory::desc x = images(of->in, as), y = images(of->out, as), w = weights(tag::any);
  const memory::desc plain_x = images(of->in, tag::nchw), plain_y = images(of->out, tag::nchw), plain_w = weights(tag::oihw);
  const memory::dims one{1, 1}, pad{of->window / 2, of->window / 2};
  using Forward = dnnl::convolution_forward;
  const Forward::primitive_desc forward = described<Forward>(p->engine, training, direct, x, w, y, one, pad, pad);
  const auto with_weights = [&](const memory::desc& wanted, const float* from) {
    p->given = memory(plain_w, p->engine);
    std::copy_n(from, of->out * of->in * of->window * of->window, static_cast<float*>(p->given.get_data_handle()));
    p->reorders_operand = of->as_cairn && wanted != plain_w;
    p->ordered = filled(*p, wanted, plain_w, from);
    p->given_name = DNNL_ARG_WEIGHTS;
  };
  if (of->kind == bench_forward) {
    p->other = filled(*p, forward.src_desc(), plain_x, a);
    p->other_name = DNNL_ARG_SRC;
    with_weights(forward.weights_desc(), b);
    p->result = memory(forward.dst_desc(), p->engine);
    p->plain_result = memory(plain_y, p->engine);
    p->result_name = DNNL_ARG_DST;
    p->primitive = Forward(forward);
  } else if (of->kind == bench_data) {
    using Data = dnnl::convolution_backward_data;
    const Data::primitive_desc data = backward<Data>(p->engine, forward, direct, x, w, y, one, pad, pad);
    p->other = filled(*p, data.diff_dst_desc(), plain_y, a);
    p->other_name = DNNL_ARG_DIFF_DST;
    with_weights(data.weights_desc(), b);
    p->result = memory(data.diff_src_desc(), p->engine);
    p->plain_result = memory(plain_x, p->engine);
    p->result_name = DNNL_ARG_DIFF_SRC;
    p->primitive = Data(data);
  } else {
    using Weights = dnnl::convolution_backward_weights;
    const Weights::primitive_desc back = backward<Weights>(p->engine, forward, direct, x, w, y, one, pad, pad);
    p->other = filled(*p, back.src_desc(), plain_x, a);
    p->other_name = DNNL_ARG_SRC;
    p->ordered = filled(*p, back.diff_dst_desc(), plain_y, b);
    p->given_name = DNNL_ARG_DIFF_DST;
    p->result = memory(back.diff_weights_desc(), p->engine);
    p->plain_result = memory(plain_w, p->engine);
    p->reorders_result = of->as_cairn && back.diff_weights_desc() != plain_w;
    p->result_name = DNNL_ARG_DIFF_WEIGHTS;
    p->primitive = Weights(back);
  }
  return p;
}

__attribute__((visibility("default"))) void bench_run(bench_prepared* p) {
  omp_set_num_threads(1); // Cairn may have asked for another number
  if (p->reorders_operand) dnnl::reorder(p->given, p->ordered).execute(p->stream, p->given, p->ordered);
  p->primitive.execute(p->stream, {{p->other_name, p->other}, {p->given_name, p->ordered}, {p->result_name, p->result}});
  if (p->reorders_result) dnnl::reorder(p->result, p->plain_result).execute(p->stream, p->result, p->plain_result);
  p->stream.wait();
}

__attribute__((visibility("default"))) void bench_result(bench_prepared* p, float* row_major) {
  dnnl::reorder(p->result, p->plain_result).execute(p->stream, p->result, p->plain_result);
  p->stream.wait();
  std::copy_n(static_cast<const float*>(p->plain_result.get_data_handle()), p->plain_result.get_desc().get_size() / sizeof(float),
              row_major);
}
}
