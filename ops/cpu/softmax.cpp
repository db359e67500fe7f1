// See softmax.h. A row is gone over in blocks that are staged in float or double; exponentials are taken again rather than kept,
// so a row may be of any length.
#include "ops/cpu/softmax.h"

#include "ops/cpu/elementwise.h"
#include "ops/cpu/workers.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cairn::ops::cpu {

namespace {

constexpr std::int64_t kBlock = 512;

template <class T> class Rows {
public:
  Rows(Softmax what, int axis, const View& out, std::span<const View> in) : what_(what), axis_(axis), out_(out), in_(in) {
    n_ = out.shape[axis];
  }

  void run() {
    std::int64_t rows = 1;
    for (int i = 0; i < out_.shape.rank(); ++i)
      if (i != axis_) rows *= out_.shape[i];
    if (n_ == 0) return;
    parallel_for(rows, std::max<std::int64_t>(1, kElementsInline / 8 / n_), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) row(r);
    });
  }

private:
  static constexpr Compute kCompute = std::is_same_v<T, float> ? Compute::f32 : Compute::f64;

  // f(a, b, n, place) for blocks of the operands; b is null for those of one operand.
  template <class F> void each_block(const char* a, const char* b, F&& f) const {
    alignas(64) T a_staged[kBlock], b_staged[kBlock];
    for (std::int64_t i = 0; i < n_; i += kBlock) {
      const std::int64_t n = std::min(kBlock, n_ - i);
      f(block(in_[0], a, i, n, a_staged), b != nullptr ? block(in_[1], b, i, n, b_staged) : nullptr, n, i);
    }
  }

  const T* block(const View& v, const char* row, std::int64_t i, std::int64_t n, T* staged) const {
    const std::int64_t stride = v.strides[static_cast<std::size_t>(axis_)];
    const char* place = row + i * stride * bytes_of(v.dtype);
    if (stride == 1 && compute_of(v.dtype) == kCompute && v.dtype != DType::bf16) return reinterpret_cast<const T*>(place);
    load(kCompute, staged, v.dtype, place, stride, n);
    return staged;
  }

  char* row_of(const View& v, std::int64_t r) const {
    std::int64_t at = 0;
    for (int i = v.shape.rank() - 1; i >= 0; --i) {
      if (i == axis_) continue;
      at += r % v.shape[i] * v.strides[static_cast<std::size_t>(i)];
      r /= v.shape[i];
    }
    return static_cast<char*>(v.data) + at * bytes_of(v.dtype);
  }

  void put(char* row, std::int64_t i, const T* values, std::int64_t n) const {
    const std::int64_t stride = out_.strides[static_cast<std::size_t>(axis_)];
    store(kCompute, values, out_.dtype, row + i * stride * bytes_of(out_.dtype), stride, n);
  }

  void row(std::int64_t r) const {
    const char* a = row_of(in_[0], r);
    char* out = row_of(out_, r);
    alignas(64) T results[kBlock];
    if (what_ == Softmax::plain || what_ == Softmax::logarithm) {
      T largest = -std::numeric_limits<T>::infinity();
      each_block(a, nullptr, [&](const T* x, const T*, std::int64_t n, std::int64_t) {
        for (std::int64_t i = 0; i < n; ++i) largest = x[i] > largest ? x[i] : largest;
      });
      T sum = 0;
      each_block(a, nullptr, [&](const T* x, const T*, std::int64_t n, std::int64_t) {
        T part = 0;
        for (std::int64_t i = 0; i < n; ++i) part += pointwise::exp(x[i] - largest);
        sum += part;
      });
      const T shift = what_ == Softmax::logarithm ? largest + pointwise::log(sum) : largest;
      const T factor = 1 / sum;
      each_block(a, nullptr, [&](const T* x, const T*, std::int64_t n, std::int64_t at) {
        if (what_ == Softmax::logarithm)
          for (std::int64_t i = 0; i < n; ++i) results[i] = x[i] - shift;
        else
          for (std::int64_t i = 0; i < n; ++i) results[i] = pointwise::exp(x[i] - shift) * factor;
        put(out, at, results, n);
      });
      return;
    }
    const char* b = row_of(in_[1], r);
    T sum = 0;
    each_block(a, b, [&](const T* c, const T* y, std::int64_t n, std::int64_t) {
      T part = 0;
      if (what_ == Softmax::plain_vjp)
        for (std::int64_t i = 0; i < n; ++i) part += c[i] * y[i];
      else
        for (std::int64_t i = 0; i < n; ++i) part += c[i];
      sum += part;
    });
    each_block(a, b, [&](const T* c, const T* y, std::int64_t n, std::int64_t at) {
      if (what_ == Softmax::plain_vjp)
        for (std::int64_t i = 0; i < n; ++i) results[i] = y[i] * (c[i] - sum);
      else
        for (std::int64_t i = 0; i < n; ++i) results[i] = c[i] - pointwise::exp(y[i]) * sum;
      put(out, at, results, n);
    });
  }

  const Softmax what_;
  const int axis_;
  const View& out_;
  const std::span<const View> in_;
  std::int64_t n_ = 0;
};

} // namespace

void softmax(Softmax what, int axis, const View& out, std::span<const View> in) {
  if (compute_of(out.dtype) == Compute::f64)
    Rows<double>(what, axis, out, in).run();
  else
    Rows<float>(what, axis, out, in).run();
}

} // namespace cairn::ops::cpu
