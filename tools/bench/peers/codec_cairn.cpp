// Cairn's bounded encodings of a file of f32, in one thread: for each form and each bound, a share of the largest magnitude, a
// line with the form's name, the bound, bytes, seconds to encode and to decode, the least of some rounds, and the largest error
// as a share of the bound. Arguments: rounds, file, axes as 4x5, bounds.
#include "ops/cpu/lossy/lossy.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace cairn::ops;

// Dense, in row-major order.
View view_of(void* data, DType type, Shape shape) {
  View view;
  view.data = data;
  view.dtype = type;
  std::int64_t stride = 1;
  for (int axis = shape.rank(); axis-- > 0; stride *= shape[axis]) view.strides[axis] = stride;
  view.shape = std::move(shape);
  return view;
}

Shape shape_of(std::string_view text) {
  Shape shape;
  for (;;) {
    std::int64_t size = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    shape.push_back(size);
    text.remove_prefix(std::min(text.size(), static_cast<std::size_t>(rest - text.data()) + 1));
    if (text.empty()) return shape;
  }
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
  if (argc < 5) return 2;
  std::vector<float> x = elements_in(argv[2]), back(x.size());
  const auto n = static_cast<std::int64_t>(x.size());
  float largest = 0;
  for (const float f : x) largest = std::max(largest, std::fabs(f));
  std::vector<std::uint8_t> room(static_cast<std::size_t>(cpu::room_for_encoding(n, DType::f32)));
  const View in = view_of(x.data(), DType::f32, shape_of(argv[3])), out = view_of(back.data(), DType::f32, {n}),
             to = view_of(room.data(), DType::u8, {static_cast<std::int64_t>(room.size())});
  for (const bool small : {false, true})
    for (int i = 4; i < argc; ++i) {
      const double bound = std::atof(argv[i]);
      Attributes attributes;
      attributes.values = {Attribute::of_number(bound), Attribute::of_flag(true), Attribute::of_flag(small)};
      double encoding = 1e9, decoding = 1e9;
      std::int64_t bytes = 0;
      for (int round = std::atoi(argv[1]); round > 0; --round) {
        encoding = std::min(encoding, seconds_of([&] { cpu::encode_bounded({{&in, 1}, {&to, 1}, attributes}); }));
        bytes = cpu::bytes_of_encoding(room.data());
        const View from = view_of(room.data(), DType::u8, {bytes});
        decoding = std::min(decoding, seconds_of([&] { cpu::decode_bounded({{&from, 1}, {&out, 1}, attributes}); }));
      }
      double error = 0;
      for (std::size_t k = 0; k < x.size(); ++k)
        error = std::max(error, std::fabs(static_cast<double>(x[k]) - static_cast<double>(back[k])));
      std::printf("%s %s %lld %g %g %g\n", small ? "small" : "fast", argv[i], static_cast<long long>(bytes), encoding, decoding,
                  error / (bound * static_cast<double>(largest)));
    }
}
