// Applying operators: shape rule, storage or view, launch. And elements in and out of the host's memory.
#include "ops/operators/runtime.h"

#include "ops/convert.h"
#include "ops/cpu/elements/bounds.h"
#include "ops/operator_ids.h"
#include "ops/operators/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <memory>
#include <optional>
#include <type_traits>

namespace cairn::ops {

namespace {

constexpr std::size_t kFewOperands = 4;
constexpr std::int64_t kBytesBetween = std::int64_t{4} << 20; // between two devices, at a time

// Room for what one launch borrows; only operators on lists need more than the few. Nothing is initialised that is not there:
// clearing memory would take longer than all the rest of a small instruction.
template <class T> class Few {
public:
  static_assert(std::is_trivially_destructible_v<T>);
  explicit Few(std::size_t most) {
    if (most > kFewOperands) many_ = std::make_unique<std::byte[]>(most * sizeof(T));
    data_ = reinterpret_cast<T*>(many_ != nullptr ? many_.get() : few_);
  }
  // Made where it stays, from its members or from another one.
  template <class... Given> void add(Given&&... given) { new (data_ + size_++) T{std::forward<Given>(given)...}; }
  std::span<T> all() const { return {data_, size_}; }

private:
  T* data_;
  std::size_t size_ = 0;
  std::unique_ptr<std::byte[]> many_;
  alignas(T) std::byte few_[kFewOperands * sizeof(T)];
};

// A block of a device without memory (rule_cost.cpp) is nowhere, and so is every place in it.
void add_view(Few<View>& to, const Tensor& t, const Block* block) {
  void* const first = block != nullptr ? block->data : nullptr;
  void* const data = first != nullptr ? static_cast<char*>(first) + t.offset * bytes_of(t.dtype) : nullptr;
  to.add(data, t.dtype, t.weak, t.number, t.shape, t.strides);
}

// As many tensors as the signature says, and numbers only where it allows them.
void check_operands(const Operator& op, std::span<const Tensor> inputs) {
  std::size_t i = 0;
  bool list = false;
  for (const OperandSpec& spec : op.signature) {
    if (spec.kind == OperandSpec::Kind::tensors) {
      list = true;
      for (; i < inputs.size(); ++i)
        if (inputs[i].weak) throw OperatorError(fmt::format("{}: a list of tensors holds a number", shown_name(op)));
    } else if (spec.is_one_tensor()) {
      if (i < inputs.size() && spec.kind == OperandSpec::Kind::tensor && inputs[i].weak)
        throw OperatorError(fmt::format("{}: operand {} is a number where a tensor is needed", shown_name(op), i + 1));
      ++i;
    }
  }
  if (!list && i != inputs.size())
    throw OperatorError(fmt::format("{}: {} tensors or numbers where {} are needed", shown_name(op), inputs.size(), i));
}

// Of operands on a device and others that stream to it, the result is on the device.
Device* common_device(const Operator& op, std::span<const Tensor> inputs) {
  Device* device = nullptr;
  for (const Tensor& t : inputs) {
    Device* const here = t.device();
    if (here == nullptr || here == device || (device != nullptr && here->wrapped() == device)) continue;
    if (device != nullptr && device->wrapped() != here)
      throw OperatorError(fmt::format("{}: one operand is on {}, another on {}", shown_name(op), device->name(), here->name()));
    device = here;
  }
  return device;
}

// Pointwise results take the layout that all operands share, and what is the first operand with some elements changed takes that
// one's; others are row-major unless their shape rule says that channels lie last.
void set_layout(const Operator& op, std::span<const Tensor> inputs, bool channels_last, Tensor& out) {
  if (channels_last && out.rank() > 2) {
    out.strides.fill(0);
    out.strides[1] = 1;
    std::int64_t stride = std::max<std::int64_t>(1, out.shape[1]);
    for (int i = out.rank(); i-- > 0;) {
      if (i == 1) continue;
      out.strides[static_cast<std::size_t>(i)] = stride;
      stride *= std::max<std::int64_t>(1, out.shape[i]);
    }
    return;
  }
  if (op.in_shared_layout)
    set_shared_layout(out, inputs);
  else if (op.may_overwrite == keep_input(0) && !inputs[0].contiguous() && inputs[0].dense())
    out.strides = inputs[0].strides;
  else
    set_contiguous(out);
}

bool may_become(const Tensor& in, const Tensor& out, std::int64_t bytes, const Device& device) {
  return in.storage.unique() && in.dtype == out.dtype && in.storage->bytes == bytes && in.offset == 0 && in.device() == &device &&
         in.shape == out.shape && in.strides == out.strides;
}

void launch(const Operator& op, std::span<const Tensor> inputs, std::span<const Tensor> outputs, const Attributes& attributes,
            const Cost& cost) {
  Device* device = outputs[0].device();
  Few<View> in(inputs.size()), out(outputs.size());
  Few<Block*> reads(inputs.size()), writes(outputs.size());
  for (const Tensor& t : inputs) {
    Block* const block = t.storage ? &t.storage->block() : nullptr;
    if (block != nullptr && t.device()->wrapped() == device) device = t.device(); // it knows where its elements are
    add_view(in, t, block);
    if (block == nullptr) continue;
    const auto known = reads.all();
    if (std::find(known.begin(), known.end(), block) == known.end()) reads.add(block);
  }
  for (const Tensor& t : outputs) {
    Block* const block = &t.storage->block_to_write();
    add_view(out, t, block);
    writes.add(block);
  }
  device->launch(device->stream, Launch{op, in.all(), out.all(), attributes, reads.all(), writes.all(), cost});
}

// Work that cannot be done again, since it changes operands in place or stands between changes that belong together.
class Whole {
public:
  Whole(Device* device, bool needed) {
    if (!needed || device == nullptr) return;
    if (Meter* const meter = device->meter()) held_.emplace(*meter);
  }

private:
  std::optional<Meter::Uninterrupted> held_;
};

// The modelled work of an operation: its flops and bytes, 1 each.
constexpr std::uint64_t kMostWork = std::uint64_t{1} << 62;
std::uint64_t work_of(const Cost& cost) {
  return static_cast<std::uint64_t>(std::clamp(cost.all(), 0.0, static_cast<double>(kMostWork)));
}

// How much there is of a result: asked for often, computed once.
struct Size {
  std::int64_t elements = 0, bytes = 0;
};
struct OperandSizes {
  void add(const Size& size) {
    sizes[count++] = size;
    any_elements = any_elements || size.elements != 0;
  }
  std::span<const Size> all() const { return {sizes.data(), count}; }
  unsigned count = 0;
  bool any_elements = false;
  std::array<Size, kMostResults> sizes;
};

[[noreturn]] void too_many_bytes(const Shape& shape) {
  throw OperatorError(fmt::format("a tensor of shape {} would have too many bytes", shape.text()));
}

Size size_of(const ResultType& result) {
  Size size;
  size.elements = result.shape.elements();
  if (__builtin_mul_overflow(size.elements, bytes_of(result.dtype), &size.bytes)) [[unlikely]]
    too_many_bytes(result.shape);
  return size;
}

// Sums of work, at most kMostWork. (Stretched operands have more bytes than there are numbers.)
class Sum {
public:
  void add(const Tensor& operand) {
    if (operand.weak) return;
    std::uint64_t bytes = 0;
    over_ |= __builtin_mul_overflow(static_cast<std::uint64_t>(operand.elements()),
                                    static_cast<std::uint64_t>(bytes_of(operand.dtype)), &bytes);
    over_ |= __builtin_add_overflow(sum_, bytes, &sum_);
  }
  void add(const Size& result) {
    over_ |= __builtin_add_overflow(sum_, static_cast<std::uint64_t>(result.elements) + static_cast<std::uint64_t>(result.bytes),
                                    &sum_);
  }
  std::uint64_t work() const { return over_ ? kMostWork : std::min(sum_, kMostWork); }

private:
  std::uint64_t sum_ = 0;
  bool over_ = false;
};

// A flop an element of the results, and all bytes.
std::uint64_t default_work(std::span<const Tensor> inputs, std::span<const Size> results) {
  Sum sum;
  for (const Tensor& t : inputs) sum.add(t);
  for (const Size& r : results) sum.add(r);
  return sum.work();
}

struct Modelled {
  std::uint64_t work;
  Cost cost;
};

Modelled modelled(const Call& call, const ResultTypes& types, const OperandSizes& sizes) {
  const bool declared = call.op.cost != nullptr && call.op.view == nullptr; // what views declare is for those that do not copy
  if (declared) {
    const Cost cost = call.op.cost(call, types);
    return {work_of(cost), cost};
  }
  const std::uint64_t work = default_work(call.inputs, sizes.all());
  double flops = 0;
  for (const Size& size : sizes.all()) flops += static_cast<double>(size.elements);
  return {work, {flops, std::max(0.0, static_cast<double>(work) - flops)}};
}

Modelled modelled(const Call& call, std::span<const Tensor> results) {
  ResultTypes types;
  types.count = static_cast<unsigned>(results.size());
  OperandSizes sizes;
  for (unsigned i = 0; i < types.count; ++i) {
    types[i] = {results[i].dtype, results[i].shape};
    sizes.add(size_of(types[i]));
  }
  return modelled(call, types, sizes);
}

void spend(const Call& call, const ResultTypes& types, const OperandSizes& sizes) {
  Meter* const meter = Meter::current();
  if (meter == nullptr || !sizes.any_elements) return;
  const Modelled of_call = modelled(call, types, sizes);
  meter->spend(of_call.work, of_call.cost);
}

// An operand is about to be overwritten, or gone: whatever asked for this can no longer be done again from its beginning.
void overwrites() {
  if (Meter* meter = Meter::current()) meter->hold();
}

// Elements that are brought to the host at a time, where it only looks at them.
constexpr std::int64_t kAtOnce = 16 << 10;

template <class T> void widen(const std::vector<char>& bytes, std::vector<double>& numbers) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    T element;
    std::memcpy(&element, bytes.data() + i * sizeof element, sizeof element);
    numbers[i] = converted<double>(element);
  }
}

