// Files of arrays that are written part by part, in any order, so that an array need not be in memory: begun, filled and
// finished, each of which is an effect. What makes such a file is (path format type sizes) to the program, and a number; of files
// in work the machine has nothing that a state would need (files.h). Each part is at its place whatever came before, so a part
// that is written again changes nothing.
#include "vm/formats/npy.h"
#include "vm/formats/tiff_layout.h"
#include "vm/machine/file_call.h"
#include "vm/machine/shown_path.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace cairn::machine::tensors {

using ops::DType;
using ops::Shape;
using ops::Tensor;

namespace {

// What a system call for one run of elements counts as work, beside its bytes.
constexpr std::uint64_t kRunWork = 1024;
constexpr std::uint64_t kRunsAtOnce = 256; // without a look at the meter

class ArrayFile {
public:
  explicit ArrayFile(FileCall& call);
  std::string_view who() const { return tiff_ ? "tiled->tiff" : "tiled->npy"; }
  Files::Parts parts() const { return {who(), path_, bytes()}; }
  DType type() const { return type_; }
  const Shape& shape() const { return shape_; }
  std::uint64_t bytes() const { return tiff_ ? tiff_->bytes : bytes_; }
  std::string head() const { return tiff_ ? formats::tiff_head(*tiff_) : formats::npy_header(type_, shape_); }
  std::uint64_t head_bytes() const { return tiff_ ? tiff_->elements : elements_; }
  const std::optional<formats::TiffLayout>& tiff() const { return tiff_; }

private:
  [[noreturn]] void refuse(const std::string& message) const {
    throw ProgramError(fmt::format("{}: {}: {}", who(), shown_path(path_), message));
  }
  void lay_out_tiff();
  std::string_view path_;
  DType type_ = DType::f32;
  Shape shape_;
  std::optional<formats::TiffLayout> tiff_;
  std::uint64_t elements_ = 0, bytes_ = 0; // where elements begin, and of the whole file
};

ArrayFile::ArrayFile(FileCall& call) {
  constexpr const char* kFile = "a file to be written by parts: a list of path, format, type of elements and sizes";
  Value parts[4];
  Value rest = call.operands[0];
  for (Value& part : parts) {
    if (!rest.is_pair()) call.wrong(kFile, call.operands[0]);
    part = rest.pair()->car;
    rest = rest.pair()->cdr;
  }
  const std::optional<DType> type = dtype_of_value(parts[2]);
  std::vector<std::int64_t> sizes;
  if (rest != value::kNull || !value::is_string(parts[0]) || !value::is_symbol(parts[1]) || !type || !naturals(parts[3], sizes))
    call.wrong(kFile, call.operands[0]);
  path_ = value::as_text(parts[0])->view();
  type_ = *type;
  std::int64_t bytes = ops::bytes_of(type_);
  bool fits = true;
  for (const std::int64_t size : sizes) {
    shape_.push_back(size);
    fits = fits && !__builtin_mul_overflow(bytes, size, &bytes);
  }
  if (value::as_text(parts[1])->view() == "tiff") {
    lay_out_tiff();
    return;
  }
  if (!fits) refuse("sizes that multiply to more than any file has");
  elements_ = formats::npy_header(type_, shape_).size();
  if (elements_ == 0) refuse(fmt::format("NumPy has no elements of type {}; let f end in (cast t 'f32)", ops::name_of(type_)));
  bytes_ = elements_ + static_cast<std::uint64_t>(bytes);
}

void ArrayFile::lay_out_tiff() {
  tiff_.emplace();
  if (type_ == DType::bf16) refuse("TIFF has no elements of type bf16; let f end in (cast t 'f32)");
  if (shape_.rank() == 4 && shape_[0] == 1) tiff_ = formats::tiff_layout(type_, shape_[2], shape_[3], shape_[1]);
  if (shape_.rank() != 4 || shape_[0] != 1 || !tiff_) {
    tiff_.emplace();
    refuse(fmt::format("a page of TIFF is [1, channels, height, width] with 1 to {} channels, and f gives {}; tiled->npy writes "
                       "what has other sizes",
                       formats::TiffLayout::kMostSamples, shape_.text()));
  }
}

// Where the elements of a part go: runs that are in one piece in the part and in the file, in the order of the part.
class NpyRuns {
public:
  NpyRuns(const ArrayFile& file, const std::vector<std::int64_t>& starts, const Shape& part) : part_(part), at_(part.rank(), 0) {
    int axis = part.rank();
    std::int64_t stride = ops::bytes_of(file.type());
    run_ = stride;
    strides_.resize(static_cast<std::size_t>(axis));
    place_ = static_cast<std::int64_t>(file.head_bytes());
    bool whole = true; // all axes behind are whole
    for (; axis-- > 0; stride *= file.shape()[axis]) {
      const auto i = static_cast<std::size_t>(axis);
      strides_[i] = stride;
      place_ += starts[i] * stride;
      if (whole) {
        run_ *= part[axis];
        axes_ = i;
      }
      whole = whole && part[axis] == file.shape()[axis];
    }
    for (std::size_t i = 0; i < axes_; ++i) count_ *= static_cast<std::uint64_t>(part[static_cast<int>(i)]);
  }
  std::uint64_t count() const { return count_; }
  std::int64_t bytes() const { return run_; } // of the one that is next
  std::uint64_t place() const { return static_cast<std::uint64_t>(place_); }
  void next() {
    for (std::size_t i = axes_; i-- > 0;) {
      place_ += strides_[i];
      if (++at_[i] < part_[static_cast<int>(i)]) return;
      place_ -= at_[i] * strides_[i];
      at_[i] = 0;
    }
  }

private:
  Shape part_;
  std::vector<std::int64_t> at_, strides_;
  std::size_t axes_ = 0; // that are gone through
  std::int64_t run_ = 0, place_ = 0;
  std::uint64_t count_ = 1;
};

// The same of a part whose channels come last, as far as a tile of the file goes.
class TiffRuns {
public:
  TiffRuns(const formats::TiffLayout& file, const std::vector<std::int64_t>& starts, const Shape& part)
      : file_(file), row_(starts[2]), last_row_(starts[2] + part[2]), first_(starts[3]), end_(starts[3] + part[3]),
        column_(first_), sample_bytes_(ops::bytes_of(file.type)), from_(starts[1] * sample_bytes_), samples_(part[1]) {}
  std::uint64_t count() const {
    const std::int64_t in_row =
        samples_ == file_.samples ? (end_ - 1) / file_.tile_width - first_ / file_.tile_width + 1 : end_ - first_;
    return first_ == end_ ? 0 : static_cast<std::uint64_t>((last_row_ - row_) * in_row);
  }
  std::int64_t bytes() const { return pixels() * samples_ * sample_bytes_; }
  std::uint64_t place() const { return file_.place(row_, column_) + static_cast<std::uint64_t>(from_); }
  void next() {
    column_ += pixels();
    if (column_ < end_) return;
    column_ = first_;
    ++row_;
  }

private:
  std::int64_t pixels() const {
    return samples_ == file_.samples ? std::min(end_, (column_ / file_.tile_width + 1) * file_.tile_width) - column_ : 1;
  }
  const formats::TiffLayout& file_;
  std::int64_t row_, last_row_, first_, end_, column_, sample_bytes_, from_, samples_;
};

template <class RunsOfFormat> void put_runs(const FileCall& call, files::FileSink& sink, const Tensor& t, RunsOfFormat runs) {
  std::int64_t put = 0; // of the run
  std::uint64_t since = 0;
  call.each_piece(t, [&](std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const auto now = bytes.first(std::min(bytes.size(), static_cast<std::size_t>(runs.bytes() - put)));
      sink.patch(runs.place() + static_cast<std::uint64_t>(put), now);
      bytes = bytes.subspan(now.size());
      put += static_cast<std::int64_t>(now.size());
      if (put < runs.bytes()) continue;
      put = 0;
      runs.next();
      if (++since % kRunsAtOnce == 0) call.engine.meter().poll();
    }
  });
}

