// See bits.h.
#include "ops/cpu/elements/bits.h"

#include "ops/cpu/device/pace.h"
#include "ops/cpu/device/workers.h"
#include "ops/cpu/loops/groups.h"
#include "ops/cpu/loops/isa.h"

#include <algorithm>
#include <cstring>

namespace cairn::ops::cpu {

namespace {

constexpr std::int64_t kBitsAtOnce = 1024; // elements; a multiple of 8

// Eight flags, a byte each, as the bits of one: the i-th is moved to bit 56 + i of the product.
std::uint8_t packed_flags(const std::uint8_t* flags) {
  std::uint64_t word;
  std::memcpy(&word, flags, sizeof word);
  return static_cast<std::uint8_t>(word * 0x0102040810204080u >> 56);
}

template <class T> struct Positive {
  CAIRN_INLINE static void run(const T* x, std::uint8_t* flags, std::int64_t count) {
    CAIRN_EACH
    for (std::int64_t i = 0; i < count; ++i) flags[i] = T(0) < x[i] ? 1 : 0;
  }
};

template <class T> struct TimesBits {
  CAIRN_INLINE static void run(const T* from, const std::uint8_t* bits, T otherwise, T* to, std::int64_t bytes) {
    for (std::int64_t b = 0; b < bytes; ++b) {
      const unsigned byte = bits[b];
      for (unsigned i = 0; i < 8; ++i) to[8 * b + i] = from[8 * b + i] * ((byte >> i & 1) != 0 ? T(1) : otherwise);
    }
  }
};

char* element_at(const View& v, std::int64_t i) { return v.as<char>() + i * bytes_of(v.dtype); }

// f(first element, how many), in pieces that begin with a byte of bits.
template <class F> void each_piece(std::int64_t n, F&& f) {
  if (n == 0) return;
  parallel_for((n - 1) / kBitsAtOnce + 1, kElementsInline / kBitsAtOnce, [&](std::int64_t begin, std::int64_t end) {
    Pace pace;
    for (std::int64_t at = begin * kBitsAtOnce; at < std::min(n, end * kBitsAtOnce); at += kBitsAtOnce) {
      pace.did(kBitsAtOnce);
      f(at, std::min(kBitsAtOnce, n - at));
    }
  });
}

template <class T> void pack(const View& x, const View& out) {
  const auto positive = Generations<Positive<T>, const T*, std::uint8_t*, std::int64_t>::chosen();
  each_piece(x.elements(), [&](std::int64_t first, std::int64_t count) {
    alignas(64) T staged[kBitsAtOnce];
    alignas(64) std::uint8_t flags[kBitsAtOnce] = {};
    load(kComputeOf<T>, staged, x.dtype, element_at(x, first), 1, count);
    positive(staged, flags, count);
    std::uint8_t* const to = out.as<std::uint8_t>() + first / 8;
    for (std::int64_t i = 0; i < count; i += 8) to[i / 8] = packed_flags(flags + i);
  });
}

template <class T> void multiply(const View& c, const View& bits, double number, const View& out) {
  const auto times = Generations<TimesBits<T>, const T*, const std::uint8_t*, T, T*, std::int64_t>::chosen();
  each_piece(out.elements(), [&](std::int64_t first, std::int64_t count) {
    alignas(64) T staged[kBitsAtOnce];
    load(kComputeOf<T>, staged, c.dtype, element_at(c, first), 1, count);
    if (count % 8 != 0) std::fill(staged + count, staged + (count + 7) / 8 * 8, T(0));
    times(staged, bits.as<std::uint8_t>() + first / 8, static_cast<T>(number), staged, (count + 7) / 8);
    store(kComputeOf<T>, staged, out.dtype, element_at(out, first), 1, count);
  });
}

} // namespace

void positive_bits(const KernelCall& call) {
  if (call.inputs[0].dtype == DType::f64)
    pack<double>(call.inputs[0], call.outputs[0]);
  else
    pack<float>(call.inputs[0], call.outputs[0]);
}

void times_bits(const KernelCall& call) {
  const double number = call.attributes[0].number();
  if (call.outputs[0].dtype == DType::f64)
    multiply<double>(call.inputs[0], call.inputs[1], number, call.outputs[0]);
  else
    multiply<float>(call.inputs[0], call.inputs[1], number, call.outputs[0]);
}

} // namespace cairn::ops::cpu
