// Tensors of cairn.h: elements in and out, and exchange by DLPack without copies.
#include "ops/operators/runtime.h"
#include "vm/api/handles.h"
#include "vm/value/tensor_object.h"

#include <dlpack/dlpack.h>

#include <memory>
#include <vector>

using cairn::api::guarded;
using cairn::api::handed_out;
using cairn::api::inner;
using cairn::api::made_by_host;
using cairn::api::Refusal;
using cairn::api::require;
using cairn::ops::DType;
using cairn::ops::OperatorError;
using cairn::ops::Shape;
using cairn::ops::StorageRef;
using cairn::ops::Tensor;
using cairn::value::Value;
namespace ops = cairn::ops;
namespace value = cairn::value;

namespace {

#define CAIRN_ELEMENT_CHECK(name, number, type, text) static_assert(sizeof(type) <= 8 && number < ops::kDTypes);
CAIRN_ELEMENT_TABLE(CAIRN_ELEMENT_CHECK)
#undef CAIRN_ELEMENT_CHECK
static_assert(CAIRN_MOST_AXES == ops::kMostAxes);
static_assert(CAIRN_BF16 == static_cast<int>(DType::bf16) && CAIRN_U8 == static_cast<int>(DType::u8));

const Tensor& tensor_in(cairn_value v) {
  Value x = inner(v);
  if (!value::is_tensor(x) || !value::tensor_of(x).storage) throw Refusal{CAIRN_WRONG_KIND, "the value is no tensor"};
  return value::tensor_of(x);
}

// Wrong shapes are the caller's, memory of a device alone is memory.
template <class Body> cairn_status with_tensors(Body&& body) {
  return guarded(nullptr, [&] {
    try {
      body();
    } catch (const OperatorError& e) {
      throw Refusal{CAIRN_BAD_ARGUMENT, e.what()};
    } catch (const ops::DeviceMemoryExceeded& e) {
      throw Refusal{CAIRN_OVER_BUDGET, e.what()};
    }
  });
}

Value tensor_value(cairn_vm* vm, Tensor t) {
  return made_by_host(vm->engine, [&] { return vm->engine.heap().make_tensor(std::move(t)); });
}

struct TypeCode {
  std::uint8_t code, bits;
};
constexpr TypeCode kTypeCodes[] = {{kDLUInt, 8}, {kDLInt, 8},    {kDLInt, 16},   {kDLInt, 32},
                                   {kDLInt, 64}, {kDLFloat, 32}, {kDLFloat, 64}, {kDLBfloat, 16}};
static_assert(std::size(kTypeCodes) == ops::kDTypes);

// What an exported tensor keeps alive.
struct Exported {
  DLManagedTensor managed{};
  Tensor tensor;
  std::vector<std::int64_t> sizes, strides;
};

// For other libraries, in the memory of the processor.
DLManagedTensor* exported(cairn_vm* vm, Tensor given) {
  cairn::machine::TensorWorld& world = vm->engine.tensors();
  auto out = std::make_unique<Exported>();
  out->tensor = std::move(given);
  if (out->tensor.device() != &world.cpu()) out->tensor = world.runtime.to_device(out->tensor, world.cpu());
  const Tensor& t = out->tensor;
  world.cpu().wait(t.storage->block());
  out->sizes.assign(t.shape.begin(), t.shape.end());
  out->strides.assign(t.strides.begin(), t.strides.begin() + t.rank());
  DLTensor& dl = out->managed.dl_tensor;
  dl.data = t.storage->block().data;
  dl.byte_offset = static_cast<std::uint64_t>(t.offset * ops::bytes_of(t.dtype));
  dl.device = {kDLCPU, 0};
  dl.ndim = t.rank();
  const TypeCode& code = kTypeCodes[static_cast<std::size_t>(t.dtype)];
  dl.dtype = {code.code, code.bits, 1};
  dl.shape = out->sizes.data();
  dl.strides = out->strides.data();
  out->managed.manager_ctx = out.get();
  out->managed.deleter = [](DLManagedTensor* self) { delete static_cast<Exported*>(self->manager_ctx); };
  return &out.release()->managed;
}

// Elements of the processor's once more.
Tensor copied(cairn_vm* vm, const Tensor& t) {
  cairn::machine::TensorWorld& world = vm->engine.tensors();
  Tensor copy = world.runtime.empty(t.dtype, t.shape, world.cpu());
  if (t.bytes() != 0) world.runtime.read(t, copy.storage->block_to_write().data);
  return copy;
}

void release_imported(void* context) {
  auto* managed = static_cast<DLManagedTensor*>(context);
  if (managed->deleter != nullptr) managed->deleter(managed);
}

// The description of a foreign tensor, without storage; `bytes` reaches from its first element to the end of its last.
Tensor described(const DLTensor& given, std::int64_t& bytes) {
  require(given.device.device_type == kDLCPU, "the tensor is not in the memory of the processor");
  Tensor t;
  std::size_t type = 0;
  while (type < ops::kDTypes && (kTypeCodes[type].code != given.dtype.code || kTypeCodes[type].bits != given.dtype.bits)) ++type;
  require(type < ops::kDTypes && given.dtype.lanes == 1, "a type of elements that Cairn does not have");
  require(given.ndim >= 0 && given.ndim <= ops::kMostAxes && (given.ndim == 0 || given.shape != nullptr), "too many axes");
  t.dtype = static_cast<DType>(type);
  t.shape = Shape(std::span<const std::int64_t>(given.shape, static_cast<std::size_t>(given.ndim)));
  ops::set_contiguous(t);
  std::int64_t last = 0;
  for (int axis = 0; axis < t.rank(); ++axis) {
    auto i = static_cast<std::size_t>(axis);
    // A stride that leads nowhere may be anything at all: that of an axis of one element, and all where there are none.
    if (t.elements() == 0 || t.shape[axis] == 1) continue;
    if (given.strides != nullptr) t.strides[i] = given.strides[i];
    require(t.strides[i] >= 0, "a negative stride");
    std::int64_t reach = 0;
    require(!__builtin_mul_overflow(t.shape[axis] - 1, t.strides[i], &reach) && !__builtin_add_overflow(last, reach, &last) &&
                last < std::int64_t{1} << 47, // no address space is larger
            "too large");
  }
  bytes = t.elements() == 0 ? 0 : (last + 1) * ops::bytes_of(t.dtype);
  return t;
}

} // namespace

