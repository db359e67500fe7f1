// See file_call.h.
#include "vm/machine/file_call.h"

#include "ops/operator_ids.h"
#include "vm/machine/recorded.h"

#include <algorithm>

namespace cairn::machine::tensors {

using ops::Tensor;

void FileCall::wrong(std::string_view expected, Value given) const {
  if (is_recorded(given)) refuse_recorded(engine, name);
  throw ProgramError(fmt::format("{}: expected {}, got {}", name, expected, engine.describe(given)));
}

std::string_view FileCall::text(std::size_t operand, std::string_view expected) const {
  if (!value::is_string(operands[operand])) wrong(expected, operands[operand]);
  return value::as_text(operands[operand])->view();
}

std::uint64_t FileCall::number(std::size_t operand, std::uint64_t otherwise, const char* what) const {
  if (operand >= operands.size()) return otherwise;
  const std::string expected = fmt::format("{}: expected {}", name, what);
  const std::int64_t n = engine.to_index(operands[operand], expected.c_str());
  if (n < 0) throw ProgramError(fmt::format("{}, got {}", expected, n));
  return static_cast<std::uint64_t>(n);
}

value::ChargedVector<char> FileCall::characters(Files::Reading& file, std::uint64_t from, std::uint64_t count) {
  engine.meter().spend(count);
  value::ChargedVector<char> out(static_cast<std::size_t>(count), heap);
  file.read(from, std::as_writable_bytes(std::span(out)));
  return out;
}

ElementSink::ElementSink(FileCall& call, const formats::Element& element, const ops::Shape& shape)
    : element_(element),
      tensor_(call.engine.tensors().runtime.empty(element.type, shape, call.engine.tensors().runtime.default_device())),
      here_(tensor_.device() == &call.engine.tensors().cpu()), piece_(call.heap), decoded_(call.heap) {}

void ElementSink::put(std::int64_t bytes, const Fill& fill) {
  ops::Block& block = tensor_.storage->block_to_write();
  const std::int64_t narrow = element_.bytes(), wide = ops::bytes_of(element_.type);
  const bool direct = here_ && element_.plain();
  for (std::int64_t step = 0; bytes != 0; bytes -= step) {
    step = direct ? bytes : std::min(bytes, FileCall::kPiece);
    const std::int64_t made = step / narrow * wide;
    std::byte* const to = here_ ? static_cast<std::byte*>(block.data) + at_ : nullptr;
    if (!direct && piece_.size() < static_cast<std::size_t>(step)) piece_.resize(static_cast<std::size_t>(step));
    fill({direct ? to : piece_.data(), static_cast<std::size_t>(step)});
    if (!direct) {
      if (!here_ && decoded_.size() < static_cast<std::size_t>(made)) decoded_.resize(static_cast<std::size_t>(made));
      std::byte* const decoded = here_ ? to : decoded_.data();
      formats::decode(element_, piece_.data(), decoded, step / narrow);
      if (!here_) tensor_.device()->copy_in(block, at_, decoded, made);
    }
    at_ += made;
  }
}

void ElementSink::read(Files::Reading& file, std::uint64_t from, std::int64_t bytes) {
  put(bytes, [&](std::span<std::byte> to) {
    file.read(from, to);
    from += to.size();
  });
}

Tensor FileCall::tensor(Files::Reading& file, std::uint64_t from, const formats::Element& element, const ops::Shape& shape) {
  ElementSink sink(*this, element, shape);
  const std::int64_t bytes = shape.elements() * element.bytes();
  engine.meter().spend(static_cast<std::uint64_t>(bytes));
  sink.read(file, from, bytes);
  return sink.take();
}

Tensor FileCall::tensor(ops::DType type, const ops::Shape& shape, const void* elements) {
  ops::Runtime& runtime = engine.tensors().runtime;
  return runtime.from_host(type, shape, runtime.default_device(), elements);
}

Tensor FileCall::written(Value v) {
  if (!is_tensor_like(v)) wrong("a tensor", v);
  return in_order(elements_of(engine, engine.primal(v)));
}

Tensor FileCall::in_order(const Tensor& t) {
  return t.contiguous() ? t : engine.tensors().runtime.apply(ops::OperatorId::contiguous, {t});
}

void FileCall::put(files::FileSink& sink, std::string_view bytes) const {
  for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), static_cast<std::size_t>(kPiece)))) {
    engine.meter().poll();
    sink.put(std::as_bytes(std::span(bytes.substr(0, static_cast<std::size_t>(kPiece)))));
  }
}

void FileCall::put(files::FileSink& sink, const Tensor& t) const {
  each_piece(t, [&](std::span<const std::byte> bytes) { sink.put(bytes); });
}

void FileCall::each_piece(const Tensor& t, const std::function<void(std::span<const std::byte>)>& f) const {
  const std::int64_t bytes = t.bytes(), begin = t.offset * ops::bytes_of(t.dtype);
  value::ChargedVector<std::byte> piece(static_cast<std::size_t>(std::min(bytes, kPiece)), heap);
  for (std::int64_t at = 0; at < bytes; at += kPiece) {
    engine.meter().poll();
    const std::int64_t size = std::min(kPiece, bytes - at);
    t.device()->copy_out(t.storage->block(), begin + at, piece.data(), size);
    f({piece.data(), static_cast<std::size_t>(size)});
  }
}

Value FileCall::replace(std::uint64_t content_bytes, const files::Content& content) {
  const std::uint64_t bytes = content_bytes + Files::kEntry;
  engine.meter().spend(bytes);
  const std::string_view where = path();
  engine.effects.once([&] {
    engine.effects.check_limit(bytes);
    if (engine.tensor_world != nullptr) engine.tensor_world->give_up_reads(); // whatever links there are to this file
    engine.files.replace(name, where, content);
    engine.effects.counters.file_bytes += bytes;
  });
  return value::kUnspecified;
}

} // namespace cairn::machine::tensors
