// Types of elements that Cairn has, as DLPack and Python's buffers call them, and what is done with the elements of any tensor of
// DLPack's: whether they lie one behind the other, and a copy that does.
#pragma once

#include "cairn.h"

#include <dlpack/dlpack.h>

#include <cstdint>

namespace cairn::python {

struct Element {
  char format; // of Python's buffers; 0: they have none
  DLDataTypeCode code;
  unsigned char bits;
};
// By the number of cairn_element.
inline constexpr Element kElements[] = {{'B', kDLUInt, 8}, {'b', kDLInt, 8},    {'h', kDLInt, 16},   {'i', kDLInt, 32},
                                        {'q', kDLInt, 64}, {'f', kDLFloat, 32}, {'d', kDLFloat, 64}, {0, kDLBfloat, 16}};

// NULL: Cairn has no such type.
inline const Element* element_of(const DLDataType& type) {
  for (const Element& e : kElements)
    if (e.code == type.code && e.bits == type.bits && type.lanes == 1) return &e;
  return nullptr;
}

std::int64_t bytes_of(const DLTensor& t);
void row_major_strides(const DLTensor& t, std::int64_t* strides);
// Whether the elements lie one behind the other in row-major order.
bool is_dense(const DLTensor& t);
// To memory of bytes_of(t), in row-major order.
void copy_elements(const DLTensor& t, char* to);

} // namespace cairn::python
