// Procedures that read and write files as a whole. Reading makes new tensors, constants to every derivative; writing takes
// primals.
#include "vm/bytecode/tensors.h"
#include "vm/machine/file_call.h"

#include <algorithm>

namespace cairn::machine::tensors {

using bytecode::TensorProcedure;
using ops::DType;
using ops::Shape;
using ops::Tensor;

Value read_bytes(FileCall& call) {
  Files::Reading file = call.opened();
  const std::uint64_t from = call.number(1, 0, "the number of the first byte");
  if (from > file.size()) file.complain(fmt::format("has {} bytes and none from byte {} on", file.size(), from));
  const std::uint64_t count = call.number(2, file.size() - from, "a number of bytes");
  if (count > file.size() - from) file.complain(fmt::format("has {} bytes, not {} from byte {} on", file.size(), count, from));
  return call.heap.make_tensor(call.tensor(file, from, formats::Element{DType::u8}, Shape{static_cast<std::int64_t>(count)}));
}

formats::NpyArray npy_header(FileCall& call, Files::Reading& file) {
  const auto start = call.characters(file, 0, std::min(formats::kNpyStart, file.size()));
  const auto header = call.characters(file, 0, formats::npy_header_bytes(view(start), file.size()));
  return formats::parse_npy(view(header), file.size());
}

namespace {

std::uint64_t safetensors_header_bytes(FileCall& call, Files::Reading& file) {
  const auto start = call.characters(file, 0, std::min(formats::kSafetensorsStart, file.size()));
  return formats::safetensors_header_bytes(view(start), file.size());
}

} // namespace

SafetensorsHeader::SafetensorsHeader(FileCall& call, Files::Reading& file)
    : elements(safetensors_header_bytes(call, file)),
      memory(call.heap, call.heap.scratch, static_cast<std::int64_t>(formats::safetensors_memory(elements))) {
  const auto header = call.characters(file, formats::kSafetensorsStart, elements);
  tensors = formats::parse_safetensors(view(header), file.size());
  elements += formats::kSafetensorsStart;
}

Tensor npy_elements(FileCall& call, const formats::NpyArray& array, const ElementSink::Fill& fill) {
  Shape shape = array.shape;
  if (array.columns_first) std::reverse(&shape[0], &shape[0] + shape.rank());
  ElementSink sink(call, array.element, shape);
  const std::int64_t bytes = shape.elements() * array.element.bytes();
  call.engine.meter().spend(static_cast<std::uint64_t>(bytes));
  sink.put(bytes, fill);
  Tensor t = sink.take();
  if (array.columns_first) {
    t.shape = array.shape;
    std::reverse(t.strides.begin(), t.strides.begin() + t.rank());
  }
  return t;
}

Value read_npy(FileCall& call) {
  Files::Reading file = call.opened();
  return call.parsed(file, [&] {
    const formats::NpyArray array = npy_header(call, file);
    std::uint64_t from = array.offset;
    return call.heap.make_tensor(npy_elements(call, array, [&](std::span<std::byte> to) {
      file.read(from, to);
      from += to.size();
    }));
  });
}

Value read_safetensors(FileCall& call) {
  Files::Reading file = call.opened();
  return call.parsed(file, [&] {
    const SafetensorsHeader header(call, file);
    const std::vector<formats::NamedTensor>& tensors = header.tensors;
    value::Owned list(call.heap, value::kNull);
    for (std::size_t i = tensors.size(); i-- > 0;) {
      const formats::NamedTensor& t = tensors[i];
      value::Owned made(call.heap, call.heap.make_tensor(call.tensor(file, header.elements + t.begin, t.element, t.shape)));
      Value name = call.heap.make_string(t.name);
      list.push(call.heap.cons(name, made.take()));
    }
    return list.take();
  });
}

Value write_text(FileCall& call) {
  const std::string_view text = call.text(1, "a string");
  return call.replace(text.size(), [&](files::FileSink& sink) { call.put(sink, text); });
}

Value write_npy(FileCall& call) {
  const Tensor t = call.written(call.operands[1]);
  const std::string header = formats::npy_header(t.dtype, t.shape);
  if (header.empty())
    throw ProgramError(
        fmt::format("{}: NumPy has no elements of type {}; convert them: (cast t 'f32)", call.name, ops::name_of(t.dtype)));
  return call.replace(header.size() + static_cast<std::uint64_t>(t.bytes()), [&](files::FileSink& sink) {
    call.put(sink, header);
    call.put(sink, t);
  });
}

NamedElements::NamedElements(FileCall& call) : memory(call.heap) {
  for (Value v = call.operands[1]; v != value::kNull; v = v.pair()->cdr) {
    if (!v.is_pair() || !v.pair()->car.is_pair() || !value::is_string(v.pair()->car.pair()->car))
      call.wrong("a list of pairs of a name, a string, and a tensor", v.is_pair() ? v.pair()->car : v);
    const value::Pair* entry = v.pair()->car.pair();
    const std::string_view name = value::as_text(entry->car)->view();
    constexpr std::size_t kTimes = 8; // lists double, and the header repeats each name with all escaped
    memory.grow(static_cast<std::int64_t>(kTimes * (name.size() + sizeof(formats::NamedTensor) + sizeof(Tensor))));
    call.engine.meter().spend(name.size() + sizeof(Tensor));
    elements.push_back(call.written(entry->cdr));
    tensors.push_back({std::string(name), {elements.back().dtype}, elements.back().shape, 0, 0});
    bytes += static_cast<std::uint64_t>(elements.back().bytes());
  }
  std::vector<std::string_view> names;
  for (const formats::NamedTensor& t : tensors) names.push_back(t.name);
  std::sort(names.begin(), names.end());
  if (auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
    throw ProgramError(fmt::format("{}: two tensors of one name, {}", call.name,
                                   call.engine.describe(value::Owned(call.heap, call.heap.make_string(*twice)).v)));
}

Value write_safetensors(FileCall& call) {
  NamedElements named(call);
  for (const formats::NamedTensor& t : named.tensors)
    if (t.name == "__metadata__") throw ProgramError(fmt::format("{}: __metadata__ is no name for a tensor", call.name));
  const std::string header = formats::safetensors_header(named.tensors);
  return call.replace(header.size() + named.bytes, [&](files::FileSink& sink) {
    call.put(sink, header);
    for (const Tensor& t : named.elements) call.put(sink, t);
  });
}

Value file_procedure(Engine& engine, TensorProcedure which, std::span<const Value> operands) {
  const std::string_view name = bytecode::tensor_operators()[bytecode::kFirstTensorProcedure + static_cast<unsigned>(which)].name;
  return translated(name, [&] {
    FileCall call(engine, name, operands);
    switch (which) {
#define X(procedure)                                                                                                             \
  case TensorProcedure::procedure:                                                                                               \
    return procedure(call);
      CAIRN_FILE_PROCEDURES(X)
#undef X
    default:
      return value::integer(static_cast<std::int64_t>(call.opened().size()));
    }
  });
}

} // namespace cairn::machine::tensors
