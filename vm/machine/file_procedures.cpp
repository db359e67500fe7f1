// Procedures that read files.
#include "vm/bytecode/tensors.h"
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

std::string_view path_of(const Engine& engine, std::string_view who, Value v) {
  if (!value::is_string(v))
    throw ProgramError(fmt::format("{}: expected the path of a file, a string, got {}", who, engine.describe(v)));
  return value::as_text(v)->view();
}

// A new tensor of the default device, filled from the file: the elements go where they stay.
Tensor tensor_of_file(Engine& engine, Files::Reading& file, std::uint64_t from, DType type, const Shape& shape) {
  constexpr std::int64_t kPiece = std::int64_t{1} << 20;
  ops::Device& device = engine.tensors().runtime.default_device();
  Tensor t = engine.tensors().runtime.empty(type, shape, device);
  const std::int64_t bytes = t.bytes();
  ops::Block& block = *t.storage->block;
  if (&device == &engine.tensors().cpu()) {
    file.read(from, {static_cast<std::byte*>(block.data), static_cast<std::size_t>(bytes)});
    return t;
  }
  value::ChargedVector<std::byte> piece(static_cast<std::size_t>(std::min(bytes, kPiece)), engine.heap());
  for (std::int64_t at = 0; at < bytes; at += kPiece) {
    const std::int64_t size = std::min(kPiece, bytes - at);
    file.read(from + static_cast<std::uint64_t>(at), {piece.data(), static_cast<std::size_t>(size)});
    device.copy_in(block, at, piece.data(), size);
  }
  return t;
}

Value read_bytes(Engine& engine, std::span<const Value> operands) {
  Files::Reading file = engine.files.open("read-bytes", path_of(engine, "read-bytes", operands[0]));
  auto number = [&](std::size_t i, std::uint64_t otherwise, const char* what) {
    if (i >= operands.size()) return otherwise;
    const std::int64_t n = engine.to_index(operands[i], what);
    if (n < 0) throw ProgramError(fmt::format("{}, got {}", what, n));
    return static_cast<std::uint64_t>(n);
  };
  const std::uint64_t from = number(1, 0, "read-bytes: expected the number of the first byte");
  if (from > file.size()) file.complain(fmt::format("has {} bytes and none from byte {} on", file.size(), from));
  const std::uint64_t count = number(2, file.size() - from, "read-bytes: expected a number of bytes");
  if (count > file.size() - from) file.complain(fmt::format("has {} bytes, not {} from byte {} on", file.size(), count, from));
  engine.meter().spend(count);
  const Tensor t = tensor_of_file(engine, file, from, DType::u8, Shape{static_cast<std::int64_t>(count)});
  return engine.heap().make_tensor(t);
}

Value read_text(Engine& engine, std::string_view path) {
  Files::Reading file = engine.files.open("read-text", path);
  engine.meter().spend(file.size());
  value::Held<value::Text> text(engine.heap(), engine.heap().make_text(file.size()));
  text->length = 0;
  file.read(0, {reinterpret_cast<std::byte*>(text->data()), text->bytes});
  const std::string_view all = text->view();
  for (std::size_t at = 0; at < all.size(); ++text->length) {
    if (text->length % 65536 == 0) engine.meter().poll();
    const std::size_t begin = at;
    if (text::next_code_point(all, at) == text::kMalformed)
      file.complain(fmt::format("is no text in UTF-8: byte {} does not fit; read-bytes takes any file", begin));
  }
  return value::of_other(text.take());
}

} // namespace

Value file_procedure(Engine& engine, TensorProcedure which, std::span<const Value> operands) {
  const char* name = bytecode::tensor_operators()[bytecode::kFirstTensorProcedure + static_cast<unsigned>(which)].name.data();
  return translated(name, [&] {
    const std::string_view path = path_of(engine, name, operands[0]);
    switch (which) {
    case TensorProcedure::read_bytes:
      return read_bytes(engine, operands);
    case TensorProcedure::read_text:
      return read_text(engine, path);
    default:
      return value::integer(static_cast<std::int64_t>(engine.files.open(name, path).size()));
    }
  });
}

} // namespace cairn::machine::tensors
