// What kernels share that go to positions which tensors of indices name: several tensors walked together, by runs along their
// last axis, so that nothing is divided but where a walk begins; and loops for each type of indices.
#pragma once

#include "ops/convert.h"
#include "ops/operator.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace cairn::ops::cpu {

// Tensors of one shape, or parts of them, in row-major order. Axes are joined where all of them allow it.
template <std::size_t tensors> class Together {
public:
  using Numbers = std::array<std::int64_t, tensors>;

  // One axis more, inside of those before it: its size, and the stride of each tensor.
  void add(std::int64_t size, const Numbers& strides) {
    count_ *= size;
    if (size == 1) return;
    if (rank_ != 0) {
      Axis& before = axes_[rank_ - 1];
      bool joined = true;
      for (std::size_t t = 0; t < tensors; ++t) joined = joined && before.strides[t] == strides[t] * size;
      if (joined) {
        before = {before.size * size, strides};
        return;
      }
    }
    axes_[rank_++] = {size, strides};
  }
  std::int64_t count() const { return count_; }
  // The last axis.
  std::int64_t run() const { return rank_ == 0 ? 1 : axes_[rank_ - 1].size; }
  Numbers strides() const { return rank_ == 0 ? Numbers{} : axes_[rank_ - 1].strides; }

  // f(offsets, how many) for the runs along the last axis of the elements [begin, end), where offsets are of the first.
  template <class F> void each_run(std::int64_t begin, std::int64_t end, F&& f) const {
    if (begin >= end) return;
    if (rank_ == 0) return f(Numbers{}, std::int64_t{1});
    const std::size_t last = rank_ - 1;
    std::array<std::int64_t, kMostAxes> at{};
    Numbers offsets{}; // of the element at `at`
    std::int64_t rest = begin;
    for (std::size_t i = rank_; i-- > 0;) {
      at[i] = rest % axes_[i].size;
      rest /= axes_[i].size;
      for (std::size_t t = 0; t < tensors; ++t) offsets[t] += at[i] * axes_[i].strides[t];
    }
    for (std::int64_t left = end - begin;;) {
      const std::int64_t n = std::min(left, axes_[last].size - at[last]);
      f(offsets, n);
      left -= n;
      if (left == 0) return;
      for (std::size_t t = 0; t < tensors; ++t) offsets[t] -= at[last] * axes_[last].strides[t];
      at[last] = 0;
      for (std::size_t i = last; i-- > 0;) {
        for (std::size_t t = 0; t < tensors; ++t) offsets[t] += axes_[i].strides[t];
        if (++at[i] != axes_[i].size) break;
        for (std::size_t t = 0; t < tensors; ++t) offsets[t] -= at[i] * axes_[i].strides[t];
        at[i] = 0;
      }
    }
  }

private:
  struct Axis {
    std::int64_t size = 1;
    Numbers strides{};
  };
  std::array<Axis, kMostAxes> axes_{};
  std::size_t rank_ = 0;
  std::int64_t count_ = 1;
};

inline std::int64_t stride_of(const View& v, int axis) { return v.strides[static_cast<std::size_t>(axis)]; }

// f(T()) with the type of some indices.
template <class F> void by_index_type(DType type, F&& f) {
  switch (type) {
  case DType::u8:
    return f(std::uint8_t());
  case DType::i8:
    return f(std::int8_t());
  case DType::i16:
    return f(std::int16_t());
  case DType::i32:
    return f(std::int32_t());
  default:
    return f(std::int64_t());
  }
}

// Indices as a tensor: a number of the program is one of no axes.
class Indices {
public:
  explicit Indices(const View& v) : view_(v) {
    if (!v.weak) return;
    number_ = converted<std::int64_t>(v.number);
    view_ = View{};
    view_.data = &number_;
    view_.dtype = DType::i64;
  }
  Indices(const Indices&) = delete;
  Indices& operator=(const Indices&) = delete;
  const View& view() const { return view_; }

private:
  View view_;
  std::int64_t number_ = 0;
};

} // namespace cairn::ops::cpu
