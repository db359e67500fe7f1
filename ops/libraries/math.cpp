// The module cairn_math: f32 and bf16 products by oneDNN, f64 by OpenBLAS. Both are held to the calling thread; Cairn's workers
// divide the work, so there is one set of threads, and none that spins.
#include "ops/libraries/math.h"

#include "ops/convert.h"
#include "ops/libraries/onednn.h"
#include "ops/libraries/room.h"

#include <cblas.h>
#include <dnnl.hpp>
#include <omp.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <vector>

namespace {

bool fits(const cairn_math_gemm& g) {
  for (const int64_t size : {g.m, g.n, g.k, g.lda, g.ldb, g.ldc})
    if (size <= 0 || size > INT_MAX) return false;
  return true;
}

int f32(const cairn_math_gemm& g) {
  return dnnl_sgemm(g.transpose_a != 0 ? 'T' : 'N', g.transpose_b != 0 ? 'T' : 'N', g.m, g.n, g.k, 1,
                    static_cast<const float*>(g.a), g.lda, static_cast<const float*>(g.b), g.ldb, 0, static_cast<float*>(g.c),
                    g.ldc) == dnnl_success
             ? 0
             : 1;
}

int f64(const cairn_math_gemm& g) {
  cblas_dgemm(CblasRowMajor, g.transpose_a != 0 ? CblasTrans : CblasNoTrans, g.transpose_b != 0 ? CblasTrans : CblasNoTrans,
              static_cast<int>(g.m), static_cast<int>(g.n), static_cast<int>(g.k), 1, static_cast<const double*>(g.a),
              static_cast<int>(g.lda), static_cast<const double*>(g.b), static_cast<int>(g.ldb), 0, static_cast<double*>(g.c),
              static_cast<int>(g.ldc));
  return 0;
}

// Sums are float, the result is rounded once. By the processor's own instructions:
void bf16_by_primitive(const cairn_math_gemm& g) {
  using dnnl::memory;
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  auto matrix = [](int64_t rows, int64_t columns, int64_t ld, bool transposed) {
    return memory::desc({rows, columns}, memory::data_type::bf16, transposed ? memory::dims{1, ld} : memory::dims{ld, 1});
  };
  const memory::desc a = matrix(g.m, g.k, g.lda, g.transpose_a != 0), b = matrix(g.k, g.n, g.ldb, g.transpose_b != 0),
                     c = matrix(g.m, g.n, g.ldc, false);
  const dnnl::matmul product(cairn::ops::math::describe<dnnl::matmul>(engine, dnnl::primitive_attr(), a, b, c));
  dnnl::stream stream(engine);
  product.execute(stream, {{DNNL_ARG_SRC, memory(a, engine, const_cast<void*>(g.a))},
                           {DNNL_ARG_WEIGHTS, memory(b, engine, const_cast<void*>(g.b))},
                           {DNNL_ARG_DST, memory(c, engine, g.c)}});
  stream.wait();
}

// A part of a matrix of bf16 as floats, in the order in which it lies.
class Widened {
public:
  void take(const void* matrix, int64_t ld, bool transposed, int64_t row, int64_t column, int64_t rows, int64_t columns) {
    const auto* from = static_cast<const uint16_t*>(matrix) + (transposed ? column * ld + row : row * ld + column);
    const int64_t outer = transposed ? columns : rows;
    inner = transposed ? rows : columns;
    floats.resize(static_cast<std::size_t>(outer * inner));
    for (int64_t i = 0; i < outer; ++i)
      for (int64_t j = 0; j < inner; ++j) {
        const uint32_t bits = static_cast<uint32_t>(from[i * ld + j]) << 16;
        std::memcpy(&floats[static_cast<std::size_t>(i * inner + j)], &bits, sizeof bits);
      }
  }
  std::vector<float> floats;
  int64_t inner = 0; // elements of a row as it lies
};

// Where it has none, block by block in float.
void bf16_by_floats(const cairn_math_gemm& g) {
  constexpr int64_t kRows = 256, kColumns = 512;
  Widened a, b;
  std::vector<float> c(static_cast<std::size_t>(std::min(kRows, g.m) * std::min(kColumns, g.n)));
  const bool turned_a = g.transpose_a != 0, turned_b = g.transpose_b != 0;
  for (int64_t j = 0; j < g.n; j += kColumns) {
    const int64_t n = std::min(kColumns, g.n - j);
    b.take(g.b, g.ldb, turned_b, 0, j, g.k, n);
    for (int64_t i = 0; i < g.m; i += kRows) {
      const int64_t m = std::min(kRows, g.m - i);
      a.take(g.a, g.lda, turned_a, i, 0, m, g.k);
      dnnl::sgemm(turned_a ? 'T' : 'N', turned_b ? 'T' : 'N', m, n, g.k, 1, a.floats.data(), a.inner, b.floats.data(), b.inner, 0,
                  c.data(), n);
      for (int64_t row = 0; row < m; ++row)
        for (int64_t column = 0; column < n; ++column)
          static_cast<uint16_t*>(g.c)[(i + row) * g.ldc + j + column] =
              cairn::ops::rounded(c[static_cast<std::size_t>(row * n + column)]).bits;
    }
  }
}

int bf16(const cairn_math_gemm& g) {
  static const bool native = [] {
    const dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
    return isa == dnnl::cpu_isa::avx512_core_bf16 || isa == dnnl::cpu_isa::avx512_core_amx;
  }();
  if (native)
    bf16_by_primitive(g);
  else
    bf16_by_floats(g);
  return 0;
}

int gemm(const cairn_math_gemm* call) {
  if (!fits(*call)) return 1;
  const cairn::ops::math::Room room;
  if (!room) return 1;
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

constexpr cairn_math kMath = {CAIRN_MATH_VERSION, gemm, cairn_math_scratch_bytes, cairn_math_convolve, cairn_math_arranged_bytes, cairn_math_arrange};

} // namespace

extern "C" __attribute__((visibility("default"))) const cairn_math* cairn_math_open() {
  openblas_set_num_threads(1);
  return &kMath;
}