void widen(DType type, const std::vector<char>& bytes, std::vector<double>& numbers) {
  switch (type) {
#define X(name, other, T, size)                                                                                                  \
  case DType::name:                                                                                                              \
    return widen<T>(bytes, numbers);
    CAIRN_DTYPES(X)
#undef X
  }
}

// Types, shapes and sizes of the results; all that can be refused without asking a device is refused here, in the name of the
// operator. What never copies has no sizes.
void infer(const Call& call, ResultTypes& results, OperandSizes& sizes) {
  check_operands(call.op, call.inputs);
  try {
    call.op.infer(call, results);
    if (call.op.kernel != nullptr)
      for (unsigned i = 0; i < results.count; ++i) sizes.add(size_of(results[i]));
  } catch (const OperatorError& e) {
    const std::string name(shown_name(call.op));
    if (std::string_view(e.what()).starts_with(name + ":")) throw;
    throw OperatorError(name + ": " + e.what());
  }
}

// What may wait, or fail, does so before anything is overwritten.
void bring_back(std::span<const Tensor> inputs) {
  for (const Tensor& t : inputs)
    if (t.storage) t.storage->block();
}

// Results in new storage, or in that of an operand that was given up.
template <unsigned most>
void launched(const Call& call, ResultTypes& types, const OperandSizes& sizes, std::span<Tensor> inputs,
              std::span<const bool> consumed, Device* of_inputs, std::span<Tensor> outputs) {
  const Operator& op = call.op;
  spend(call, types, sizes);
  if (sizes.any_elements) bring_back(inputs);
  std::array<Tensor, most> made;
  Device* device = nullptr;
  bool in_place = false;
  for (unsigned i = 0; i < types.count; ++i) {
    Tensor& out = made[i];
    out.dtype = types.types[i].dtype;
    out.shape = types.types[i].shape;
    const std::int64_t bytes = sizes.sizes[i].bytes;
    set_layout(op, inputs, types.types[i].channels_last, out);
    device = types.types[i].device != nullptr ? types.types[i].device : of_inputs != nullptr ? of_inputs : call.default_device;
    if (i == 0 && !device->supports(op))
      throw OperatorError(fmt::format("{}: the device {} does not have this operator", shown_name(op), device->name()));
    if (op.may_overwrite != 0 && (i == 0 || op.each_over_its_own))
      for (std::size_t k = 0; k < inputs.size() && k < 31 && !out.storage; ++k)
        if (k < consumed.size() && consumed[k] && (op.may_overwrite >> k & 1) != 0 && (!op.each_over_its_own || k == i) &&
            may_become(inputs[k], out, bytes, *device)) {
          in_place = true;
          out.storage = inputs[k].storage; // also the operand's until the launch
          overwrites();
          out.storage->maker_code = device->maker.code;
          out.storage->maker_pc = device->maker.pc;
          out.storage->birth = 0;
        }
    if (!out.storage) out.storage = StorageRef(device->make_storage(bytes));
  }
  const std::span<const Tensor> results(made.data(), types.count);
  if (sizes.any_elements) {
    const Whole whole(device, in_place);
    launch(op, inputs, results, call.attributes, device->models_time() ? modelled(call, types, sizes).cost : Cost{});
  }
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (k < consumed.size() && consumed[k]) {
      inputs[k].storage = StorageRef();
      overwrites();
    }
  for (unsigned i = 0; i < types.count; ++i) outputs[i] = std::move(made[i]);
}

} // namespace

