// Functions of arrays by Cairn's loops, compiled for three generations of processors, and by SLEEF's variants for them: time,
// error and bits. Both are called on the same arrays in one thread. Arguments: rounds, elements, elements whose error is
// measured, the library's file. Prints the version of vectors that is the widest here, then a line for each function and type:
//   name type ns, error, bits          Cairn on the widest vectors; error in units of the last place; bits: 1 if all generations
//   agree then for each variant of SLEEF     time / Cairn's, error, bits; "- - -" where the library does not have it
// The variants: of the same bits everywhere (without fused additions) within 1.0 and 3.5 units, and the fastest (with them)
// within both; then, on vectors of SSE2 and beside Cairn's loop for them, those of the same bits again.
#include "ops/cpu/elements/pointwise_loops.h"
#include "side_by_side.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <immintrin.h>
#include <quadmath.h>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace cairn::ops;
using cpu::Compiled;
using cpu::Loop;

enum Generation { sse2, avx, avx512 };

Generation widest() {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw"))
    return avx512;
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? avx : sse2;
}

// A variant of the library over an array: `f` takes a vector, or two.
using Variant = void (*)(void* f, void* out, const void* a, const void* b, std::int64_t n);
#define VARIANT(name, isa, T, V, width, load, store)                                                                             \
  __attribute__((target(isa))) void name(void* f, void* out, const void* a, const void* b, std::int64_t n) {                     \
    const auto *x = static_cast<const T*>(a), *y = static_cast<const T*>(b);                                                     \
    auto* const o = static_cast<T*>(out);                                                                                        \
    if (y == nullptr)                                                                                                            \
      for (std::int64_t i = 0; i + width <= n; i += width) store(o + i, reinterpret_cast<V (*)(V)>(f)(load(x + i)));             \
    else                                                                                                                         \
      for (std::int64_t i = 0; i + width <= n; i += width)                                                                       \
        store(o + i, reinterpret_cast<V (*)(V, V)>(f)(load(x + i), load(y + i)));                                                \
  }
VARIANT(floats_sse2, "sse2", float, __m128, 4, _mm_loadu_ps, _mm_storeu_ps)
VARIANT(doubles_sse2, "sse2", double, __m128d, 2, _mm_loadu_pd, _mm_storeu_pd)
VARIANT(floats_avx, "avx", float, __m256, 8, _mm256_loadu_ps, _mm256_storeu_ps)
VARIANT(doubles_avx, "avx", double, __m256d, 4, _mm256_loadu_pd, _mm256_storeu_pd)
VARIANT(floats_avx512, "avx512f", float, __m512, 16, _mm512_loadu_ps, _mm512_storeu_ps)
VARIANT(doubles_avx512, "avx512f", double, __m512d, 8, _mm512_loadu_pd, _mm512_storeu_pd)

template <class T> constexpr bool kFloat = std::is_same_v<T, float>;
template <class T> Variant variant(Generation g) {
  if (g == avx512) return kFloat<T> ? floats_avx512 : doubles_avx512;
  if (g == avx) return kFloat<T> ? floats_avx : doubles_avx;
  return kFloat<T> ? floats_sse2 : doubles_sse2;
}

template <class Body> Loop loop(Generation g) {
  return g == avx512 ? Compiled<Body>::avx512 : g == avx ? Compiled<Body>::avx2 : Compiled<Body>::base;
}

using Quad = __float128;
struct Range {
  double low, high;
  bool logarithmic = false; // many of all sizes
};
struct Function {
  const char* name;
  Range a, b;     // of float; b.high is 0 where there is one operand
  double doubles; // exponents of a are so many times as large for doubles
  Quad (*one)(Quad);
  Quad (*two)(Quad, Quad);
};

struct Options {
  int rounds;
  std::int64_t n, checked;
  void* library;
};

