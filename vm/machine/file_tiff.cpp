// Pages of TIFF as arrays of one image, of which regions are read: a list of the symbol `tiff`, the path, the number of the page,
// the sizes, which are 1, samples, height and width, and the type of the elements in the file. Of compressed pages the pieces
// that a region meets are decoded, of others its rows are read from where they are.
#include "vm/formats/tiff.h"
#include "vm/formats/tiff_codec.h"
#include "vm/machine/file_rows.h"
#include "vm/machine/shown_path.h"
#include "vm/machine/tiff_pieces.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace cairn::machine::tensors {

using formats::Element;
using formats::Tiff;
using formats::TiffPage;
using ops::Shape;
using ops::Tensor;

namespace {

constexpr std::uint64_t kPieceWork = 32; // a byte of a piece that is decoded

// Samples, rows, columns.
struct Region {
  std::array<std::int64_t, 3> from, size;
  std::int64_t end(int axis) const { return from[static_cast<std::size_t>(axis)] + size[static_cast<std::size_t>(axis)]; }
};

// One that is open.
struct PageInFile {
  PageInFile(FileCall& c, Files::Reading& opened, std::uint64_t n)
      : call(c), file(opened), number(n), tiff(file.size(),
                                               [this](std::uint64_t from, std::span<std::byte> to) {
                                                 call.engine.meter().spend(to.size());
                                                 file.read(from, to);
                                               }),
        page(tiff.page(n)) {}
  PageInFile(const PageInFile&) = delete;
  PageInFile& operator=(const PageInFile&) = delete;
  std::array<std::int64_t, 3> sizes() const { return {page.samples, page.height, page.width}; }

  FileCall& call;
  Files::Reading& file;
  std::uint64_t number;
  Tiff tiff;
  TiffPage page;
};

template <class F> Value of_page(FileCall& call, std::string_view path, std::uint64_t number, F&& f) {
  Files::Reading file = call.opened(path);
  return call.parsed(file, [&] {
    PageInFile page(call, file, number);
    return f(page);
  });
}

// Every n-th element of so many bytes.
void gather(const std::byte* from, std::int64_t n, std::int64_t bytes, std::byte* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) std::memcpy(to + i * bytes, from + i * n * bytes, static_cast<std::size_t>(bytes));
}

class RegionReader {
public:
  RegionReader(PageInFile& in, const Region& region, std::byte* to)
      : in_(in), page_(in.page), region_(region), to_(to), row_(in.call.heap), sample_(in.call.heap), tables_(in.call.heap) {}
  void read();

private:
  bool compressed() const { return page_.compression != formats::tiff::kNone; }
  void read_piece(std::int64_t plane, std::int64_t row, std::int64_t column);
  TiffPieces::Elements decoded(std::int64_t number, std::int64_t rows);
  // Puts pixels of a row of the page, `count` from column x on, into the result. The first of their samples is that one of the
  // page.
  void scatter(const std::byte* pixels, std::int64_t first_sample, std::int64_t y, std::int64_t x, std::int64_t count);

  PageInFile& in_;
  const TiffPage& page_;
  const Region& region_;
  std::byte* to_;
  value::ChargedVector<std::byte> row_, sample_, tables_;
};

void RegionReader::read() {
  if (std::find(region_.size.begin(), region_.size.end(), 0) != region_.size.end()) return;
  const std::int64_t height = page_.piece_height, width = page_.piece_width;
  if (page_.tables.bytes != 0) {
    tables_.resize(static_cast<std::size_t>(page_.tables.bytes));
    in_.file.read(page_.tables.from, tables_);
  }
  const std::int64_t first = page_.planar ? region_.from[0] : 0, end = page_.planar ? region_.end(0) : 1;
  for (std::int64_t plane = first; plane < end; ++plane)
    for (std::int64_t row = region_.from[1] / height; row * height < region_.end(1); ++row)
      for (std::int64_t column = region_.from[2] / width; column * width < region_.end(2); ++column)
        read_piece(plane, row, column);
}

void RegionReader::read_piece(std::int64_t plane, std::int64_t row, std::int64_t column) {
  const std::int64_t top = row * page_.piece_height, left = column * page_.piece_width, rows = page_.rows_of_piece(row);
  const std::int64_t y0 = std::max(region_.from[1], top), y1 = std::min(region_.end(1), top + rows);
  const std::int64_t x0 = std::max(region_.from[2], left), x1 = std::min(region_.end(2), left + page_.piece_width);
  const std::int64_t number = (plane * page_.down() + row) * page_.across() + column, row_bytes = page_.row_bytes();
  const std::int64_t pixel = page_.samples_of_piece() * page_.element.bytes(),
                     most = std::max<std::int64_t>(1, FileCall::kPiece / pixel);
  const auto each_part = [&](auto&& f) { // f(y, x, pixels, where they are in the piece)
    for (std::int64_t y = y0; y < y1; ++y)
      for (std::int64_t x = x0; x < x1; x += most) f(y, x, std::min(most, x1 - x), (y - top) * row_bytes + (x - left) * pixel);
  };
  if (compressed()) {
    TiffPieces::Elements elements = decoded(number, rows);
    each_part([&](std::int64_t y, std::int64_t x, std::int64_t count, std::int64_t at) {
      scatter(elements.data() + at, plane, y, x, count);
    });
    in_.call.engine.tensors().tiff_pieces.keep({in_.file.path(), in_.file.version(), in_.number, number}, std::move(elements));
    return;
  }
  const TiffPage::Place place = in_.tiff.piece(page_, number);
  each_part([&](std::int64_t y, std::int64_t x, std::int64_t count, std::int64_t at) {
    const auto bytes = static_cast<std::size_t>(count * pixel);
    if (row_.size() < bytes) row_.resize(bytes);
    in_.call.engine.meter().spend(bytes);
    in_.file.read(place.from + static_cast<std::uint64_t>(at), std::span(row_).first(bytes));
    scatter(row_.data(), plane, y, x, count);
  });
}