ResultTypes Runtime::inferred(const Call& call) {
  ResultTypes types;
  OperandSizes sizes;
  infer(call, types, sizes);
  common_device(call.op, call.inputs);
  return types;
}

unsigned Runtime::apply(const Operator& op, std::span<Tensor> inputs, std::span<const bool> consumed,
                        const Attributes& attributes, std::span<Tensor> outputs) {
  assert(well_formed(op, attributes));
  const Call call{op, inputs, attributes, default_};
  ResultTypes types;
  OperandSizes sizes;
  infer(call, types, sizes);
  Device* const of_inputs = common_device(op, inputs);
  if (op.id == OperatorId::to_device) {
    outputs[0] = to_device(inputs[0], *types[0].device);
    return 1;
  }
  if (op.view != nullptr) {
    Tensor view = op.view(call, types[0]);
    if (!view.empty()) {
      outputs[0] = std::move(view);
      return 1;
    }
  }

  if (op.indices != nullptr) check_indices(call);
  if (types.count == 1)
    launched<1>(call, types, sizes, inputs, consumed, of_inputs, outputs);
  else
    launched<kMostResults>(call, types, sizes, inputs, consumed, of_inputs, outputs);
  return types.count;
}

void Runtime::check_indices(const Call& call) {
  const IndexBound bound = call.op.indices(call);
  const auto refuse = [&](double index) {
    throw OperatorError(fmt::format("{}: there is no index {} along an axis of size {}", shown_name(call.op), index, bound.size));
  };
  Tensor once = call.inputs[bound.operand];
  if (once.weak) {
    if (!(once.number >= 0 && once.number < static_cast<double>(bound.size))) refuse(once.number);
    return;
  }
  // Elements that are repeated by a stride of 0 are looked at once.
  for (int i = 0; i < once.rank(); ++i)
    if (once.shape[i] > 1 && once.strides[static_cast<std::size_t>(i)] == 0) once.shape[i] = 1;
  if (!once.contiguous()) once = apply(OperatorId::contiguous, {once});
  Device& device = *once.device();
  const std::int64_t n = once.elements(), element = bytes_of(once.dtype), begin = once.offset * element;
  if (n == 0) return;
  const Block& block = once.storage->block();
  const bool here = device.in_host_memory();
  if (here) device.wait(block);
  std::vector<char> copied(here ? 0 : static_cast<std::size_t>(std::min(n, kAtOnce) * element));
  for (std::int64_t first = 0; first < n; first += kAtOnce) {
    const std::int64_t count = std::min(kAtOnce, n - first);
    const char* indices = copied.data();
    if (here)
      indices = static_cast<const char*>(block.data) + begin + first * element;
    else
      device.copy_out(block, begin + first * element, copied.data(), count * element);
    const std::int64_t beyond = cpu::first_beyond(once.dtype, indices, count, bound.size);
    if (beyond != count) {
      const char* const there = indices + beyond * element;
      std::vector<double> number(1);
      widen(once.dtype, {there, there + element}, number);
      refuse(number[0]);
    }
    if (const Meter* const meter = device.meter()) meter->poll();
  }
}

