// See planes.h. Each function three times, for the generations of processors; they give the same bytes.
#include "ops/cpu/lossy/planes.h"

#include "ops/cpu/loops/isa.h"
#include "ops/cpu/lossy/encoding.h"
#include "ops/cpu/lossy/orders.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace cairn::ops::cpu::lossy {

namespace {

unsigned word_at(const std::uint8_t* from) {
  std::uint16_t word;
  std::memcpy(&word, from, sizeof word);
  return word;
}
void put_word(std::uint8_t* to, unsigned bits) {
  const auto word = static_cast<std::uint16_t>(bits);
  std::memcpy(to, &word, sizeof word);
}

// Groups that are packed: all planes of one are written, and what is empty of them is overwritten by the next one.
struct Packed {
  unsigned width;
  std::uint8_t* at;
  std::uint64_t fewer = 0;
  unsigned shift = 0;

  CAIRN_INLINE void next() {
    unsigned empty = 0, any = 0;
    for (unsigned k = 1; k <= std::min(width, kMostFewer); ++k) {
      any |= word_at(at + 2 * (width - k));
      empty += any == 0 ? 1 : 0;
    }
    fewer |= std::uint64_t{empty} << shift;
    shift += 2;
    at += 2 * (width - empty);
  }
};

// The planes of groups; where one has fewer than `width`, empty ones are seen behind them.
struct Unpacked {
  static constexpr std::uint8_t kEmpty[2] = {};
  const std::uint8_t* at;
  unsigned width;
  std::uint64_t fewer;

