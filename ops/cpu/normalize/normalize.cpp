// See normalize.h. Elements that are normalised together are a set; a set, or a block of sets that lie beside each other, is gone
// over once for the mean, once for the deviation and once for the results, with sums in double. Reverse rules take both again
// rather than keep them.
#include "ops/cpu/normalize/normalize.h"

#include "ops/cpu/device/pace.h"
#include "ops/cpu/device/scratch.h"
#include "ops/cpu/device/workers.h"
#include "ops/cpu/loops/copy.h"
#include "ops/cpu/loops/elementwise.h"
#include "ops/cpu/loops/isa.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>
#include <vector>

namespace cairn::ops::cpu {

namespace {

constexpr std::int64_t kBlock = 128;
constexpr std::int64_t kPerRow = 16; // elements that a row takes as long as, however short it is
constexpr int kMost = kMostAxes + 1; // channels may become two axes

struct StridedOperand {
  char* data = nullptr;
  DType dtype = DType::f32;
  std::int64_t element = 4;
  std::array<std::int64_t, kMost> strides{}; // 0 along axes it does not have
};

template <class T> constexpr Compute kCompute = std::is_same_v<T, float> ? Compute::f32 : Compute::f64;

class Sets {
public:
  Sets(const Normalization& n, const View& like) : n_(n) {
    const int rank = like.shape.rank();
    split_ = n.kind == Normalization::Kind::groups;
    for (int i = 0; i < rank; ++i) {
      if (split_ && i == 1) {
        sizes_[1] = n.groups;
        sizes_[2] = like.shape[1] / n.groups;
        rank_ = 3;
      } else {
        sizes_[static_cast<std::size_t>(rank_++)] = like.shape[i];
      }
    }
    for (int i = 0; i < rank_; ++i) {
      const bool kept = n.kind == Normalization::Kind::batch    ? i == 1
                        : n.kind == Normalization::Kind::groups ? i < 2
                                                                : i < rank_ - n.last;
      kept_[static_cast<std::size_t>(i)] = kept;
      if (!kept) count_ *= static_cast<double>(sizes_[static_cast<std::size_t>(i)]);
    }
    const StridedOperand whole = operand(like);
    run_ = rank_ - 1;
    for (int i = 0; i < rank_; ++i)
      if (size(i) > 1 && (size(run_) == 1 || stride(whole, i) < stride(whole, run_))) run_ = i;
    across_ = kept_[static_cast<std::size_t>(run_)];
    for (int i = 0; i < rank_; ++i) {
      if (i == run_) continue;
      (kept_[static_cast<std::size_t>(i)] ? outer_ : inner_) *= size(i);
    }
    blocks_ = (size(run_) - 1) / kBlock + 1;
  }

  // Of the shape of x.
  StridedOperand operand(const View& v) const {
    StridedOperand o = start(v);
    for (int i = 0, to = 0; i < v.shape.rank(); ++i) {
      const std::int64_t s = v.strides[static_cast<std::size_t>(i)];
      if (split_ && i == 1) o.strides[static_cast<std::size_t>(to++)] = s * sizes_[2];
      o.strides[static_cast<std::size_t>(to++)] = s;
    }
    return o;
  }
  // A number for each channel, or for each position along the last axes.
  StridedOperand parameter(const View& v) const {
    StridedOperand o = start(v);
    if (n_.kind == Normalization::Kind::last) {
      for (int i = 0; i < n_.last; ++i)
        o.strides[static_cast<std::size_t>(rank_ - n_.last + i)] = v.strides[static_cast<std::size_t>(i)];
    } else {
      if (split_) o.strides[2] = v.strides[0];
      o.strides[1] = v.strides[0] * (split_ ? sizes_[2] : 1);
    }
    return o;
  }

  // A number for each set: of the axes along which it does not go.
  StridedOperand statistic(const View& v) const {
    StridedOperand o = start(v);
    for (int i = 0, from = 0; i < rank_; ++i)
      if (kept_[static_cast<std::size_t>(i)])
        o.strides[static_cast<std::size_t>(i)] = v.strides[static_cast<std::size_t>(from++)];
    return o;
  }

  double count() const { return count_; }
  bool across() const { return across_; }
  std::int64_t units() const { return outer_ * (across_ ? blocks_ : 1); }
  std::int64_t elements_of_unit() const { return inner_ * (across_ ? std::min(kBlock, size(run_)) : size(run_)); }