unsigned Runtime::zeros_in_place_of(const Operator& op, std::span<const Tensor> inputs, const Attributes& attributes,
                                    std::span<Tensor> outputs) {
  ResultTypes types = inferred({op, inputs, attributes, default_});
  Device* const of_inputs = common_device(op, inputs);
  for (unsigned i = 0; i < types.count; ++i) {
    Device* device = types[i].device != nullptr ? types[i].device : of_inputs;
    if (device == nullptr) device = default_;
    const auto sizes = types[i].shape.sizes();
    const Attributes one{.values = {Attribute::of_list(std::vector<std::int64_t>(sizes.size(), 1)), Attribute::of_number(0),
                                    Attribute::of_type(types[i].dtype), Attribute::of_device(*device)}};
    outputs[i] = apply(OperatorId::expand, {apply(OperatorId::fill, {}, one)}, {.values = {Attribute::of_list(sizes)}});
  }
  return types.count;
}

Tensor Runtime::apply(OperatorId op, std::initializer_list<Tensor> inputs, const Attributes& attributes) {
  Tensor out;
  const std::span<Tensor> operands(const_cast<Tensor*>(inputs.begin()), inputs.size()); // written only where they are consumed
  apply(operator_of(op), operands, {}, attributes, std::span<Tensor>(&out, 1));
  return out;
}

