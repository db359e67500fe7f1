// Files of arrays that are written part by part, in any order, so that an array need not be in memory: begun, filled and finished, each
// of which is an effect. What makes such a file is (path format type sizes) to the program, and a number; of files in work the
// machine has nothing that a state would need (files.h). Each part is at its place whatever came before, so a part that is written
// again changes nothing.
#include "vm/formats/npy.h"
#include "vm/machine/file_call.h"
#include "vm/machine/shown_path.h"

#include <algorithm>
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
  std::string_view who() const { return who_; }
  Files::Parts parts() const { return {who_, path_, bytes_}; }
  const std::string& head() const { return head_; }
  DType type() const { return type_; }
  const Shape& shape() const { return shape_; }
  std::uint64_t bytes() const { return bytes_; }

private:
  std::string_view who_ = "tiled->npy", path_;
  DType type_ = DType::f32;
  Shape shape_;
  std::string head_;
  std::uint64_t bytes_ = 0;
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
  if (rest != value::kNull || !value::is_string(parts[0]) || !type || !naturals(parts[3], sizes))
    call.wrong(kFile, call.operands[0]);
  path_ = value::as_text(parts[0])->view();
  type_ = *type;
  std::int64_t bytes = ops::bytes_of(type_);
  for (const std::int64_t size : sizes) {
    shape_.push_back(size);
    if (__builtin_mul_overflow(bytes, size, &bytes))
      throw ProgramError(fmt::format("{}: {}: sizes that multiply to more than any file has", who_, shown_path(path_)));
  }
  head_ = formats::npy_header(type_, shape_);
  if (head_.empty())
    throw ProgramError(fmt::format("{}: {}: NumPy has no elements of type {}; let f end in (cast t 'f32)", who_, shown_path(path_),
                                   ops::name_of(type_)));
  bytes_ = head_.size() + static_cast<std::uint64_t>(bytes);
}

// Where the elements of a part go: runs that are in one piece in the part and in the file, in the order of the part.
class Runs {
public:
  Runs(const ArrayFile& file, const std::vector<std::int64_t>& starts, const Shape& part) : part_(part), at_(part.rank(), 0) {
    const std::int64_t element = ops::bytes_of(file.type());
    int axis = part.rank();
    std::int64_t stride = element;
    run_ = element;
    strides_.resize(static_cast<std::size_t>(axis));
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
    place_ += static_cast<std::int64_t>(file.head().size());
  }
  std::uint64_t count() const { return count_; }
  std::int64_t bytes() const { return run_; } // of each
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

void put_runs(const FileCall& call, files::FileSink& sink, const Tensor& t, Runs runs) {
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

std::uint64_t file_number(const FileCall& call) { return call.number(1, 0, "the number of a file that was begun"); }

// Whether it was done, or the file is gone.
template <class F> Value done(FileCall& call, const ArrayFile& file, F&& f) {
  const Value v = call.engine.effects.asked(std::string(file.who()) + ": what became of a file",
                                            [&] { return value::integer(f() ? 1 : 0); });
  return value::boolean(v.is_integer() && v.integer() != 0);
}

} // namespace

Value begin_file(FileCall& call) {
  const ArrayFile file(call);
  call.engine.meter().spend(Files::kEntry);
  return call.engine.effects.asked(std::string(file.who()) + ": a file", [&] {
    const std::uint64_t bytes = file.bytes() + Files::kEntry;
    call.engine.effects.check_limit(bytes);
    const std::uint64_t number = call.engine.files.begin_parts(file.parts(), std::as_bytes(std::span(file.head())));
    call.engine.effects.counters.file_bytes += bytes;
    return value::integer(static_cast<std::int64_t>(number));
  });
}

Value put_part(FileCall& call) {
  const ArrayFile file(call);
  const std::uint64_t number = file_number(call);
  const Tensor t = call.written(call.operands[3]);
  std::vector<std::int64_t> starts;
  bool fits = naturals(call.operands[2], starts) && starts.size() == static_cast<std::size_t>(file.shape().rank()) &&
              t.shape.rank() == file.shape().rank() && t.dtype == file.type();
  for (int axis = 0; fits && axis < t.shape.rank(); ++axis)
    fits = starts[static_cast<std::size_t>(axis)] <= file.shape()[axis] - t.shape[axis];
  if (!fits)
    throw ProgramError(fmt::format("{}: expected where a part of shape {} begins and its elements, got {} and {}", file.who(),
                                   file.shape().text(), call.engine.describe(call.operands[2]), t.shape.text()));
  const Runs runs(file, starts, t.shape);
  call.engine.meter().spend(static_cast<std::uint64_t>(t.bytes()) + kRunWork * runs.count());
  return done(call, file, [&] {
    return call.engine.files.put_part(file.parts(), number, [&](files::FileSink& sink) { put_runs(call, sink, t, runs); });
  });
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
