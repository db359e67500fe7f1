// See tiff.h. A file begins with the order of its bytes and the place of the first directory; a directory has entries of a tag, a
// type, a count and values, or where these are, and the place of the next one.
#include "vm/formats/tiff.h"

#include "vm/formats/format_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

namespace cairn::formats {

namespace {

// Directories have some tens of entries; other software refuses more than this.
constexpr std::uint64_t kMostEntries = 4096;
constexpr std::uint64_t kMostPages = 65536;
constexpr std::int64_t kMostSamples = 65535;
constexpr std::uint64_t kMostTables = 1 << 16;
// A compressed piece is decoded as a whole, some in one call that cannot be stopped.
constexpr std::int64_t kMostOfPiece = std::int64_t{1} << 26;
// No compression but JPEG makes less of a piece: a code of LZW has at least 9 bits and stands for 4,093 bytes at most.
constexpr std::int64_t kMostPerByte = 4096;

enum class Tag : std::uint16_t {
  width = 256,
  height = 257,
  bits = 258,
  compression = 259,
  photometric = 262,
  bit_order = 266,
  strip_places = 273,
  samples = 277,
  rows_of_strip = 278,
  strip_sizes = 279,
  planes = 284,
  predictor = 317,
  tile_width = 322,
  tile_height = 323,
  tile_places = 324,
  tile_sizes = 325,
  format = 339,
  tables = 347,
  subsampling = 530
};

struct NamedCompression {
  std::uint16_t number;
  std::string_view name;
};
constexpr NamedCompression kOtherCompressions[] = {
    {2, "CCITT"},    {3, "CCITT"},         {4, "CCITT"},    {6, "old JPEG"},      {34712, "JPEG 2000"}, {34887, "LERC"},
    {34925, "LZMA"}, {50000, "Zstandard"}, {50001, "WebP"}, {33003, "JPEG 2000"}, {33005, "JPEG 2000"}};

std::string name_of_compression(std::uint64_t compression) {
  for (const NamedCompression& other : kOtherCompressions)
    if (other.number == compression) return fmt::format("{} (number {})", other.name, compression);
  return fmt::format("number {}", compression);
}

std::int64_t width_of(std::uint16_t type) {
  switch (type) {
  case 1: // a byte
  case 7: // of any meaning
    return 1;
  case 3:
    return 2;
  case 4:
    return 4;
  case 16:
    return 8;
  default: // no integer that is not negative
    return 0;
  }
}

} // namespace

// The entries of one directory that matter.
class TiffDirectory {
public:
  TiffDirectory(Tiff& file, std::uint64_t at) : file_(file), at_(at) {
    const std::int64_t head = file.wide_ ? 8 : 2;
    if (at == 0 || at > file.bytes_ || file.bytes_ - at < static_cast<std::uint64_t>(head))
      throw FormatError(std::min(at, file.bytes_), "has a directory that is not in the file");
    count_ = file.number(at, head);
    if (count_ == 0 || count_ > kMostEntries)
      throw FormatError(at, fmt::format("has a directory of {} entries; there are 1 to {}", count_, kMostEntries));
    if (file.bytes_ - at - static_cast<std::uint64_t>(head) < count_ * entry_bytes() + next_bytes())
      throw FormatError(at, fmt::format("ends inside of a directory of {} entries", count_));
    entries_ = at + static_cast<std::uint64_t>(head);
  }
  std::uint64_t next() const { return file_.number(entries_ + count_ * entry_bytes(), static_cast<std::int64_t>(next_bytes())); }

