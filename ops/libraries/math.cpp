// The module cairn_math: f32 and bf16 products by oneDNN, f64 by OpenBLAS. Both are held to the calling thread; Cairn's workers
// divide the work, so there is one set of threads, and none that spins.
#include "ops/libraries/math.h"

#include "ops/convert.h"
#include "ops/libraries/room.h"

#include <cblas.h>
#include <dnnl.hpp>
#include <omp.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>

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

// bf16: sums are float, the result is rounded once. By the processor's own instructions:
bool has_bf16() {
  static const bool native = [] {
    const dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
    return isa == dnnl::cpu_isa::avx512_core_bf16 || isa == dnnl::cpu_isa::avx512_core_amx;
  }();
  return native;
}

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

// Of calls of one shape, whose library's own scratchpad is lent by the caller.
struct Product {
  std::array<int64_t, 8> shape{};
  dnnl::memory::desc a, b, c, scratchpad;
  dnnl::matmul matmul;
};

// Each call is asked about twice, and calls come in rows of one shape.
const Product& product_of(const cairn_math_gemm& g) {
  using dnnl::memory;
  static thread_local Product last;
  const std::array<int64_t, 8> shape{g.m, g.n, g.k, g.lda, g.ldb, g.ldc, g.transpose_a, g.transpose_b};
  if (last.shape == shape) return last;
  auto matrix = [](int64_t rows, int64_t columns, int64_t ld, bool transposed) {
    return memory::desc({rows, columns}, memory::data_type::bf16, transposed ? memory::dims{1, ld} : memory::dims{ld, 1});
  };
  Product p;
  p.a = matrix(g.m, g.k, g.lda, g.transpose_a != 0);
  p.b = matrix(g.k, g.n, g.ldb, g.transpose_b != 0);
  p.c = matrix(g.m, g.n, g.ldc, false);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const dnnl::matmul::primitive_desc description(dnnl::matmul::desc(p.a, p.b, p.c), attributes, engine());
  p.scratchpad = description.scratchpad_desc();
  p.matmul = dnnl::matmul(description);
  p.shape = shape;
  return last = std::move(p);
}

void bf16_by_primitive(const cairn_math_gemm& g) {
  using dnnl::memory;
  const Product& p = product_of(g);
  dnnl::stream stream(engine());
  p.matmul.execute(stream, {{DNNL_ARG_SRC, memory(p.a, engine(), const_cast<void*>(g.a))},
                            {DNNL_ARG_WEIGHTS, memory(p.b, engine(), const_cast<void*>(g.b))},
                            {DNNL_ARG_DST, memory(p.c, engine(), g.c)},
                            {DNNL_ARG_SCRATCHPAD, memory(p.scratchpad, engine(), g.scratch)}});
  stream.wait();
}

// Where it has none, block by block in float: blocks of the operands, each as it lies, and one of the result.
struct Blocks {
  static constexpr int64_t kRows = 256, kColumns = 512;
  explicit Blocks(const cairn_math_gemm& g)
      : a(static_cast<float*>(g.scratch)), b(a + std::min(kRows, g.m) * g.k), c(b + g.k * std::min(kColumns, g.n)) {}
  static int64_t bytes(const cairn_math_gemm& g) {
    const int64_t rows = std::min(kRows, g.m), columns = std::min(kColumns, g.n);
    return static_cast<int64_t>(sizeof(float)) * (rows * g.k + g.k * columns + rows * columns);
  }
  float *a, *b, *c;
};

// A part of a matrix of bf16, in the order in which it lies. The elements of a row.
int64_t widen(float* to, const void* matrix, int64_t ld, bool transposed, int64_t row, int64_t column, int64_t rows,
              int64_t columns) {
  const auto* from = static_cast<const uint16_t*>(matrix) + (transposed ? column * ld + row : row * ld + column);
  const int64_t outer = transposed ? columns : rows, inner = transposed ? rows : columns;
  for (int64_t i = 0; i < outer; ++i)
    for (int64_t j = 0; j < inner; ++j) {
      const uint32_t bits = static_cast<uint32_t>(from[i * ld + j]) << 16;
      std::memcpy(&to[i * inner + j], &bits, sizeof bits);
    }
  return inner;
}

void bf16_by_floats(const cairn_math_gemm& g) {
  const Blocks blocks(g);
  const bool turned_a = g.transpose_a != 0, turned_b = g.transpose_b != 0;
  for (int64_t j = 0; j < g.n; j += Blocks::kColumns) {
    const int64_t n = std::min(Blocks::kColumns, g.n - j);
    const int64_t inner_b = widen(blocks.b, g.b, g.ldb, turned_b, 0, j, g.k, n);
    for (int64_t i = 0; i < g.m; i += Blocks::kRows) {
      const int64_t m = std::min(Blocks::kRows, g.m - i);
      const int64_t inner_a = widen(blocks.a, g.a, g.lda, turned_a, i, 0, m, g.k);
      dnnl::sgemm(turned_a ? 'T' : 'N', turned_b ? 'T' : 'N', m, n, g.k, 1, blocks.a, inner_a, blocks.b, inner_b, 0, blocks.c, n);
      for (int64_t row = 0; row < m; ++row)
        for (int64_t column = 0; column < n; ++column)
          static_cast<uint16_t*>(g.c)[(i + row) * g.ldc + j + column] = cairn::ops::rounded(blocks.c[row * n + column]).bits;
    }
  }
}

int bf16(const cairn_math_gemm& g) {
  if (has_bf16())
    bf16_by_primitive(g);
  else
    bf16_by_floats(g);
  return 0;
}

int64_t gemm_scratch_bytes(const cairn_math_gemm* call) {
  if (call->type != CAIRN_MATH_BF16 || !fits(*call)) return 0;
  const cairn::ops::math::Room room;
  if (!room) return 0; // which `gemm` will find too
  omp_set_num_threads(1); // of this thread alone, when the primitive is made
  try {
    return has_bf16() ? static_cast<int64_t>(product_of(*call).scratchpad.get_size()) : Blocks::bytes(*call);
  } catch (...) { // not on this processor, which `gemm` will say
    return 0;
  }
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

constexpr cairn_math kMath = {CAIRN_MATH_VERSION,   gemm, gemm_scratch_bytes, cairn_math_scratch_bytes,
                              cairn_math_convolve, cairn_math_arranged_bytes, cairn_math_arrange};

} // namespace

extern "C" __attribute__((visibility("default"))) const cairn_math* cairn_math_open() {
  openblas_set_num_threads(1);
  return &kMath;
}
