/* What the module cairn_math gives: products of matrices from oneDNN and OpenBLAS, convolutions. It is loaded when the first
   large one is asked for, because loading these libraries takes longer than most programs run, and Cairn works without it. Only
   these headers are shared; both sides check the version. */
#ifndef CAIRN_OPS_LIBRARIES_MATH_H
#define CAIRN_OPS_LIBRARIES_MATH_H

#include "ops/libraries/convolution.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* CAIRN_MATH_VERSION is a digest of this header and convolution.h, which the build defines for both sides. */

typedef enum cairn_math_type { CAIRN_MATH_F32, CAIRN_MATH_F64, CAIRN_MATH_BF16 } cairn_math_type;

/* c [m, n] = a [m, k] b [k, n], all row-major with rows `ld` elements apart; a transposed operand lies as its transpose. What a
   call needs beside operands, if it is more for larger operands, it takes from `lend`: memory until it returns, 64-byte aligned;
   null: there is none. */
typedef struct cairn_math_gemm {
  cairn_math_type type;
  int64_t m, n, k;
  const void *a, *b;
  void* c;
  int64_t lda, ldb, ldc;
  int transpose_a, transpose_b;
  int adds; /* c += instead; not for bf16 */
  void* (*lend)(void* lender, int64_t bytes);
  void* lender;
} cairn_math_gemm;

typedef struct cairn_math {
  uint32_t version;
  /* In the calling thread alone; several threads may call at once. Not 0: not done, nothing was written. */
  int (*gemm)(const cairn_math_gemm* call);
  /* Whether the processor has instructions for products of bf16. There are no others here. */
  int (*has_bf16)(void);
  int64_t (*scratch_bytes)(const cairn_math_convolution* call);
  int (*convolve)(const cairn_math_convolution* call);
  int64_t (*arranged_bytes)(const cairn_math_convolution* call);
  int (*same_order)(const cairn_math_convolution* one, const cairn_math_convolution* other);
  int (*arrange)(const cairn_math_convolution* call, int64_t begin, int64_t end);
} cairn_math;

/* The only symbol of the module. */
typedef const cairn_math* (*cairn_math_open_function)(void);
#define CAIRN_MATH_OPEN "cairn_math_open"

#ifdef __cplusplus
}
#endif

#endif
