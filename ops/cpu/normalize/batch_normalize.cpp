// See batch_normalize.h. A tensor is rows of channels. Sums over rows are taken in double, once over for all that is needed:
// those of squares lose nothing since the first row is taken away from all. Blocks of channels are on their own; where there are
// few, their rows are cut into pieces, as many as the shape says, whose sums are added in order.
#include "ops/cpu/normalize/batch_normalize.h"

#include "ops/cpu/device/pace.h"
#include "ops/cpu/device/workers.h"
#include "ops/cpu/loops/isa.h"
#include "ops/windows.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace cairn::ops::cpu {

namespace {

constexpr std::int64_t kBlock = 256; // channels
constexpr std::int64_t kPieces = 16;
constexpr std::int64_t kPerRow = 16;           // elements that a row takes as long as, however short it is
constexpr std::int64_t kLeastPiece = 16 << 10; // elements

template <class T> constexpr Compute kCompute = std::is_same_v<T, float> ? Compute::f32 : Compute::f64;

class Rows {
public:
  explicit Rows(const View& v) : v_(v), direct_(v.dtype != DType::bf16 && is_floating(v.dtype) && v_.channel_stride == 1) {
    std::int64_t rows = 1; // of the axes that were looked at; along stretched ones all are the same
    const auto look_at = [&](std::int64_t size, std::int64_t stride) {
      if (size == 1) return;
      if (rows == 1) stride_ = stride;
      joined_ = joined_ && stride == stride_ * rows;
      rows *= size;
    };
    for (std::size_t i = kMostSpatial; i-- > 0;) look_at(v_.sizes[i], v_.strides[i]);
    look_at(v_.batch, v_.batch_stride);
  }
  std::int64_t count() const { return v_.batch * v_.positions(); }
  std::int64_t channels() const { return v_.channels; }
  char* at(std::int64_t row, std::int64_t channel) const {
    if (joined_) return v_.data + (row * stride_ + channel * v_.channel_stride) * v_.element;
    const std::int64_t n = row / v_.positions(), in = row % v_.positions(), plane = v_.sizes[1] * v_.sizes[2];
    return v_.at(n, in / plane, in % plane / v_.sizes[2], in % v_.sizes[2], channel);
  }
  template <class T> bool direct() const { return direct_ && v_.dtype == (std::is_same_v<T, float> ? DType::f32 : DType::f64); }
  // n channels of a row: where they lie, or staged.
  template <class T> const T* get(std::int64_t row, std::int64_t channel, std::int64_t n, T* staged) const {
    char* const address = at(row, channel);
    if (direct<T>()) return reinterpret_cast<const T*>(address);
    load(kCompute<T>, staged, v_.dtype, address, v_.channel_stride, n);
    return staged;
  }
  template <class T> void put(std::int64_t row, std::int64_t channel, std::int64_t n, const T* from) const {
    store(kCompute<T>, from, v_.dtype, at(row, channel), v_.channel_stride, n);
  }

private:
  SpatialView v_;
  bool direct_, joined_ = true; // rows lie a stride apart
  std::int64_t stride_ = 0;
};

// Numbers of n channels, from a vector.
void get(const View& v, std::int64_t channel, std::int64_t n, double* to) {
  load(Compute::f64, to, v.dtype, static_cast<const char*>(v.data) + channel * v.strides[0] * bytes_of(v.dtype), v.strides[0], n);
}
void put(const View& v, std::int64_t channel, std::int64_t n, const double* from) {
  store(Compute::f64, from, v.dtype, static_cast<char*>(v.data) + channel * v.strides[0] * bytes_of(v.dtype), v.strides[0], n);
}

// Of a block of channels over some rows; d is the distance from the first row.
struct Sums {
  alignas(64) double d[kBlock], squares[kBlock];  // of d
  alignas(64) double c[kBlock], products[kBlock]; // of the cotangent, and of it and d

  void clear(std::int64_t n) {
    for (double* sums : {d, squares, c, products}) std::fill_n(sums, n, 0.0);
  }
  void add(const Sums& other, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
      d[i] += other.d[i];
      squares[i] += other.squares[i];
      c[i] += other.c[i];
      products[i] += other.products[i];
    }
  }
};

// Work on rows [begin, end) of a block of channels.
struct Part {
  const Rows *x, *cotangent, *out;
  std::int64_t channel, n, begin, end;
  const double* first; // row
  Sums* sums;
  const double *mean, *factor, *factor_d,
      *added; // out = (x - mean) factor + added; backwards c factor - (x - mean) factor_d - added
};