  CAIRN_INLINE unsigned present() const { return width - static_cast<unsigned>(fewer & kMostFewer); }
  CAIRN_INLINE unsigned word(unsigned plane) const { return word_at(plane < present() ? at + 2 * plane : kEmpty); }
  CAIRN_INLINE void next() {
    at += 2 * present();
    fewer >>= 2;
  }
};

struct AnyPlanes {
  static std::int64_t gather(const std::uint32_t* values, std::int64_t count, std::uint32_t* const numbers, std::uint8_t* mask) {
    std::uint32_t* to = numbers;
    std::fill_n(mask, count / 8, std::uint8_t{0});
    for (std::int64_t i = 0; i < count; ++i) {
      const unsigned is = values[i] != 0 ? 1 : 0;
      *to = values[i] - 1;
      to += is;
      mask[i / 8] = static_cast<std::uint8_t>(mask[i / 8] | is << i % 8);
    }
    std::fill_n(to, kGroup, 0u);
    return to - numbers;
  }
  static void spread(const std::uint32_t* values, const std::uint8_t* mask, std::int64_t count, std::uint32_t* to) {
    for (std::int64_t i = 0; i < count; ++i) {
      const unsigned is = mask[i / 8] >> i % 8 & 1;
      to[i] = is != 0 ? *values : 0;
      values += is;
    }
  }
  static std::int64_t pack(const std::uint32_t* numbers, std::int64_t groups, unsigned width, std::uint64_t* fewer,
                           std::uint8_t* to) {
    Packed packed{width, to};
    for (std::int64_t g = 0; g < groups; ++g, numbers += kGroup, packed.next())
      for (unsigned plane = 0; plane < width; ++plane) {
        unsigned bits = 0;
        for (unsigned i = 0; i < kGroup; ++i) bits |= (numbers[i] >> plane & 1) << i;
        put_word(packed.at + 2 * plane, bits);
      }
    *fewer = packed.fewer;
    return packed.at - to;
  }
  static void unpack(const std::uint8_t* from, std::int64_t groups, unsigned width, std::uint64_t fewer, std::uint32_t* values) {
    Unpacked planes{from, width, fewer};
    for (std::int64_t g = 0; g < groups; ++g, values += kGroup, planes.next()) {
      std::fill_n(values, kGroup, 1u);
      for (unsigned plane = 0; plane < width; ++plane) {
        const unsigned bits = planes.word(plane);
        for (unsigned i = 0; i < kGroup; ++i) values[i] += (bits >> i & 1) << plane;
      }
    }
  }
};

#if defined(__x86_64__)

struct Avx2Planes {
  CAIRN_AVX2 static __m256i order(std::uint64_t bytes) {
    return _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<long long>(bytes)));
  }
  CAIRN_AVX2 static __m256i load8(const std::uint32_t* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  }
  CAIRN_AVX2 static void store8(std::uint32_t* to, __m256i v) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), v); }

  CAIRN_AVX2 static std::int64_t gather(const std::uint32_t* values, std::int64_t count, std::uint32_t* const numbers,
                                        std::uint8_t* mask) {
    std::uint32_t* to = numbers;
    for (std::int64_t i = 0; i < count; i += 8) {
      const __m256i v = load8(values + i), is_none = _mm256_cmpeq_epi32(v, _mm256_setzero_si256());
      const unsigned m = 0xFFu & ~static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(is_none)));
      store8(to, _mm256_permutevar8x32_epi32(_mm256_add_epi32(v, _mm256_set1_epi32(-1)), order(kOrders.gathered[m])));
      to += std::popcount(m);
      mask[i / 8] = static_cast<std::uint8_t>(m);
    }
    std::fill_n(to, kGroup, 0u);
    return to - numbers;
  }
  CAIRN_AVX2 static void spread(const std::uint32_t* values, const std::uint8_t* mask, std::int64_t count, std::uint32_t* to) {
    const __m256i places = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    for (std::int64_t i = 0; i < count; i += 8) {
      const unsigned m = mask[i / 8];
      const __m256i is = _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(static_cast<int>(m)), places), places);
      store8(to + i, _mm256_and_si256(is, _mm256_permutevar8x32_epi32(load8(values), order(kOrders.spread[m]))));
      values += std::popcount(m);
    }
  }
  CAIRN_AVX2 static std::int64_t pack(const std::uint32_t* numbers, std::int64_t groups, unsigned width, std::uint64_t* fewer,
                                      std::uint8_t* to) {
    Packed packed{width, to};
    for (std::int64_t g = 0; g < groups; ++g, numbers += kGroup, packed.next()) {
      const __m256i low = load8(numbers), high = load8(numbers + 8);
      for (unsigned plane = 0; plane < width; ++plane) {
        const __m128i shift = _mm_cvtsi32_si128(static_cast<int>(31 - plane)); // to where signs are
        const int bits = _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_sll_epi32(low, shift))) |
                         _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_sll_epi32(high, shift))) << 8;
        put_word(packed.at + 2 * plane, static_cast<unsigned>(bits));
      }
    }
    *fewer = packed.fewer;
    return packed.at - to;
  }
  CAIRN_AVX2 static void unpack(const std::uint8_t* from, std::int64_t groups, unsigned width, std::uint64_t fewer,
                                std::uint32_t* values) {
    const __m256i low_bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128), high_bits = _mm256_slli_epi32(low_bits, 8);
    Unpacked planes{from, width, fewer};
    for (std::int64_t g = 0; g < groups; ++g, values += kGroup, planes.next()) {
      __m256i low = _mm256_set1_epi32(1), high = low;
      for (unsigned plane = 0; plane < width; ++plane) {
        const __m256i bits = _mm256_set1_epi32(static_cast<int>(planes.word(plane)));
        const __m256i value = _mm256_set1_epi32(static_cast<int>(1u << plane));
        const auto set = [&](__m256i of) __attribute__((always_inline, target("avx2,fma,bmi,bmi2,f16c"))) {
          return _mm256_and_si256(_mm256_cmpeq_epi32(_mm256_and_si256(bits, of), of), value);
        };
        low = _mm256_add_epi32(low, set(low_bits));
        high = _mm256_add_epi32(high, set(high_bits));
      }
      store8(values, low);
      store8(values + 8, high);
    }
  }
};

// GCC 12 takes the vectors that its own intrinsics leave undefined for variables that nobody has set.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
// Four groups at a time, as bytes: the eight planes of the lowest bytes of a group are a transposition of bits in each half of a
// lane, and so on for the next bytes.
struct Avx512Planes {
  static constexpr std::int64_t kAtOnce = 4; // groups

