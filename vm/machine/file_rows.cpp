// Rows of arrays in files, read by position, so that a file may be larger than memory: an array is a list of the path, the type
// of the elements, where they begin and the sizes; behind those may stand how many elements it is from one row to the next, where
// that is not what a row has. Rows that will be wanted next are read ahead.
#include "vm/machine/file_rows.h"
#include "vm/machine/expected_file.h"
#include "vm/machine/shown_path.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

namespace cairn::machine::tensors {

using ops::Shape;
using ops::Tensor;

namespace {

struct ArrayInFile {
  std::string_view path;
  formats::Element element;
  std::uint64_t from = 0;
  Shape row;               // the sizes but the first
  std::int64_t rows = 0;   // the first
  std::int64_t bytes = 0;  // of a row
  std::int64_t stride = 0; // bytes from one row to the next
  std::uint64_t end = 0;   // bytes behind `from` that all rows take
};

constexpr const char* kArray = "an array in a file: a list of path, type of elements, first byte and sizes";

ArrayInFile array_of(FileCall& call, Value v) {
  Value parts[4];
  Value rest = v;
  for (Value& part : parts) {
    if (!rest.is_pair()) call.wrong(kArray, v);
    part = rest.pair()->car;
    rest = rest.pair()->cdr;
  }
  const Value stride = rest.is_pair() ? rest.pair()->car : value::kNull;
  if (rest.is_pair()) rest = rest.pair()->cdr;
  const bool named = value::is_symbol(parts[1]) || value::is_string(parts[1]);
  const auto element = formats::element_named(named ? value::as_text(parts[1])->view() : std::string_view());
  if (rest != value::kNull || !value::is_string(parts[0]) || !named) call.wrong(kArray, v);
  if (!element)
    throw ProgramError(fmt::format("{}: {}: expected a type of elements in a file, such as f32, u8 or i16-be, got {}", call.name,
                                   shown_path(value::as_text(parts[0])->view()), call.engine.describe(parts[1])));
  ArrayInFile out;
  out.path = value::as_text(parts[0])->view();
  out.element = *element;
  const std::string file = fmt::format("{}: {}", call.name, shown_path(out.path));
  const std::string expected = file + ": expected sizes and the number of a byte that are not negative";
  const auto natural = [&](Value n) {
    const std::int64_t i = call.engine.to_index(n, expected.c_str());
    if (i < 0) throw ProgramError(fmt::format("{}, got {}", expected, i));
    return i;
  };
  out.from = static_cast<std::uint64_t>(natural(parts[2]));
  if (!parts[3].is_pair()) call.wrong(kArray, v); // without axes there are no rows
  out.rows = natural(parts[3].pair()->car);
  for (rest = parts[3].pair()->cdr; rest.is_pair(); rest = rest.pair()->cdr) {
    if (out.row.rank() + 1 == ops::kMostAxes)
      throw ProgramError(fmt::format("{}: expected at most {} axes", file, ops::kMostAxes));
    out.row.push_back(natural(rest.pair()->car));
  }
  if (rest != value::kNull) call.wrong(kArray, v);
  const auto times = [&](std::int64_t a, std::int64_t b) {
    if (__builtin_mul_overflow(a, b, &a)) throw ProgramError(file + ": sizes that multiply to more than any file has");
    return a;
  };
  const bool none = std::find(out.row.begin(), out.row.end(), 0) != out.row.end(); // then the others may be of any size
  out.bytes = none ? 0 : out.element.bytes();
  for (const std::int64_t size : out.row) out.bytes = times(out.bytes, size);
  out.stride = stride == value::kNull ? out.bytes : times(natural(stride), out.element.bytes());
  if (out.rows != 0)
    out.end = static_cast<std::uint64_t>(times(out.rows - 1, out.stride)) + static_cast<std::uint64_t>(out.bytes);
  return out;
}

// Ranges of a file that become a tensor, one behind the other.
struct FileRanges {
  // Those of the call's operands. Nothing: there are no such rows.
  static std::optional<FileRanges> of(FileCall& call, const ArrayInFile& array);
  bool operator==(const FileRanges& o) const {
    return bytes == o.bytes && shape == o.shape && element.type == o.element.type && element.from == o.element.from &&
           element.swapped == o.element.swapped && places == o.places;
  }
  // Elements are converted, or brought to a device, so many bytes at a time; those that a tensor on the processor has as they
  // are, all at once. ElementSink does the same.
  std::int64_t piece(bool here) const { return here && element.plain() ? bytes : std::min(bytes, FileCall::kPiece); }
  // f(place, bytes) for every piece of every range, which `begins` is called before.
  template <class B, class F> void each_piece(bool here, B&& begins, F&& f) const {
    const std::int64_t most = piece(here);
    for (const std::uint64_t place : places) {
      begins();
      for (std::int64_t at = 0; at < bytes; at += most) f(place + static_cast<std::uint64_t>(at), std::min(most, bytes - at));
    }
  }