Tensor Runtime::empty(DType dtype, const Shape& shape, Device& device) {
  Tensor t;
  t.dtype = dtype;
  t.shape = shape;
  const std::int64_t bytes = t.bytes();
  set_contiguous(t);
  t.storage = StorageRef(device.make_storage(bytes));
  return t;
}

namespace {

// Memory of ours with no more than so many references.
bool only_by(const Tensor& t, std::uint32_t references) {
  return t.storage && t.storage->count == references && t.storage->release == nullptr;
}

} // namespace

// Never cancelled: cotangents are added to one after the other, and none may be added twice. It takes as long as memory that
// exists does. The layout is that of `to` wherever it can be, whoever else has the memory: orders of later sums hang on it, and
// may not hang on counts of references.
void Runtime::accumulate(Tensor& to, Tensor from) {
  const bool fits = to.storage && to.dense() && to.device() == from.device() && to.dtype == promoted(to.dtype, from.dtype) &&
                    (to.shape == from.shape || broadcast("+", to.shape, from.shape) == to.shape);
  const Whole whole(to.device(), true);
  if (!fits) {
    to = apply(OperatorId::add, {to, from});
    return;
  }
  if (to.elements() == 0) return;
  Meter::spend_current(work_to_accumulate(to, from));
  const Tensor operands[] = {to, from};
  bring_back(operands);
  overwrites();
  if (!only_by(to, 2)) {
    const bool into_from = only_by(from, 2) && to.dtype == from.dtype && to.shape == from.shape && to.strides == from.strides;
    if (into_from) {
      to = std::move(from);
    } else {
      to.storage = StorageRef(to.device()->make_storage(to.bytes()));
      to.offset = 0;
    }
  }
  const double elements = static_cast<double>(to.elements()),
               bytes = static_cast<double>(operands[0].bytes() + operands[1].bytes());
  launch(operator_of(OperatorId::add), operands, std::span<const Tensor>(&to, 1), {}, {elements, 2 * bytes, 0});
}

std::uint64_t Runtime::modelled_work(const Call& call, std::span<const Tensor> results) { return modelled(call, results).work; }

Cost Runtime::modelled_cost(const Call& call, std::span<const Tensor> results) { return modelled(call, results).cost; }

std::uint64_t Runtime::work_to_accumulate(const Tensor& to, const Tensor& from) {
  ResultType type;
  type.dtype = promoted(to.dtype, from.dtype);
  type.shape = to.shape == from.shape ? to.shape : broadcast("+", to.shape, from.shape);
  const Size result = size_of(type);
  if (result.elements == 0) return 0;
  Sum sum;
  sum.add(to);
  sum.add(from);
  sum.add(result);
  return sum.work();
}

bool Runtime::can_add_onto(const Tensor& sum, const Tensor& operand) {
  return sum.storage && sum.dense() && sum.dtype == operand.dtype && sum.shape == operand.shape &&
         sum.device()->supports(operator_of(OperatorId::add_within)) && sum.device()->supports(operator_of(OperatorId::add_rows));
}

// Never cancelled, as accumulate().
void Runtime::add_onto(Tensor& sum, AddedOnto part) {
  const Whole whole(sum.device(), true);
  std::array<Tensor, 3> inputs{std::move(sum), std::move(part.others[0]), std::move(part.others[1])};
  constexpr bool consumed[] = {true, false, false};
  Tensor whole_sum;
  try {
    apply(*part.op, std::span(inputs).first(1 + part.count), std::span(consumed).first(1 + part.count), part.attributes,
          std::span<Tensor>(&whole_sum, 1));
  } catch (...) { // nothing has been written
    sum = std::move(inputs[0]);
    throw;
  }
  sum = std::move(whole_sum);
}