// [1, channels, height, width] as [1, height, width, channels].
Tensor channels_last(Tensor t) {
  std::rotate(&t.shape[1], &t.shape[2], &t.shape[3] + 1);
  std::rotate(t.strides.begin() + 1, t.strides.begin() + 2, t.strides.begin() + 4);
  return t;
}

// Of what a derivative is being taken of.
[[noreturn]] void refuse_varying(const ArrayFile& file) {
  throw ProgramError(
      fmt::format("{}: a file has constants, and what f gives may depend on what a derivative is being taken of: write it "
                  "outside of the derivative, or let f end in a loss and use `tiled`",
                  file.who()));
}

std::uint64_t file_number(const FileCall& call) { return call.number(1, 0, "the number of a file that was begun"); }

// Whether it was done, or the file is gone.
template <class F> Value done(FileCall& call, const ArrayFile& file, F&& f) {
  const Value v =
      call.engine.effects.asked(std::string(file.who()) + ": what became of a file", [&] { return value::integer(f() ? 1 : 0); });
  return value::boolean(v.is_integer() && v.integer() != 0);
}

} // namespace

Value begin_file(FileCall& call) {
  const ArrayFile file(call);
  if (call.operands[1] != value::kFalse) refuse_varying(file);
  call.engine.meter().spend(Files::kEntry + file.head_bytes());
  return call.engine.effects.asked(std::string(file.who()) + ": a file", [&] {
    const std::uint64_t bytes = file.bytes() + Files::kEntry;
    call.engine.effects.check_limit(bytes);
    const value::Charged memory(call.heap, call.heap.scratch, static_cast<std::int64_t>(file.head_bytes()));
    const std::string head = file.head();
    const std::uint64_t number = call.engine.files.begin_parts(file.parts(), std::as_bytes(std::span(head)));
    call.engine.effects.counters.file_bytes += bytes;
    return value::integer(static_cast<std::int64_t>(number));
  });
}

