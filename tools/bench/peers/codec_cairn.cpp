// Cairn's bounded encodings of a file of f32, in one thread: for each bound, a share of the largest magnitude, a line with the
// name, the bound, bytes, seconds to encode and to decode, the least of some rounds, and the largest error as a share of the
// bound. Arguments: rounds, file, bounds.
#include "ops/cpu/lossy/lossy.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <vector>

namespace {

using namespace cairn::ops;

View view_of(void* data, DType type, std::int64_t elements) {
  View view;
  view.data = data;
  view.dtype = type;
  view.shape = Shape{elements};
  view.strides[0] = 1;
  return view;
}

template <class F> double seconds_of(F&& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::vector<float> elements_in(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::vector<float> x(bytes.size() / sizeof(float));
  std::copy_n(bytes.data(), x.size() * sizeof(float), reinterpret_cast<char*>(x.data()));
  return x;
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  std::vector<float> x = elements_in(argv[2]), back(x.size());
  const auto n = static_cast<std::int64_t>(x.size());
  float largest = 0;
  for (const float f : x) largest = std::max(largest, std::fabs(f));
  std::vector<std::uint8_t> room(static_cast<std::size_t>(cpu::room_for_encoding(n, DType::f32)));
  const View in = view_of(x.data(), DType::f32, n), out = view_of(back.data(), DType::f32, n),
             to = view_of(room.data(), DType::u8, static_cast<std::int64_t>(room.size()));
  for (int i = 3; i < argc; ++i) {
    const double bound = std::atof(argv[i]);
    Attributes attributes;
    attributes.values = {Attribute::of_number(bound), Attribute::of_flag(true)};
    double encoding = 1e9, decoding = 1e9;
    std::int64_t bytes = 0;
    for (int round = std::atoi(argv[1]); round > 0; --round) {
      encoding = std::min(encoding, seconds_of([&] { cpu::encode_bounded({{&in, 1}, {&to, 1}, attributes}); }));
      bytes = cpu::bytes_of_encoding(room.data());
      const View from = view_of(room.data(), DType::u8, bytes);
      decoding = std::min(decoding, seconds_of([&] { cpu::decode_bounded({{&from, 1}, {&out, 1}, attributes}); }));
    }
    double error = 0;
    for (std::size_t k = 0; k < x.size(); ++k)
      error = std::max(error, std::fabs(static_cast<double>(x[k]) - static_cast<double>(back[k])));
    std::printf("Cairn %s %lld %g %g %g\n", argv[i], static_cast<long long>(bytes), encoding, decoding,
                error / (bound * static_cast<double>(largest)));
  }
}
