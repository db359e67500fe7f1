// See tiff_layout.h.
#include "vm/formats/tiff_layout.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace cairn::formats {

namespace {

constexpr std::int64_t kTile = 256, kMostTiles = 65536; // larger tiles where there would be more
constexpr std::int64_t kTileUnit = 16;                  // sizes of tiles are multiples of it
constexpr std::uint64_t kTables = 512; // the directory and what is short lie before, the two tables of tiles from there on
constexpr std::uint64_t kAligned = 64;

std::int64_t rounded_up(std::int64_t n, std::int64_t unit) { return (n + unit - 1) / unit * unit; }

class Head {
public:
  explicit Head(bool wide) : wide_(wide) {}
  void put(std::uint64_t n, int bytes) {
    for (int i = 0; i < bytes; ++i) text_ += static_cast<char>(n >> (8 * i) & 0xFF);
  }
  void place(std::uint64_t n) { put(n, wide_ ? 8 : 4); }
  // Of so many numbers; `what` is the only one, or where they are.
  void entry(int tag, int kind, std::uint64_t count, std::uint64_t what) {
    put(static_cast<std::uint64_t>(tag), 2);
    put(static_cast<std::uint64_t>(kind), 2);
    place(count);
    place(what);
  }
  void fill(std::uint64_t to) { text_.resize(static_cast<std::size_t>(to)); }
  std::uint64_t size() const { return text_.size(); }
  std::string take() { return std::move(text_); }

private:
  bool wide_;
  std::string text_;
};

} // namespace

std::uint64_t TiffLayout::place(std::int64_t row, std::int64_t column) const {
  const auto tile = static_cast<std::uint64_t>(row / tile_height * across() + column / tile_width);
  const auto inside = static_cast<std::uint64_t>(row % tile_height * tile_width + column % tile_width);
  return elements + tile * tile_bytes() + inside * pixel_bytes();
}

std::optional<TiffLayout> tiff_layout(ops::DType type, std::int64_t height, std::int64_t width, std::int64_t samples) {
  constexpr std::int64_t kMostSize = std::numeric_limits<std::int32_t>::max() - kTileUnit,
                         kMostSamples = TiffLayout::kMostSamples;
  if (height < 1 || width < 1 || samples < 1 || height > kMostSize || width > kMostSize || samples > kMostSamples)
    return std::nullopt;
  TiffLayout out;
  out.type = type;
  out.height = height;
  out.width = width;
  out.samples = samples;
  for (std::int64_t side = kTile;; side *= 2) {
    out.tile_height = std::min(side, rounded_up(height, kTileUnit));
    out.tile_width = std::min(side, rounded_up(width, kTileUnit));
    if (out.across() * out.down() <= kMostTiles) break;
  }
  const std::int64_t tiles = out.across() * out.down();
  std::int64_t bytes = ops::bytes_of(type);
  for (const std::int64_t n : {samples, out.tile_height, out.tile_width, tiles})
    if (__builtin_mul_overflow(bytes, n, &bytes) || bytes > std::numeric_limits<std::int64_t>::max() / 2) return std::nullopt;
  const auto lay_out = [&] {
    const std::uint64_t tables = kTables + 2 * static_cast<std::uint64_t>(tiles) * (out.wide ? 8 : 4);
    out.elements = (tables + kAligned - 1) / kAligned * kAligned;
    out.bytes = out.elements + static_cast<std::uint64_t>(bytes);
  };
  lay_out();
  out.wide = out.bytes > std::numeric_limits<std::uint32_t>::max();
  lay_out();
  return out;
}

std::string tiff_head(const TiffLayout& layout) {
  constexpr int kShort = 3, kLong = 4, kLong8 = 16;
  constexpr std::uint64_t kBlackIsZero = 1, kRgb = 2;
  const bool colours = layout.samples == 3 || layout.samples == 4;
  const auto samples = static_cast<std::uint64_t>(layout.samples), extra = samples - (colours ? 3 : 1);
  const auto tiles = static_cast<std::uint64_t>(layout.across() * layout.down());
  const auto bits = static_cast<std::uint64_t>(8 * ops::bytes_of(layout.type));
  const bool floating = layout.type == ops::DType::f32 || layout.type == ops::DType::f64;
  const std::uint64_t format = floating ? 3 : layout.type == ops::DType::u8 ? 1 : 2;
  const int number = layout.wide ? kLong8 : kLong;
  const std::uint64_t width = layout.wide ? 8 : 4, sizes = kTables + tiles * width;
  Head head(layout.wide);
  head.put('I' | 'I' << 8, 2);
  head.put(layout.wide ? 43 : 42, 2);
  if (layout.wide) head.put(8, 4); // bytes of a place, and two of nothing
  head.place(head.size() + width);
  // Samples have one form each: what is the same for all of them stands as often as there are, behind the directory where the
  // entry has no room.
  const std::uint64_t entries = extra == 0 ? 12 : 13;
  const std::uint64_t behind = head.size() + (layout.wide ? 8 + 20 * entries + 8 : 2 + 12 * entries + 4);
  std::vector<std::uint64_t> lists;
  const auto shorts = [&](int tag, std::uint64_t count, std::uint64_t value) {
    if (count <= width / 2) {
      std::uint64_t all = 0;
      for (std::uint64_t i = 0; i < count; ++i) all |= value << (16 * i);
      return head.entry(tag, kShort, count, all);
    }
    head.entry(tag, kShort, count, behind + 2 * lists.size());
    lists.insert(lists.end(), count, value);
  };
  head.put(entries, layout.wide ? 8 : 2);
  head.entry(256, kLong, 1, static_cast<std::uint64_t>(layout.width));
  head.entry(257, kLong, 1, static_cast<std::uint64_t>(layout.height));
  shorts(258, samples, bits);
  head.entry(259, kShort, 1, 1); // not compressed
  head.entry(262, kShort, 1, colours ? kRgb : kBlackIsZero);
  head.entry(277, kShort, 1, samples);
  head.entry(284, kShort, 1, 1); // side by side
  head.entry(322, kLong, 1, static_cast<std::uint64_t>(layout.tile_width));
  head.entry(323, kLong, 1, static_cast<std::uint64_t>(layout.tile_height));
  head.entry(324, number, tiles, tiles == 1 ? layout.elements : kTables);
  head.entry(325, number, tiles, tiles == 1 ? layout.tile_bytes() : sizes);
  if (extra != 0) shorts(338, extra, 0);
  shorts(339, samples, format);
  head.place(0); // no other page
  for (const std::uint64_t n : lists) head.put(n, 2);
  head.fill(kTables);
  for (std::uint64_t i = 0; i < tiles; ++i) head.place(layout.elements + i * layout.tile_bytes());
  for (std::uint64_t i = 0; i < tiles; ++i) head.place(layout.tile_bytes());
  head.fill(layout.elements);
  return head.take();
}

} // namespace cairn::formats