  formats::Element element;
  Shape shape;
  value::ChargedVector<std::uint64_t> places; // where each begins,
  std::int64_t bytes = 0;                     // and how long it is
};

std::optional<FileRanges> FileRanges::of(FileCall& call, const ArrayInFile& array) {
  FileRanges out{array.element, {}, value::ChargedVector<std::uint64_t>(call.heap), array.bytes};
  const auto place = [&](std::uint64_t row) { return array.from + row * static_cast<std::uint64_t>(array.stride); };
  const auto sizes = [&](std::uint64_t rows) {
    out.shape.push_back(static_cast<std::int64_t>(rows));
    for (const std::int64_t size : array.row) out.shape.push_back(size);
  };
  if (call.operands.size() > 2) {
    const auto rows = static_cast<std::uint64_t>(array.rows);
    const std::uint64_t first = call.number(1, 0, "the number of the first row"), count = call.number(2, 0, "a number of rows");
    if (first > rows || count > rows - first) return std::nullopt;
    sizes(count);
    const bool joined = array.stride == array.bytes;
    if (joined) out.bytes *= static_cast<std::int64_t>(count);
    for (std::uint64_t i = 0; i < (joined ? 1 : count); ++i) {
      if (i % 4096 == 0) call.engine.meter().poll();
      out.places.push_back(place(first + i));
    }
    return out;
  }
  const auto numbers = numbers_of(call, call.operands[1], array.rows, array.path);
  sizes(numbers.size());
  out.places.reserve(numbers.size());
  for (const std::int64_t row : numbers) out.places.push_back(place(static_cast<std::uint64_t>(row)));
  return out;
}

class ExpectedRows final : public ReadAhead::Job {
public:
  // Null: there is no room for it, or nothing to read.
  static std::unique_ptr<ExpectedRows> make(FileCall& call, std::unique_ptr<ExpectedFile> file, FileRanges ranges);
  bool is(const std::string& path, const FileRanges& ranges) const { return file_->path() == path && ranges_ == ranges; }
  // The elements, on the processor; nothing if they are of another file. What `file` complains of, reading would have.
  std::optional<Tensor> confirmed(FileCall& call, Files::Reading& file);

private:
  ExpectedRows(FileCall& call, std::unique_ptr<ExpectedFile> file, FileRanges ranges, bool here, std::uint64_t pages);
  void perform() override;

