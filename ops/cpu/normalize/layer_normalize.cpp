// See layer_normalize.h. Rows are normalised one by one, with sums in double that are taken once over: those of squares lose
// nothing since the first element is taken away from all. The cotangents of scale and shift are sums over rows, by pieces of
// which the shape says how many.
#include "ops/cpu/normalize/layer_normalize.h"

#include "ops/cpu/device/scratch.h"
#include "ops/cpu/device/workers.h"
#include "ops/cpu/loops/copy.h"
#include "ops/cpu/loops/groups.h"
#include "ops/cpu/loops/lanes.h"

#include <algorithm>
#include <cmath>

namespace cairn::ops::cpu {

namespace {

constexpr std::int64_t kPieces = 16;
constexpr std::int64_t kLeastPiece = 16 << 10; // elements

unsigned last_axes(const View& x, int count) {
  unsigned mask = 0;
  for (int i = x.shape.rank() - count; i < x.shape.rank(); ++i) mask |= 1u << i;
  return mask;
}

// Rows of n elements of the type computed in: where they lie, or staged.
template <class T> class Rows {
public:
  Rows(const View& v, int axes) : groups_(v, last_axes(v, axes)), n_(groups_.size()) {
    std::int64_t stride = 1;
    for (int i = v.shape.rank(); direct_ && i-- > v.shape.rank() - axes; stride *= v.shape[i])
      direct_ = v.shape[i] == 1 || v.strides[static_cast<std::size_t>(i)] == stride;
    direct_ = direct_ && v.dtype == (std::is_same_v<T, float> ? DType::f32 : DType::f64);
  }
  std::int64_t count() const { return groups_.count(); }
  std::int64_t elements() const { return n_; }
  const T* get(std::int64_t row, Array<T>& staged) const {
    if (direct_) return address(row);
    groups_.load(row, staged);
    return staged.data();
  }
  T* to(std::int64_t row, Array<T>& staged) const {
    if (direct_) return address(row);
    staged.resize(static_cast<std::size_t>(n_));
    return staged.data();
  }
  void put(std::int64_t row, const Array<T>& staged) const {
    if (!direct_) groups_.store(row, staged);
  }

private:
  T* address(std::int64_t row) const { return reinterpret_cast<T*>(groups_.address(row, 0)); }
  Groups groups_;
  std::int64_t n_;
  bool direct_ = true;
};

template <class T> struct Row {
  const T *x, *c, *scale, *shift;
  T* out;
  double *dscale, *dshift; // sums
  double* variance;        // forward, where it goes; backward, where it is, of x that is normalised; or null
  std::int64_t n;
  double epsilon;
  bool centred;
};

struct Moments {
  double mean, inverse, variance;
};

template <class T> CAIRN_INLINE Moments moments(const Row<T>& row) {
  const T* x = row.x;
  alignas(64) double sums[kLanes] = {}, squares[kLanes] = {};
  const double first = row.centred ? static_cast<double>(x[0]) : 0;
  by_lanes(
      row.n, [&](std::int64_t i, std::int64_t lane) __attribute__((always_inline)) {
        const double d = static_cast<double>(x[i]) - first;
        sums[lane] += d;
        squares[lane] += d * d;
      });
  const auto n = static_cast<double>(row.n);
  const double distance = row.centred ? sum_of(sums) / n : 0;
  const double variance = std::max(sum_of(squares) / n - distance * distance, 0.0);
  return {first + distance, 1 / std::sqrt(variance + row.epsilon), variance};
}

template <class T> struct Forward {
  CAIRN_INLINE static void run(void* out, const void* const* /*in*/, std::int64_t /*n*/, double /*parameter*/) {
    const Row<T>& row = *static_cast<const Row<T>*>(out);
    const Moments m = moments(row);
    if (row.variance != nullptr) *row.variance = m.variance;
    const T *x = row.x, *scale = row.scale, *shift = row.shift;
    T* y = row.out;
    by_stretches(
        row.n, [&](std::int64_t begin, std::int64_t end) __attribute__((always_inline)) {
          CAIRN_EACH
          for (std::int64_t i = begin; i < end; ++i)
            y[i] = static_cast<T>((static_cast<double>(x[i]) - m.mean) * m.inverse * static_cast<double>(scale[i]) +
                                  static_cast<double>(shift[i]));
        });
  }
};

template <class T> struct Backward {
  CAIRN_INLINE static void run(void* out, const void* const* /*in*/, std::int64_t /*n*/, double /*parameter*/) {
    const Row<T>& row = *static_cast<const Row<T>*>(out);
    const Moments m =
        row.variance != nullptr ? Moments{0, 1 / std::sqrt(*row.variance + row.epsilon), *row.variance} : moments(row);
    const double to_normal = row.variance != nullptr ? 1 : m.inverse;
    const T *x = row.x, *scale = row.scale, *c = row.c;
    alignas(64) double sums[kLanes] = {}, products[kLanes] = {};
    by_lanes(
        row.n, [&](std::int64_t i, std::int64_t lane) __attribute__((always_inline)) {
          const double slope = static_cast<double>(c[i]) * static_cast<double>(scale[i]);
          sums[lane] += slope;
          products[lane] += slope * (static_cast<double>(x[i]) - m.mean);
        });
    const auto n = static_cast<double>(row.n);
    const double mean = row.centred ? sum_of(sums) / n : 0, product = sum_of(products) * to_normal / n;
    double *dscale = row.dscale, *dshift = row.dshift;
    T* dx = row.out;
    by_stretches(
        row.n, [&](std::int64_t begin, std::int64_t end) __attribute__((always_inline)) {
          CAIRN_EACH
          for (std::int64_t i = begin; i < end; ++i) {
            const double normal = (static_cast<double>(x[i]) - m.mean) * to_normal, slope = static_cast<double>(c[i]);
            dscale[i] += slope * normal;
            dshift[i] += slope;
            dx[i] = static_cast<T>((slope * static_cast<double>(scale[i]) - mean - normal * product) * m.inverse);
          }
        });
  }
};

// A vector of parameters without gaps, in the type computed in.
template <class T> Array<T> numbers(const View& v) {
  Array<T> staged;
  const T* const row = Rows<T>(v, v.shape.rank()).get(0, staged);
  return Array<T>(row, row + v.elements());
}

// `variances`: room for those of all rows, or null.
template <class T>
void forward(const LayerNormalization& n, int axes, const View& y_view, const View& x_view, const View* scale_view,
             const View* shift_view, double* variances) {
  const Rows<T> x(x_view, axes), y(y_view, axes);
  const Array<T> scale = scale_view != nullptr ? numbers<T>(*scale_view) : filled(x.elements(), T(1));
  const Array<T> shift = shift_view != nullptr ? numbers<T>(*shift_view) : filled(x.elements(), T(0));
  const Loop loop = Compiled<Forward<T>>::chosen();
  parallel_for(x.count(), std::max<std::int64_t>(1, kLeastPiece / x.elements()), [&](std::int64_t begin, std::int64_t end) {
    Array<T> staged, results;
    for (std::int64_t i = begin; i < end; ++i) {
      Row<T> row{};
      row.x = x.get(i, staged);
      row.scale = scale.data();
      row.shift = shift.data();
      row.out = y.to(i, results);
      row.variance = variances != nullptr ? variances + i : nullptr;
      row.n = x.elements();
      row.epsilon = n.epsilon;
      row.centred = n.centred;
      loop(&row, nullptr, 0, 0);
      y.put(i, results);
    }
  });
}

template <class T> void put(const View& v, const double* sums) {
  Array<T> staged;
  const Rows<T> row(v, v.shape.rank());
  std::copy_n(sums, row.elements(), row.to(0, staged));
  row.put(0, staged);
}

template <class T>
void backward(const LayerNormalization& n, const View& dx_view, const View& dscale, const View& dshift, const View& c_view,
              const View& x_view, const View& scale_view, const View* variances_view) {
  const int axes = scale_view.shape.rank();
  const Rows<T> x(x_view, axes), c(c_view, axes), dx(dx_view, axes);
  const Array<T> scale = numbers<T>(scale_view);
  const std::int64_t elements = x.elements(), rows = x.count();
  const std::int64_t pieces = std::clamp<std::int64_t>(rows * elements / kLeastPiece, 1, kPieces);
  Array<double> sums = filled(pieces * 2 * elements, 0.0), variances;
  if (variances_view != nullptr) variances = numbers<double>(*variances_view);
  const Loop loop = Compiled<Backward<T>>::chosen();
  parallel_for(pieces, 1, [&](std::int64_t begin, std::int64_t end) {
    Array<T> staged, staged_c, results;
    Pace pace;
    for (std::int64_t piece = begin; piece < end; ++piece)
      for (std::int64_t i = rows * piece / pieces; i < rows * (piece + 1) / pieces; ++i) {
        Row<T> row{};
        row.x = x.get(i, staged);
        row.c = c.get(i, staged_c);
        row.scale = scale.data();
        row.out = dx.to(i, results);
        row.dscale = sums.data() + piece * 2 * elements;
        row.dshift = row.dscale + elements;
        row.variance = variances_view != nullptr ? variances.data() + i : nullptr;
        row.n = elements;
        row.epsilon = n.epsilon;
        row.centred = n.centred;
        loop(&row, nullptr, 0, 0);
        dx.put(i, results);
        pace.did(4 * elements);
      }
  });
  const std::int64_t of_piece = 2 * elements;
  for (std::int64_t piece = 1; piece < pieces; ++piece)
    in_stretches(of_piece, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        sums[static_cast<std::size_t>(i)] += sums[static_cast<std::size_t>(piece * of_piece + i)];
    });
  put<T>(dscale, sums.data());
  put<T>(dshift, sums.data() + elements);
}

} // namespace