template <class T> struct SumsForward {
  CAIRN_INLINE static void run(void* out, const void* const* /*in*/, std::int64_t /*n*/, double /*parameter*/) {
    const Part& p = *static_cast<const Part*>(out);
    const std::int64_t n = p.n;
    alignas(64) T staged[kBlock];
    const double* first = p.first;
    p.sums->clear(n);
    double *d = p.sums->d, *squares = p.sums->squares;
    Pace pace;
    for (std::int64_t row = p.begin; row < p.end; ++row) {
      pace.did(n + kPerRow);
      const T* x = p.x->get(row, p.channel, n, staged);
      CAIRN_EACH
      for (std::int64_t i = 0; i < n; ++i) {
        const double distance = static_cast<double>(x[i]) - first[i];
        d[i] += distance;
        squares[i] += distance * distance;
      }
    }
  }
};

template <class T> struct SumsBackward {
  CAIRN_INLINE static void run(void* out, const void* const* /*in*/, std::int64_t /*n*/, double /*parameter*/) {
    const Part& p = *static_cast<const Part*>(out);
    const std::int64_t n = p.n;
    alignas(64) T staged[kBlock], staged_c[kBlock];
    const double* first = p.first;
    p.sums->clear(n);
    double *d = p.sums->d, *squares = p.sums->squares, *sums = p.sums->c, *products = p.sums->products;
    Pace pace;
    for (std::int64_t row = p.begin; row < p.end; ++row) {
      pace.did(n + kPerRow);
      const T* x = p.x->get(row, p.channel, n, staged);
      const T* c = p.cotangent->get(row, p.channel, n, staged_c);
      CAIRN_EACH
      for (std::int64_t i = 0; i < n; ++i) {
        const double distance = static_cast<double>(x[i]) - first[i], slope = static_cast<double>(c[i]);
        d[i] += distance;
        squares[i] += distance * distance;
        sums[i] += slope;
        products[i] += slope * distance;
      }
    }
  }
};

template <class T, bool backward> struct Results {
  CAIRN_INLINE static void run(void* out, const void* const* /*in*/, std::int64_t /*n*/, double /*parameter*/) {
    const Part& p = *static_cast<const Part*>(out);
    const std::int64_t n = p.n;
    alignas(64) T staged[kBlock], staged_c[kBlock], results[kBlock];
    const double *mean = p.mean, *factor = p.factor, *factor_d = p.factor_d, *added = p.added;
    const bool direct = p.out->template direct<T>();
    Pace pace;
    for (std::int64_t row = p.begin; row < p.end; ++row) {
      pace.did(n + kPerRow);
      const T* x = p.x->get(row, p.channel, n, staged);
      const T* c = backward ? p.cotangent->get(row, p.channel, n, staged_c) : nullptr;
      T* y = direct ? reinterpret_cast<T*>(p.out->at(row, p.channel)) : results;
      CAIRN_EACH
      for (std::int64_t i = 0; i < n; ++i) {
        const double distance = static_cast<double>(x[i]) - mean[i];
        if constexpr (backward)
          y[i] = static_cast<T>(static_cast<double>(c[i]) * factor[i] - distance * factor_d[i] - added[i]);
        else
          y[i] = static_cast<T>(distance * factor[i] + added[i]);
      }
      if (!direct) p.out->put(row, p.channel, n, results);
    }
  }
};

// sum and result are loops over a Part; between(part, sums, mean, factor, factor_d, added) fills in what the results need.
template <class T, class Between> void in_blocks(const Part& whole, Loop sum, Loop result, Between&& between) {
  const std::int64_t rows = whole.x->count(), channels = whole.x->channels(), blocks = (channels - 1) / kBlock + 1;
  const std::int64_t pieces =
      blocks >= kPieces ? 1 : std::clamp<std::int64_t>(rows * std::min(kBlock, channels) / kLeastPiece, 1, kPieces);
  const auto block = [&](std::int64_t b) {
    Part part = whole;
    part.channel = b * kBlock;
    part.n = std::min(kBlock, channels - part.channel);
    alignas(64) double first[kBlock];
    alignas(64) T staged[kBlock];
    const T* row = whole.x->get(0, part.channel, part.n, staged);
    std::copy_n(row, part.n, first);
    part.first = first;
    Sums sums[kPieces];
    const auto each_piece = [&](Loop loop) {
      parallel_for(pieces, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t piece = begin; piece < end; ++piece) {
          Part some = part;
          some.begin = rows * piece / pieces;
          some.end = rows * (piece + 1) / pieces;
          some.sums = &sums[piece];
          loop(&some, nullptr, 0, 0);
        }
      });
    };
    each_piece(sum);
    for (std::int64_t piece = 1; piece < pieces; ++piece) sums[0].add(sums[piece], part.n);
    alignas(64) double mean[kBlock], factor[kBlock], factor_d[kBlock], added[kBlock];
    part.mean = mean;
    part.factor = factor;
    part.factor_d = factor_d;
    part.added = added;
    between(part, sums[0], mean, factor, factor_d, added);
    each_piece(result);
  };
  if (pieces == 1)
    parallel_for(blocks, std::max<std::int64_t>(1, kElementsInline / 4 / (rows * std::min(kBlock, channels))),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t b = begin; b < end; ++b) block(b);
                 });
  else
    for (std::int64_t b = 0; b < blocks; ++b) block(b);
}