  // The values of an entry; none: there is no such entry. Other kinds of values than integers are wrong in those that matter.
  TiffPage::Numbers numbers(Tag tag) const {
    for (std::uint64_t i = 0; i < count_; ++i) {
      const std::uint64_t entry = entries_ + i * entry_bytes();
      if (file_.number(entry, 2) != static_cast<std::uint16_t>(tag)) continue;
      const std::int64_t width = width_of(static_cast<std::uint16_t>(file_.number(entry + 2, 2)));
      if (width == 0) throw FormatError(entry, fmt::format("has no integers for tag {}", static_cast<unsigned>(tag)));
      TiffPage::Numbers out{entry + (file_.wide_ ? 12 : 8), file_.number(entry + 4, file_.wide_ ? 8 : 4), width};
      const std::uint64_t room = file_.wide_ ? 8 : 4;
      if (out.count == 0) throw FormatError(entry, fmt::format("has no value for tag {}", static_cast<unsigned>(tag)));
      if (out.count > room / static_cast<std::uint64_t>(width))
        out.from = file_.number(out.from, static_cast<std::int64_t>(room));
      if (out.from > file_.bytes_ || out.count > (file_.bytes_ - out.from) / static_cast<std::uint64_t>(width))
        throw FormatError(entry, fmt::format("has values of tag {} that are not in the file", static_cast<unsigned>(tag)));
      return out;
    }
    return {};
  }
  // The first value, or `otherwise`; if there are several they are the same.
  std::uint64_t number(Tag tag, std::uint64_t otherwise) const {
    const TiffPage::Numbers all = numbers(tag);
    if (all.count == 0) return otherwise;
    const std::uint64_t first = file_.number(all.from, all.width);
    for (std::uint64_t i = 1; i < std::min<std::uint64_t>(all.count, kMostSamples); ++i)
      if (file_.number(all.from + i * static_cast<std::uint64_t>(all.width), all.width) != first)
        throw FormatError(all.from, fmt::format("has samples that differ in tag {}; one tensor has one type of elements",
                                                static_cast<unsigned>(tag)));
    return first;
  }
  // One that there must be, from 1 on.
  std::int64_t size(Tag tag, std::int64_t most, const char* what) const {
    const std::uint64_t n = number(tag, 0);
    if (n < 1 || n > static_cast<std::uint64_t>(most)) throw FormatError(at_, fmt::format("has a page of {} {}", n, what));
    return static_cast<std::int64_t>(n);
  }

private:
  std::uint64_t entry_bytes() const { return file_.wide_ ? 20 : 12; }
  std::uint64_t next_bytes() const { return file_.wide_ ? 8 : 4; }
  Tiff& file_;
  std::uint64_t at_, entries_ = 0, count_ = 0;
};

Tiff::Tiff(std::uint64_t file_bytes, Read read) : bytes_(file_bytes), read_(std::move(read)) {
  constexpr std::uint64_t kHead = 8;
  if (bytes_ < kHead) throw FormatError(0, "is no TIFF");
  std::byte start[4];
  read_(0, start);
  const auto is = [&](unsigned a, unsigned b) { return start[0] == std::byte(a) && start[1] == std::byte(b); };
  big_endian_ = is('M', 'M');
  const std::uint64_t version = number(2, 2);
  if ((!big_endian_ && !is('I', 'I')) || (version != 42 && version != 43)) throw FormatError(0, "is no TIFF");
  wide_ = version == 43;
  if (wide_ && (bytes_ < 2 * kHead || number(4, 2) != 8)) throw FormatError(4, "is no BigTIFF that is known");
  first_ = wide_ ? number(8, 8) : number(4, 4);
}

std::uint64_t Tiff::number(std::uint64_t from, std::int64_t width) {
  std::byte bytes[8];
  const auto read = std::span(bytes).first(static_cast<std::size_t>(width));
  read_(from, read);
  std::uint64_t n = 0;
  for (std::size_t i = 0; i < read.size(); ++i)
    n = n << 8 | std::to_integer<std::uint64_t>(read[big_endian_ ? i : read.size() - 1 - i]);
  return n;
}

namespace {

Element element_of(std::uint64_t bits, std::uint64_t format, std::uint64_t at) {
  constexpr std::uint64_t kUnsigned = 1, kSigned = 2, kFloating = 3, kUndefined = 4;
  const char kind = format == kUnsigned || format == kUndefined ? 'u' : format == kSigned ? 'i' : 'f';
  const auto element = element_named(fmt::format("{}{}", kind, bits));
  if (!element || format < kUnsigned || format > kUndefined)
    throw FormatError(at, fmt::format("has {} of {} bits, which no tensor has; convert them to 8 or 16 bits, or to floats of 32",
                                      format == kFloating   ? "floats"
                                      : format > kUndefined ? "complex numbers"
                                                            : "integers",
                                      bits));
  return *element;
}

} // namespace

TiffPage Tiff::page(std::uint64_t number) {
  std::uint64_t at = first_;
  for (std::uint64_t i = 0; i < number && i < kMostPages; ++i) {
    at = TiffDirectory(*this, at).next();
    if (at == 0)
      throw FormatError(FormatError::kNowhere,
                        fmt::format("has {}, counted from 0 on; there is no page {}",
                                    i == 0 ? std::string("one page") : fmt::format("{} pages", i + 1), number));
  }
  if (number >= kMostPages)
    throw FormatError(FormatError::kNowhere,
                      fmt::format("is asked for page {}; pages are looked for up to {}", number, kMostPages));
  const TiffDirectory directory(*this, at);
  constexpr std::int64_t kMostSize = std::numeric_limits<std::int32_t>::max();
  TiffPage page;
  page.big_endian = big_endian_;
  page.width = directory.size(Tag::width, kMostSize, "columns");
  page.height = directory.size(Tag::height, kMostSize, "rows");
  const std::uint64_t samples = directory.number(Tag::samples, 1);
  if (samples < 1 || samples > static_cast<std::uint64_t>(kMostSamples))
    throw FormatError(at, fmt::format("has a page of {} samples", samples));
  page.samples = static_cast<std::int64_t>(samples);
  const std::uint64_t format = directory.number(Tag::format, 1);
  page.element = element_of(directory.number(Tag::bits, 1), format, at);
  page.element.swapped = big_endian_ && page.element.bytes() > 1;
  page.format = static_cast<std::uint16_t>(format);

  const auto small = [&](Tag tag, std::uint64_t otherwise) {
    const std::uint64_t n = directory.number(tag, otherwise);
    if (n > UINT16_MAX) throw FormatError(at, fmt::format("has {} for tag {}", n, static_cast<unsigned>(tag)));
    return static_cast<std::uint16_t>(n);
  };
  page.compression = small(Tag::compression, tiff::kNone);
  page.photometric = small(Tag::photometric, 1);
  page.predictor = small(Tag::predictor, 1);
  const std::uint16_t planes = small(Tag::planes, 1);
  if (planes != 1 && planes != 2)
    throw FormatError(at, fmt::format("has samples arranged in a way, {}, that is not known", planes));
  page.planar = planes == 2 && page.samples > 1;
  if (small(Tag::bit_order, 1) != 1)
    throw FormatError(at, "has the bits of its bytes in reverse; tiffcp -f msb2lsb OLD NEW turns them");
  switch (page.compression) {
  case tiff::kNone:
  case tiff::kPackBits:
    page.predictor = 1; // others have no meaning there
    break;
  case tiff::kJpeg:
    page.predictor = 1;
    if (page.element.bytes() != 1 || page.element.type != ops::DType::u8 || page.samples_of_piece() > 4)
      throw FormatError(at, "has JPEG of other than 1 to 4 samples of 8 bits");
    break;
  case tiff::kLzw:
  case tiff::kDeflate:
  case tiff::kOldDeflate:
    if (page.predictor < 1 || page.predictor > 3 || (page.predictor == 3 && format != 3))
      throw FormatError(at, fmt::format("has a predictor, {}, that is not known", page.predictor));
    break;
  default:
    throw FormatError(at, fmt::format("is compressed in a way, {}, that is not read; tiffcp -c zip OLD NEW makes one that is",
                                      name_of_compression(page.compression)));
  }
  if (page.photometric == tiff::kYCbCr && page.compression != tiff::kJpeg)
    throw FormatError(at, "has colours as luminance and differences without JPEG; convert it to red, green and blue");
  if ((page.photometric == tiff::kRgb || page.photometric == tiff::kYCbCr) && page.samples < 3)
    throw FormatError(at, fmt::format("has colours, and says that a pixel has {} of the samples that these take",
                                      page.samples == 1 ? "one" : "two"));
  if (const TiffPage::Numbers two = directory.numbers(Tag::subsampling); two.count >= 2)
    for (int i = 0; i < 2; ++i)
      page.subsampling[i] = static_cast<std::uint16_t>(
          Tiff::number(two.from + static_cast<std::uint64_t>(i * two.width), std::min<std::int64_t>(two.width, 2)));
  if (const TiffPage::Numbers tables = directory.numbers(Tag::tables); page.compression == tiff::kJpeg && tables.count != 0) {
    if (tables.width != 1 || tables.count > kMostTables) throw FormatError(tables.from, "has tables of JPEG that are none");
    page.tables = {tables.from, tables.count};
  }

  page.tiles = directory.numbers(Tag::tile_width).count != 0;
  if (page.tiles) {
    page.piece_width = directory.size(Tag::tile_width, kMostSize, "columns in a tile");
    page.piece_height = directory.size(Tag::tile_height, kMostSize, "rows in a tile");
  } else {
    page.piece_width = page.width;
    const std::uint64_t rows = directory.number(Tag::rows_of_strip, UINT32_MAX);
    if (rows == 0) throw FormatError(at, "has strips without rows");
    page.piece_height = static_cast<std::int64_t>(std::min(rows, static_cast<std::uint64_t>(page.height)));
  }
  std::int64_t bytes = page.element.bytes();
  const auto times = [&](std::int64_t n) {
    if (__builtin_mul_overflow(bytes, n, &bytes) || bytes > INT64_MAX / 8)
      throw FormatError(at, "has sizes that multiply to more than any file has");
  };
  for (const std::int64_t n : {page.width, page.height, page.samples}) times(n);
  bytes = page.element.bytes();
  for (const std::int64_t n : {page.piece_width, page.piece_height, page.samples_of_piece()}) times(n);
  if (page.compression != tiff::kNone && bytes > kMostOfPiece)
    throw FormatError(
        at, fmt::format("is compressed in pieces of {} bytes, each of which is decoded as a whole; {} are the most, and "
                        "tiffcp -t -w 256 -l 256 OLD NEW makes small ones",
                        bytes, kMostOfPiece));
  page.places = directory.numbers(page.tiles ? Tag::tile_places : Tag::strip_places);
  page.sizes = directory.numbers(page.tiles ? Tag::tile_sizes : Tag::strip_sizes);
  const auto pieces = static_cast<std::uint64_t>(page.across()) * static_cast<std::uint64_t>(page.down());
  const auto all = pieces > bytes_ ? pieces : static_cast<std::uint64_t>(page.pieces()); // a file has no more than bytes
  if (page.places.count < all || page.sizes.count < all)
    throw FormatError(at, fmt::format("has {} pieces and says of {} where they are, and of {} how long", all, page.places.count,
                                      page.sizes.count));
  return page;
}

std::int64_t TiffPage::rows_of_piece(std::int64_t row) const {
  return tiles ? piece_height : std::min(piece_height, height - row * piece_height);
}

TiffPage::Place Tiff::piece(const TiffPage& page, std::int64_t number) {
  const auto entry = [&](const TiffPage::Numbers& of) {
    return Tiff::number(of.from + static_cast<std::uint64_t>(number * of.width), of.width);
  };
  const TiffPage::Place place{entry(page.places), entry(page.sizes)};
  const char* const what = page.tiles ? "tile" : "strip";
  if (place.bytes == 0)
    throw FormatError(FormatError::kNowhere, fmt::format("has no bytes for {} {}: it is a sparse file; `gdal_translate -co "
                                                         "SPARSE_OK=FALSE` writes it with all of its pieces",
                                                         what, number));
  if (place.from > bytes_ || place.bytes > bytes_ - place.from)
    throw FormatError(std::min(place.from, bytes_),
                      fmt::format("has no {} {} there: the file ends before it does", what, number));
  const std::int64_t made = page.row_bytes() * page.rows_of_piece(number / page.across() % page.down());
  const std::int64_t least = page.compression == tiff::kNone ? made : page.compression == tiff::kJpeg ? 1 : made / kMostPerByte;
  if (place.bytes < static_cast<std::uint64_t>(least))
    throw FormatError(place.from,
                      fmt::format("has {} bytes for {} {}, which are too few for {}", place.bytes, what, number, made));
  constexpr std::uint64_t kBeside = 1 << 20; // tables and marks of JPEG
  if (page.compression != tiff::kNone && place.bytes > 2 * static_cast<std::uint64_t>(made) + kBeside)
    throw FormatError(place.from,
                      fmt::format("has {} bytes for {} {}, which are too many for {}", place.bytes, what, number, made));
  return place;
}

} // namespace cairn::formats
