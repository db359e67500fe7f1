// See keys.h.
#include "ops/cpu/lines/keys.h"

#include "ops/cpu/loops/isa.h"

#include <type_traits>

namespace cairn::ops::cpu {

namespace {

// The bits of an element, and its key in the low bits of a larger integer.
template <class T> struct Format {
  static constexpr int kBits = 8 * sizeof(T);
  using Raw = typename RawOf<sizeof(T)>::Type;
  using Key = typename KeyOf<sizeof(T)>::Type;
  static constexpr bool kFloating = std::is_floating_point_v<T> || std::is_same_v<T, Bf16>;
  static constexpr Key kSign = Key{1} << (kBits - 1), kAll = kSign | (kSign - 1);
  static constexpr Key kInfinity = sizeof(T) == 8   ? static_cast<Key>(0x7ff0000000000000)
                                   : sizeof(T) == 4 ? static_cast<Key>(0x7f800000)
                                                    : static_cast<Key>(0x7f80);
};

template <class T, KeyOrder order> struct ToKeys {
  CAIRN_INLINE static void run(void* out, const void* const* in, std::int64_t n, double /*parameter*/) {
    using F = Format<T>;
    using Key = typename F::Key;
    auto* keys = static_cast<Key*>(out);
    const auto* x = static_cast<const typename F::Raw*>(in[0]);
    CAIRN_EACH
    for (std::int64_t i = 0; i < n; ++i) {
      Key key = x[i];
      if constexpr (F::kFloating) {
        const Key size = key & (F::kSign - 1);
        if constexpr (order != KeyOrder::distinct) key = size == 0 ? 0 : key;
        key = (key & F::kSign) != 0 ? F::kAll - key : key | F::kSign;
        key = size > F::kInfinity ? F::kAll : key;
      } else if constexpr (std::is_signed_v<T>) {
        key ^= F::kSign;
      }
      keys[i] = order == KeyOrder::descending ? F::kAll - key : key;
    }
  }
};

template <class T> struct ToElements {
  CAIRN_INLINE static void run(void* out, const void* const* in, std::int64_t n, double /*parameter*/) {
    using F = Format<T>;
    using Key = typename F::Key;
    auto* x = static_cast<typename F::Raw*>(out);
    const auto* keys = static_cast<const Key*>(in[0]);
    CAIRN_EACH
    for (std::int64_t i = 0; i < n; ++i) {
      Key key = keys[i];
      if constexpr (F::kFloating)
        key = (key & F::kSign) != 0 ? key - F::kSign : F::kAll - key;
      else if constexpr (std::is_signed_v<T>)
        key ^= F::kSign;
      x[i] = static_cast<typename F::Raw>(key);
    }
  }
};

template <class T> Loop to_keys(KeyOrder order) {
  return order == KeyOrder::distinct    ? Compiled<ToKeys<T, KeyOrder::distinct>>::chosen()
         : order == KeyOrder::ascending ? Compiled<ToKeys<T, KeyOrder::ascending>>::chosen()
                                        : Compiled<ToKeys<T, KeyOrder::descending>>::chosen();
}

} // namespace

Loop keys_of(DType type, KeyOrder order) {
  switch (type) {
#define X(name, other, T, bytes)                                                                                                 \
  case DType::name:                                                                                                              \
    return to_keys<T>(order);
    CAIRN_DTYPES(X)
#undef X
  }
  return nullptr;
}

Loop elements_of(DType type) {
  switch (type) {
#define X(name, other, T, bytes)                                                                                                 \
  case DType::name:                                                                                                              \
    return Compiled<ToElements<T>>::chosen();
    CAIRN_DTYPES(X)
#undef X
  }
  return nullptr;
}

} // namespace cairn::ops::cpu