template <class T> std::vector<T> numbers(const Range& range, std::int64_t n, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(range.logarithmic ? std::log(range.low) : range.low,
                                                 range.logarithmic ? std::log(range.high) : range.high);
  std::vector<T> made(static_cast<std::size_t>(n));
  for (T& x : made) x = static_cast<T>(range.logarithmic ? std::exp(uniform(random)) : uniform(random));
  return made;
}

// The largest error, in units of the last place of the exact value.
template <class T> double error(const std::vector<T>& got, const std::vector<Quad>& exact) {
  double most = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    int exponent = 0;
    frexpq(exact[i], &exponent);
    const int digits = std::numeric_limits<T>::digits;
    const Quad unit = ldexpq(1, std::max(exponent, std::numeric_limits<T>::min_exponent) - digits);
    most = std::max(most, static_cast<double>(fabsq(static_cast<Quad>(got[i]) - exact[i]) / unit));
  }
  return most;
}

struct Contestant {
  std::function<void()> run;
  bool there = false;
};

template <class T, template <class, class> class Body, class F> void compare(const Function& f, const Options& options) {
  const bool binary = f.two != nullptr;
  Range range = f.a;
  if (!kFloat<T>)
    range = {range.logarithmic ? std::pow(range.low, f.doubles) : range.low * f.doubles,
             range.logarithmic ? std::pow(range.high, f.doubles) : range.high * f.doubles, range.logarithmic};
  const std::vector<T> a = numbers<T>(range, options.n, 1), b = binary ? numbers<T>(f.b, options.n, 2) : std::vector<T>();
  const void* const b_data = binary ? b.data() : nullptr;
  std::vector<Quad> exact;
  for (std::int64_t i = 0; i < options.checked; ++i) {
    const auto at = static_cast<std::size_t>(i);
    exact.push_back(binary ? f.two(a[at], b[at]) : f.one(a[at]));
  }
  std::vector<T> out(a.size());
  const auto ours = [&](Generation g) {
    return [&, g] {
      const void* const in[] = {a.data(), b_data};
      loop<Body<F, T>>(g)(out.data(), in, options.n, 0);
    };
  };
  // Its names: Sleef_[cinz_]NAME[f|d]WIDTH_uERRORISA.
  const auto theirs = [&](Generation g, bool same_bits, const char* most) {
    const int width = (g == avx512 ? 16 : g == avx ? 8 : 4) / (kFloat<T> ? 1 : 2);
    const char* const isa = g == avx512 ? (same_bits ? "avx512fnofma" : "avx512f")
                            : g == avx  ? (same_bits ? "avx" : "avx2")
                                        : "sse2";
    const std::string name = std::string(same_bits ? "Sleef_cinz_" : "Sleef_") + f.name + (kFloat<T> ? "f" : "d") +
                             std::to_string(width) + "_u" + most + isa;
    void* const symbol = dlsym(options.library, name.c_str());
    return Contestant{[&, g, symbol] { variant<T>(g)(symbol, out.data(), a.data(), b_data, options.n); }, symbol != nullptr};
  };
  const auto same_bits = [&](auto&& made) { // in all generations that run here
    made(sse2)();
    const std::vector<T> first = out;
    bool same = true;
    for (int g = avx; g <= widest(); ++g) {
      made(static_cast<Generation>(g))();
      same = same && std::memcmp(first.data(), out.data(), first.size() * sizeof(T)) == 0;
    }
    return same;
  };
  const auto ratios = [&](Generation g, const std::vector<Contestant>& contestants, double& seconds) {
    std::vector<std::function<void()>> runs{ours(g)};
    for (const Contestant& c : contestants) runs.push_back(c.there ? c.run : [] {});
    const bench::Sides sides = bench::side_by_side(options.rounds, runs);
    seconds = sides.seconds;
    return sides.ratios;
  };

  const Generation most = widest();
  const char* const kErrors[] = {"10", "35"};
  std::vector<Contestant> wide, narrow;
  for (const bool same : {true, false})
    for (const char* e : kErrors) wide.push_back(theirs(most, same, e));
  for (const char* e : kErrors) narrow.push_back(theirs(sse2, true, e));
  double seconds = 0, unused = 0;
  const std::vector<double> wide_ratios = ratios(most, wide, seconds), narrow_ratios = ratios(sse2, narrow, unused);
  ours(most)();
  std::printf("%s %s %.3f %.2f %d", f.name, kFloat<T> ? "f32" : "f64", seconds / static_cast<double>(options.n) * 1e9,
              error(out, exact), same_bits(ours));
  const auto show = [&](const Contestant& c, double ratio, bool promised, const char* e) {
    if (!c.there) {
      std::printf(" - - -");
      return;
    }
    c.run();
    const double wrong = error(out, exact);
    const bool same = same_bits([&](Generation g) { return theirs(g, promised, e).run; });
    std::printf(" %.2f %.2f %d", ratio, wrong, same);
  };
  for (std::size_t i = 0; i < wide.size(); ++i) show(wide[i], wide_ratios[i + 1], i < 2, kErrors[i % 2]);
  for (std::size_t i = 0; i < narrow.size(); ++i) show(narrow[i], narrow_ratios[i + 1], true, kErrors[i]);
  std::printf("\n");
  std::fflush(stdout);
}

