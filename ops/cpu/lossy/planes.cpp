// See planes.h. Each function three times, for the generations of processors; they give the same bytes.
#include "ops/cpu/lossy/planes.h"

#include "ops/cpu/loops/isa.h"
#include "ops/cpu/lossy/encoding.h"
#include "ops/cpu/lossy/orders.h"

#include <algorithm>
#include <bit>
#include <cstring>

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
  // Of eight flags the i-th is moved to bit 56 + i of the product.
  static void mask_of(const std::uint8_t* flags, std::int64_t count, std::uint8_t* mask) {
    for (std::int64_t i = 0; i < count; i += 8) {
      std::uint64_t word;
      std::memcpy(&word, flags + i, sizeof word);
      mask[i / 8] = static_cast<std::uint8_t>(word * 0x0102040810204080u >> 56);
    }
  }
  static std::int64_t gather(const std::uint32_t* numbers, const std::uint8_t* mask, std::int64_t count, std::uint32_t* to) {
    std::int64_t n = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      to[n] = numbers[i];
      n += mask[i / 8] >> i % 8 & 1;
    }
    std::fill_n(to + n, kGroup, 0u);
    return n;
  }
  static void spread(const std::uint32_t* numbers, const std::uint8_t* mask, std::int64_t count, std::uint32_t* to) {
    for (std::int64_t i = 0; i < count; ++i) {
      to[i] = *numbers;
      numbers += mask[i / 8] >> i % 8 & 1;
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
  static void unpack(const std::uint8_t* from, std::int64_t groups, unsigned width, std::uint64_t fewer, std::uint32_t* numbers) {
    Unpacked planes{from, width, fewer};
    for (std::int64_t g = 0; g < groups; ++g, numbers += kGroup, planes.next()) {
      std::fill_n(numbers, kGroup, 0u);
      for (unsigned plane = 0; plane < width; ++plane) {
        const unsigned bits = planes.word(plane);
        for (unsigned i = 0; i < kGroup; ++i) numbers[i] |= (bits >> i & 1) << plane;
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

  CAIRN_AVX2 static void mask_of(const std::uint8_t* flags, std::int64_t count, std::uint8_t* mask) {
    for (std::int64_t i = 0; i < count; i += kGroup) {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(flags + i));
      put_word(mask + i / 8, static_cast<unsigned>(_mm_movemask_epi8(_mm_slli_epi16(bytes, 7))));
    }
  }
  CAIRN_AVX2 static std::int64_t gather(const std::uint32_t* numbers, const std::uint8_t* mask, std::int64_t count,
                                        std::uint32_t* to) {
    std::int64_t n = 0;
    for (std::int64_t i = 0; i < count; i += 8) {
      const unsigned m = mask[i / 8];
      store8(to + n, _mm256_permutevar8x32_epi32(load8(numbers + i), order(kOrders.gathered[m])));
      n += std::popcount(m);
    }
    std::fill_n(to + n, kGroup, 0u);
    return n;
  }
  CAIRN_AVX2 static void spread(const std::uint32_t* numbers, const std::uint8_t* mask, std::int64_t count, std::uint32_t* to) {
    for (std::int64_t i = 0; i < count; i += 8) {
      const unsigned m = mask[i / 8];
      store8(to + i, _mm256_permutevar8x32_epi32(load8(numbers), order(kOrders.spread[m])));
      numbers += std::popcount(m);
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
                                std::uint32_t* numbers) {
    const __m256i low_bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128), high_bits = _mm256_slli_epi32(low_bits, 8);
    Unpacked planes{from, width, fewer};
    for (std::int64_t g = 0; g < groups; ++g, numbers += kGroup, planes.next()) {
      __m256i low = _mm256_setzero_si256(), high = low;
      for (unsigned plane = 0; plane < width; ++plane) {
        const __m256i bits = _mm256_set1_epi32(static_cast<int>(planes.word(plane)));
        const __m256i value = _mm256_set1_epi32(static_cast<int>(1u << plane));
        const auto set = [&](__m256i of) __attribute__((always_inline, target("avx2,fma,bmi,bmi2,f16c"))) {
          return _mm256_and_si256(_mm256_cmpeq_epi32(_mm256_and_si256(bits, of), of), value);
        };
        low = _mm256_or_si256(low, set(low_bits));
        high = _mm256_or_si256(high, set(high_bits));
      }
      store8(numbers, low);
      store8(numbers + 8, high);
    }
  }
};

struct Avx512Planes {
  CAIRN_AVX512 static void mask_of(const std::uint8_t* flags, std::int64_t count, std::uint8_t* mask) {
    for (std::int64_t i = 0; i < count; i += kGroup) {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(flags + i));
      put_word(mask + i / 8, _mm_test_epi8_mask(bytes, bytes));
    }
  }
  CAIRN_AVX512 static std::int64_t gather(const std::uint32_t* numbers, const std::uint8_t* mask, std::int64_t count,
                                          std::uint32_t* to) {
    std::int64_t n = 0;
    for (std::int64_t i = 0; i < count; i += kGroup) {
      const unsigned m = word_at(mask + i / 8);
      _mm512_storeu_si512(to + n, _mm512_maskz_compress_epi32(static_cast<__mmask16>(m), _mm512_loadu_si512(numbers + i)));
      n += std::popcount(m);
    }
    _mm512_storeu_si512(to + n, _mm512_setzero_si512());
    return n;
  }
  CAIRN_AVX512 static void spread(const std::uint32_t* numbers, const std::uint8_t* mask, std::int64_t count, std::uint32_t* to) {
    for (std::int64_t i = 0; i < count; i += kGroup) {
      const unsigned m = word_at(mask + i / 8);
      _mm512_storeu_si512(to + i, _mm512_maskz_expand_epi32(static_cast<__mmask16>(m), _mm512_loadu_si512(numbers)));
      numbers += std::popcount(m);
    }
  }
  CAIRN_AVX512 static std::int64_t pack(const std::uint32_t* numbers, std::int64_t groups, unsigned width, std::uint64_t* fewer,
                                        std::uint8_t* to) {
    Packed packed{width, to};
    for (std::int64_t g = 0; g < groups; ++g, numbers += kGroup, packed.next()) {
      const __m512i v = _mm512_loadu_si512(numbers);
      __m512i bit = _mm512_set1_epi32(1);
      for (unsigned plane = 0; plane < width; ++plane) {
        put_word(packed.at + 2 * plane, _mm512_test_epi32_mask(v, bit));
        bit = _mm512_add_epi32(bit, bit);
      }
    }
    *fewer = packed.fewer;
    return packed.at - to;
  }
  CAIRN_AVX512 static void unpack(const std::uint8_t* from, std::int64_t groups, unsigned width, std::uint64_t fewer,
                                  std::uint32_t* numbers) {
    Unpacked planes{from, width, fewer};
    for (std::int64_t g = 0; g < groups; ++g, numbers += kGroup, planes.next()) {
      __m512i v = _mm512_setzero_si512(), bit = _mm512_set1_epi32(1);
      for (unsigned plane = 0; plane < width; ++plane) {
        v = _mm512_mask_or_epi32(v, static_cast<__mmask16>(planes.word(plane)), v, bit);
        bit = _mm512_add_epi32(bit, bit);
      }
      _mm512_storeu_si512(numbers, v);
    }
  }
};

#else

using Avx2Planes = AnyPlanes;
using Avx512Planes = AnyPlanes;

#endif

template <class P> constexpr Planes kPlanesOf = {P::mask_of, P::gather, P::spread, P::pack, P::unpack};

} // namespace

Planes Planes::chosen() {
  return by_generation([]<Isa generation>() -> Planes { return kPlanesOf<Of<generation, AnyPlanes, Avx2Planes, Avx512Planes>>; });
}

} // namespace cairn::ops::cpu::lossy
