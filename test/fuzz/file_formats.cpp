// Any bytes are a file of a known format or refused where they are wrong, and what is said of a file is true of it: its tensors
// lie in it. The first byte chooses the format.
#include "test/fuzz/fuzzing.h"
#include "vm/formats/bpe.h"
#include "vm/formats/codecs.h"
#include "vm/formats/csv.h"
#include "vm/formats/format_error.h"
#include "vm/formats/json.h"
#include "vm/formats/npy.h"
#include "vm/formats/safetensors.h"
#include "vm/formats/table.h"
#include "vm/formats/tiff.h"
#include "vm/formats/tiff_codec.h"
#include "vm/formats/zip.h"
#include "vm/text/utf8.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace {

using fuzzing::promise;
namespace formats = cairn::formats;

std::uint64_t bytes_of(const formats::Element& element, const cairn::ops::Shape& shape) {
  return static_cast<std::uint64_t>(shape.elements()) * static_cast<std::uint64_t>(element.bytes());
}

void npy(std::string_view file) {
  const std::uint64_t header = formats::npy_header_bytes(file.substr(0, formats::kNpyStart), file.size());
  promise(header <= file.size(), "the header of an array lies in its file");
  const formats::NpyArray array = formats::parse_npy(file.substr(0, header), file.size());
  promise(array.offset <= file.size() && file.size() - array.offset >= bytes_of(array.element, array.shape),
          "the elements of an array lie in its file");
}

void safetensors(std::string_view file) {
  const std::uint64_t header = formats::safetensors_header_bytes(file.substr(0, formats::kSafetensorsStart), file.size());
  promise(header <= file.size() - formats::kSafetensorsStart, "the header of tensors lies in its file");
  const auto tensors = formats::parse_safetensors(file.substr(formats::kSafetensorsStart, header), file.size());
  std::uint64_t at = 0;
  for (const formats::NamedTensor& t : tensors) {
    promise(t.begin == at && t.end - t.begin == bytes_of(t.element, t.shape), "tensors lie one behind the other", t.name);
    at = t.end;
  }
  promise(at <= file.size() - formats::kSafetensorsStart - header, "tensors lie in their file");
}

void csv(std::string_view file) {
  std::uint64_t numbers = 0, held = 0;
  const formats::CsvReader reader{[&](double) { ++numbers; }, [&](std::uint64_t bytes) { held += bytes; }};
  const formats::CsvTable table = formats::parse_csv(file, reader);
  promise(numbers == static_cast<std::uint64_t>(table.rows * table.columns), "a table is full of numbers");
  promise(table.names.empty() || table.names.size() == static_cast<std::size_t>(table.columns),
          "every column has a name or none");
}

// The first byte is the separator.
void table(std::string_view file) {
  if (file.empty() || std::string_view(",;|:\t ").find(file[0]) == std::string_view::npos) return;
  std::uint64_t held = 0, bytes = 0, line = 0;
  formats::TableRows rows(file.substr(1), file[0], [&](std::uint64_t more) { held += more; });
  for (std::vector<std::string_view> fields; rows.next(fields);) {
    promise(!fields.empty() && held >= fields.size() * sizeof(std::string_view), "a row has fields, whose memory was told");
    promise(rows.line() > line, "rows begin in lines of their own");
    line = rows.line();
    for (const std::string_view field : fields) {
      bytes += field.size();
      promise(!formats::is_missing(field) || formats::field_number(field), "what is missing is a number");
    }
  }
  promise(bytes < file.size(), "fields are parts of the file");
}

// Arrays and objects that are open, and keys and values in turn within these.
class Nesting : public formats::JsonSink {
public:
  void begin() override { counts_.push_back(0); }
  void end(bool object) override {
    promise(!counts_.empty() && (!object || counts_.back() % 2 == 0), "what ends has begun, and keys have values");
    counts_.pop_back();
    one();
  }
  void text(std::string_view text) override {
    promise(cairn::text::is_utf8(text), "texts are in UTF-8");
    one();
  }
  void integer(std::int64_t) override { one(); }
  void number(double) override { one(); }
  void truth(bool) override { one(); }
  void null() override { one(); }
  bool whole() const { return counts_.empty() && values_ == 1; }

private:
  void one() { counts_.empty() ? ++values_ : ++counts_.back(); }
  std::vector<std::size_t> counts_;
  std::size_t values_ = 0;
};

void json(std::string_view file) {
  Nesting nesting;
  formats::parse_json(file, nesting);
  promise(nesting.whole(), "a text in JSON is one value");
}