// Counted, and charged for, in the same way whether it was decoded before or not.
TiffPieces::Elements RegionReader::decoded(std::int64_t number, std::int64_t rows) {
  FileCall& call = in_.call;
  const TiffPage::Place place = in_.tiff.piece(page_, number);
  const auto made = static_cast<std::size_t>(rows * page_.row_bytes());
  call.engine.meter().spend(kPieceWork * made + place.bytes);
  std::optional<TiffPieces::Elements> before =
      call.engine.tensors().tiff_pieces.take({in_.file.path(), in_.file.version(), in_.number, number});
  TiffPieces::Elements elements = before ? std::move(*before) : TiffPieces::Elements(call.heap, made);
  // By whole pages, so that what is counted does not depend on what was read before.
  const std::uint64_t begin = place.from / files::kPage * files::kPage, skipped = place.from - begin;
  const std::uint64_t end = std::min(files::pages_of(place.from + place.bytes) * files::kPage, in_.file.size());
  const value::Charged memory(call.heap, call.heap.scratch, formats::decoding_memory(page_, place.bytes));
  TiffPieces::Elements bytes(call.heap, static_cast<std::size_t>(end - begin));
  if (before) return elements;
  in_.file.read(begin, bytes.span());
  try {
    formats::decode_piece(page_, rows, tables_,
                          std::span<const std::byte>(bytes.span())
                              .subspan(static_cast<std::size_t>(skipped), static_cast<std::size_t>(place.bytes)),
                          elements.data());
  } catch (const formats::FormatError& e) {
    throw formats::FormatError(place.from, fmt::format("has a {} that cannot be decoded, number {}: {}",
                                                       page_.tiles ? "tile" : "strip", number, e.what()));
  }
  return elements;
}

void RegionReader::scatter(const std::byte* pixels, std::int64_t first_sample, std::int64_t y, std::int64_t x,
                           std::int64_t count) {
  in_.call.engine.meter().poll();
  Element element = page_.element;
  if (compressed()) element.swapped = false;
  const std::int64_t bytes = element.bytes(), wide = ops::bytes_of(element.type), n = page_.samples_of_piece();
  const auto to = [&](std::int64_t sample) {
    return to_ +
           (((sample - region_.from[0]) * region_.size[1] + y - region_.from[1]) * region_.size[2] + x - region_.from[2]) * wide;
  };
  if (n == 1) return formats::decode(element, pixels, to(page_.planar ? first_sample : 0), count);
  if (sample_.size() < static_cast<std::size_t>(count * bytes)) sample_.resize(static_cast<std::size_t>(count * bytes));
  for (std::int64_t sample = region_.from[0]; sample < region_.end(0); ++sample) {
    gather(pixels + sample * bytes, n, bytes, sample_.data(), count);
    formats::decode(element, sample_.data(), to(sample), count);
  }
}

// What a program says of a page.
struct TiffArray {
  std::string_view path;
  std::uint64_t page;
  std::array<std::int64_t, 3> sizes;
  std::string_view type;
  void confirm(const PageInFile& in) const {
    Element element = in.page.element;
    element.swapped = false;
    if (in.sizes() != sizes || formats::name_of(element) != type)
      in.file.complain(fmt::format("has a page {} of sizes (1 {} {} {}) and type {}, not of (1 {} {} {}) and {}", page,
                                   in.page.samples, in.page.height, in.page.width, formats::name_of(element), sizes[0], sizes[1],
                                   sizes[2], type));
  }
};

// Numbers of a list that are not negative.
template <std::size_t N> std::array<std::int64_t, N> numbers_in(FileCall& call, Value list, const char* what) {
  std::array<std::int64_t, N> out;
  const std::string expected = fmt::format("{}: expected {}", call.name, what);
  Value rest = list;
  for (std::int64_t& n : out) {
    if (!rest.is_pair()) call.wrong(what, list);
    n = call.engine.to_index(rest.pair()->car, expected.c_str());
    if (n < 0) call.wrong(what, list);
    rest = rest.pair()->cdr;
  }
  if (rest != value::kNull) call.wrong(what, list);
  return out;
}

