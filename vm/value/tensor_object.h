// A tensor as an object of the heap. Its elements are elsewhere, on a device; several objects may share them. To derivatives an
// object is one place, however many slots refer to it (docs/design.md 5.1), so its serial is its name on a tape.
#pragma once

#include "ops/tensor.h"
#include "vm/value/object.h"

namespace cairn::value {

struct TensorObject : Object {
  ops::Tensor tensor;
};

// Flags of the object. Somebody waits for its elements to be read (RunState::read).
inline constexpr std::uint8_t kWatched = 1;
// Its elements are read seldom, so its reference to them is idle (ops::Storage::idle): between two readings they may be in a
// file.
inline constexpr std::uint8_t kAside = 2;
// A rule of a derivative keeps it for itself beside its value: it has no cotangent, and no zeros stand for one.
inline constexpr std::uint8_t kKept = 4;
inline constexpr std::uint8_t kTensorFlags = kWatched | kAside | kKept;

inline bool is_tensor(Value v) { return is_kind(v, Kind::tensor); }
inline TensorObject* as_tensor_object(Value v) { return static_cast<TensorObject*>(v.other()); }
inline const ops::Tensor& tensor_of(Value v) { return as_tensor_object(v)->tensor; }
inline bool is_watched(Value v) { return (v.other()->flags & kWatched) != 0; }
inline bool is_kept(Value v) { return (v.other()->flags & kKept) != 0; }
inline bool is_aside(Value v) { return (v.other()->flags & kAside) != 0; }
// Nothing happens to what is aside, or has no elements, and to what is not.
void put_aside(TensorObject& t);
void end_aside(TensorObject& t);

} // namespace cairn::value
