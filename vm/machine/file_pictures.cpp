// Files of pictures as the rows of an array, all brought to one size. An array of pictures is a list of the symbol `pictures`, a
// vector of paths, 0 and the sizes: how many, height, width and channels, 1 or 3.
#include "vm/formats/codecs.h"
#include "vm/formats/fitting.h"
#include "vm/machine/expected_file.h"
#include "vm/machine/file_rows.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

namespace cairn::machine::tensors {

using formats::PictureSize;
using ops::DType;
using ops::Shape;
using ops::Tensor;

namespace {

constexpr std::uint64_t kDecodingWork = 32, kFittingWork = 8; // a byte of a picture that is decoded, that is fitted

struct PictureArray {
  std::span<const Value> paths;
  PictureSize size;
  std::string_view path(std::int64_t row) const { return value::as_text(paths[static_cast<std::size_t>(row)])->view(); }
};

PictureArray pictures_of(FileCall& call, Value v) {
  constexpr const char* kExpected = "pictures: a list of `pictures`, a vector of paths, 0 and sizes, which are the number of "
                                    "paths, height, width and 1 or 3 channels";
  constexpr std::int64_t kMostSize = 1 << 15;
  Value parts[3], sizes[4];
  Value rest = v.pair()->cdr;
  const auto take = [&](std::span<Value> to) {
    for (Value& part : to) {
      if (!rest.is_pair()) call.wrong(kExpected, v);
      part = rest.pair()->car;
      rest = rest.pair()->cdr;
    }
    if (rest != value::kNull) call.wrong(kExpected, v);
  };
  take(parts);
  rest = parts[2];
  take(sizes);
  if (!value::is_vector(parts[0])) call.wrong(kExpected, v);
  const value::Vector* const paths = value::as_vector(parts[0]);
  const auto size = [&](int i, std::int64_t most) {
    if (!sizes[i].is_integer() || sizes[i].integer() < 1 || sizes[i].integer() > most) call.wrong(kExpected, v);
    return sizes[i].integer();
  };
  PictureArray out{{paths->items(), paths->length}, {size(1, kMostSize), size(2, kMostSize), size(3, 3)}};
  if (!sizes[0].is_integer() || static_cast<std::uint64_t>(sizes[0].integer()) != paths->length || out.size.channels == 2)
    call.wrong(kExpected, v);
  return out;
}

// The rows of the call's operands, all of which have paths.
value::ChargedVector<std::int64_t> rows_of(FileCall& call, const PictureArray& array) {
  const std::uint64_t all = array.paths.size();
  value::ChargedVector<std::int64_t> rows(call.heap);
  if (call.operands.size() > 2) {
    const std::uint64_t first = call.number(1, 0, "the number of the first row"), count = call.number(2, 0, "a number of rows");
    if (first > all || count > all - first)
      throw ProgramError(fmt::format("{}: there are {} pictures, not {} from {} on", call.name, all, count, first));
    for (std::uint64_t i = 0; i < count; ++i) rows.push_back(static_cast<std::int64_t>(first + i));
  } else {
    rows = numbers_of(call, call.operands[1], static_cast<std::int64_t>(all), "");
  }
  for (const std::int64_t row : rows)
    if (const Value path = array.paths[static_cast<std::size_t>(row)]; !value::is_string(path))
      call.wrong("the path of a picture, a string", path);
  return rows;
}

// What a picture in a file is, and what making a row of it takes.
struct Measured {
  Measured(const cairn_picture& p, const PictureSize& row) : picture(p), size{p.height, p.width, p.channels}, row_size(row) {}
  std::int64_t memory() const { return picture.memory + size.bytes() + formats::fitting_memory(size, row_size); }
  std::uint64_t work() const {
    return kDecodingWork * static_cast<std::uint64_t>(size.bytes()) +
           kFittingWork * static_cast<std::uint64_t>(size.bytes() + row_size.bytes());
  }
  // The memory is the caller's to account for.
  void make(std::span<const std::byte> file, std::byte* to) const {
    std::vector<std::byte> whole(static_cast<std::size_t>(size.bytes()));
    formats::decode_picture(file, picture, whole.data());
    formats::fit_picture(whole.data(), size, to, row_size);
  }
  cairn_picture picture;
  PictureSize size, row_size;
};

void read_picture(FileCall& call, Files::Reading& file, const PictureSize& row_size, std::byte* to) {
  call.parsed(file, [&] {
    const auto bytes = call.all(file);
    const std::span<const std::byte> content = std::as_bytes(std::span(bytes));
    const Measured measured(formats::measured_picture(content), row_size);
    call.engine.meter().spend(measured.work());
    const value::Charged memory(call.heap, call.heap.scratch, measured.memory());
    measured.make(content, to);
  });
}

// Bytes of the meter of this thread.
class Lent {
public:
  explicit Lent(std::int64_t bytes) : bytes_(bytes) { ops::Meter::current()->take(bytes); }
  ~Lent() { ops::Meter::current()->give_back(bytes_); }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;

private:
  std::int64_t bytes_;
};

class ExpectedPictures final : public ReadAhead::Job {
public:
  // What the thread may take for one picture: the file, the picture as it is decoded, and what libraries need. Larger ones are
  // read when they are wanted, and so are files of so many pages that there is no room for their checksums.
  static constexpr std::int64_t kMemory = std::int64_t{32} << 20;
  static constexpr std::size_t kPages = 256;

