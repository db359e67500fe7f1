// Losses of two tensors, element by element: value and slopes as templates over what they are computed with (see
// ops/pointwise.h), and the kernels of their means.
#pragma once

#include "ops/pointwise.h"

namespace cairn::ops {

namespace pointwise {

struct SquaredError {
  template <class T> static T value(T a, T b) { return (a - b) * (a - b); }
  template <class T> static T slope_a(T a, T b) { return T(2) * (a - b); }
  template <class T> static T slope_b(T a, T b) { return T(2) * (b - a); }
};

// Of a probability and a target. Logarithms are bounded, and so is the slope's denominator, so that 0 and 1 do no harm.
struct BinaryCrossEntropy {
  template <class T> static T logarithm(T x) {
    T l = log(x);
    return where(less(l, T(-100)), T(-100), l);
  }
  template <class T> static T value(T p, T t) { return -(t * logarithm(p)) - (T(1) - t) * logarithm(T(1) - p); }
  template <class T> static T slope_a(T p, T t) {
    T spread = p * (T(1) - p);
    return (p - t) / where(less(spread, T(1e-12)), T(1e-12), spread);
  }
  template <class T> static T slope_b(T p, T) { return logarithm(T(1) - p) - logarithm(p); }
};

// The same of the sigmoid of x.
struct BinaryCrossEntropyWithLogits {
  template <class T> static T value(T x, T t) {
    return where(less(T(0), x), x, T(0)) - x * t + log1p(exp(where(less(T(0), x), -x, x)));
  }
  template <class T> static T slope_a(T x, T t) { return sigmoid(x) - t; }
  template <class T> static T slope_b(T x, T) { return -x; }
};

} // namespace pointwise

namespace cpu {

// Of two tensors of one shape, a number; and (cotangent, a, b), of that shape, for one of the operands.
template <class F> void mean_loss(const KernelCall& call);
template <class F> void mean_loss_vjp(const KernelCall& call);
// (logits [n, classes], indices [n]), and (cotangent, logits, indices).
void cross_entropy(const KernelCall& call);
void cross_entropy_vjp(const KernelCall& call);

} // namespace cpu

} // namespace cairn::ops
