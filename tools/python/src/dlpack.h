// What DLPack has in versions behind the header that Debian has.
#pragma once

#include <dlpack/dlpack.h>

#include <cstdint>

// https://dmlc.github.io/dlpack/latest/c_api.html; the layout is part of the standard.
namespace cairn::python::dlpack {

inline constexpr const char *kCapsule = "dltensor", *kUsed = "used_dltensor";
inline constexpr const char* kVersionedCapsule = "dltensor_versioned";
inline constexpr std::uint64_t kCopied = 2; // a flag
inline constexpr std::uint8_t kBoolean = 6; // a code of types, of one byte

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

} // namespace cairn::python::dlpack
