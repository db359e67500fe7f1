// See elements.h.
#include "elements.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace cairn::python {

namespace {

void copy_axis(const DLTensor& t, const std::int64_t* strides, int axis, const char* from, char*& to) {
  const std::int64_t bytes = t.dtype.bits / 8;
  if (axis == t.ndim) {
    to = std::copy_n(from, bytes, to);
    return;
  }
  for (std::int64_t i = 0; i < t.shape[axis]; ++i) copy_axis(t, strides, axis + 1, from + i * strides[axis] * bytes, to);
}

} // namespace

std::int64_t bytes_of(const DLTensor& t) {
  std::int64_t bytes = t.dtype.bits / 8;
  for (int i = 0; i < t.ndim; ++i) bytes *= t.shape[i];
  return bytes;
}

void row_major_strides(const DLTensor& t, std::int64_t* strides) {
  std::int64_t next = 1;
  for (int i = t.ndim; i-- > 0;) {
    strides[i] = next;
    next *= t.shape[i];
  }
}

bool is_dense(const DLTensor& t) {
  std::int64_t next = 1;
  for (int i = t.ndim; i-- > 0;) {
    if (t.strides != nullptr && t.shape[i] > 1 && t.strides[i] != next) return false;
    next *= t.shape[i];
  }
  return true;
}

void copy_elements(const DLTensor& t, char* to) {
  if (bytes_of(t) == 0) return;
  std::array<std::int64_t, CAIRN_MOST_AXES> dense{};
  row_major_strides(t, dense.data());
  copy_axis(t, t.strides != nullptr ? t.strides : dense.data(), 0, static_cast<const char*>(t.data) + t.byte_offset, to);
}

} // namespace cairn::python