void layer_normalize(const LayerNormalization& n, const View& y, const View& x, const View& scale, const View* shift) {
  if (x.elements() == 0) return;
  if (compute_of(y.dtype) == Compute::f64)
    forward<double>(n, scale.shape.rank(), y, x, &scale, shift, nullptr);
  else
    forward<float>(n, scale.shape.rank(), y, x, &scale, shift, nullptr);
}

void layer_normalized(const LayerNormalization& n, int axes, const View& y, const View& variances, const View& x) {
  if (x.elements() == 0) {
    if (variances.elements() != 0) fill_elements(variances, 0);
    return;
  }
  Array<double> of_rows = filled(variances.elements(), 0.0);
  if (compute_of(y.dtype) == Compute::f64)
    forward<double>(n, axes, y, x, nullptr, nullptr, of_rows.data());
  else
    forward<float>(n, axes, y, x, nullptr, nullptr, of_rows.data());
  put<double>(variances, of_rows.data());
}

namespace {

void backward_of(const LayerNormalization& n, const View& dx, const View& dscale, const View& dshift, const View& cotangent,
                 const View& x, const View& scale, const View* variances) {
  if (x.elements() == 0) {
    for (const View* v : {&dscale, &dshift})
      if (v->elements() != 0) fill_elements(*v, 0);
    return;
  }
  if (compute_of(dx.dtype) == Compute::f64)
    backward<double>(n, dx, dscale, dshift, cotangent, x, scale, variances);
  else
    backward<float>(n, dx, dscale, dshift, cotangent, x, scale, variances);
}

} // namespace

void layer_normalize_vjp(const LayerNormalization& n, const View& dx, const View& dscale, const View& dshift,
                         const View& cotangent, const View& x, const View& scale) {
  backward_of(n, dx, dscale, dshift, cotangent, x, scale, nullptr);
}

void layer_normalized_vjp(const LayerNormalization& n, const View& dx, const View& dscale, const View& dshift,
                          const View& cotangent, const View& normalized, const View& scale, const View& variances) {
  backward_of(n, dx, dscale, dshift, cotangent, normalized, scale, &variances);
}

} // namespace cairn::ops::cpu
