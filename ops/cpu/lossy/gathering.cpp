// See gathering.h.
#include "ops/cpu/lossy/gathering.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace cairn::ops::cpu::lossy {

#if defined(__x86_64__)

namespace {

// GCC 12 takes the vectors that its own intrinsics leave undefined for variables that nobody has set.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
template <bool is_signed>
CAIRN_AVX512 std::int64_t gather_vectors(const float* x, std::int64_t count, const ToSteps<float>* how,
                                         std::uint32_t* const numbers, std::uint8_t* mask, Stepped* out) {
  const __m512 step = _mm512_set1_ps(how->steps.step), inverse = _mm512_set1_ps(how->steps.inverse);
  const __m512 shift = _mm512_set1_ps(kShift<float>), middle = _mm512_set1_ps(1.5f);
  const std::uint32_t *const some = how->dither.some, *const others = how->dither.others;
  const __m512i flipped = _mm512_set1_epi32(static_cast<int>(how->dither.flipped));
  const __m512i least = _mm512_set1_epi32(static_cast<int>(kLeastNormal<float>));
  __m512i all = _mm512_setzero_si512();
  __m512 error = _mm512_setzero_ps();
  std::uint32_t* to = numbers;
  for (std::int64_t i = 0; i < count; i += kGroup) {
    const __m512 v = _mm512_loadu_ps(x + i);
    const __m512i bits =
        _mm512_ternarylogic_epi32(_mm512_loadu_si512(some + i), flipped, _mm512_loadu_si512(others + i), 0x96); // a ^ b ^ c
    const __m512 d = _mm512_sub_ps(_mm512_castsi512_ps(bits), middle);
    const __m512 shifted = _mm512_add_ps(_mm512_sub_ps(_mm512_mul_ps(v, inverse), d), shift);
    const __m512 back = _mm512_mul_ps(_mm512_add_ps(_mm512_sub_ps(shifted, shift), d), step);
    error = _mm512_range_ps(error, _mm512_sub_ps(v, back), 0b1011); // the larger magnitude
    __m512i number = _mm512_sub_epi32(_mm512_castps_si512(shifted), _mm512_castps_si512(shift)),
            magnitude = _mm512_castps_si512(v);
    if constexpr (is_signed) {
      number = _mm512_xor_si512(_mm512_slli_epi32(number, 1), _mm512_srai_epi32(number, 31));
      magnitude = _mm512_and_si512(magnitude, _mm512_set1_epi32(0x7FFFFFFF));
    }
    const __mmask16 is = _mm512_cmpge_epi32_mask(magnitude, least);
    const __m512i kept = _mm512_maskz_compress_epi32(is, number);
    all = _mm512_or_si512(all, kept);
    _mm512_storeu_si512(to, kept);
    to += std::popcount(static_cast<unsigned>(is));
    const auto word = static_cast<std::uint16_t>(is);
    std::memcpy(mask + i / 8, &word, sizeof word);
  }
  _mm512_storeu_si512(to, _mm512_setzero_si512());
  out->all = static_cast<std::uint32_t>(_mm512_reduce_or_epi32(all));
  out->wrong = !(_mm512_reduce_max_ps(error) < how->below);
  return to - numbers;
}
#pragma GCC diagnostic pop

} // namespace

GatherSteps gather_steps(bool is_signed) {
  return by_generation([=]<Isa generation>() -> GatherSteps {
    if constexpr (generation == Isa::avx512)
      return is_signed ? gather_vectors<true> : gather_vectors<false>;
    else
      return nullptr;
  });
}

#else

GatherSteps gather_steps(bool) { return nullptr; }

#endif

} // namespace cairn::ops::cpu::lossy