Value put_part(FileCall& call) {
  const ArrayFile file(call);
  const std::uint64_t number = file_number(call);
  if (!is_tensor_like(call.operands[3])) call.wrong("a tensor", call.operands[3]);
  if (value::is_bundle(call.operands[3])) refuse_varying(file);
  const Tensor& given = elements_of(call.engine, call.engine.primal(call.operands[3]));
  std::vector<std::int64_t> starts;
  bool fits = naturals(call.operands[2], starts) && starts.size() == static_cast<std::size_t>(file.shape().rank()) &&
              given.shape.rank() == file.shape().rank() && given.dtype == file.type();
  for (int axis = 0; fits && axis < given.shape.rank(); ++axis)
    fits = starts[static_cast<std::size_t>(axis)] <= file.shape()[axis] - given.shape[axis];
  if (!fits)
    throw ProgramError(fmt::format("{}: expected where a part of shape {} begins and its elements, got {} and {}", file.who(),
                                   file.shape().text(), call.engine.describe(call.operands[2]), given.shape.text()));
  const auto put = [&](const Tensor& t, const auto& runs) {
    call.engine.meter().spend(static_cast<std::uint64_t>(t.bytes()) + kRunWork * runs.count());
    return done(call, file, [&] {
      return call.engine.files.put_part(file.parts(), number, [&](files::FileSink& sink) { put_runs(call, sink, t, runs); });
    });
  };
  if (file.tiff()) return put(call.in_order(channels_last(given)), TiffRuns(*file.tiff(), starts, given.shape));
  return put(call.in_order(given), NpyRuns(file, starts, given.shape));
}

Value finish_file(FileCall& call) {
  const ArrayFile file(call);
  const std::uint64_t number = file_number(call);
  call.engine.meter().spend(Files::kEntry);
  return done(call, file, [&] {
    if (call.engine.tensor_world != nullptr) call.engine.tensor_world->give_up_reads(); // of what the name stood for
    return call.engine.files.finish_parts(file.parts(), number);
  });
}

} // namespace cairn::machine::tensors
