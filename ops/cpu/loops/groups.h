// The elements of a tensor in groups: those that differ in their indices along some axes alone, in row-major order. A group is
// what a kernel reduces to one number, sorts, or picks from; most often it is a line along one axis. Elements are staged in the
// type computed in, so a kernel is written once for all types and layouts.
#pragma once

#include "ops/cpu/device/scratch.h"
#include "ops/cpu/loops/elementwise.h"

#include <algorithm>
#include <array>

namespace cairn::ops::cpu {

template <class T> inline constexpr Compute kComputeOf = Compute::i64;
template <> inline constexpr Compute kComputeOf<double> = Compute::f64;
template <> inline constexpr Compute kComputeOf<float> = Compute::f32;

inline constexpr std::int64_t kGroupBlock = 512; // elements of a group that are worth staging at a time

// A view of a tensor reduced along the axes of the mask with an axis for each axis of the shape before, of size 1 where it is
// reduced.
View with_axes(const View& small, const Shape& shape, unsigned mask);

class Groups {
public:
  // A bit of the mask for each axis along which the elements of a group lie.
  Groups(const View& v, unsigned mask);

  std::int64_t count() const { return count_; }
  std::int64_t size() const { return size_; }
  // Groups worth a thread.
  std::int64_t grain() const { return std::max<std::int64_t>(1, kElementsInline / 8 / std::max<std::int64_t>(1, size_)); }

  // Elements [first, first + n) of a group.
  template <class T> void load(std::int64_t group, std::int64_t first, std::int64_t n, T* to) const {
    each_run(group, first, n, [&](char* address, std::int64_t count) {
      cpu::load(kComputeOf<T>, to, dtype_, address, stride_, count);
      to += count;
    });
  }
  template <class T> void store(std::int64_t group, std::int64_t first, std::int64_t n, const T* from) const {
    each_run(group, first, n, [&](char* address, std::int64_t count) {
      cpu::store(kComputeOf<T>, from, dtype_, address, stride_, count);
      from += count;
    });
  }
  template <class T> void load(std::int64_t group, Array<T>& to) const {
    to.resize(static_cast<std::size_t>(size_));
    in_stretches(size_, [&](std::int64_t begin, std::int64_t end) { load(group, begin, end - begin, to.data() + begin); });
  }
  template <class T> void store(std::int64_t group, const Array<T>& from) const {
    in_stretches(size_, [&](std::int64_t begin, std::int64_t end) { store(group, begin, end - begin, from.data() + begin); });
  }
  // Whether the elements of a group lie beside each other, in the type computed in.
  template <class T> bool beside() const {
    return n_gone_ <= 1 && stride_ == 1 && dtype_ == (kComputeOf<T> == Compute::f32 ? DType::f32 : DType::f64);
  }
  // Where an element lies.
  char* address(std::int64_t group, std::int64_t index) const {
    return data_ + (offset(kept_.data(), n_kept_, group) + offset(gone_.data(), n_gone_, index)) * bytes_;
  }
  // f(elements, how many) over the group in blocks.
  template <class T, class F> void each_block(std::int64_t group, F&& f) const {
    T staged[kGroupBlock];
    Pace pace;
    for (std::int64_t i = 0; i < size_; i += kGroupBlock) {
      const std::int64_t n = std::min(kGroupBlock, size_ - i);
      load(group, i, n, staged);
      pace.did(n);
      f(static_cast<const T*>(staged), n);
    }
  }

private:
  struct Axis {
    std::int64_t size, stride;
  };
  // One more axis, or the last one longer: an index over few axes takes few divisions.
  static void add(Axis axis, std::array<Axis, kMostAxes>& axes, std::size_t& n);
  // Elements of a group that lie along its last axis.
  template <class F> void each_run(std::int64_t group, std::int64_t first, std::int64_t n, F&& f) const {
    const std::int64_t base = offset(kept_.data(), n_kept_, group), run = n_gone_ == 0 ? 1 : gone_[n_gone_ - 1].size;
    while (n > 0) {
      const std::int64_t at = base + offset(gone_.data(), n_gone_, first), count = std::min(n, run - first % run);
      f(data_ + at * bytes_, count);
      first += count;
      n -= count;
    }
  }
  static std::int64_t offset(const Axis* axes, std::size_t n, std::int64_t index) {
    std::int64_t at = 0;
    while (n-- > 1) {
      at += index % axes[n].size * axes[n].stride;
      index /= axes[n].size;
    }
    return at + index * axes[0].stride; // which is 0 without axes, and along the first one the index does not come round
  }

  std::array<Axis, kMostAxes> kept_{}, gone_{};
  std::size_t n_kept_ = 0, n_gone_ = 0;
  std::int64_t count_ = 1, size_ = 1, stride_ = 1, bytes_ = 1;
  char* data_ = nullptr;
  DType dtype_ = DType::f32;
};

// f(T()) with what elements of a type are counted or summed in: double or pointwise::Integer.
template <class F> void by_type(DType type, F&& f) {
  if (is_floating(type))
    f(double());
  else
    f(pointwise::Integer());
}

// The mask for one axis; negative ones count from the end.
inline unsigned line_along(std::int64_t axis, int rank) { return 1u << (axis < 0 ? axis + rank : axis); }

// f(position, integer) for the integers of a tensor, or a number of the program, in row-major order: those at positions [begin,
// end).
template <class F> void each_integer(const View& v, std::int64_t begin, std::int64_t end, F&& f) {
  if (v.weak) return f(std::int64_t{0}, converted<std::int64_t>(v.number));
  const Groups all(v, (1u << v.shape.rank()) - 1);
  pointwise::Integer staged[kGroupBlock];
  Pace pace;
  for (std::int64_t at = begin; at < end; at += kGroupBlock) {
    const std::int64_t n = std::min(kGroupBlock, end - at);
    all.load(0, at, n, staged);
    for (std::int64_t i = 0; i < n; ++i) f(at + i, staged[i].v);
    pace.did(n);
  }
}
inline std::int64_t integers_in(const View& v) { return v.weak ? 1 : v.elements(); }

} // namespace cairn::ops::cpu
