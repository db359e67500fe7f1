// DLPack's structs, those of versions behind the header that Debian has included, and which types of elements Cairn has of them.
#pragma once

#include <Python.h>

#include <dlpack/dlpack.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace cairn::python {

struct Element {
  char format; // of Python's buffers; 0: they have none
  DLDataTypeCode code;
  unsigned char bits;
};
inline constexpr Element kElements[] = {{'B', kDLUInt, 8}, {'b', kDLInt, 8},    {'h', kDLInt, 16},   {'i', kDLInt, 32},
                                        {'q', kDLInt, 64}, {'f', kDLFloat, 32}, {'d', kDLFloat, 64}, {0, kDLBfloat, 16}};

inline bool known_type(const DLDataType& type) {
  return std::any_of(std::begin(kElements), std::end(kElements),
                     [&](const Element& e) { return e.code == type.code && e.bits == type.bits && type.lanes == 1; });
}

// https://dmlc.github.io/dlpack/latest/c_api.html; the layout is part of the standard.
namespace dlpack {

inline constexpr const char *kCapsule = "dltensor", *kUsed = "used_dltensor";
inline constexpr const char* kVersionedCapsule = "dltensor_versioned";
inline constexpr std::uint64_t kReadOnly = 1, kCopied = 2; // flags

struct Version {
  std::uint32_t major, minor;
};

struct Versioned { // DLManagedTensorVersioned
  Version version;
  void* manager_ctx;
  void (*deleter)(Versioned*);
  std::uint64_t flags;
  DLTensor dl_tensor;
};

// What a library gives by the attribute __dlpack_c_exchange_api__ of its type of arrays, as a capsule. Functions return 0, or set
// Python's error.
struct Exchange {
  Version version;
  const Exchange* before;
  void* allocate;
  int (*to_versioned)(void* object, Versioned** made);
  int (*from_versioned)(Versioned* taken, void** object);
  int (*borrow)(void* object, DLTensor* elements); // as long as nobody changes the object
  void* stream;
};
inline constexpr const char* kExchangeCapsule = "dlpack_exchange_api";

} // namespace dlpack
} // namespace cairn::python
