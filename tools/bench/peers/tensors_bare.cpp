// What the libraries under the tensors do by themselves, and what memory does. Prints seconds a round.
// Arguments: rounds, threads, then
//   product SIZE                                  sgemm of square matrices, the quicker of oneDNN and OpenBLAS
//   forward|data|weights BATCH CHANNELS PIXELS    3x3 convolution by oneDNN in the layouts that it chooses, nothing reordered
//   copy ELEMENTS                                 memcpy of floats
#include <cblas.h>
#include <dnnl.hpp>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

using dnnl::memory;

double seconds_of(int rounds, const std::function<void()>& round) {
  using Clock = std::chrono::steady_clock;
  round();
  const Clock::time_point begin = Clock::now();
  for (int i = 0; i < rounds; ++i) round();
  return std::chrono::duration<double>(Clock::now() - begin).count() / rounds;
}

double product(int rounds, int n) {
  const std::vector<float> a(static_cast<std::size_t>(n) * n, .5f), b = a;
  std::vector<float> c = a;
  const double ours = seconds_of(rounds, [&] { dnnl::sgemm('N', 'N', n, n, n, 1, a.data(), n, b.data(), n, 0, c.data(), n); });
  return std::min(ours, seconds_of(rounds, [&] {
                    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a.data(), n, b.data(), n, 0, c.data(), n);
                  }));
}

double convolution(int rounds, const std::string& kind, int batch, int channels, int pixels) {
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
  const auto measured = [&](const dnnl::primitive& primitive, const std::unordered_map<int, memory>& operands) {
    return seconds_of(rounds, [&] {
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

double copy(int rounds, std::size_t elements) {
  const std::vector<float> from(elements, 1);
  std::vector<float> to(elements);
  return seconds_of(rounds, [&] {
#pragma omp parallel
    {
      const auto thread = static_cast<std::size_t>(omp_get_thread_num()),
                 threads = static_cast<std::size_t>(omp_get_num_threads());
      const std::size_t begin = elements * thread / threads, end = elements * (thread + 1) / threads;
      std::memcpy(&to[begin], &from[begin], (end - begin) * sizeof(float));
    }
  });
}

} // namespace

int main(int count, char** arguments) {
  if (count < 5) return 2;
  const int rounds = std::atoi(arguments[1]), threads = std::atoi(arguments[2]);
  const std::string what = arguments[3];
  const auto number = [&](int i) { return i < count ? std::atoi(arguments[i]) : 0; };
  omp_set_num_threads(threads);
  openblas_set_num_threads(threads);
  std::printf("%.9f\n", what == "product" ? product(rounds, number(4))
                        : what == "copy"  ? copy(rounds, static_cast<std::size_t>(number(4)))
                                          : convolution(rounds, what, number(4), number(5), number(6)));
}