cairn_status cairn_make_tensor(cairn_vm* vm, cairn_element element, const int64_t* sizes, size_t axes, const void* elements,
                               cairn_value* tensor) {
  if (tensor != nullptr) *tensor = cairn_unspecified();
  return with_tensors([&] {
    require(vm != nullptr && tensor != nullptr && (sizes != nullptr || axes == 0), "cairn_make_tensor: an argument is NULL");
    require(element >= 0 && element < static_cast<int>(ops::kDTypes), "cairn_make_tensor: no such type of elements");
    Shape shape(std::span<const std::int64_t>(sizes, axes));
    require(elements != nullptr || shape.elements() == 0, "cairn_make_tensor: elements is NULL");
    ops::Runtime& runtime = vm->engine.tensors().runtime;
    Tensor t = runtime.from_host(static_cast<DType>(element), shape, runtime.default_device(), elements);
    *tensor = handed_out(tensor_value(vm, std::move(t)));
  });
}

cairn_status cairn_get_tensor(cairn_value tensor, cairn_element* element, int64_t* sizes, size_t* axes) {
  return with_tensors([&] {
    const Tensor& t = tensor_in(tensor);
    if (element != nullptr) *element = static_cast<cairn_element>(t.dtype);
    if (axes != nullptr) *axes = static_cast<size_t>(t.rank());
    if (sizes != nullptr) std::copy(t.shape.begin(), t.shape.end(), sizes);
  });
}

cairn_status cairn_read_tensor(cairn_vm* vm, cairn_value tensor, void* elements, size_t bytes) {
  return with_tensors([&] {
    require(vm != nullptr && (elements != nullptr || bytes == 0), "cairn_read_tensor: an argument is NULL");
    const Tensor& t = tensor_in(tensor);
    require(bytes == static_cast<std::size_t>(t.bytes()), "cairn_read_tensor: the tensor has another number of bytes");
    if (bytes != 0) vm->engine.tensors().runtime.read(t, elements);
  });
}

cairn_status cairn_tensor_to_dlpack(cairn_vm* vm, cairn_value tensor, struct DLManagedTensor** managed) {
  if (managed != nullptr) *managed = nullptr;
  return with_tensors([&] {
    require(vm != nullptr && managed != nullptr, "cairn_tensor_to_dlpack: an argument is NULL");
    *managed = exported(vm, tensor_in(tensor));
  });
}

cairn_status cairn_tensor_take(cairn_vm* vm, cairn_value tensor, struct DLManagedTensor** managed) {
  if (managed != nullptr) *managed = nullptr;
  return with_tensors([&] {
    require(vm != nullptr && managed != nullptr, "cairn_tensor_take: an argument is NULL");
    const Tensor& held = tensor_in(tensor);
    const bool alone = value::Heap::unique(inner(tensor).other()) && held.storage.unique();
    *managed = exported(vm, alone || held.device() != &vm->engine.tensors().cpu() ? held : copied(vm, held));
    vm->engine.heap().release(inner(tensor));
  });
}

cairn_status cairn_tensor_from_dlpack(cairn_vm* vm, struct DLManagedTensor* managed, cairn_value* tensor) {
  if (tensor != nullptr) *tensor = cairn_unspecified();
  return with_tensors([&] {
    require(vm != nullptr && managed != nullptr && tensor != nullptr, "cairn_tensor_from_dlpack: an argument is NULL");
    cairn::machine::TensorWorld& world = vm->engine.tensors();
    std::int64_t bytes = 0;
    Tensor t = described(managed->dl_tensor, bytes);
    char* data = static_cast<char*>(managed->dl_tensor.data) + managed->dl_tensor.byte_offset;
    require(managed->dl_tensor.data != nullptr || bytes == 0, "cairn_tensor_from_dlpack: no elements");
    bool aligned = reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(ops::bytes_of(t.dtype)) == 0;
    if (!aligned) throw Refusal{CAIRN_BAD_ARGUMENT, "the elements are not aligned"};
    // The deleter may be called only once nothing can fail any more.
    Value made = tensor_value(vm, t);
    StorageRef storage;
    try {
      storage = StorageRef(world.cpu().adopt_storage(data, bytes, release_imported, managed));
    } catch (...) {
      vm->engine.heap().release(made);
      throw;
    }
    value::as_tensor_object(made)->tensor.storage = storage;
    *tensor = handed_out(made);
  });
}
