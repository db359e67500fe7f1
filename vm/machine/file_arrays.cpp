// Arrays in files, read by position, so that a file may be larger than memory: an array is a list of the path, the type of the
// elements, where they begin and the sizes. And the order in which loaders take rows.
#include "ops/shuffle.h"
#include "vm/machine/file_call.h"

#include <algorithm>

namespace cairn::machine::tensors {

using ops::Shape;
using ops::Tensor;

namespace {

Value array_value(FileCall& call, const formats::Element& element, std::uint64_t from, const Shape& shape) {
  Heap& heap = call.heap;
  value::Owned sizes(heap, value::kNull), list(heap, value::kNull);
  for (int axis = shape.rank(); axis-- > 0;) sizes.push(value::integer(shape[axis]));
  list.push(sizes.take());
  list.push(value::integer(static_cast<std::int64_t>(from)));
  list.push(heap.make_symbol(formats::name_of(element)));
  list.push(Heap::retain(call.operands[0]));
  return list.take();
}

struct ArrayInFile {
  std::string_view path;
  formats::Element element;
  std::uint64_t from = 0;
  Shape row;              // the sizes but the first
  std::int64_t rows = 0;  // the first
  std::int64_t bytes = 0; // of a row
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
  const bool named = value::is_symbol(parts[1]) || value::is_string(parts[1]);
  const auto element = formats::element_named(named ? value::as_text(parts[1])->view() : std::string_view());
  if (rest != value::kNull || !value::is_string(parts[0]) || !element) call.wrong(kArray, v);
  ArrayInFile out;
  out.path = value::as_text(parts[0])->view();
  out.element = *element;
  const std::string expected = fmt::format("{}: expected sizes and the number of a byte that are not negative", call.name);
  const auto natural = [&](Value n) {
    const std::int64_t i = call.engine.to_index(n, expected.c_str());
    if (i < 0) throw ProgramError(fmt::format("{}, got {}", expected, i));
    return i;
  };
  out.from = static_cast<std::uint64_t>(natural(parts[2]));
  if (!parts[3].is_pair()) call.wrong(kArray, v); // without axes there are no rows
  out.rows = natural(parts[3].pair()->car);
  for (rest = parts[3].pair()->cdr; rest.is_pair(); rest = rest.pair()->cdr) {
    if (out.row.rank() + 1 == ops::kMostAxes) throw ProgramError(fmt::format("{}: more than {} axes", call.name, ops::kMostAxes));
    out.row.push_back(natural(rest.pair()->car));
  }
  if (rest != value::kNull) call.wrong(kArray, v);
  out.bytes = out.row.elements();
  std::int64_t all = 0;
  if (__builtin_mul_overflow(out.bytes, out.element.bytes(), &out.bytes) || __builtin_mul_overflow(out.bytes, out.rows, &all))
    throw ProgramError(fmt::format("{}: sizes that multiply to more than any file has", call.name));
  return out;
}

// The row numbers of an operand, a tensor or a list.
value::ChargedVector<std::int64_t> numbers_of(FileCall& call, Value v, std::int64_t rows) {
  value::ChargedVector<std::int64_t> out(call.heap);
  const auto add = [&](double d) {
    if (!(d >= 0 && d < static_cast<double>(rows)) || d != static_cast<double>(static_cast<std::int64_t>(d)))
      throw ProgramError(fmt::format("{}: expected numbers of rows, from 0 to {}, got {}", call.name, rows - 1, d));
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

} // namespace

Value npy_array(FileCall& call) {
  Files::Reading file = call.opened();
  return call.parsed(file, [&] {
    const formats::NpyArray array = npy_header(call, file);
    if (array.columns_first && array.shape.rank() > 1)
      file.complain("has columns behind each other, so that no row is in one place; write numpy.ascontiguousarray(a)");
    return array_value(call, array.element, array.offset, array.shape);
  });
}

Value safetensors_arrays(FileCall& call) {
  Files::Reading file = call.opened();
  return call.parsed(file, [&] {
    const SafetensorsHeader header(call, file);
    value::Owned list(call.heap, value::kNull);
    for (std::size_t i = header.tensors.size(); i-- > 0;) {
      const formats::NamedTensor& t = header.tensors[i];
      value::Owned array(call.heap, array_value(call, t.element, header.elements + t.begin, t.shape));
      const Value name = call.heap.make_string(t.name);
      list.push(call.heap.cons(name, array.take()));
    }
    return list.take();
  });
}

Value read_rows(FileCall& call) {
  const ArrayInFile array = array_of(call, call.operands[0]);
  Files::Reading file = call.opened(array.path);
  const auto end = static_cast<std::uint64_t>(array.rows * array.bytes);
  if (array.from > file.size() || end > file.size() - array.from)
    file.complain(
        fmt::format("has {} bytes; {} rows of {} from byte {} on take more", file.size(), array.rows, array.bytes, array.from));
  Shape shape;
  const auto sizes = [&](std::int64_t rows) {
    shape.push_back(rows);
    for (const std::int64_t size : array.row) shape.push_back(size);
  };
  const auto place = [&](std::int64_t row) { return array.from + static_cast<std::uint64_t>(row * array.bytes); };
  if (call.operands.size() > 2) {
    const auto rows = static_cast<std::uint64_t>(array.rows);
    const std::uint64_t first = call.number(1, 0, "the number of the first row"), count = call.number(2, 0, "a number of rows");
    if (first > rows || count > rows - first)
      file.complain(fmt::format("has {} rows, not {} from row {} on", rows, count, first));
    sizes(static_cast<std::int64_t>(count));
    return call.heap.make_tensor(call.tensor(file, place(static_cast<std::int64_t>(first)), array.element, shape));
  }
  const auto numbers = numbers_of(call, call.operands[1], array.rows);
  sizes(static_cast<std::int64_t>(numbers.size()));
  ElementSink sink(call, array.element, shape);
  for (const std::int64_t row : numbers) {
    call.engine.meter().spend(static_cast<std::uint64_t>(array.bytes));
    sink.read(file, place(row), array.bytes);
  }
  return call.heap.make_tensor(sink.take());
}

// (n seed epoch [from [count [step]]])
Value shuffled_indices(FileCall& call) {
  const std::uint64_t n = call.number(0, 0, "how many there are, which is not negative");
  const std::uint64_t seed = call.number(1, 0, "a seed, an integer that is not negative");
  const std::uint64_t epoch = call.number(2, 0, "the number of an epoch, which is not negative");
  const std::uint64_t from = call.number(3, 0, "the first place, which is not negative");
  const std::uint64_t step = call.number(5, 1, "a step, which is not negative");
  if (from > n || step == 0)
    throw ProgramError(fmt::format("{}: {} places have none from {} on in steps of {}", call.name, n, from, step));
  const std::uint64_t left = (n - from + step - 1) / step;
  const std::uint64_t count = call.number(4, left, "how many are wanted, which is not negative");
  if (count > left)
    throw ProgramError(
        fmt::format("{}: {} places have {} from {} on in steps of {}, not {}", call.name, n, left, from, step, count));
  constexpr std::uint64_t kWork = 256; // several rounds of random numbers each
  constexpr std::uint64_t kAtOnce = 4096;
  value::ChargedVector<std::int64_t> indices(call.heap);
  const ops::Shuffle shuffle(n, ops::random::bits_of_pair(seed, epoch).first);
  for (std::uint64_t i = 0; i < count; ++i) {
    if (i % kAtOnce == 0) call.engine.meter().spend(kWork * std::min(kAtOnce, count - i));
    indices.push_back(static_cast<std::int64_t>(shuffle(from + i * step)));
  }
  return call.heap.make_tensor(call.tensor(ops::DType::i64, {static_cast<std::int64_t>(count)}, indices.data()));
}

} // namespace cairn::machine::tensors
