// See bits.h.
#include "ops/cpu/elements/bits.h"

#include "ops/cpu/device/pace.h"
#include "ops/cpu/device/workers.h"
#include "ops/cpu/loops/groups.h"
#include "ops/cpu/loops/isa.h"
#include "ops/pointwise_binary.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

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

// Where the reverse rule gives the first operand the cotangent.
template <class F, class T> struct TakesFirst {
  CAIRN_INLINE static void run(const T* a, const T* b, std::uint8_t* flags, std::int64_t count) {
    CAIRN_EACH
    for (std::int64_t i = 0; i < count; ++i) flags[i] = pointwise::equal(F::template slope_a<T>(a[i], b[i], T(0)), T(1)) ? 1 : 0;
  }
};

// The other way round: a byte is not 0 where the bit is set.
void unpack_bits(std::uint8_t bits, std::uint8_t* set) {
  const std::uint64_t word = bits * 0x0101010101010101u & 0x8040201008040201u;
  std::memcpy(set, &word, sizeof word);
}

// No product with 1, as in the rules that have the tensors: it would lose denormals.
template <class T> struct TimesBits {
  CAIRN_INLINE static void run(const T* from, const std::uint8_t* set, T otherwise, T* to, std::int64_t count) {
    CAIRN_EACH
    for (std::int64_t i = 0; i < count; ++i) to[i] = set[i] != 0 ? from[i] : from[i] * otherwise;
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

void store_flags(const std::uint8_t* flags, std::int64_t first, std::int64_t count, const View& bits) {
  std::uint8_t* const to = bits.as<std::uint8_t>() + first / 8;
  for (std::int64_t i = 0; i < count; i += 8) to[i / 8] = packed_flags(flags + i);
}

// An operand of a pointwise operator, its elements in the order in which those of the result lie in memory.
template <class T> class Stretched {
public:
  Stretched(const View& v, const Tensor& like) : number_(static_cast<T>(v.number)) {
    if (v.weak) return;
    View turned = v;
    turned.shape = Shape{};
    const std::array<int, kMostAxes> axes = axes_in_memory(like);
    for (int i = 0; i < like.rank(); ++i) {
      const int axis = axes[static_cast<std::size_t>(i)], from = axis - (like.rank() - v.shape.rank());
      turned.shape.push_back(like.shape[axis]);
      turned.strides[static_cast<std::size_t>(i)] =
          from < 0 || v.shape[from] == 1 ? 0 : v.strides[static_cast<std::size_t>(from)];
    }
    elements_.emplace(turned, (1u << like.rank()) - 1);
  }
  void load(std::int64_t first, std::int64_t count, T* to) const {
    if (elements_)
      elements_->load(0, first, count, to);
    else
      std::fill_n(to, count, number_);
  }

private:
  T number_;
  std::optional<Groups> elements_;
};

Tensor described(const View& v) {
  Tensor t;
  t.dtype = v.dtype;
  t.weak = v.weak;
  t.shape = v.shape;
  t.strides = v.strides;
  return t;
}

template <class F, class T> void pack_choice(const View& a, const View& b, const View& out) {
  const std::array<Tensor, 2> operands = {described(a), described(b)};
  Tensor like;
  like.shape = broadcast("bits of a choice", a.shape, b.shape);
  set_shared_layout(like, operands);
  const Stretched<T> first(a, like), second(b, like);
  const auto takes_first = Generations<TakesFirst<F, T>, const T*, const T*, std::uint8_t*, std::int64_t>::chosen();
  each_piece(like.elements(), [&](std::int64_t begin, std::int64_t count) {
    alignas(64) T one[kBitsAtOnce] = {}, other[kBitsAtOnce] = {};
    alignas(64) std::uint8_t flags[kBitsAtOnce] = {};
    first.load(begin, count, one);
    second.load(begin, count, other);
    takes_first(one, other, flags, count);
    store_flags(flags, begin, count, out);
  });
}

template <class T> void pack(const View& x, const View& out) {
  const auto positive = Generations<Positive<T>, const T*, std::uint8_t*, std::int64_t>::chosen();
  each_piece(x.elements(), [&](std::int64_t first, std::int64_t count) {
    alignas(64) T staged[kBitsAtOnce];
    alignas(64) std::uint8_t flags[kBitsAtOnce] = {};
    load(kComputeOf<T>, staged, x.dtype, element_at(x, first), 1, count);
    positive(staged, flags, count);
    store_flags(flags, first, count, out);
  });
}

template <class T> void multiply(const View& c, const View& bits, const Attributes& by, const View& out) {
  const auto times = Generations<TimesBits<T>, const T*, const std::uint8_t*, T, T*, std::int64_t>::chosen();
  const T otherwise = static_cast<T>(by[0].number());
  const unsigned flip = by[1].integer() != 0 ? 0xff : 0;
  each_piece(out.elements(), [&](std::int64_t first, std::int64_t count) {
    alignas(64) T staged[kBitsAtOnce];
    alignas(64) std::uint8_t set[kBitsAtOnce];
    const std::uint8_t* const packed = bits.as<std::uint8_t>() + first / 8;
    for (std::int64_t i = 0; i < count; i += 8) unpack_bits(static_cast<std::uint8_t>(packed[i / 8] ^ flip), set + i);
    load(kComputeOf<T>, staged, c.dtype, element_at(c, first), 1, count);
    times(staged, set, otherwise, staged, count);
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

template <class F> void choice_bits(const KernelCall& call) {
  const View &a = call.inputs[0], &b = call.inputs[1];
  if ((!a.weak && a.dtype == DType::f64) || (!b.weak && b.dtype == DType::f64)) // as max and min compute
    pack_choice<F, double>(a, b, call.outputs[0]);
  else
    pack_choice<F, float>(a, b, call.outputs[0]);
}
template void choice_bits<pointwise::Max>(const KernelCall&);
template void choice_bits<pointwise::Min>(const KernelCall&);

void times_bits(const KernelCall& call) {
  if (call.outputs[0].dtype == DType::f64)
    multiply<double>(call.inputs[0], call.inputs[1], call.attributes, call.outputs[0]);
  else
    multiply<float>(call.inputs[0], call.inputs[1], call.attributes, call.outputs[0]);
}

} // namespace cairn::ops::cpu
