// Layouts of tensors, and the end of their storage.
#include "ops/tensor.h"

#include "ops/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace cairn::ops {

void StorageRef::let_go(Storage* storage) {
  if (storage->count == 0)
    storage->device->drop_storage(storage);
  else
    storage->device->spill(*storage);
}

std::int64_t Tensor::bytes() const {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(elements(), bytes_of(dtype), &product))
    throw OperatorError(fmt::format("a tensor of shape {} would have too many bytes", shape.text()));
  return product;
}

bool Tensor::contiguous() const {
  std::int64_t expected = 1;
  for (int i = rank() - 1; i >= 0; --i) {
    if (shape[i] == 0) return true;
    if (shape[i] == 1) continue; // its stride is never used
    if (strides[static_cast<std::size_t>(i)] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

bool Tensor::dense() const {
  struct Axis {
    std::int64_t stride, size;
  };
  std::array<Axis, kMostAxes> axes{}; // the closest first
  std::size_t n = 0;
  for (int i = 0; i < rank(); ++i) {
    if (shape[i] == 0) return true;
    if (shape[i] == 1) continue;
    const Axis axis{strides[static_cast<std::size_t>(i)], shape[i]};
    std::size_t at = n++;
    for (; at > 0 && axes[at - 1].stride > axis.stride; --at) axes[at] = axes[at - 1];
    axes[at] = axis;
  }
  std::int64_t expected = 1;
  for (std::size_t i = 0; i < n; ++i) {
    if (axes[i].stride != expected) return false;
    expected *= axes[i].size;
  }
  return true;
}

Tensor weak_number(double number, bool exact) {
  Tensor t;
  t.weak = true;
  t.exact = exact;
  t.dtype = DType::f64;
  t.number = number;
  return t;
}

void set_contiguous(Tensor& t) {
  std::uint64_t stride = 1; // wraps only where a size of 0 leaves no element to find
  for (int i = t.rank() - 1; i >= 0; --i) {
    t.strides[static_cast<std::size_t>(i)] = static_cast<std::int64_t>(stride);
    stride *= static_cast<std::uint64_t>(std::max<std::int64_t>(t.shape[i], 1));
  }
}

Tensor description(Tensor t) {
  t.home = t.device();
  t.storage = {};
  return t;
}

namespace {

// Whether elements stand at several places.
bool stretched(const Tensor& t) {
  for (int i = 0; i < t.rank(); ++i)
    if (t.shape[i] > 1 && t.strides[static_cast<std::size_t>(i)] == 0) return true;
  return false;
}

} // namespace

void set_shared_layout(Tensor& result, std::span<const Tensor> operands) {
  set_contiguous(result);
  if (result.rank() < 2) return;
  const Tensor* model = nullptr;
  for (const Tensor& t : operands) {
    if (t.weak || !(t.shape == result.shape) || stretched(t)) continue;
    if (model != nullptr && t.strides != model->strides) return;
    model = &t;
  }
  if (model != nullptr && !model->contiguous() && model->dense()) result.strides = model->strides;
}

std::array<int, kMostAxes> axes_in_memory(const Tensor& t) {
  std::array<int, kMostAxes> axes{};
  std::iota(axes.begin(), axes.end(), 0);
  std::stable_sort(axes.begin(), axes.begin() + t.rank(),
                   [&](int a, int b) { return t.strides[static_cast<std::size_t>(a)] > t.strides[static_cast<std::size_t>(b)]; });
  return axes;
}

} // namespace cairn::ops
