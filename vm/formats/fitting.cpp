// See fitting.h. Two passes, along rows and then along columns, with weights as integers, so that every processor gives the same.
#include "vm/formats/fitting.h"

#include "ops/meter.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace cairn::formats {

namespace {

constexpr int kBits = 22; // of a weight; sums of weights times bytes stay below 2^31
constexpr int kMostChannels = 3;

// The elements that one of the result is made of.
struct Around {
  std::int64_t first = 0, count = 0;
  std::size_t weights = 0; // where they begin
};

// Along one axis: `to` elements for a stretch of `from` in the middle.
struct Weights {
  Weights(std::int64_t from, double stretch, std::int64_t to) {
    const double scale = stretch / static_cast<double>(to), wide = std::max(scale, 1.0);
    const double begin = (static_cast<double>(from) - stretch) / 2;
    std::vector<double> exact;
    for (std::int64_t i = 0; i < to; ++i) {
      const double center = begin + (static_cast<double>(i) + 0.5) * scale;
      Around a;
      a.first = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::floor(center - wide + 0.5)), 0, from - 1);
      const auto end = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::floor(center + wide + 0.5)), a.first + 1, from);
      a.count = end - a.first;
      a.weights = all.size();
      exact.clear();
      double sum = 0;
      for (std::int64_t j = a.first; j < end; ++j) {
        exact.push_back(std::max(0.0, 1 - std::abs((static_cast<double>(j) + 0.5 - center) / wide)));
        sum += exact.back();
      }
      for (const double w : exact)
        all.push_back(sum > 0 ? static_cast<std::int32_t>(std::lround(w / sum * (1 << kBits)))
                              : (1 << kBits) / static_cast<std::int32_t>(a.count));
      around.push_back(a);
    }
  }
  // How many elements one is made of, at most.
  static std::int64_t most(std::int64_t from, std::int64_t to) { return 2 * (from / to) + 4; }
  static std::int64_t memory(std::int64_t from, std::int64_t to) {
    constexpr std::int64_t kGrowing = 3; // lists double, with the old one beside the new
    return kGrowing * to * (static_cast<std::int64_t>(sizeof(Around)) + most(from, to) * 4) + most(from, to) * 24;
  }
  std::vector<Around> around;
  std::vector<std::int32_t> all;
};

std::byte rounded(std::int32_t sum) { return static_cast<std::byte>(std::clamp((sum + (1 << (kBits - 1))) >> kBits, 0, 255)); }

// A row in the channels of the result.
void convert_row(const std::byte* from, std::int64_t width, std::int64_t channels, std::byte* to, std::int64_t to_channels) {
  const bool grey = channels < 3;
  for (std::int64_t x = 0; x < width; ++x, from += channels, to += to_channels) {
    if (grey || to_channels == 3) {
      for (std::int64_t c = 0; c < to_channels; ++c) to[c] = from[grey ? 0 : c];
    } else { // as bright as it looks (ITU-R 601), in parts of 2^16
      const auto of = [&](int c) { return std::to_integer<std::uint32_t>(from[c]); };
      to[0] = static_cast<std::byte>((19595 * of(0) + 38470 * of(1) + 7471 * of(2) + 32768) >> 16);
    }
  }
}

// The section of the picture that becomes the whole of the result.
struct Section {
  double height, width;
};
Section section_of(const PictureSize& from, const PictureSize& to) {
  const double rows = static_cast<double>(from.height) / static_cast<double>(to.height);
  const double columns = static_cast<double>(from.width) / static_cast<double>(to.width);
  const double scale = std::min(rows, columns);
  return {scale * static_cast<double>(to.height), scale * static_cast<double>(to.width)};
}

} // namespace

std::int64_t fitting_memory(const PictureSize& from, const PictureSize& to) {
  return (from.height * to.width + from.width + 4 * to.width) * to.channels + Weights::memory(from.width, to.width) +
         Weights::memory(from.height, to.height);
}

void fit_picture(const std::byte* from, const PictureSize& from_size, std::byte* to, const PictureSize& to_size) {
  const Section section = section_of(from_size, to_size);
  const Weights columns(from_size.width, section.width, to_size.width), rows(from_size.height, section.height, to_size.height);
  const std::int64_t channels = to_size.channels;
  const auto row_bytes = static_cast<std::size_t>(to_size.width * channels);
  const std::int64_t top = rows.around.front().first, bottom = rows.around.back().first + rows.around.back().count;
  std::vector<std::byte> row(static_cast<std::size_t>(from_size.width * channels));
  std::vector<std::byte> narrow(static_cast<std::size_t>(bottom - top) * row_bytes);
  for (std::int64_t y = top; y < bottom; ++y) {
    ops::Meter::poll_current();
    convert_row(from + y * from_size.width * from_size.channels, from_size.width, from_size.channels, row.data(), channels);
    std::byte* out = narrow.data() + static_cast<std::size_t>(y - top) * row_bytes;
    for (const Around& a : columns.around) {
      std::int32_t sums[kMostChannels] = {};
      const std::byte* in = row.data() + a.first * channels;
      for (std::int64_t i = 0; i < a.count; ++i)
        for (std::int64_t c = 0; c < channels; ++c)
          sums[c] += columns.all[a.weights + static_cast<std::size_t>(i)] * std::to_integer<std::int32_t>(*in++);
      for (std::int64_t c = 0; c < channels; ++c) *out++ = rounded(sums[c]);
    }
  }
  std::vector<std::int32_t> sums(row_bytes);
  for (const Around& a : rows.around) {
    ops::Meter::poll_current();
    std::fill(sums.begin(), sums.end(), 0);
    for (std::int64_t i = 0; i < a.count; ++i) {
      const std::int32_t weight = rows.all[a.weights + static_cast<std::size_t>(i)];
      const std::byte* in = narrow.data() + static_cast<std::size_t>(a.first + i - top) * row_bytes;
      for (std::size_t x = 0; x < row_bytes; ++x) sums[x] += weight * std::to_integer<std::int32_t>(in[x]);
    }
    for (const std::int32_t sum : sums) *to++ = rounded(sum);
  }
}

} // namespace cairn::formats