// A vocabulary, a zero, merges, a zero, a text.
void tokens(std::string_view file) {
  const auto part = [&] {
    const std::string_view out = file.substr(0, file.find('\0'));
    file.remove_prefix(std::min(out.size() + 1, file.size()));
    return out;
  };
  const formats::BpeVocabulary vocabulary = formats::parse_vocabulary(part());
  const formats::BpeFiles files = formats::parse_merges(part(), vocabulary);
  promise(files.of_bytes.size() == 256 && files.ends.size() == vocabulary.tokens.size(), "every byte and token has its place");
  if (!cairn::text::is_utf8(file)) return;
  formats::Merger merger({files.table});
  std::string again;
  for (std::size_t at = 0; at < file.size();) {
    const std::size_t end = formats::end_of_part(file, at);
    promise(end > at && end <= file.size(), "a text is split into parts that are not empty");
    std::vector<std::uint32_t> part_of;
    for (const char c : file.substr(at, end - at)) part_of.push_back(files.of_bytes[static_cast<unsigned char>(c)]);
    merger.merge(part_of);
    for (const std::uint32_t token : part_of) {
      promise(token < vocabulary.tokens.size(), "tokens are in the vocabulary");
      again += vocabulary.tokens[token];
    }
    at = end;
  }
  promise(again == file, "tokens are the text");
}

void archive(std::string_view file) {
  std::uint64_t held = 0;
  const auto read = [&](std::uint64_t from, std::span<char> to) {
    promise(from <= file.size() && to.size() <= file.size() - from, "an archive is read where it is");
    std::copy_n(file.begin() + static_cast<std::ptrdiff_t>(from), to.size(), to.begin());
  };
  for (const formats::ZipMember& member : formats::zip_members(read, file.size(), [&](std::uint64_t bytes) { held += bytes; })) {
    const std::uint64_t at = formats::zip_content(read, file.size(), member);
    promise(at <= file.size() && member.compressed <= file.size() - at, "a member lies in its archive");
    if (!member.deflated) continue;
    std::string_view left = file.substr(at, member.compressed);
    formats::Inflation inflation([&] { return std::as_bytes(std::span(std::exchange(left, {}))); });
    std::byte content[4096];
    inflation.read(content);
  }
}

void picture(std::string_view file) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(file));
  const cairn_picture measured = formats::measured_picture(bytes);
  promise(measured.channels >= 1 && measured.channels <= 4 && measured.height > 0 && measured.width > 0, "a picture has sizes");
  constexpr std::int64_t kMost = 1 << 22;
  if (measured.height * measured.width > kMost) return;
  std::vector<std::byte> elements(static_cast<std::size_t>(measured.height * measured.width * measured.channels));
  formats::decode_picture(bytes, measured, elements.data());
}

// Of its first two pages, every piece that is not too large.
void pages(std::string_view file) {
  formats::Tiff tiff(file.size(), [&](std::uint64_t from, std::span<std::byte> to) {
    promise(from <= file.size() && to.size() <= file.size() - from, "a TIFF is read where it is");
    const std::string_view part = file.substr(from, to.size());
    std::copy_n(reinterpret_cast<const std::byte*>(part.data()), part.size(), to.begin());
  });
  const std::span<const std::byte> bytes = std::as_bytes(std::span(file));
  for (std::uint64_t number = 0; number < 2; ++number) {
    const formats::TiffPage page = tiff.page(number);
    promise(page.width > 0 && page.height > 0 && page.samples > 0 && page.piece_width > 0 && page.piece_height > 0,
            "a page has sizes");
    promise(page.tables.from <= file.size() && page.tables.bytes <= file.size() - page.tables.from, "tables lie in their file");
    constexpr std::int64_t kMostOfPiece = 1 << 20, kMostPieces = 64;
    for (std::int64_t i = 0; i < std::min(page.pieces(), kMostPieces); ++i) {
      const formats::TiffPage::Place place = tiff.piece(page, i);
      promise(place.from <= file.size() && place.bytes <= file.size() - place.from, "a piece lies in its file");
      const std::int64_t rows = page.rows_of_piece(i / page.across() % page.down());
      if (page.compression == formats::tiff::kNone || rows * page.row_bytes() > kMostOfPiece) continue;
      std::vector<std::byte> elements(static_cast<std::size_t>(rows * page.row_bytes()));
      formats::decode_piece(page, rows, bytes.subspan(page.tables.from, page.tables.bytes),
                            bytes.subspan(place.from, place.bytes), elements.data());
    }
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view file(reinterpret_cast<const char*>(data) + 1, size - 1);
  constexpr void (*kFormats[])(std::string_view) = {npy, safetensors, csv, json, tokens, archive, picture, table, pages};
  try {
    kFormats[data[0] % std::size(kFormats)](file);
  } catch (const formats::FormatError& e) {
    promise((e.at <= file.size() || e.at == formats::FormatError::kNowhere) && *e.what() != '\0',
            "what is wrong with a file is at a place in it");
  }
  return 0;
}