  // How many sets a unit has, when they lie beside each other.
  std::int64_t width(std::int64_t unit) const {
    return across_ ? std::min(kBlock, size(run_) - unit % blocks_ * kBlock) : std::min(kBlock, size(run_));
  }
  // Where the first of its elements is.
  std::array<std::int64_t, kMost> first_of(std::int64_t unit) const {
    std::array<std::int64_t, kMost> position{};
    set_position(position, across_ ? unit / blocks_ : unit, true);
    if (across_) position[static_cast<std::size_t>(run_)] = unit % blocks_ * kBlock;
    return position;
  }
  // f(position, n): stretches of the run axis, over all elements of a unit. A position has an index along every axis.
  template <class F> void each(std::int64_t unit, F&& f) const {
    std::array<std::int64_t, kMost> position{};
    set_position(position, across_ ? unit / blocks_ : unit, true);
    Pace pace;
    for (std::int64_t row = 0; row < inner_; ++row) {
      set_position(position, row, false);
      if (across_) {
        position[static_cast<std::size_t>(run_)] = unit % blocks_ * kBlock;
        f(position, width(unit));
        pace.did(width(unit) + kPerRow);
      } else {
        for (std::int64_t block = 0; block < blocks_; ++block) {
          position[static_cast<std::size_t>(run_)] = block * kBlock;
          f(position, std::min(kBlock, size(run_) - block * kBlock));
          pace.did(kBlock);
        }
      }
    }
  }
  template <class T>
  void get(const StridedOperand& o, const std::array<std::int64_t, kMost>& position, std::int64_t n, T* to) const {
    load(kCompute<T>, to, o.dtype, at(o, position), stride(o, run_), n);
  }
  template <class T>
  void put(const StridedOperand& o, const std::array<std::int64_t, kMost>& position, std::int64_t n, const T* from) const {
    store(kCompute<T>, from, o.dtype, at(o, position), stride(o, run_), n);
  }
  // Sums by lane become the sums of sets: of one set if the run lies within it.
  void finish(double* sums, std::int64_t n) const {
    if (across_) return;
    double sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += sums[i];
    std::fill_n(sums, n, sum);
  }

private:
  std::int64_t size(int i) const { return sizes_[static_cast<std::size_t>(i)]; }
  std::int64_t stride(const StridedOperand& o, int i) const { return o.strides[static_cast<std::size_t>(i)]; }
  static StridedOperand start(const View& v) {
    StridedOperand o;
    o.data = static_cast<char*>(v.data);
    o.dtype = v.dtype;
    o.element = bytes_of(v.dtype);
    return o;
  }
  char* at(const StridedOperand& o, const std::array<std::int64_t, kMost>& position) const {
    std::int64_t elements = 0;
    for (int i = 0; i < rank_; ++i) elements += position[static_cast<std::size_t>(i)] * stride(o, i);
    return o.data + elements * o.element;
  }
  void set_position(std::array<std::int64_t, kMost>& position, std::int64_t index, bool kept) const {
    for (int i = rank_; i-- > 0;) {
      if (i == run_ || kept_[static_cast<std::size_t>(i)] != kept) continue;
      position[static_cast<std::size_t>(i)] = index % size(i);
      index /= size(i);
    }
  }

  const Normalization& n_;
  bool split_ = false, across_ = false;
  int rank_ = 0, run_ = 0;
  std::array<std::int64_t, kMost> sizes_{};
  std::array<bool, kMost> kept_{};
  std::int64_t outer_ = 1, inner_ = 1, blocks_ = 1;
  double count_ = 1;
};

using Position = std::array<std::int64_t, kMost>;

struct Normal {};

// Mean and 1 / deviation of the sets of a unit, by lane.
template <class T> struct Statistics {
  double mean[kBlock] = {}, variance[kBlock] = {}, inverse[kBlock] = {};
  double to_normal[kBlock] = {}; // what an element less the mean is to be multiplied with

  // Of what is normalised: only the deviation is left to tell.
  Statistics(const Normalization& n, const Sets& sets, std::int64_t unit, const StridedOperand& variances, Normal /*x*/) {
    const std::int64_t width = sets.width(unit), known = sets.across() ? width : 1;
    sets.get(variances, sets.first_of(unit), known, variance);
    std::fill_n(variance + known, width - known, variance[0]);
    for (std::int64_t i = 0; i < width; ++i) inverse[i] = 1 / std::sqrt(variance[i] + n.epsilon);
    std::fill_n(to_normal, width, 1.0);
  }
  Statistics(const Normalization& n, const Sets& sets, std::int64_t unit, const StridedOperand& x) {
    alignas(64) T staged[kBlock];
    const std::int64_t width = sets.width(unit);
    if (n.centred) {
      sets.each(unit, [&](const Position& position, std::int64_t count) {
        sets.get(x, position, count, staged);
        for (std::int64_t i = 0; i < count; ++i) mean[i] += static_cast<double>(staged[i]);
      });
      sets.finish(mean, width);
      for (double& m : mean) m /= sets.count();
    }
    sets.each(unit, [&](const Position& position, std::int64_t count) {
      sets.get(x, position, count, staged);
      for (std::int64_t i = 0; i < count; ++i) {
        const double d = static_cast<double>(staged[i]) - mean[i];
        variance[i] += d * d;
      }
    });
    sets.finish(variance, width);
    for (std::int64_t i = 0; i < width; ++i) {
      variance[i] /= sets.count();
      inverse[i] = to_normal[i] = 1 / std::sqrt(variance[i] + n.epsilon);
    }
  }
};

template <class F> void each_unit(const Sets& sets, F&& f) {
  parallel_for(sets.units(), std::max<std::int64_t>(1, kElementsInline / 4 / std::max<std::int64_t>(1, sets.elements_of_unit())),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t unit = begin; unit < end; ++unit) f(unit);
               });
}

