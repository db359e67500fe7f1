/* Convolutions of the module cairn_math; see math.h. */
#ifndef CAIRN_OPS_LIBRARIES_CONVOLUTION_H
#define CAIRN_OPS_LIBRARIES_CONVOLUTION_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Which of the three is written. */
typedef enum cairn_math_written { CAIRN_MATH_TO_SMALL, CAIRN_MATH_TO_LARGE, CAIRN_MATH_TO_WEIGHTS } cairn_math_written;

/* f32. Windows at the positions of `small` slide over `large`; both lie with channels closest, without gaps. Weights are
   [small_channels, large_channels / groups, kernel...], row-major. Of the sizes the last `axes` count, the others are not looked
   at but are part of what a kept primitive is known by. */
typedef struct cairn_math_convolution {
  cairn_math_written kind;
  int axes;
  int64_t batch, groups, small_channels, large_channels;
  int64_t small[3], large[3], kernel[3], stride[3], padding[3], dilation[3];
  int64_t padding_after[3]; /* at the far end; less than windows need where they leave positions over */
  float *small_data, *large_data, *weights_data;
  float* bias_data; /* for each of small_channels; null: none */
  float* arranged;  /* the weights in the order that the library wants; null: they are brought into it and out of it */
  void* scratch;    /* cairn_math_scratch_bytes of memory, 64-byte aligned, for the time of the call */
} cairn_math_convolution;

/* Bytes of arranged weights; 0: they need not be arranged, or cannot be. */
int64_t cairn_math_arranged_bytes(const cairn_math_convolution* call);
/* Whether the weights that were arranged for the one serve the other. */
int cairn_math_same_order(const cairn_math_convolution* one, const cairn_math_convolution* other);
/* Brings the weights of small channels [begin, end), or groups if there are several, multiples of CAIRN_MATH_CHANNELS or the end,
   from weights_data to arranged; of kind CAIRN_MATH_TO_WEIGHTS the other way. Not 0: not done. */
#define CAIRN_MATH_CHANNELS 64
int cairn_math_arrange(const cairn_math_convolution* call, int64_t begin, int64_t end);

/* What cairn_math_convolve needs beside the operands: the caller's, since memory that threads of a loaded module keep is nobody's
   when they end. */
int64_t cairn_math_scratch_bytes(const cairn_math_convolution* call);
/* In the calling thread alone; several may call at once. Not 0: not done. */
int cairn_math_convolve(const cairn_math_convolution* call);

#ifdef __cplusplus
}
#endif

#endif
