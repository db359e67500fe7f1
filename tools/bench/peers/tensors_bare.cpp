// What Cairn makes of the libraries under its tensors, and what they do when called directly: in turns within one process, so
// that a slow moment of the computer hits both. And what memory does. Arguments: rounds, threads, then
//   product SIZE                                  sgemm of square matrices, the quicker of oneDNN and OpenBLAS
//   forward|data|weights BATCH CHANNELS PIXELS    3x3 convolution by oneDNN in the layouts that it chooses, nothing reordered
//   copy ELEMENTS                                 memcpy of floats: prints seconds of a round
// The others print the median seconds of a round of Cairn and of the library, and the median of what each round of the library
// took in terms of Cairn's beside it.
#include "guest.h"

#include <cblas.h>
#include <dnnl.hpp>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

using bench::Guest;
using bench::Round;
using dnnl::memory;

double seconds_of(const Round& round) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  round();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double median(std::vector<double> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return numbers[numbers.size() / 2];
}

// `less`, where there is one, is a part of `ours` that the library does not do.
void compare(int rounds, int threads, const Round& ours, const Round& less, const Round& theirs) {
  std::vector<double> mine, bare, ratios;
  for (int i = -2; i < rounds; ++i) { // two to warm up
    omp_set_num_threads(threads);     // Cairn's threads are its own, and it asks the library for one each
    const double b = seconds_of(theirs), a = seconds_of(ours) - (less ? seconds_of(less) : 0);
    if (i < 0) continue;
    mine.push_back(a);
    bare.push_back(b);
    ratios.push_back(b / a);
  }
  std::printf("%.9f %.9f %.4f\n", median(mine), median(bare), median(ratios));
}

void product(int rounds, int threads, int n) {
  const std::vector<float> a(static_cast<std::size_t>(n) * n, .5f), b = a;
  std::vector<float> c = a;
  const Round by_onednn = [&] { dnnl::sgemm('N', 'N', n, n, n, 1, a.data(), n, b.data(), n, 0, c.data(), n); };
  const Round by_openblas = [&] {
    openblas_set_num_threads(threads);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a.data(), n, b.data(), n, 0, c.data(), n);
  };
  std::vector<double> first, second;
  for (int i = 0; i < 5; ++i) {
    first.push_back(seconds_of(by_onednn));
    second.push_back(seconds_of(by_openblas));
  }
  const std::string size = std::to_string(n);
  Guest guest("(define a (randn '(" + size + " " + size + ")))\n(define b (randn '(" + size + " " + size +
              ")))\n(define (product) (matmul a b))");
  compare(rounds, threads, guest.procedure("product"), nullptr, median(first) < median(second) ? by_onednn : by_openblas);
}

void convolution(int rounds, int threads, const std::string& kind, int batch, int channels, int pixels) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const auto any = [](memory::dims dims) { return memory::desc(dims, memory::data_type::f32, memory::format_tag::any); };
  const memory::desc images = any({batch, channels, pixels, pixels}), weights = any({channels, channels, 3, 3});
  const memory::dims one{1, 1};
  constexpr auto direct = dnnl::algorithm::convolution_direct;
  const dnnl::convolution_forward::primitive_desc forward(
      {dnnl::prop_kind::forward_training, direct, images, weights, images, one, one, one}, engine);
  const auto filled = [&](const memory::desc& of) {
    memory m(of, engine);
    std::fill_n(static_cast<float*>(m.get_data_handle()), of.get_size() / sizeof(float), .5f);
    return m;
  };
  const std::string c = std::to_string(channels), images_of = "(" + std::to_string(batch) + " " + c + " " +
                                                              std::to_string(pixels) + " " + std::to_string(pixels) + ")";
  Guest guest("(define w (* (/ 1 (sqrt (* 9 " + c + "))) (randn '(" + c + " " + c +
              " 3 3))))\n"
              "(define x (convolve (randn '" +
              images_of +
              ") w 1 1))\n" // images lie in memory as they do within a network
              "(define y (convolve x w 1 1))\n"
              "(define (forward) (convolve x w 1 1))\n"
              "(define (data) (transpose-convolve y w 1 1))\n"
              "(define (weights) (*j (lambda (w) (convolve x w 1 1)) w y))\n");
  omp_set_num_threads(threads); // the library makes primitives for as many, and Cairn asked for one
  const auto measured = [&](const dnnl::primitive& primitive, const std::unordered_map<int, memory>& operands) {
    compare(rounds, threads, guest.procedure(kind.c_str()), kind == "weights" ? guest.procedure("forward") : nullptr, [&] {
      primitive.execute(stream, operands);
      stream.wait();
    });
  };
  if (kind == "forward")
    return measured(dnnl::convolution_forward(forward), {{DNNL_ARG_SRC, filled(forward.src_desc())},
                                                         {DNNL_ARG_WEIGHTS, filled(forward.weights_desc())},
                                                         {DNNL_ARG_DST, filled(forward.dst_desc())}});
  if (kind == "data") {
    const dnnl::convolution_backward_data::primitive_desc data({direct, images, weights, images, one, one, one}, engine, forward);
    return measured(dnnl::convolution_backward_data(data), {{DNNL_ARG_DIFF_DST, filled(data.diff_dst_desc())},
                                                            {DNNL_ARG_WEIGHTS, filled(data.weights_desc())},
                                                            {DNNL_ARG_DIFF_SRC, filled(data.diff_src_desc())}});
  }
  const dnnl::convolution_backward_weights::primitive_desc back({direct, images, weights, images, one, one, one}, engine,
                                                                forward);
  return measured(dnnl::convolution_backward_weights(back), {{DNNL_ARG_SRC, filled(back.src_desc())},
                                                             {DNNL_ARG_DIFF_DST, filled(back.diff_dst_desc())},
                                                             {DNNL_ARG_DIFF_WEIGHTS, filled(back.diff_weights_desc())}});
}

void copy(int rounds, std::size_t elements) {
  const std::vector<float> from(elements, 1);
  std::vector<float> to(elements);
  const Round once = [&] {
#pragma omp parallel
    {
      const auto thread = static_cast<std::size_t>(omp_get_thread_num()),
                 threads = static_cast<std::size_t>(omp_get_num_threads());
      const std::size_t begin = elements * thread / threads, end = elements * (thread + 1) / threads;
      std::memcpy(&to[begin], &from[begin], (end - begin) * sizeof(float));
    }
  };
  double least = seconds_of(once);
  for (int i = 0; i < rounds; ++i) least = std::min(least, seconds_of(once));
  std::printf("%.9f\n", least);
}

} // namespace

int main(int count, char** arguments) {
  if (count < 5) return 2;
  const int rounds = std::atoi(arguments[1]), threads = std::atoi(arguments[2]);
  const std::string what = arguments[3];
  const auto number = [&](int i) { return i < count ? std::atoi(arguments[i]) : 0; };
  omp_set_num_threads(threads);
  if (what == "product")
    product(rounds, threads, number(4));
  else if (what == "copy")
    copy(rounds, static_cast<std::size_t>(number(4)));
  else
    convolution(rounds, threads, what, number(4), number(5), number(6));
}
