// oneDNN in its versions 2 and 3, which describe primitives in different ways, and let one look into a description of memory in
// different ways.
#pragma once

#include <dnnl.hpp>

#include <cstdint>

namespace cairn::ops::math {

// A primitive by what it is made of.
template <class Primitive, class... Of>
typename Primitive::primitive_desc describe(const dnnl::engine& engine, const dnnl::primitive_attr& attributes, const Of&... of) {
#if DNNL_VERSION_MAJOR >= 3
  return typename Primitive::primitive_desc(engine, of..., attributes);
#else
  return typename Primitive::primitive_desc(typename Primitive::desc(of...), attributes, engine);
#endif
}

// That of a gradient, by the forward one too.
template <class Primitive, class Forward, class... Of>
typename Primitive::primitive_desc describe_gradient(const dnnl::engine& engine, const dnnl::primitive_attr& attributes,
                                                     const Forward& forward, const Of&... of) {
#if DNNL_VERSION_MAJOR >= 3
  return typename Primitive::primitive_desc(engine, of..., forward, attributes);
#else
  return typename Primitive::primitive_desc(typename Primitive::desc(of...), attributes, engine, forward);
#endif
}

// How memory is laid out: axes with strides, the innermost elements in blocks of some of the axes.
struct Layout {
  bool strided = false; // with or without blocks, from the first element on
  dnnl::memory::dims sizes, padded_sizes, strides, blocks, block_axes;
};
inline Layout layout_of(const dnnl::memory::desc& of) {
  Layout layout;
#if DNNL_VERSION_MAJOR >= 3
  layout.strided = of.get_format_kind() == dnnl::memory::format_kind::blocked && of.get_submemory_offset() == 0;
  if (!layout.strided) return layout;
  layout.sizes = of.get_dims();
  layout.padded_sizes = of.get_padded_dims();
  layout.strides = of.get_strides();
  layout.blocks = of.get_inner_blks();
  layout.block_axes = of.get_inner_idxs();
#else
  const dnnl_memory_desc_t& d = of.data;
  layout.strided = d.format_kind == dnnl_blocked && d.offset0 == 0;
  if (!layout.strided) return layout;
  const dnnl_blocking_desc_t& blocking = d.format_desc.blocking;
  layout.sizes.assign(d.dims, d.dims + d.ndims);
  layout.padded_sizes.assign(d.padded_dims, d.padded_dims + d.ndims);
  layout.strides.assign(blocking.strides, blocking.strides + d.ndims);
  layout.blocks.assign(blocking.inner_blks, blocking.inner_blks + blocking.inner_nblks);
  layout.block_axes.assign(blocking.inner_idxs, blocking.inner_idxs + blocking.inner_nblks);
#endif
  return layout;
}

} // namespace cairn::ops::math
