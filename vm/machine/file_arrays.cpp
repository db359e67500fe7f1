// Where arrays are in files: a list of the path, the type of the elements, where they begin and the sizes (file_rows.cpp reads
// their rows). And the order in which loaders take rows.
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
