// Procedures that read and write files. Reading makes new tensors, constants to every derivative; writing takes primals.
#include "ops/operator_ids.h"
#include "vm/bytecode/tensors.h"
#include "vm/formats/csv.h"
#include "vm/formats/format_error.h"
#include "vm/formats/npy.h"
#include "vm/formats/safetensors.h"
#include "vm/machine/engine.h"
#include "vm/machine/tensor_operands.h"
#include "vm/text/utf8.h"
#include "vm/value/charged.h"

#include <fmt/format.h>

#include <algorithm>

namespace cairn::machine::tensors {

using bytecode::TensorProcedure;
using ops::DType;
using ops::Shape;
using ops::Tensor;

namespace {

constexpr std::int64_t kPiece = std::int64_t{1} << 20; // what is copied at once, where it must be

// One call of such a procedure.
class FileCall {
public:
  FileCall(Engine& engine, std::string_view name, std::span<const Value> operands)
      : engine_(engine), heap_(engine.heap()), name_(name), operands_(operands) {}
  Value size() { return value::integer(static_cast<std::int64_t>(opened().size())); }
  Value bytes();
  Value text();
  Value npy();
  Value safetensors();
  Value csv();
  Value write_text();
  Value write_npy();
  Value write_safetensors();

private:
  std::string_view path() const {
    if (!value::is_string(operands_[0])) wrong("the path of a file, a string", operands_[0]);
    return value::as_text(operands_[0])->view();
  }
  Files::Reading opened() { return engine_.files.open(name_, path(), engine_.effects.replayed()); }
  [[noreturn]] void wrong(std::string_view expected, Value given) const {
    throw ProgramError(fmt::format("{}: expected {}, got {}", name_, expected, engine_.describe(given)));
  }
  std::uint64_t number(std::size_t operand, std::uint64_t otherwise, const char* what) const;
  value::ChargedVector<char> characters(Files::Reading& file, std::uint64_t from, std::uint64_t count);
  Tensor tensor(Files::Reading& file, std::uint64_t from, DType type, const Shape& shape, bool swapped = false);
  // Calls f, which looks at the file's bytes.
  template <class F> auto parsed(const Files::Reading& file, F&& f) {
    try {
      return f();
    } catch (const formats::FormatError& e) {
      file.complain(fmt::format("{} (byte {})", e.what(), e.at));
    }
  }
  Tensor written(Value v);
  void put(files::FileSink& sink, std::string_view text) const;
  void put(files::FileSink& sink, const Tensor& t);
  Value replace(std::uint64_t bytes, const files::Content& content);
  Engine& engine_;
  Heap& heap_;
  const std::string_view name_;
  const std::span<const Value> operands_;
};

std::uint64_t FileCall::number(std::size_t operand, std::uint64_t otherwise, const char* what) const {
  if (operand >= operands_.size()) return otherwise;
  const std::string expected = fmt::format("{}: expected {}", name_, what);
  const std::int64_t n = engine_.to_index(operands_[operand], expected.c_str());
  if (n < 0) throw ProgramError(fmt::format("{}, got {}", expected, n));
  return static_cast<std::uint64_t>(n);
}

value::ChargedVector<char> FileCall::characters(Files::Reading& file, std::uint64_t from, std::uint64_t count) {
  engine_.meter().spend(count);
  value::ChargedVector<char> out(static_cast<std::size_t>(count), heap_);
  file.read(from, std::as_writable_bytes(std::span(out)));
  return out;
}

std::string_view view(const value::ChargedVector<char>& characters) { return {characters.data(), characters.size()}; }

void swap_bytes(std::byte* elements, std::int64_t bytes, std::int64_t of_one) {
  for (std::int64_t at = 0; at < bytes; at += of_one) std::reverse(elements + at, elements + at + of_one);
}

// A new one on the default device. On the processor the elements are read to where they stay.
Tensor FileCall::tensor(Files::Reading& file, std::uint64_t from, DType type, const Shape& shape, bool swapped) {
  ops::Device& device = engine_.tensors().runtime.default_device();
  Tensor t = engine_.tensors().runtime.empty(type, shape, device);
  const std::int64_t bytes = t.bytes();
  engine_.meter().spend(static_cast<std::uint64_t>(bytes));
  ops::Block& block = *t.storage->block;
  const bool here = &device == &engine_.tensors().cpu();
  const std::int64_t step = here ? std::max(bytes, std::int64_t{1}) : kPiece;
  value::ChargedVector<std::byte> piece(static_cast<std::size_t>(here ? 0 : std::min(bytes, kPiece)), heap_);
  for (std::int64_t at = 0; at < bytes; at += step) {
    const std::int64_t size = std::min(step, bytes - at);
    std::byte* to = here ? static_cast<std::byte*>(block.data) : piece.data();
    file.read(from + static_cast<std::uint64_t>(at), {to, static_cast<std::size_t>(size)});
    if (swapped) swap_bytes(to, size, ops::bytes_of(type));
    if (!here) device.copy_in(block, at, to, size);
  }
  return t;
}

Value FileCall::bytes() {
  Files::Reading file = opened();
  const std::uint64_t from = number(1, 0, "the number of the first byte");
  if (from > file.size()) file.complain(fmt::format("has {} bytes and none from byte {} on", file.size(), from));
  const std::uint64_t count = number(2, file.size() - from, "a number of bytes");
  if (count > file.size() - from) file.complain(fmt::format("has {} bytes, not {} from byte {} on", file.size(), count, from));
  return heap_.make_tensor(tensor(file, from, DType::u8, Shape{static_cast<std::int64_t>(count)}));
}

Value FileCall::text() {
  Files::Reading file = opened();
  if (file.size() > UINT32_MAX) file.complain("has more bytes than a string can have");
  engine_.meter().spend(file.size());
  value::Held<value::Text> text(heap_, heap_.make_text(file.size()));
  text->length = 0;
  file.read(0, {reinterpret_cast<std::byte*>(text->data()), text->bytes});
  const std::string_view all = text->view();
  for (std::size_t at = 0; at < all.size(); ++text->length) {
    if (text->length % 65536 == 0) engine_.meter().poll();
    const std::size_t begin = at;
    if (text::next_code_point(all, at) == text::kMalformed)
      file.complain(fmt::format("is no text in UTF-8 (byte {}); read-bytes takes any file", begin));
  }
  return value::of_other(text.take());
}

Value FileCall::npy() {
  Files::Reading file = opened();
  return parsed(file, [&] {
    const auto start = characters(file, 0, std::min(formats::kNpyStart, file.size()));
    const auto header = characters(file, 0, formats::npy_header_bytes(view(start), file.size()));
    const formats::NpyArray array = formats::parse_npy(view(header), file.size());
    Shape shape = array.shape;
    if (array.columns_first) std::reverse(&shape[0], &shape[0] + shape.rank());
    Tensor t = tensor(file, array.offset, array.type, shape, array.swapped);
    if (array.columns_first) {
      t.shape = array.shape;
      std::reverse(t.strides.begin(), t.strides.begin() + t.rank());
    }
    return heap_.make_tensor(t);
  });
}

Value FileCall::safetensors() {
  Files::Reading file = opened();
  return parsed(file, [&] {
    const auto start = characters(file, 0, std::min(formats::kSafetensorsStart, file.size()));
    const std::uint64_t bytes = formats::safetensors_header_bytes(view(start), file.size());
    const auto header = characters(file, formats::kSafetensorsStart, bytes);
    const value::Charged parsing(heap_, heap_.scratch, static_cast<std::int64_t>(formats::safetensors_memory(bytes)));
    std::vector<formats::NamedTensor> tensors = formats::parse_safetensors(view(header), file.size());
    value::Owned list(heap_, value::kNull);
    for (std::size_t i = tensors.size(); i-- > 0;) {
      const formats::NamedTensor& t = tensors[i];
      value::Owned made(heap_, heap_.make_tensor(tensor(file, formats::kSafetensorsStart + bytes + t.begin, t.type, t.shape)));
      Value name = heap_.make_string(t.name);
      list.push(heap_.cons(name, made.take()));
    }
    return list.take();
  });
}

Value FileCall::csv() {
  DType type = DType::f32;
  if (operands_.size() > 1) {
    const auto given = dtype_of_value(operands_[1]);
    if (!given || !ops::is_floating(*given)) wrong("a floating type of elements", operands_[1]);
    type = *given;
  }
  Files::Reading file = opened();
  return parsed(file, [&] {
    const auto text = characters(file, 0, file.size());
    engine_.meter().spend(8 * file.size()); // bytes that are looked at, and not just copied
    value::Charged names(heap_, heap_.scratch, static_cast<std::int64_t>(file.size()));
    value::ChargedVector<double> numbers(heap_);
    formats::CsvReader reader;
    reader.number = [&](double d) {
      if (numbers.size() % 4096 == 0) engine_.meter().poll();
      numbers.push_back(d);
    };
    reader.hold = [&](std::uint64_t bytes) { names.grow(static_cast<std::int64_t>(bytes)); };
    const formats::CsvTable table = formats::parse_csv(view(text), reader);
    ops::Runtime& runtime = engine_.tensors().runtime;
    const Tensor t = runtime.from_host(DType::f64, {table.rows, table.columns}, runtime.default_device(), numbers.data());
    value::Owned matrix(heap_, heap_.make_tensor(type == DType::f64 ? t : runtime.cast(t, type)));
    value::Owned list(heap_, value::kNull);
    for (std::size_t i = table.names.size(); i-- > 0;) list.push(heap_.make_string(table.names[i]));
    const Value first = list.take();
    return heap_.cons(first, matrix.take());
  });
}

// Elements one behind the other.
Tensor FileCall::written(Value v) {
  if (!is_tensor_like(v)) wrong("a tensor", v);
  const Tensor& t = elements_of(engine_, engine_.primal(v));
  return t.contiguous() ? t : engine_.tensors().runtime.apply(ops::OperatorId::contiguous, {t});
}

void FileCall::put(files::FileSink& sink, std::string_view text) const {
  for (; !text.empty(); text.remove_prefix(std::min(text.size(), static_cast<std::size_t>(kPiece)))) {
    engine_.meter().poll();
    sink.put(std::as_bytes(std::span(text.substr(0, static_cast<std::size_t>(kPiece)))));
  }
}

void FileCall::put(files::FileSink& sink, const Tensor& t) {
  const std::int64_t bytes = t.bytes(), begin = t.offset * ops::bytes_of(t.dtype);
  value::ChargedVector<std::byte> piece(static_cast<std::size_t>(std::min(bytes, kPiece)), heap_);
  for (std::int64_t at = 0; at < bytes; at += kPiece) {
    engine_.meter().poll();
    const std::int64_t size = std::min(kPiece, bytes - at);
    t.device()->copy_out(*t.storage->block, begin + at, piece.data(), size);
    sink.put({piece.data(), static_cast<std::size_t>(size)});
  }
}

Value FileCall::replace(std::uint64_t bytes, const files::Content& content) {
  engine_.meter().spend(bytes);
  const std::string_view where = path();
  engine_.effects.once([&] {
    engine_.effects.check_limit(bytes);
    engine_.files.replace(name_, where, content);
    engine_.effects.counters.file_bytes += bytes;
  });
  return value::kUnspecified;
}

Value FileCall::write_text() {
  if (!value::is_string(operands_[1])) wrong("a string", operands_[1]);
  const std::string_view text = value::as_text(operands_[1])->view();
  return replace(text.size(), [&](files::FileSink& sink) { put(sink, text); });
}

Value FileCall::write_npy() {
  const Tensor t = written(operands_[1]);
  const std::string header = formats::npy_header(t.dtype, t.shape);
  if (header.empty())
    throw ProgramError(
        fmt::format("{}: NumPy has no elements of type {}; convert them: (cast t 'f32)", name_, ops::name_of(t.dtype)));
  return replace(header.size() + static_cast<std::uint64_t>(t.bytes()), [&](files::FileSink& sink) {
    put(sink, header);
    put(sink, t);
  });
}

Value FileCall::write_safetensors() {
  std::uint64_t bytes = 0;
  std::vector<formats::NamedTensor> tensors;
  std::vector<Tensor> elements;
  value::Charged listing(heap_);
  for (Value v = operands_[1]; v != value::kNull; v = v.pair()->cdr) {
    if (!v.is_pair() || !v.pair()->car.is_pair() || !value::is_string(v.pair()->car.pair()->car))
      wrong("a list of pairs of a name, a string, and a tensor", v.is_pair() ? v.pair()->car : v);
    const value::Pair* entry = v.pair()->car.pair();
    const std::string_view name = value::as_text(entry->car)->view();
    constexpr std::size_t kTimes = 8; // lists double, and the header repeats each name with all escaped
    listing.grow(static_cast<std::int64_t>(kTimes * (name.size() + sizeof(formats::NamedTensor) + sizeof(Tensor))));
    engine_.meter().spend(name.size() + sizeof(Tensor));
    if (name == "__metadata__") throw ProgramError(fmt::format("{}: __metadata__ is no name for a tensor", name_));
    elements.push_back(written(entry->cdr));
    tensors.push_back({std::string(name), elements.back().dtype, elements.back().shape, 0, 0});
    bytes += static_cast<std::uint64_t>(elements.back().bytes());
  }
  std::vector<std::string_view> names;
  for (const formats::NamedTensor& t : tensors) names.push_back(t.name);
  std::sort(names.begin(), names.end());
  if (auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
    throw ProgramError(fmt::format("{}: two tensors of one name, {}", name_,
                                   engine_.describe(value::Owned(heap_, heap_.make_string(*twice)).v)));
  const std::string header = formats::safetensors_header(tensors);
  return replace(header.size() + bytes, [&](files::FileSink& sink) {
    put(sink, header);
    for (const Tensor& t : elements) put(sink, t);
  });
}

} // namespace

Value file_procedure(Engine& engine, TensorProcedure which, std::span<const Value> operands) {
  const std::string_view name = bytecode::tensor_operators()[bytecode::kFirstTensorProcedure + static_cast<unsigned>(which)].name;
  return translated(name, [&] {
    FileCall call(engine, name, operands);
    switch (which) {
    case TensorProcedure::read_bytes:
      return call.bytes();
    case TensorProcedure::read_text:
      return call.text();
    case TensorProcedure::read_npy:
      return call.npy();
    case TensorProcedure::read_safetensors:
      return call.safetensors();
    case TensorProcedure::read_csv:
      return call.csv();
    case TensorProcedure::write_text:
      return call.write_text();
    case TensorProcedure::write_npy:
      return call.write_npy();
    case TensorProcedure::write_safetensors:
      return call.write_safetensors();
    default:
      return call.size();
    }
  });
}

} // namespace cairn::machine::tensors
