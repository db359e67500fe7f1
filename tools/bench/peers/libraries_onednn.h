// One convolution by oneDNN, in a module of its own: Cairn may have loaded another version of the library, and the symbols of two
// versions must not meet.
#pragma once

extern "C" {

// What is made: the result, the gradient by the images, or by the weights.
enum bench_kind { bench_forward, bench_data, bench_weights };

struct bench_convolution {
  bench_kind kind;
  long batch, in, out, pixels, window; // square images and windows; padded so that images keep their size
  // As Cairn has them: images with channels closest, weights row-major and brought into the library's order and out of it each
  // time. Otherwise everything lies as the library likes best, and nothing is reordered.
  bool as_cairn;
};

struct bench_prepared;
typedef const char* (*bench_version_function)(void);
// `a`: images, or of kind bench_data the cotangent of the result; `b`: weights, or of bench_weights that cotangent. Row-major.
typedef bench_prepared* (*bench_prepare_function)(const bench_convolution* of, const float* a, const float* b);
typedef void (*bench_run_function)(bench_prepared*);
typedef void (*bench_result_function)(bench_prepared*, float* row_major);
}