  CAIRN_AVX512 static std::int64_t gather(const std::uint32_t* values, std::int64_t count, std::uint32_t* const numbers,
                                          std::uint8_t* mask) {
    std::uint32_t* to = numbers;
    for (std::int64_t i = 0; i < count; i += kGroup) {
      const __m512i v = _mm512_loadu_si512(values + i);
      const __mmask16 m = _mm512_test_epi32_mask(v, v);
      _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(m, _mm512_add_epi32(v, _mm512_set1_epi32(-1))));
      to += std::popcount(static_cast<unsigned>(m));
      put_word(mask + i / 8, m);
    }
    _mm512_storeu_si512(to, _mm512_setzero_si512());
    return to - numbers;
  }
  CAIRN_AVX512 static void spread(const std::uint32_t* values, const std::uint8_t* mask, std::int64_t count, std::uint32_t* to) {
    for (std::int64_t i = 0; i < count; i += kGroup) {
      const unsigned m = word_at(mask + i / 8);
      _mm512_storeu_si512(to + i, _mm512_maskz_expand_epi32(static_cast<__mmask16>(m), _mm512_loadu_si512(values)));
      values += std::popcount(m);
    }
  }

  // Bit c of byte r of each eight bytes becomes bit r of byte c.
  CAIRN_AVX512 static __m512i turned(__m512i x) {
    const auto swapped = [](__m512i v, auto distance, std::int64_t of)
        __attribute__((always_inline, target("avx2,fma,bmi,bmi2,f16c,avx512f,avx512vl,avx512bw,avx512dq,avx512cd"))) {
      constexpr unsigned kBits = decltype(distance)::value;
      const __m512i changed =
          _mm512_ternarylogic_epi64(v, _mm512_srli_epi64(v, kBits), _mm512_set1_epi64(of), 0x28); // (a ^ b) & c
      return _mm512_ternarylogic_epi64(v, changed, _mm512_slli_epi64(changed, kBits), 0x96);      // a ^ b ^ c
    };
    x = swapped(x, std::integral_constant<unsigned, 7>(), 0x00AA00AA00AA00AA);
    x = swapped(x, std::integral_constant<unsigned, 14>(), 0x0000CCCC0000CCCC);
    return swapped(x, std::integral_constant<unsigned, 28>(), 0x00000000F0F0F0F0);
  }
  // The planes of the bytes `byte` of four groups, those of a group in a lane.
  CAIRN_AVX512 static __m512i planes_of(const __m512i (&v)[kAtOnce], unsigned byte) {
    const __m128i shift = _mm_cvtsi32_si128(static_cast<int>(8 * byte));
    const auto of = [&](unsigned group)
        __attribute__((always_inline, target("avx2,fma,bmi,bmi2,f16c,avx512f,avx512vl,avx512bw,avx512dq,avx512cd"))) {
      return _mm512_and_si512(_mm512_srl_epi32(v[group], shift), _mm512_set1_epi32(0xFF));
    };
    const __m512i bytes = _mm512_packus_epi16(_mm512_packus_epi32(of(0), of(1)), _mm512_packus_epi32(of(2), of(3)));
    const __m512i by_group = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i halves = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15));
    return _mm512_shuffle_epi8(turned(_mm512_permutexvar_epi32(by_group, bytes)), halves);
  }
  template <unsigned bytes>
  CAIRN_AVX512 static std::int64_t pack_bytes(const std::uint32_t* numbers, std::int64_t groups, unsigned width,
                                              std::uint64_t* fewer, std::uint8_t* to) {
    static_assert(kBehindPlanes >= 16 * bytes, "vectors are written as a whole");
    std::uint8_t* at = to;
    std::uint64_t all_fewer = 0;
    for (std::int64_t g = 0; g < groups; g += kAtOnce, numbers += kAtOnce * kGroup) {
      __m512i v[kAtOnce], planes[bytes];
      for (std::int64_t k = 0; k < kAtOnce; ++k) v[k] = _mm512_loadu_si512(numbers + k * kGroup);
      std::uint32_t present[bytes]; // a bit a plane, eight of each group
      for (unsigned b = 0; b < bytes; ++b) {
        planes[b] = planes_of(v, b);
        present[b] = _mm512_test_epi16_mask(planes[b], planes[b]);
      }
      alignas(64) std::uint8_t lanes[bytes][64];
      for (unsigned b = 0; b < bytes; ++b) _mm512_store_si512(lanes[b], planes[b]);
      for (std::int64_t k = 0; k < std::min(kAtOnce, groups - g); ++k) {
        std::uint32_t any = 0;
        for (unsigned b = 0; b < bytes; ++b) {
          std::memcpy(at + 16 * b, lanes[b] + 16 * k, 16);
          any |= (present[b] >> 8 * k & 0xFF) << 8 * b;
        }
        const unsigned empty = std::min(width - static_cast<unsigned>(std::bit_width(any)), kMostFewer);
        all_fewer |= std::uint64_t{empty} << 2 * (g + k);
        at += 2 * (width - empty);
      }
    }
    *fewer = all_fewer;
    return at - to;
  }
  CAIRN_AVX512 static std::int64_t pack(const std::uint32_t* numbers, std::int64_t groups, unsigned width, std::uint64_t* fewer,
                                        std::uint8_t* to) {
    if (width <= 8) return pack_bytes<1>(numbers, groups, width, fewer, to);
    if (width <= 16) return pack_bytes<2>(numbers, groups, width, fewer, to);
    return pack_bytes<4>(numbers, groups, width, fewer, to);
  }

  template <unsigned bytes>
  CAIRN_AVX512 static void unpack_bytes(const std::uint8_t* from, std::int64_t groups, unsigned width, std::uint64_t fewer,
                                        std::uint32_t* values) {
    const __m512i halves = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15));
    for (std::int64_t g = 0; g < groups; g += kAtOnce, values += kAtOnce * kGroup) {
      __m128i planes[kAtOnce][bytes] = {};
      for (std::int64_t k = 0; k < std::min(kAtOnce, groups - g); ++k, fewer >>= 2) {
        const unsigned present = width - static_cast<unsigned>(fewer & kMostFewer);
        const auto there = static_cast<std::uint32_t>((std::uint64_t{1} << present) - 1);
        for (unsigned b = 0; b < bytes; ++b) {
          const auto of_byte = static_cast<__mmask8>(there >> 8 * b);
          planes[k][b] = _mm_maskz_loadu_epi16(of_byte, from + 16 * b);
        }
        from += 2 * present;
      }
      alignas(64) std::uint8_t lanes[bytes][64];
      for (unsigned b = 0; b < bytes; ++b) {
        const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(planes[0][b]), planes[1][b], 1);
        const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(planes[2][b]), planes[3][b], 1);
        const __m512i of_byte = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
        _mm512_store_si512(lanes[b], turned(_mm512_shuffle_epi8(of_byte, halves)));
      }
      for (std::int64_t k = 0; k < kAtOnce; ++k) {
        __m512i v = _mm512_set1_epi32(1);
        for (unsigned b = 0; b < bytes; ++b) {
          const __m512i of_byte = _mm512_cvtepu8_epi32(_mm_load_si128(reinterpret_cast<const __m128i*>(lanes[b] + 16 * k)));
          v = _mm512_add_epi32(v, _mm512_slli_epi32(of_byte, 8 * b));
        }
        _mm512_storeu_si512(values + k * kGroup, v);
      }
    }
  }
  CAIRN_AVX512 static void unpack(const std::uint8_t* from, std::int64_t groups, unsigned width, std::uint64_t fewer,
                                  std::uint32_t* values) {
    if (width <= 8) return unpack_bytes<1>(from, groups, width, fewer, values);
    if (width <= 16) return unpack_bytes<2>(from, groups, width, fewer, values);
    return unpack_bytes<4>(from, groups, width, fewer, values);
  }
};
#pragma GCC diagnostic pop

#else

using Avx2Planes = AnyPlanes;
using Avx512Planes = AnyPlanes;

#endif

template <class P> constexpr Planes kPlanesOf = {P::gather, P::spread, P::pack, P::unpack};

} // namespace

Planes Planes::chosen() {
  return by_generation([]<Isa generation>() -> Planes { return kPlanesOf<Of<generation, AnyPlanes, Avx2Planes, Avx512Planes>>; });
}

} // namespace cairn::ops::cpu::lossy
