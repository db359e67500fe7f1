// See losses.h. Everything is computed in double; sums are taken in pieces whose borders depend on sizes alone.
#include "ops/cpu/reduce/losses.h"

#include "ops/cpu/device/workers.h"
#include "ops/cpu/loops/groups.h"
#include "ops/cpu/loops/isa.h"
#include "ops/pointwise.h"

#include <cmath>
#include <limits>

namespace cairn::ops::cpu {

namespace {

constexpr std::int64_t kPieces = 16, kLeastPiece = 64 << 10;

// All elements as one group.
Groups all_of(const View& v) { return {v, (1u << v.shape.rank()) - 1}; }

double number_in(const View& v) {
  double d = 0;
  Groups(v, 0).load(0, 0, 1, &d);
  return d;
}

} // namespace

template <class F> void mean_loss(const KernelCall& call) {
  const Groups a = all_of(call.inputs[0]), b = all_of(call.inputs[1]);
  const std::int64_t n = a.size(), pieces = std::clamp<std::int64_t>(n / kLeastPiece, 1, kPieces);
  std::array<double, kPieces> sums{};
  parallel_for(pieces, 1, [&](std::int64_t begin, std::int64_t end) {
    double x[kGroupBlock], y[kGroupBlock];
    Pace pace;
    for (std::int64_t p = begin; p < end; ++p) {
      const std::int64_t stop = p + 1 == pieces ? n : n / pieces * (p + 1);
      for (std::int64_t at = n / pieces * p; at < stop; at += kGroupBlock) {
        const std::int64_t count = std::min(kGroupBlock, stop - at);
        a.load(0, at, count, x);
        b.load(0, at, count, y);
        double part = 0;
        for (std::int64_t i = 0; i < count; ++i) part += F::template value<double>(x[i], y[i]);
        sums[static_cast<std::size_t>(p)] += part;
        pace.did(8 * count); // they may take logarithms
      }
    }
  });
  double sum = 0;
  for (std::int64_t p = 0; p < pieces; ++p) sum += sums[static_cast<std::size_t>(p)];
  const double mean = sum / static_cast<double>(n);
  all_of(call.outputs[0]).store(0, 0, 1, &mean);
}

template <class F> void mean_loss_vjp(const KernelCall& call) {
  const Groups a = all_of(call.inputs[1]), b = all_of(call.inputs[2]), out = all_of(call.outputs[0]);
  const std::int64_t n = a.size();
  const double factor = number_in(call.inputs[0]) / static_cast<double>(n);
  const bool second = call.attributes[0].integer() != 0;
  parallel_for((n - 1) / kGroupBlock + 1, kElementsInline / kGroupBlock, [&](std::int64_t begin, std::int64_t end) {
    double x[kGroupBlock], y[kGroupBlock];
    for (std::int64_t at = begin * kGroupBlock; at < std::min(n, end * kGroupBlock); at += kGroupBlock) {
      const std::int64_t count = std::min(kGroupBlock, n - at);
      a.load(0, at, count, x);
      b.load(0, at, count, y);
      for (std::int64_t i = 0; i < count; ++i)
        x[i] = factor * (second ? F::template slope_b<double>(x[i], y[i]) : F::template slope_a<double>(x[i], y[i]));
      out.store(0, at, count, x);
    }
  });
}

template void mean_loss<pointwise::SquaredError>(const KernelCall&);
template void mean_loss_vjp<pointwise::SquaredError>(const KernelCall&);
template void mean_loss<pointwise::BinaryCrossEntropy>(const KernelCall&);
template void mean_loss_vjp<pointwise::BinaryCrossEntropy>(const KernelCall&);
template void mean_loss<pointwise::BinaryCrossEntropyWithLogits>(const KernelCall&);
template void mean_loss_vjp<pointwise::BinaryCrossEntropyWithLogits>(const KernelCall&);

namespace {

// out = exp(x - shift)
struct ExpBelow {
  CAIRN_INLINE static void run(void* out, const void* const* in, std::int64_t n, double shift) {
    auto* o = static_cast<double*>(out);
    const auto* x = static_cast<const double*>(in[0]);
    CAIRN_EACH
    for (std::int64_t i = 0; i < n; ++i) o[i] = pointwise::exp(x[i] - shift);
  }
};
void exp_below(double* out, const double* x, std::int64_t n, double shift) {
  const void* const in[] = {x};
  Compiled<ExpBelow>::chosen()(out, in, n, shift);
}

// The row's largest element and the sum of exponentials relative to it.
struct Row {
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  Row(const Groups& logits, std::int64_t i) {
    logits.each_block<double>(i, [&](const double* x, std::int64_t n) {
      for (std::int64_t k = 0; k < n; ++k) largest = x[k] > largest ? x[k] : largest;
    });
    logits.each_block<double>(i, [&](const double* x, std::int64_t n) {
      double exponentials[kGroupBlock];
      exp_below(exponentials, x, n, largest);
      for (std::int64_t k = 0; k < n; ++k) sum += exponentials[k];
    });
  }
};

} // namespace

void cross_entropy(const KernelCall& call) {
  const Groups logits(call.inputs[0], 2);
  Array<double> losses(static_cast<std::size_t>(logits.count()));
  parallel_for(logits.count(), logits.grain(), [&](std::int64_t begin, std::int64_t end) {
    each_integer(call.inputs[1], begin, end, [&](std::int64_t i, std::int64_t which) {
      const Row row(logits, i);
      double chosen = 0;
      logits.load(i, which, 1, &chosen);
      losses[static_cast<std::size_t>(i)] = row.largest + std::log(row.sum) - chosen;
    });
  });
  double mean = 0;
  for (const double loss : losses) mean += loss;
  mean /= static_cast<double>(losses.size());
  all_of(call.outputs[0]).store(0, 0, 1, &mean);
}

void cross_entropy_vjp(const KernelCall& call) {
  const Groups logits(call.inputs[1], 2), out(call.outputs[0], 2);
  const double factor = number_in(call.inputs[0]) / static_cast<double>(logits.count());
  parallel_for(logits.count(), logits.grain(), [&](std::int64_t begin, std::int64_t end) {
    each_integer(call.inputs[2], begin, end, [&](std::int64_t i, std::int64_t which) {
      const Row row(logits, i);
      std::int64_t first = 0;
      logits.each_block<double>(i, [&](const double* x, std::int64_t n) {
        double slopes[kGroupBlock];
        exp_below(slopes, x, n, row.largest);
        for (std::int64_t k = 0; k < n; ++k) slopes[k] = factor * (slopes[k] / row.sum);
        if (which >= first && which < first + n) slopes[which - first] -= factor;
        out.store(i, first, n, slopes);
        first += n;
      });
    });
  });
}

} // namespace cairn::ops::cpu
