// The module cairn_math: f32 and bf16 products by oneDNN, f64, and f32 where oneDNN is slow, by OpenBLAS. Both are held to the
// calling thread; Cairn's workers divide the work, so there is one set of threads, which spin for a moment only.
#include "ops/libraries/math.h"

#include "ops/libraries/headroom.h"
#include "ops/libraries/onednn.h"

#include <cblas.h>
#include <dnnl.hpp>
#include <omp.h>

#include <climits>

namespace {

bool fits(const cairn_math_gemm& g) {
  for (const int64_t size : {g.m, g.n, g.k, g.lda, g.ldb, g.ldc})
    if (size <= 0 || size > INT_MAX) return false;
  return true;
}

// Without AVX-512, oneDNN reads the right matrix where it lies unless both sides of the result are long. Rows at multiples of the
// first cache's 4 KiB, which all fall into the same few lines of it, take it two and a half times as long then (32 instead of 84
// GFLOP/s for 192 x 1,024 x 768 on a Zen 2); where they are columns of the product, it takes a tenth longer, but for few of them.
// OpenBLAS packs what it multiplies. A matter of shapes and of the processor's kind alone.
bool rows_collide(const cairn_math_gemm& g) {
  constexpr int64_t kCollide = 4096 / sizeof(float), kLeastRows = 4, kLeastDepth = 32, kLeastColumns = 64;
  constexpr auto kWide = static_cast<unsigned>(dnnl::cpu_isa::avx512_core);
  static const bool wide = (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & kWide) == kWide;
  return !wide && g.ldb % kCollide == 0 && g.m >= kLeastRows && g.k >= kLeastDepth &&
         (g.transpose_b == 0 || g.n >= kLeastColumns);
}

int f32(const cairn_math_gemm& g) {
  if (rows_collide(g)) {
    cblas_sgemm(CblasRowMajor, g.transpose_a != 0 ? CblasTrans : CblasNoTrans, g.transpose_b != 0 ? CblasTrans : CblasNoTrans,
                static_cast<int>(g.m), static_cast<int>(g.n), static_cast<int>(g.k), 1, static_cast<const float*>(g.a),
                static_cast<int>(g.lda), static_cast<const float*>(g.b), static_cast<int>(g.ldb), g.adds != 0 ? 1.F : 0.F,
                static_cast<float*>(g.c), static_cast<int>(g.ldc));
    return 0;
  }
  return dnnl_sgemm(g.transpose_a != 0 ? 'T' : 'N', g.transpose_b != 0 ? 'T' : 'N', g.m, g.n, g.k, 1,
                    static_cast<const float*>(g.a), g.lda, static_cast<const float*>(g.b), g.ldb, g.adds != 0 ? 1.F : 0.F,
                    static_cast<float*>(g.c), g.ldc) == dnnl_success
             ? 0
             : 1;
}

int f64(const cairn_math_gemm& g) {
  cblas_dgemm(CblasRowMajor, g.transpose_a != 0 ? CblasTrans : CblasNoTrans, g.transpose_b != 0 ? CblasTrans : CblasNoTrans,
              static_cast<int>(g.m), static_cast<int>(g.n), static_cast<int>(g.k), 1, static_cast<const double*>(g.a),
              static_cast<int>(g.lda), static_cast<const double*>(g.b), static_cast<int>(g.ldb), g.adds != 0 ? 1 : 0,
              static_cast<double*>(g.c), static_cast<int>(g.ldc));
  return 0;
}

int has_bf16() {
  const dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
  return isa == dnnl::cpu_isa::avx512_core_bf16 || isa == dnnl::cpu_isa::avx512_core_amx ? 1 : 0;
}

// Sums are float, the result is rounded once. Primitives are few enough to come from the library's own store of them.
int bf16(const cairn_math_gemm& g) {
  using dnnl::memory;
  if (has_bf16() == 0 || g.adds != 0) return 1;
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  auto matrix = [](int64_t rows, int64_t columns, int64_t ld, bool transposed) {
    return memory::desc({rows, columns}, memory::data_type::bf16, transposed ? memory::dims{1, ld} : memory::dims{ld, 1});
  };
  const memory::desc a = matrix(g.m, g.k, g.lda, g.transpose_a != 0), b = matrix(g.k, g.n, g.ldb, g.transpose_b != 0),
                     c = matrix(g.m, g.n, g.ldc, false);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const dnnl::matmul::primitive_desc description = cairn::ops::math::describe<dnnl::matmul>(engine, attributes, a, b, c);
  const memory::desc beside = description.scratchpad_desc();
  const auto bytes = static_cast<int64_t>(beside.get_size());
  void* const scratch = bytes != 0 ? g.lend(g.lender, bytes) : nullptr;
  if (bytes != 0 && scratch == nullptr) return 1;
  dnnl::stream stream(engine);
  dnnl::matmul(description)
      .execute(stream, {{DNNL_ARG_SRC, memory(a, engine, const_cast<void*>(g.a))},
                        {DNNL_ARG_WEIGHTS, memory(b, engine, const_cast<void*>(g.b))},
                        {DNNL_ARG_DST, memory(c, engine, g.c)},
                        {DNNL_ARG_SCRATCHPAD, memory(beside, engine, scratch)}});
  stream.wait();
  return 0;
}

int gemm(const cairn_math_gemm* call) {
  if (!fits(*call)) return 1;
  const cairn::ops::math::Headroom headroom;
  if (!headroom) return 1;
  omp_set_num_threads(1); // of this thread alone
  try {
    switch (call->type) {
    case CAIRN_MATH_F32:
      return f32(*call);
    case CAIRN_MATH_F64:
      return f64(*call);
    case CAIRN_MATH_BF16:
      return bf16(*call);
    }
  } catch (...) { // not on this processor
  }
  return 1;
}

constexpr cairn_math kMath = {CAIRN_MATH_VERSION,
                              gemm,
                              has_bf16,
                              cairn_math_scratch_bytes,
                              cairn_math_convolve,
                              cairn_math_arranged_bytes,
                              cairn_math_same_order,
                              cairn_math_arrange};

} // namespace

extern "C" __attribute__((visibility("default"))) const cairn_math* cairn_math_open() {
  openblas_set_num_threads(1);
  return &kMath;
}
