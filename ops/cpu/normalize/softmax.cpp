// See softmax.h. A row is gone over in blocks that are staged in float or double; exponentials are taken again rather than kept,
// so a row may be of any length. Lines across memory: softmax_columns.cpp.
#include "ops/cpu/normalize/softmax.h"

#include "ops/cpu/device/pace.h"
#include "ops/cpu/device/workers.h"
#include "ops/cpu/loops/softmax_loops.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cairn::ops::cpu {

namespace {

constexpr std::int64_t kBlock = 512;
constexpr std::int64_t kShortRow = 64;

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
    if (what_ == Softmax::plain && n_ <= kShortRow && row_major(out_) && row_major(in_[0])) return short_rows(rows);
    parallel_for(rows, std::max<std::int64_t>(1, kElementsInline / 8 / n_), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) row(r);
    });
  }

private:
  static constexpr Compute kCompute = std::is_same_v<T, float> ? Compute::f32 : Compute::f64;

  bool row_major(const View& v) const {
    std::int64_t expected = 1;
    for (int i = v.shape.rank() - 1; i >= 0; --i) {
      if (v.shape[i] != 1 && v.strides[static_cast<std::size_t>(i)] != expected) return false;
      expected *= v.shape[i];
    }
    return axis_ == v.shape.rank() - 1;
  }

  // Several at a time, so that all their exponentials are taken at once.
  void short_rows(std::int64_t rows) const {
    const std::int64_t at_once = kBlock / n_;
    parallel_for(rows, kElementsInline / 8 / n_, [&](std::int64_t begin, std::int64_t end) {
      alignas(64) T x[kBlock];
      for (std::int64_t r = begin; r < end; r += at_once) {
        const std::int64_t count = std::min(at_once, end - r);
        load(kCompute, x, in_[0].dtype, static_cast<const char*>(in_[0].data) + r * n_ * bytes_of(in_[0].dtype), 1, count * n_);
        for (T* row = x; row < x + count * n_; row += n_) {
          T largest = row[0];
          for (std::int64_t i = 1; i < n_; ++i) largest = row[i] > largest ? row[i] : largest;
          for (std::int64_t i = 0; i < n_; ++i) row[i] -= largest;
        }
        exponentials(x, x, T(0), T(1), count * n_);
        for (T* row = x; row < x + count * n_; row += n_) {
          T sum = row[0];
          for (std::int64_t i = 1; i < n_; ++i) sum += row[i];
          const T factor = 1 / sum;
          for (std::int64_t i = 0; i < n_; ++i) row[i] *= factor;
        }
        store(kCompute, x, out_.dtype, static_cast<char*>(out_.data) + r * n_ * bytes_of(out_.dtype), 1, count * n_);
      }
    });
  }

  // f(a, b, n, address) for blocks of the operands; b is null for those of one operand.
  template <class F> void each_block(const char* a, const char* b, F&& f) const {
    alignas(64) T a_staged[kBlock], b_staged[kBlock];
    Pace pace;
    for (std::int64_t i = 0; i < n_; i += kBlock) {
      const std::int64_t n = std::min(kBlock, n_ - i);
      pace.did(n);
      f(block(in_[0], a, i, n, a_staged), b != nullptr ? block(in_[1], b, i, n, b_staged) : nullptr, n, i);
    }
  }

  // Rows of it are arrays of the type computed in.
  bool direct(const View& v) const {
    return v.strides[static_cast<std::size_t>(axis_)] == 1 && v.dtype == (std::is_same_v<T, float> ? DType::f32 : DType::f64);
  }

  const T* block(const View& v, const char* row, std::int64_t i, std::int64_t n, T* staged) const {
    const std::int64_t stride = v.strides[static_cast<std::size_t>(axis_)];
    const char* address = row + i * stride * bytes_of(v.dtype);
    if (direct(v)) return reinterpret_cast<const T*>(address);
    load(kCompute, staged, v.dtype, address, stride, n);
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
        const T here = folded<Largest<T>>(x, n);
        largest = here > largest ? here : largest;
      });
      T* const kept = what_ == Softmax::logarithm ? nullptr
                      : direct(out_)              ? reinterpret_cast<T*>(out)
                      : n_ <= kBlock              ? results
                                                  : nullptr;
      T sum = 0;
      each_block(a, nullptr, [&](const T* x, const T*, std::int64_t n, std::int64_t at) {
        T* const to = kept != nullptr ? kept + at : results;
        exponentials(to, x, largest, T(1), n);
        sum += folded<Sum<T>>(to, n);
      });
      const T shift = largest + pointwise::log(sum), factor = 1 / sum;
      if (kept != nullptr) {
        in_stretches(n_, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) kept[i] *= factor;
        });
        if (kept == results) put(out, 0, results, n_);
        return;
      }
      each_block(a, nullptr, [&](const T* x, const T*, std::int64_t n, std::int64_t at) {
        if (what_ == Softmax::plain)
          exponentials(results, x, largest, factor, n);
        else
          for (std::int64_t i = 0; i < n; ++i) results[i] = x[i] - shift;
        put(out, at, results, n);
      });
      return;
    }
    const char* b = row_of(in_[1], r);
    T sum = 0;
    each_block(a, b, [&](const T* c, const T* y, std::int64_t n, std::int64_t) {
      const T* terms = c;
      if (what_ == Softmax::plain_vjp) {
        for (std::int64_t i = 0; i < n; ++i) results[i] = c[i] * y[i];
        terms = results;
      }
      sum += folded<Sum<T>>(terms, n);
    });
    each_block(a, b, [&](const T* c, const T* y, std::int64_t n, std::int64_t at) {
      if (what_ == Softmax::plain_vjp) {
        for (std::int64_t i = 0; i < n; ++i) results[i] = y[i] * (c[i] - sum);
      } else {
        exponentials(results, y, T(0), sum, n);
        for (std::int64_t i = 0; i < n; ++i) results[i] = c[i] - results[i];
      }
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
  if (softmax_columns(what, axis, out, in)) return;
  if (compute_of(out.dtype) == Compute::f64)
    Rows<double>(what, axis, out, in).run();
  else
    Rows<float>(what, axis, out, in).run();
}

} // namespace cairn::ops::cpu