  // Null: there is no room for it.
  static std::unique_ptr<ExpectedPictures> make(FileCall& call, const PictureArray& array, std::span<const std::int64_t> rows);
  bool is(const PictureArray& array, std::span<const std::int64_t> rows) const;
  Tensor& elements() { return elements_; }
  // True: row i is there, and is what is in the file. What `file` complains of, reading would have.
  bool confirmed(FileCall& call, Files::Reading& file, std::size_t i) const;

private:
  struct Row {
    std::string path; // as the program writes it
    std::optional<files::Version> version;
    std::string normal;
    std::size_t first_sum = 0, sums = 0;
    std::optional<Measured> measured; // nothing: it is not there
  };
  ExpectedPictures(FileCall& call, const PictureArray& array, std::span<const std::int64_t> rows, std::int64_t beside);
  void perform() override;
  void make_row(Row& row, std::byte* to);

  files::Grants grants_;
  PictureSize size_;
  value::Charged memory_;
  value::ChargedVector<std::uint64_t> sums_;
  std::size_t summed_ = 0;
  std::vector<Row> rows_;
  Tensor elements_;
  std::byte* to_;
};

std::unique_ptr<ExpectedPictures> ExpectedPictures::make(FileCall& call, const PictureArray& array,
                                                         std::span<const std::int64_t> rows) {
  const std::int64_t headroom = call.heap.headroom();
  constexpr std::int64_t kOfRow = sizeof(Row) + kPages * sizeof(std::uint64_t);
  const auto count = static_cast<std::int64_t>(rows.size());
  std::int64_t beside = kMemory + static_cast<std::int64_t>(sizeof(ExpectedPictures)), sums = 0, bytes = 0;
  for (const std::int64_t row : rows) beside += static_cast<std::int64_t>(sizeof(Row) + 2 * array.path(row).size() + 2);
  if (count == 0 || __builtin_mul_overflow(count, array.size.bytes(), &bytes) || __builtin_mul_overflow(count, kOfRow, &sums))
    return nullptr;
  if (bytes > headroom || sums > headroom || beside > headroom || bytes + sums + beside + ops::kBesideElements > headroom)
    return nullptr;
  return std::unique_ptr<ExpectedPictures>(new ExpectedPictures(call, array, rows, beside));
}

ExpectedPictures::ExpectedPictures(FileCall& call, const PictureArray& array, std::span<const std::int64_t> rows,
                                   std::int64_t beside)
    : Job(false, kMemory), grants_(call.engine.files.grants), size_(array.size), memory_(call.heap, call.heap.scratch, beside),
      sums_(kPages * rows.size(), call.heap), rows_(rows.size()),
      elements_(call.engine.tensors().runtime.empty(
          DType::u8, Shape{static_cast<std::int64_t>(rows.size()), size_.height, size_.width, size_.channels},
          call.engine.tensors().cpu())),
      to_(static_cast<std::byte*>(elements_.storage->block_to_write().data)) {
  for (std::size_t i = 0; i < rows.size(); ++i) rows_[i].path = array.path(rows[i]);
}

bool ExpectedPictures::is(const PictureArray& array, std::span<const std::int64_t> rows) const {
  if (rows.size() != rows_.size() || array.size.height != size_.height || array.size.width != size_.width ||
      array.size.channels != size_.channels)
    return false;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (array.path(rows[i]) != rows_[i].path) return false;
  return true;
}

void ExpectedPictures::perform() {
  std::byte* to = to_;
  for (Row& row : rows_) {
    try {
      make_row(row, to);
    } catch (const ops::Cancelled&) {
      throw;
    } catch (const ExpectedFile::Unexpected&) {
    } catch (const formats::FormatError&) {
    } catch (const std::bad_alloc&) {
    }
    to += size_.bytes();
  }
}

void ExpectedPictures::make_row(Row& row, std::byte* to) {
  ops::Meter::poll_current();
  const std::unique_ptr<ExpectedFile> file = ExpectedFile::open(grants_, row.path);
  if (file == nullptr || file->size() > static_cast<std::uint64_t>(kMemory)) return;
  const Lent of_file(static_cast<std::int64_t>(file->size()));
  std::vector<std::byte> content(static_cast<std::size_t>(file->size()));
  file->sum_into(std::span(sums_).subspan(summed_));
  file->read(0, content);
  const std::size_t sums = file->finish();
  const Measured measured(formats::measured_picture(content), size_);
  {
    const Lent of_picture(measured.memory());
    measured.make(content, to);
  }
  row.version = file->version();
  row.normal = file->path();
  row.first_sum = summed_;
  row.sums = sums;
  summed_ += sums;
  row.measured = measured;
}

bool ExpectedPictures::confirmed(FileCall& call, Files::Reading& file, std::size_t i) const {
  const Row& row = rows_[i];
  if (!row.measured || !(*row.version == file.version()) || row.normal != file.path()) return false;
  const auto size = static_cast<std::int64_t>(file.size());
  call.engine.meter().spend(file.size());
  const value::Charged bytes(call.heap, call.heap.scratch, size);
  std::span<const std::uint64_t> sums = std::span(sums_).subspan(row.first_sum, row.sums);
  file.confirm(0, {static_cast<std::byte*>(nullptr), static_cast<std::size_t>(size)}, sums);
  call.engine.meter().spend(row.measured->work());
  const value::Charged memory(call.heap, call.heap.scratch, row.measured->memory());
  return true;
}

ExpectedPictures* expected_pictures(FileCall& call, const PictureArray& array, std::span<const std::int64_t> rows) {
  return call.engine.tensors().ahead.find<ExpectedPictures>([&](const ExpectedPictures& one) { return one.is(array, rows); });
}

} // namespace

bool is_picture_array(Value v) {
  return v.is_pair() && value::is_symbol(v.pair()->car) && value::as_text(v.pair()->car)->view() == kPictures;
}

Value read_pictures(FileCall& call) {
  formats::codecs();
  const PictureArray array = pictures_of(call, call.operands[0]);
  const auto rows = rows_of(call, array);
  TensorWorld& world = call.engine.tensors();
  std::unique_ptr<ExpectedPictures> ahead;
  if (auto* const job = expected_pictures(call, array, rows)) ahead = world.ahead.take(*job, call.engine.meter());
  const Shape shape{static_cast<std::int64_t>(rows.size()), array.size.height, array.size.width, array.size.channels};
  Tensor out = ahead != nullptr ? ahead->elements() : world.runtime.empty(DType::u8, shape, world.cpu());
  auto* to = static_cast<std::byte*>(out.storage->block_to_write().data);
  for (std::size_t i = 0; i < rows.size(); ++i, to += array.size.bytes()) {
    Files::Reading file = call.opened(array.path(rows[i]));
    if (ahead == nullptr || !ahead->confirmed(call, file, i)) read_picture(call, file, array.size, to);
  }
  ahead.reset();
  return call.heap.make_tensor(world.runtime.to_device(out, world.runtime.default_device()));
}

void read_pictures_ahead(FileCall& call) {
  formats::codecs();
  const PictureArray array = pictures_of(call, call.operands[0]);
  const auto rows = rows_of(call, array);
  call.engine.meter().spend(kDecodingWork * rows.size() *
                            static_cast<std::uint64_t>(array.size.bytes())); // as of pictures of that size
  if (expected_pictures(call, array, rows) != nullptr) return;
  if (auto job = ExpectedPictures::make(call, array, rows)) call.engine.tensors().ahead.begin(std::move(job));
}

} // namespace cairn::machine::tensors