template <template <class, class> class Body, class F> void both(const Function& f, const Options& options) {
  compare<float, Body, F>(f, options);
  compare<double, Body, F>(f, options);
}

} // namespace

int main(int count, char** arguments) {
  if (count < 5) return 2;
  void* const library = dlopen(arguments[4], RTLD_NOW);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  const Options options{std::atoi(arguments[1]), std::atoll(arguments[2]), std::atoll(arguments[3]), library};
  std::printf("%s\n", widest() == avx512 ? "AVX-512" : widest() == avx ? "AVX2" : "SSE2");
  const Range none{0, 0};
#define ONE(name, F, range, doubles)                                                                                             \
  both<cpu::UnaryLoop, pointwise::F>({#name, Range range, none, doubles, name##q, nullptr}, options);
#define TWO(name, F, range, other, doubles)                                                                                      \
  both<cpu::BinaryLoop, pointwise::F>({#name, Range range, Range other, doubles, nullptr, name##q}, options);
#define BETWEEN(...) {__VA_ARGS__}
  ONE(exp, Exp, BETWEEN(-80, 80), 8)
  ONE(expm1, Expm1, BETWEEN(-10, 10), 1)
  ONE(log, Log, BETWEEN(1e-30, 1e30, true), 8)
  ONE(log1p, Log1p, BETWEEN(1e-6, 1e6, true), 1)
  ONE(sin, Sin, BETWEEN(-100, 100), 1)
  ONE(cos, Cos, BETWEEN(-100, 100), 1)
  ONE(tan, Tan, BETWEEN(-100, 100), 1)
  ONE(asin, Asin, BETWEEN(-1, 1), 1)
  ONE(acos, Acos, BETWEEN(-1, 1), 1)
  ONE(atan, Atan, BETWEEN(-20, 20), 1)
  ONE(sinh, Sinh, BETWEEN(-20, 20), 1)
  ONE(cosh, Cosh, BETWEEN(-20, 20), 1)
  ONE(tanh, Tanh, BETWEEN(-5, 5), 1)
  ONE(asinh, Asinh, BETWEEN(-100, 100), 1)
  ONE(acosh, Acosh, BETWEEN(1, 100), 1)
  ONE(atanh, Atanh, BETWEEN(-1, 1), 1)
  ONE(erf, Erf, BETWEEN(-4, 4), 1)
  TWO(pow, Expt, BETWEEN(1e-3, 1e3, true), BETWEEN(-10, 10), 1)
  TWO(atan2, Atan2, BETWEEN(-10, 10), BETWEEN(-10, 10), 1)
}