template <class T>
void forward(const Normalization& n, const View& y_view, const View& x_view, const View* scale_view, const View* shift_view,
             const View* variances) {
  const Sets sets(n, x_view);
  const StridedOperand x = sets.operand(x_view), y = sets.operand(y_view);
  const StridedOperand scale = scale_view != nullptr ? sets.parameter(*scale_view) : StridedOperand{};
  const StridedOperand shift = shift_view != nullptr ? sets.parameter(*shift_view) : StridedOperand{};
  each_unit(sets, [&](std::int64_t unit) {
    const Statistics<T> statistics(n, sets, unit, x);
    if (variances != nullptr)
      sets.put(sets.statistic(*variances), sets.first_of(unit), sets.across() ? sets.width(unit) : 1, statistics.variance);
    alignas(64) T values[kBlock], scales[kBlock], shifts[kBlock];
    std::fill_n(scales, kBlock, T(1));
    std::fill_n(shifts, kBlock, T(0));
    sets.each(unit, [&](const Position& position, std::int64_t count) {
      sets.get(x, position, count, values);
      if (scale.data != nullptr) sets.get(scale, position, count, scales);
      if (shift.data != nullptr) sets.get(shift, position, count, shifts);
      for (std::int64_t i = 0; i < count; ++i)
        values[i] =
            static_cast<T>((static_cast<double>(values[i]) - statistics.mean[i]) * statistics.inverse[i]) * scales[i] + shifts[i];
      sets.put(y, position, count, values);
    });
  });
}

template <class T>
void backward(const Normalization& n, const View& dx_view, const View& c_view, const View& x_view, const View& scale_view,
              const View* variances) {
  const Sets sets(n, x_view);
  const StridedOperand x = sets.operand(x_view), c = sets.operand(c_view), dx = sets.operand(dx_view);
  const StridedOperand scale = sets.parameter(scale_view);
  each_unit(sets, [&](std::int64_t unit) {
    const Statistics<T> statistics = variances != nullptr ? Statistics<T>(n, sets, unit, sets.statistic(*variances), Normal{})
                                                          : Statistics<T>(n, sets, unit, x);
    alignas(64) T values[kBlock], scales[kBlock], slopes[kBlock];
    double sum[kBlock] = {}, product[kBlock] = {}; // of slopes, and of slopes times normalised elements
    const auto read = [&](const Position& position, std::int64_t count) {
      sets.get(x, position, count, values);
      sets.get(scale, position, count, scales);
      sets.get(c, position, count, slopes);
    };
    sets.each(unit, [&](const Position& position, std::int64_t count) {
      read(position, count);
      for (std::int64_t i = 0; i < count; ++i) {
        const double slope = static_cast<double>(slopes[i] * scales[i]);
        sum[i] += slope;
        product[i] += slope * (static_cast<double>(values[i]) - statistics.mean[i]) * statistics.to_normal[i];
      }
    });
    const std::int64_t width = sets.width(unit);
    sets.finish(sum, width);
    sets.finish(product, width);
    for (std::int64_t i = 0; i < width; ++i) {
      sum[i] = n.centred ? sum[i] / sets.count() : 0;
      product[i] /= sets.count();
    }
    sets.each(unit, [&](const Position& position, std::int64_t count) {
      read(position, count);
      for (std::int64_t i = 0; i < count; ++i) {
        const double normal = (static_cast<double>(values[i]) - statistics.mean[i]) * statistics.to_normal[i];
        values[i] =
            static_cast<T>((static_cast<double>(slopes[i] * scales[i]) - sum[i] - normal * product[i]) * statistics.inverse[i]);
      }
      sets.put(dx, position, count, values);
    });
  });
}

// By channels: (x, mean, factor, shift).
template <class T> struct NormalizedBy {
  CAIRN_INLINE static void run(void* out, const void* const* in, std::int64_t n, double /*parameter*/) {
    auto* y = static_cast<T*>(out);
    const auto *x = static_cast<const T*>(in[0]), *mean = static_cast<const T*>(in[1]), *factor = static_cast<const T*>(in[2]),
               *shift = static_cast<const T*>(in[3]);
    CAIRN_EACH
    for (std::int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean[i]) * factor[i] + shift[i];
  }
};