std::uint64_t Runtime::work_to_add_onto(const Tensor& sum, const AddedOnto& part) {
  const std::array<Tensor, 3> inputs{sum, part.others[0], part.others[1]};
  return modelled_work({*part.op, std::span(inputs).first(1 + part.count), part.attributes, nullptr}, {&sum, 1});
}

Tensor Runtime::from_host(DType dtype, const Shape& shape, Device& device, const void* data) {
  Tensor t = empty(dtype, shape, device);
  Meter::spend_current(static_cast<std::uint64_t>(t.bytes()));
  device.copy_in(t.storage->block_to_write(), 0, data, t.bytes());
  return t;
}

void Runtime::read(const Tensor& t, void* data) {
  if (t.weak || !t.storage) throw OperatorError("only the elements of a tensor can be read");
  if (!t.contiguous()) {
    read(apply(OperatorId::contiguous, {t}), data);
    return;
  }
  Meter::spend_current(static_cast<std::uint64_t>(t.bytes()));
  t.device()->copy_out(t.storage->block(), t.offset * bytes_of(t.dtype), data, t.bytes());
}

std::vector<double> Runtime::read_numbers(const Tensor& t) {
  if (t.weak) return {t.number};
  std::vector<char> bytes(static_cast<std::size_t>(t.bytes()));
  read(t, bytes.data());
  std::vector<double> numbers(static_cast<std::size_t>(t.elements()));
  widen(t.dtype, bytes, numbers);
  return numbers;
}

double Runtime::read_number(const Tensor& t) {
  if (!t.weak && t.elements() != 1) throw OperatorError(fmt::format("a tensor of shape {} is not one number", t.shape.text()));
  return read_numbers(t).front();
}

Tensor Runtime::cast(const Tensor& t, DType type) { return apply(OperatorId::cast, {t}, {.values = {Attribute::of_type(type)}}); }

Tensor Runtime::moved_to(Tensor t, Device& device) {
  if (device.wrapped() == t.device() && t.storage.unique() && t.dense() && t.bytes() == t.storage->bytes)
    if (Storage* const taken = device.take_over(*t.storage.get())) {
      t.storage = StorageRef(taken);
      return t;
    }
  return to_device(t, device);
}

namespace {

// The elements of a dense tensor in the order in which they lie.
Tensor in_a_row(const Tensor& t) {
  Tensor row = t;
  row.shape = Shape{t.elements()};
  set_contiguous(row);
  return row;
}

} // namespace

Tensor Runtime::to_device(const Tensor& t, Device& device) {
  if (t.device() == &device) return t;
  if (!t.dense()) return to_device(apply(OperatorId::contiguous, {t}), device);
  Tensor out = description(t);
  const std::int64_t bytes = t.bytes(), from = t.offset * bytes_of(t.dtype);
  Meter::spend_current(2 * static_cast<std::uint64_t>(bytes));
  out.offset = 0;
  out.storage = StorageRef(device.make_storage(bytes));
  // The CPU's own memory is the host's: one of the copies falls away. Between a device and what streams to it nothing travels.
  if (device.wrapped() == t.device() || t.device()->wrapped() == &device) {
    const Tensor from_row = in_a_row(t), to_row = in_a_row(out);
    launch(operator_of(OperatorId::contiguous), {&from_row, 1}, {&to_row, 1}, {}, {0, 2 * static_cast<double>(bytes), 0});
  } else if (t.device()->name() == "cpu") {
    device.copy_in(out.storage->block_to_write(), 0, static_cast<const char*>(t.storage->block().data) + from, bytes);
  } else if (device.name() == "cpu") {
    t.device()->copy_out(t.storage->block(), from, out.storage->block_to_write().data, bytes);
  } else {
    std::vector<char> between(static_cast<std::size_t>(std::min(bytes, kBytesBetween)));
    for (std::int64_t first = 0; first < bytes; first += kBytesBetween) {
      const std::int64_t count = std::min(kBytesBetween, bytes - first);
      t.device()->copy_out(t.storage->block(), from + first, between.data(), count);
      device.copy_in(out.storage->block_to_write(), first, between.data(), count);
    }
  }
  return out;
}

} // namespace cairn::ops