template <class T>
void forward(double epsilon, const View& y_view, const View& mean_view, const View& variance_view, const View& x_view,
             const View& scale, const View& shift) {
  const Rows x(x_view), y(y_view);
  const auto count = static_cast<double>(x.count());
  Part whole{};
  whole.x = &x;
  whole.out = &y;
  in_blocks<T>(whole, Compiled<SumsForward<T>>::chosen(), Compiled<Results<T, false>>::chosen(),
               [&](const Part& part, const Sums& sums, double* mean, double* factor, double* /*factor_d*/, double* added) {
                 double variance[kBlock];
                 get(scale, part.channel, part.n, factor);
                 get(shift, part.channel, part.n, added);
                 for (std::int64_t i = 0; i < part.n; ++i) {
                   const double distance = sums.d[i] / count;
                   mean[i] = part.first[i] + distance;
                   variance[i] = std::max(sums.squares[i] / count - distance * distance, 0.0);
                   factor[i] *= 1 / std::sqrt(variance[i] + epsilon);
                 }
                 put(mean_view, part.channel, part.n, mean);
                 put(variance_view, part.channel, part.n, variance);
               });
}

// `given`: the variance, where x has been normalised; or null.
template <class T>
void backward(double epsilon, const View& dx_view, const View& dscale, const View& dshift, const View& c_view, const View& x_view,
              const View& scale, const View* given) {
  const Rows x(x_view), c(c_view), dx(dx_view);
  const auto count = static_cast<double>(x.count());
  Part whole{};
  whole.x = &x;
  whole.cotangent = &c;
  whole.out = &dx;
  in_blocks<T>(whole, Compiled<SumsBackward<T>>::chosen(), Compiled<Results<T, true>>::chosen(),
               [&](const Part& part, const Sums& sums, double* mean, double* factor, double* factor_d, double* added) {
                 double normal[kBlock]; // sums of the cotangent and the normalised elements
                 get(scale, part.channel, part.n, factor);
                 if (given != nullptr) get(*given, part.channel, part.n, mean);
                 for (std::int64_t i = 0; i < part.n; ++i) {
                   if (given != nullptr) {
                     normal[i] = sums.products[i] + part.first[i] * sums.c[i];
                     factor[i] *= 1 / std::sqrt(mean[i] + epsilon);
                     mean[i] = 0;
                     factor_d[i] = factor[i] * normal[i] / count;
                     added[i] = factor[i] * sums.c[i] / count;
                     continue;
                   }
                   const double distance = sums.d[i] / count;
                   mean[i] = part.first[i] + distance;
                   const double inverse = 1 / std::sqrt(std::max(sums.squares[i] / count - distance * distance, 0.0) + epsilon);
                   normal[i] = (sums.products[i] - distance * sums.c[i]) * inverse;
                   factor[i] *= inverse;
                   factor_d[i] = factor[i] * inverse * normal[i] / count;
                   added[i] = factor[i] * sums.c[i] / count;
                 }
                 put(dscale, part.channel, part.n, normal);
                 put(dshift, part.channel, part.n, sums.c);
               });
}

} // namespace

void batch_normalize(double epsilon, const View& y, const View& mean, const View& variance, const View& x, const View& scale,
                     const View& shift) {
  if (x.elements() == 0) return;
  if (compute_of(y.dtype) == Compute::f64)
    forward<double>(epsilon, y, mean, variance, x, scale, shift);
  else
    forward<float>(epsilon, y, mean, variance, x, scale, shift);
}

void batch_normalize_vjp(double epsilon, const View& dx, const View& dscale, const View& dshift, const View& cotangent,
                         const View& x, const View& scale) {
  if (x.elements() == 0) return;
  if (compute_of(dx.dtype) == Compute::f64)
    backward<double>(epsilon, dx, dscale, dshift, cotangent, x, scale, nullptr);
  else
    backward<float>(epsilon, dx, dscale, dshift, cotangent, x, scale, nullptr);
}

void batch_normalized_vjp(double epsilon, const View& dx, const View& dscale, const View& dshift, const View& cotangent,
                          const View& normalized, const View& scale, const View& variance) {
  if (normalized.elements() == 0) return;
  if (compute_of(dx.dtype) == Compute::f64)
    backward<double>(epsilon, dx, dscale, dshift, cotangent, normalized, scale, &variance);
  else
    backward<float>(epsilon, dx, dscale, dshift, cotangent, normalized, scale, &variance);
}

} // namespace cairn::ops::cpu