  std::unique_ptr<ExpectedFile> file_;
  FileRanges ranges_;
  bool here_; // where they are wanted
  value::Charged memory_;
  value::ChargedVector<std::uint64_t> sums_; // of the pages
  value::ChargedVector<std::byte> piece_;
  Tensor elements_;
  std::byte* to_;
};

bool wanted_here(FileCall& call) { return &call.engine.tensors().runtime.default_device() == &call.engine.tensors().cpu(); }

constexpr std::int64_t kQuick = std::int64_t{1} << 20; // bytes that are read in some tenths of a millisecond
constexpr std::int64_t kOfJob = sizeof(ExpectedRows) + sizeof(ExpectedFile);

std::unique_ptr<ExpectedRows> ExpectedRows::make(FileCall& call, std::unique_ptr<ExpectedFile> file, FileRanges ranges) {
  const std::int64_t elements = ranges.shape.elements(), width = ops::bytes_of(ranges.element.type);
  const bool here = wanted_here(call);
  std::int64_t bytes = 0;
  const auto fits = [&](std::int64_t more) {
    return !__builtin_add_overflow(bytes, more, &bytes) && bytes <= call.heap.headroom();
  };
  std::int64_t of_elements = 0;
  if (elements == 0 || __builtin_mul_overflow(elements, width, &of_elements) || !fits(of_elements)) return nullptr;
  CountedPages pages(file->size());
  ranges.each_piece(
      here, [] {}, [&](std::uint64_t place, std::int64_t size) { pages.read(place, static_cast<std::uint64_t>(size)); });
  const std::int64_t beside = kOfJob + static_cast<std::int64_t>(file->path().size()) + ops::kBesideElements;
  if (!fits(static_cast<std::int64_t>(pages.count() * sizeof(std::uint64_t))) || !fits(beside) || !fits(ranges.piece(here)))
    return nullptr;
  return std::unique_ptr<ExpectedRows>(new ExpectedRows(call, std::move(file), std::move(ranges), here, pages.count()));
}

ExpectedRows::ExpectedRows(FileCall& call, std::unique_ptr<ExpectedFile> file, FileRanges ranges, bool here, std::uint64_t pages)
    : Job(ranges.shape.elements() * ranges.element.bytes() <= kQuick), file_(std::move(file)), ranges_(std::move(ranges)),
      here_(here), memory_(call.heap, call.heap.scratch, kOfJob + static_cast<std::int64_t>(file_->path().size())),
      sums_(pages, call.heap), piece_(ranges_.element.plain() ? 0 : static_cast<std::size_t>(ranges_.piece(here)), call.heap),
      elements_(call.engine.tensors().runtime.empty(ranges_.element.type, ranges_.shape, call.engine.tensors().cpu())),
      to_(static_cast<std::byte*>(elements_.storage->block_to_write().data)) {
  file_->sum_into(sums_);
}

void ExpectedRows::perform() {
  const formats::Element& element = ranges_.element;
  std::byte* to = to_;
  const auto read = [&](std::uint64_t place, std::int64_t bytes) {
    const auto size = static_cast<std::size_t>(bytes);
    const std::int64_t count = bytes / element.bytes();
    file_->read(place, {element.plain() ? to : piece_.data(), size});
    if (!element.plain()) formats::decode(element, piece_.data(), to, count);
    to += count * ops::bytes_of(element.type);
  };
  ranges_.each_piece(
      here_, [] {}, read);
  file_->finish();
}

std::optional<Tensor> ExpectedRows::confirmed(FileCall& call, Files::Reading& file) {
  if (!(file_->version() == file.version())) return std::nullopt;
  // What reading would take meanwhile: a budget that has no room for it has none now.
  const bool direct = here_ && ranges_.element.plain();
  const value::Charged pieces(call.heap, call.heap.scratch, direct ? 0 : ranges_.piece(here_));
  const Tensor read = std::move(elements_); // until they have been copied, where they do not stay here
  ops::Runtime& runtime = call.engine.tensors().runtime;
  Tensor out = here_ ? read : runtime.empty(ranges_.element.type, ranges_.shape, runtime.default_device());
  std::span<const std::uint64_t> sums = sums_;
  const auto confirm = [&](std::uint64_t place, std::int64_t bytes) {
    file.confirm(place, {to_, static_cast<std::size_t>(bytes)}, sums);
  };
  ranges_.each_piece(
      here_, [&] { call.engine.meter().spend(static_cast<std::uint64_t>(ranges_.bytes)); }, confirm);
  if (!here_) out.device()->copy_in(out.storage->block_to_write(), 0, to_, out.bytes());
  return out;
}

// The rows, if they were expected and are there.
std::optional<Tensor> read_before(FileCall& call, Files::Reading& file, const FileRanges& ranges) {
  ReadAhead& ahead = call.engine.tensors().ahead;
  auto* const job = ahead.find<ExpectedRows>([&](const ExpectedRows& one) { return one.is(file.path(), ranges); });
  if (job == nullptr) return std::nullopt;
  const std::unique_ptr<ExpectedRows> rows = ahead.take(*job, call.engine.meter());
  if (rows == nullptr) return std::nullopt;
  try {
    return rows->confirmed(call, file);
  } catch (const value::BudgetExceeded&) { // there may be room without them, where they go to a device
    return std::nullopt;
  }
}

Tensor read_now(FileCall& call, Files::Reading& file, const FileRanges& ranges) {
  ElementSink sink(call, ranges.element, ranges.shape);
  for (const std::uint64_t place : ranges.places) {
    call.engine.meter().spend(static_cast<std::uint64_t>(ranges.bytes));
    sink.read(file, place, ranges.bytes);
  }
  return sink.take();
}

} // namespace

value::ChargedVector<std::int64_t> numbers_of(FileCall& call, Value v, std::int64_t rows, std::string_view path) {
  value::ChargedVector<std::int64_t> out(call.heap);
  const auto add = [&](double d) {
    if (!(d >= 0 && d < static_cast<double>(rows)) || d != static_cast<double>(static_cast<std::int64_t>(d)))
      throw ProgramError(fmt::format("{}: {}expected numbers of rows, {}, got {}", call.name,
                                     path.empty() ? "" : shown_path(path) + ": ",
                                     rows == 0 ? "of which there are none" : fmt::format("from 0 to {}", rows - 1), d));
    out.push_back(static_cast<std::int64_t>(d));
  };
  if (is_tensor_like(v)) {
    const Tensor& t = elements_of(call.engine, call.engine.primal(v));
    if (t.rank() != 1) call.wrong("a vector of numbers of rows", v);
    call.engine.meter().spend(static_cast<std::uint64_t>(t.bytes()));
    const value::Charged numbers(call.heap, call.heap.scratch, t.elements() * static_cast<std::int64_t>(sizeof(double)));
    for (const double d : call.engine.tensors().runtime.read_numbers(t)) add(d);
    return out;
  }
  for (; v.is_pair(); v = v.pair()->cdr) {
    if (!call.engine.is_number(v.pair()->car)) call.wrong("the number of a row", v.pair()->car);
    if (out.size() % 4096 == 0) call.engine.meter().poll();
    add(call.engine.to_double(v.pair()->car));
  }
  if (v != value::kNull) call.wrong("a vector or a list of numbers of rows", v);
  return out;
}

Value read_rows(FileCall& call) {
  if (is_picture_array(call.operands[0])) return read_pictures(call);
  if (is_tiff_array(call.operands[0])) return read_tiff_rows(call);
  const ArrayInFile array = array_of(call, call.operands[0]);
  Files::Reading file = call.opened(array.path);
  if (array.from > file.size() || array.end > file.size() - array.from)
    file.complain(
        fmt::format("has {} bytes; {} rows of {} from byte {} on take more", file.size(), array.rows, array.bytes, array.from));
  const std::optional<FileRanges> ranges = FileRanges::of(call, array);
  if (!ranges)
    file.complain(fmt::format("has {} rows, not {} from row {} on", array.rows, call.number(2, 0, ""), call.number(1, 0, "")));
  std::optional<Tensor> rows = read_before(call, file, *ranges);
  if (!rows) rows = read_now(call, file, *ranges);
  return call.heap.make_tensor(std::move(*rows));
}

// What is wrong with the operands is an error of the program. What is wrong with the file is one when its rows are wanted, and
// where there is no room for them now, they are read then.
Value read_ahead(FileCall& call) {
  if (is_tiff_array(call.operands[0])) {
    check_tiff_rows(call);
    return value::kUnspecified;
  }
  const bool pictures = is_picture_array(call.operands[0]);
  const ArrayInFile array = pictures ? ArrayInFile() : array_of(call, call.operands[0]);
  try {
    if (pictures) {
      read_pictures_ahead(call);
      return value::kUnspecified;
    }
    std::optional<FileRanges> ranges = FileRanges::of(call, array);
    if (!ranges) return value::kUnspecified;
    // The thread's work is counted, taken or not; that of reading is, too, when they are wanted.
    std::uint64_t bytes = 0;
    if (__builtin_mul_overflow(static_cast<std::uint64_t>(ranges->bytes), ranges->places.size(), &bytes)) bytes = UINT64_MAX;
    call.engine.meter().spend(bytes);
    std::unique_ptr<ExpectedFile> file = ExpectedFile::open(call.engine.files.grants, array.path);
    if (file == nullptr || array.from > file->size() || array.end > file->size() - array.from) return value::kUnspecified;
    ReadAhead& ahead = call.engine.tensors().ahead;
    if (ahead.find<ExpectedRows>([&](const ExpectedRows& one) { return one.is(file->path(), *ranges); }) != nullptr)
      return value::kUnspecified;
    if (auto job = ExpectedRows::make(call, std::move(file), std::move(*ranges))) ahead.begin(std::move(job));
  } catch (const value::BudgetExceeded&) {
  } catch (const std::bad_alloc&) {
  }
  return value::kUnspecified;
}

} // namespace cairn::machine::tensors
