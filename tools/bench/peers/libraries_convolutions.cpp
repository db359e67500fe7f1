// A convolution of f32 by Cairn, and by oneDNN called directly, on the same numbers in one thread. Arguments: rounds, the module
// made of libraries_onednn.cpp, then any number of times: forward|data|weights BATCH IN OUT PIXELS WINDOW. Prints the version of
// oneDNN, then a line for each: ms of Cairn, and times / Cairn's of oneDNN with operands that lie as Cairn's do, and as it likes
// best. Ends with code 1 where results differ by more than rounding.
#include "guest.h"
#include "libraries_onednn.h"
#include "side_by_side.h"

#include <cmath>
#include <cstring>
#include <dlfcn.h>

namespace {

struct Library {
  bench_version_function version;
  bench_prepare_function prepare;
  bench_run_function run;
  bench_result_function result;

  explicit Library(const char* file) {
    void* const module = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (module == nullptr) {
      std::fprintf(stderr, "%s\n", dlerror());
      std::exit(1);
    }
    version = reinterpret_cast<bench_version_function>(dlsym(module, "bench_version"));
    prepare = reinterpret_cast<bench_prepare_function>(dlsym(module, "bench_prepare"));
    run = reinterpret_cast<bench_run_function>(dlsym(module, "bench_run"));
    result = reinterpret_cast<bench_result_function>(dlsym(module, "bench_result"));
  }
};

// The largest difference in terms of the largest element.
double difference(const std::vector<float>& a, const std::vector<float>& b) {
  double most = 0, largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    most = std::max<double>(most, std::fabs(a[i] - b[i]));
    largest = std::max<double>(largest, std::fabs(a[i]));
  }
  return most / largest;
}

bool compare(const Library& library, int rounds, bench_convolution of) {
  const auto list = [](std::initializer_list<long> sizes) {
    std::string text = "'(";
    for (const long size : sizes) text += std::to_string(size) + " ";
    return text + ")";
  };
  const std::string pad = std::to_string(of.window / 2);
  // Images are made by convolutions, so that they lie in memory as they do within a network.
  bench::Guest guest("(define w (* (/ 1 (sqrt " + std::to_string(of.in * of.window * of.window) + ")) (randn " +
                     list({of.out, of.in, of.window, of.window}) + ")))\n(define x (convolve (randn " +
                     list({of.batch, 1, of.pixels, of.pixels}) + ") (randn " + list({of.in, 1, 3, 3}) + ") 1 1))\n" +
                     "(define y (convolve x w 1 " + pad + "))\n(define (forward) (convolve x w 1 " + pad +
                     "))\n(define (data) (transpose-convolve y w 1 " + pad +
                     "))\n(define (both) (*j (lambda (w) (convolve x w 1 " + pad + ")) w y))\n(define (weights) (cdr (both)))\n");
  const std::vector<float> x = guest.elements<float>("x"), y = guest.elements<float>("y"), w = guest.elements<float>("w");
  const float *a = of.kind == bench_data ? y.data() : x.data(), *b = of.kind == bench_weights ? y.data() : w.data();
  const char* const name = of.kind == bench_forward ? "forward" : of.kind == bench_data ? "data" : "weights";
  std::vector<bench::Round> contestants;
  bench_prepared* prepared[2];
  for (int i = 0; i < 2; ++i) {
    of.as_cairn = i == 0;
    prepared[i] = library.prepare(&of, a, b);
    contestants.push_back([&library, p = prepared[i]] { library.run(p); });
  }
  double seconds = 0;
  std::vector<double> ratios;
  if (of.kind == bench_weights) { // there is no gradient without the result: that is taken off in each round
    contestants.insert(contestants.begin(), guest.procedure("forward"));
    contestants.insert(contestants.begin(), guest.procedure("both"));
    const bench::Sides sides = bench::side_by_side(rounds, contestants);
    const double alone = 1 - sides.ratios[1];
    seconds = sides.seconds * alone;
    ratios = {sides.ratios[2] / alone, sides.ratios[3] / alone};
  } else {
    contestants.insert(contestants.begin(), guest.procedure(name));
    const bench::Sides sides = bench::side_by_side(rounds, contestants);
    seconds = sides.seconds;
    ratios = {sides.ratios[1], sides.ratios[2]};
  }
  std::printf("%.4f %.2f %.2f\n", seconds * 1e3, ratios[0], ratios[1]);
  std::fflush(stdout);
  const std::vector<float> mine = guest.result<float>(name);
  bool same = true;
  for (bench_prepared* p : prepared) {
    std::vector<float> theirs(mine.size());
    library.result(p, theirs.data());
    same = same && difference(mine, theirs) < 1e-4;
  }
  return same;
}

} // namespace

int main(int count, char** arguments) {
  if (count < 3) return 2;
  const Library library(arguments[2]);
  std::printf("%s\n", library.version());
  bool same = true;
  for (int i = 3; i + 5 < count; i += 6) {
    const auto number = [&](int at) { return std::atol(arguments[i + at]); };
    const bench_kind kind = std::strcmp(arguments[i], "forward") == 0 ? bench_forward
                            : std::strcmp(arguments[i], "data") == 0  ? bench_data
                                                                      : bench_weights;
    same = compare(library, std::atoi(arguments[1]), {kind, number(1), number(2), number(3), number(4), number(5), true}) && same;
  }
  if (!same) std::printf("WRONG\n");
  return same ? 0 : 1;
}
