// See states.h. Each function twice, for any processor and as vectors; they give the same words and tokens.
#include "ops/cpu/lossy/states.h"

#include "ops/cpu/lossy/contexts.h"
#include "ops/cpu/lossy/orders.h"

#include <algorithm>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace cairn::ops::cpu::lossy {

namespace {

CAIRN_INLINE void put_symbol(const Put& p, std::uint32_t& state, std::uint16_t*& words) {
  std::uint32_t x = state;
  if (x > p.last) {
    *--words = static_cast<std::uint16_t>(x);
    x >>= 16;
  }
  const auto quotient = static_cast<std::uint32_t>(std::uint64_t{x} * p.inverse >> 32 >> p.shift);
  state = x + p.added + quotient * p.rest;
}

// Of damaged bytes a state may be any number: those with the upper bit are taken for small ones, as vectors do.
CAIRN_INLINE std::uint8_t take_token(const Decoding& d, unsigned context, std::uint32_t& state, const std::uint8_t*& words) {
  const Takes take = d.takes[context << kScaleBits | (state & (kScale - 1))];
  state = (take >> 20) * (state >> kScaleBits) + (take >> 8 & 0xFFF);
  if (static_cast<std::int32_t>(state) < static_cast<std::int32_t>(kLeastState) && words != d.end) {
    std::uint16_t word;
    std::memcpy(&word, words, sizeof word);
    words += sizeof word;
    state = state << 16 | word;
  }
  return static_cast<std::uint8_t>(take);
}

// The last ones, that are no whole turn of the lanes; how many are left before them.
CAIRN_INLINE std::int64_t code_rest(const Coding& c, std::uint32_t* x, std::uint16_t*& words) {
  std::int64_t i = c.count;
  while (i % kLanes != 0) {
    --i;
    put_symbol(c.puts[c.symbols[i]], x[i % kLanes], words);
  }
  return i;
}

struct AnyStates {
  static void code(Coding& c) {
    std::fill_n(c.states, kLanes, kLeastState);
    std::int64_t i = code_rest(c, c.states, c.words);
    while (i-- != 0) put_symbol(c.puts[c.symbols[i]], c.states[i % kLanes], c.words);
  }
  static void decode(Decoding& d, std::uint8_t* tokens, std::int64_t count) { decode_from(d, tokens, 0, count); }
  static void decode_from(Decoding& d, std::uint8_t* tokens, std::int64_t i, std::int64_t count) {
    for (; i < count; i += kTogether) {
      std::uint8_t contexts[kTogether];
      find_contexts(tokens + i, d.distances.near, d.distances.far, contexts);
      for (std::int64_t k = 0; k < std::min(kTogether, count - i); ++k)
        tokens[i + k] = take_token(d, contexts[k], d.states[k % kLanes], d.words);
    }
  }
};

#if defined(__x86_64__)

static_assert(kLanes == 32 && kLanes == kTogether, "four vectors of eight: one waits while the others work");

struct Avx2States {
  CAIRN_AVX2 static __m256i load8(const std::uint32_t* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  }
  CAIRN_AVX2 static void store8(std::uint32_t* to, __m256i v) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), v); }
  CAIRN_AVX2 static __m256i order(std::uint64_t bytes) {
    return _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<long long>(bytes)));
  }
  CAIRN_AVX2 static __m256i pair(const Put& low, const Put& high) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(&low))),
                                   _mm_loadu_si128(reinterpret_cast<const __m128i*>(&high)), 1);
  }
  CAIRN_AVX2 static unsigned mask_of(__m256i lanes) {
    return static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(lanes)));
  }

  // Eight symbols.
  CAIRN_AVX2 static void put(const Put* puts, const std::uint16_t* symbols, __m256i& x, std::uint16_t*& words) {
    const auto of = [=](unsigned lane) -> const Put& { return puts[symbols[lane]]; };
    const __m256i p0 = pair(of(0), of(4)), p1 = pair(of(1), of(5)), p2 = pair(of(2), of(6)), p3 = pair(of(3), of(7));
    const __m256i front01 = _mm256_unpacklo_epi32(p0, p1), front23 = _mm256_unpacklo_epi32(p2, p3);
    const __m256i back01 = _mm256_unpackhi_epi32(p0, p1), back23 = _mm256_unpackhi_epi32(p2, p3);
    const __m256i last = _mm256_unpacklo_epi64(front01, front23), inverse = _mm256_unpackhi_epi64(front01, front23);
    const __m256i added = _mm256_unpacklo_epi64(back01, back23), two = _mm256_unpackhi_epi64(back01, back23);
    const __m256i gives = _mm256_cmpgt_epi32(x, last); // states are below 2^31
    const unsigned mask = mask_of(gives);
    const __m256i given = _mm256_permutevar8x32_epi32(_mm256_and_si256(x, _mm256_set1_epi32(0xFFFF)), order(kOrders.last[mask]));
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(given, given), 0x08);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(words - 8), _mm256_castsi256_si128(packed));
    words -= std::popcount(mask);
    x = _mm256_blendv_epi8(x, _mm256_srli_epi32(x, 16), gives);
    const __m256i even = _mm256_srli_epi64(_mm256_mul_epu32(x, inverse), 32);
    const __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(x, 32), _mm256_srli_epi64(inverse, 32));
    const __m256i quotient = _mm256_srlv_epi32(_mm256_blend_epi32(even, odd, 0xAA), _mm256_srli_epi32(two, 16));
    const __m256i rest = _mm256_and_si256(two, _mm256_set1_epi32(0xFFFF));
    x = _mm256_add_epi32(_mm256_add_epi32(x, added), _mm256_mullo_epi32(quotient, rest));
  }
  CAIRN_AVX2 static void code(Coding& c) {
    std::fill_n(c.states, kLanes, kLeastState);
    std::uint16_t* words = c.words;
    std::int64_t i = code_rest(c, c.states, words);
    __m256i x[4];
    for (int k = 0; k < 4; ++k) x[k] = load8(c.states + 8 * k);
    while (i != 0) {
      i -= kLanes;
      for (int k = 3; k >= 0; --k) put(c.puts, c.symbols + i + 8 * k, x[k], words);
    }
    for (int k = 0; k < 4; ++k) store8(c.states + 8 * k, x[k]);
    c.words = words;
  }

  // Eight tokens, each in the lowest byte of a lane, where as many words are left.
  CAIRN_AVX2 static __m256i take(const Takes* takes, const std::uint8_t* contexts, __m256i& x, const std::uint8_t*& words) {
    const __m256i context = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(contexts)));
    const __m256i place = _mm256_or_si256(_mm256_slli_epi32(context, static_cast<int>(kScaleBits)),
                                          _mm256_and_si256(x, _mm256_set1_epi32(static_cast<int>(kScale - 1))));
    const __m256i take = _mm256_i32gather_epi32(reinterpret_cast<const int*>(takes), place, 4);
    const __m256i behind = _mm256_and_si256(_mm256_srli_epi32(take, 8), _mm256_set1_epi32(0xFFF));
    x = _mm256_mullo_epi32(_mm256_srli_epi32(take, 20), _mm256_srli_epi32(x, static_cast<int>(kScaleBits)));
    x = _mm256_add_epi32(x, behind);
    const __m256i wants = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(kLeastState)), x);
    const unsigned mask = mask_of(wants);
    const __m256i next = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(words)));
    const __m256i word = _mm256_permutevar8x32_epi32(next, order(kOrders.spread[mask]));
    x = _mm256_blendv_epi8(x, _mm256_or_si256(_mm256_slli_epi32(x, 16), word), wants);
    words += 2 * std::popcount(mask);
    return _mm256_and_si256(take, _mm256_set1_epi32(0xFF));
  }
  CAIRN_AVX2 static void decode(Decoding& d, std::uint8_t* tokens, std::int64_t count) {
    std::int64_t i = 0;
    const std::uint8_t* words = d.words;
    __m256i x[4];
    for (int k = 0; k < 4; ++k) x[k] = load8(d.states + 8 * k);
    // Tokens are written as one vector: as the neighbours of others they are read as one soon after.
    const __m256i in_order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    for (; count - i >= kTogether && d.end - words >= 2 * kTogether; i += kTogether) {
      alignas(32) std::uint8_t contexts[kTogether];
      find_contexts(tokens + i, d.distances.near, d.distances.far, contexts);
      __m256i found[4];
      for (int k = 0; k < 4; ++k) found[k] = take(d.takes, contexts + 8 * k, x[k], words);
      const __m256i bytes = _mm256_packus_epi16(_mm256_packus_epi32(found[0], found[1]), _mm256_packus_epi32(found[2], found[3]));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(tokens + i), _mm256_permutevar8x32_epi32(bytes, in_order));
    }
    for (int k = 0; k < 4; ++k) store8(d.states + 8 * k, x[k]);
    d.words = words;
    AnyStates::decode_from(d, tokens, i, count);
  }
};

#else

using Avx2States = AnyStates;

#endif

} // namespace

States States::chosen() {
  return by_generation([]<Isa generation>() -> States {
    using Chosen = Of<generation, AnyStates, Avx2States, Avx2States>;
    return {Chosen::code, Chosen::decode};
  });
}

} // namespace cairn::ops::cpu::lossy