TiffArray tiff_array_of(FileCall& call, Value v) {
  constexpr const char* kExpected = "a page of TIFF: a list of `tiff`, a path, the number of the page, sizes, which are 1, "
                                    "samples, height and width, and a type";
  Value parts[4];
  Value rest = v.is_pair() ? v.pair()->cdr : v;
  for (Value& part : parts) {
    if (!rest.is_pair()) call.wrong(kExpected, v);
    part = rest.pair()->car;
    rest = rest.pair()->cdr;
  }
  if (rest != value::kNull || !is_tiff_array(v) || !value::is_string(parts[0]) || !value::is_symbol(parts[3]))
    call.wrong(kExpected, v);
  const std::string expected = fmt::format("{}: expected {}", call.name, kExpected);
  const std::int64_t page = call.engine.to_index(parts[1], expected.c_str());
  const auto sizes = numbers_in<4>(call, parts[2], kExpected);
  if (page < 0 || sizes[0] != 1) call.wrong(kExpected, v);
  return {value::as_text(parts[0])->view(),
          static_cast<std::uint64_t>(page),
          {sizes[1], sizes[2], sizes[3]},
          value::as_text(parts[3])->view()};
}

// So many images of the region, one behind the other.
Value read_regions(FileCall& call, PageInFile& in, std::int64_t images, const Region& region) {
  TensorWorld& world = call.engine.tensors();
  const Shape shape{images, region.size[0], region.size[1], region.size[2]};
  Tensor out = world.runtime.empty(in.page.element.type, shape, world.cpu());
  auto* const to = static_cast<std::byte*>(out.storage->block_to_write().data);
  const std::int64_t bytes = images == 0 ? 0 : out.bytes() / images;
  for (std::int64_t i = 0; i < images; ++i) RegionReader(in, region, to + i * bytes).read();
  return call.heap.make_tensor(world.runtime.to_device(out, world.runtime.default_device()));
}

// How many images the operands of read-rows ask for: the array has one.
std::int64_t images_of(FileCall& call, std::string_view path) {
  if (call.operands.size() == 2) return static_cast<std::int64_t>(numbers_of(call, call.operands[1], 1, path).size());
  const std::uint64_t first = call.number(1, 0, "the number of the first row"), count = call.number(2, 0, "a number of rows");
  if (first > 1 || count > 1 - first)
    throw ProgramError(
        fmt::format("{}: {}: a page of TIFF has 1 row, not {} from row {} on", call.name, shown_path(path), count, first));
  return static_cast<std::int64_t>(count);
}

} // namespace

bool is_tiff_array(Value v) {
  return v.is_pair() && value::is_symbol(v.pair()->car) && value::as_text(v.pair()->car)->view() == kTiff;
}

// (path [page])
Value tiff_array(FileCall& call) {
  const std::uint64_t number = call.number(1, 0, "the number of a page, which is not negative");
  return of_page(call, call.path(), number, [&](const PageInFile& in) {
    Heap& heap = call.heap;
    Element element = in.page.element;
    element.swapped = false;
    value::Owned sizes(heap, value::kNull), list(heap, value::kNull);
    for (const std::int64_t size : {in.page.width, in.page.height, in.page.samples, std::int64_t{1}})
      sizes.push(value::integer(size));
    list.push(heap.make_symbol(formats::name_of(element)));
    list.push(sizes.take());
    list.push(value::integer(static_cast<std::int64_t>(number)));
    list.push(Heap::retain(call.operands[0]));
    list.push(heap.make_symbol(kTiff));
    return list.take();
  });
}

// An array, where a region begins, and its sizes. The library's read-region has seen to other arrays.
Value read_tiff(FileCall& asked) {
  FileCall call(asked.engine, "read-region", asked.operands);
  const TiffArray array = tiff_array_of(call, call.operands[0]);
  const auto from = numbers_in<4>(call, call.operands[1], "a list of four numbers, where a region begins");
  const auto size = numbers_in<4>(call, call.operands[2], "a list of four sizes");
  const std::array<std::int64_t, 4> has{1, array.sizes[0], array.sizes[1], array.sizes[2]};
  for (std::size_t axis = 0; axis < has.size(); ++axis)
    if (from[axis] > has[axis] || size[axis] > has[axis] - from[axis])
      throw ProgramError(fmt::format("{}: {}: along axis {} there are {} elements, not {} from {} on", call.name,
                                     shown_path(array.path), axis, has[axis], size[axis], from[axis]));
  return of_page(call, array.path, array.page, [&](PageInFile& in) {
    array.confirm(in);
    return read_regions(call, in, size[0], {{from[1], from[2], from[3]}, {size[1], size[2], size[3]}});
  });
}

Value read_tiff_rows(FileCall& call) {
  const TiffArray array = tiff_array_of(call, call.operands[0]);
  const std::int64_t images = images_of(call, array.path);
  return of_page(call, array.path, array.page, [&](PageInFile& in) {
    array.confirm(in);
    return read_regions(call, in, images, {{0, 0, 0}, array.sizes});
  });
}

void check_tiff_rows(FileCall& call) { images_of(call, tiff_array_of(call, call.operands[0]).path); }

} // namespace cairn::machine::tensors