template <class T> struct TimesNormalized {
  CAIRN_INLINE static void run(void* out, const void* const* in, std::int64_t n, double /*parameter*/) {
    auto* y = static_cast<T*>(out);
    const auto *c = static_cast<const T*>(in[0]), *x = static_cast<const T*>(in[1]), *mean = static_cast<const T*>(in[2]),
               *deviation = static_cast<const T*>(in[3]);
    CAIRN_EACH
    for (std::int64_t i = 0; i < n; ++i) y[i] = c[i] * ((x[i] - mean[i]) / deviation[i]);
  }
};

// A vector of channels as an operand beside x.
View along_channels(const View& numbers, const View& x) {
  View v = x;
  for (int i = 0; i < x.shape.rank(); ++i)
    if (i != 1) v.shape[i] = 1;
  v.dtype = numbers.dtype;
  v.data = numbers.data;
  v.strides[1] = numbers.strides[0];
  return v;
}

template <class T>
void forward_by(const Normalization& n, const View& y, const View& x, const View& scale, const View& shift, const View& mean,
                const View& variance) {
  const std::int64_t channels = x.shape[1];
  std::vector<T, Metered<T>> numbers(2 * static_cast<std::size_t>(channels));
  T *const factors = numbers.data(), *const variances = factors + channels;
  load(kCompute<T>, factors, scale.dtype, scale.data, scale.strides[0], channels);
  load(kCompute<T>, variances, variance.dtype, variance.data, variance.strides[0], channels);
  for (std::int64_t i = 0; i < channels; ++i) factors[i] *= 1 / std::sqrt(variances[i] + static_cast<T>(n.epsilon));
  View factor = scale;
  factor.dtype = std::is_same_v<T, float> ? DType::f32 : DType::f64;
  factor.data = factors;
  factor.strides[0] = 1;
  const View operands[] = {x, along_channels(mean, x), along_channels(factor, x), along_channels(shift, x)};
  const Attributes none;
  elementwise({operands, {&y, 1}, none}, kCompute<T>, Compiled<NormalizedBy<T>>::chosen());
}

template <class T> void means(const Normalization& n, const View& out_view, const View& x_view) {
  const Sets sets(n, x_view);
  const StridedOperand x = sets.operand(x_view), out = sets.operand(out_view);
  each_unit(sets, [&](std::int64_t unit) {
    alignas(64) T values[kBlock];
    double sums[kBlock] = {};
    sets.each(unit, [&](const Position& position, std::int64_t count) {
      sets.get(x, position, count, values);
      for (std::int64_t i = 0; i < count; ++i) sums[i] += static_cast<double>(values[i]);
    });
    sets.finish(sums, sets.width(unit));
    for (std::int64_t i = 0; i < sets.width(unit); ++i) values[i] = static_cast<T>(sums[i] / sets.count());
    sets.each(unit, [&](const Position& position, std::int64_t count) { sets.put(out, position, count, values); });
  });
}

} // namespace

void normalize_by(const Normalization& n, const View& y, const View& x, const View& scale, const View& shift, const View& mean,
                  const View& variance) {
  if (x.elements() == 0) return;
  if (compute_of(y.dtype) == Compute::f64)
    forward_by<double>(n, y, x, scale, shift, mean, variance);
  else
    forward_by<float>(n, y, x, scale, shift, mean, variance);
}

void times_normalized(const KernelCall& call) {
  if (compute_of(call.outputs[0].dtype) == Compute::f64)
    elementwise(call, Compute::f64, Compiled<TimesNormalized<double>>::chosen());
  else
    elementwise(call, Compute::f32, Compiled<TimesNormalized<float>>::chosen());
}

void mean_within(const Normalization& n, const View& out, const View& x) {
  if (x.elements() == 0) return;
  if (compute_of(out.dtype) == Compute::f64)
    means<double>(n, out, x);
  else
    means<float>(n, out, x);
}

void normalize(const Normalization& n, const View& y, const View& x, const View* scale, const View* shift,
               const View* variances) {
  if (x.elements() == 0) {
    if (variances != nullptr && variances->elements() != 0) fill_elements(*variances, 0);
    return;
  }
  if (compute_of(y.dtype) == Compute::f64)
    forward<double>(n, y, x, scale, shift, variances);
  else
    forward<float>(n, y, x, scale, shift, variances);
}

void normalize_vjp(const Normalization& n, const View& dx, const View& cotangent, const View& x, const View& scale,
                   const View* variances) {
  if (x.elements() == 0) return;
  if (compute_of(dx.dtype) == Compute::f64)
    backward<double>(n, dx, cotangent, x, scale, variances);
  else
    backward<float>(n, dx, cotangent, x, scale, variances);
}

} // namespace cairn::ops::cpu
