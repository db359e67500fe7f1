// Tensors that are put aside.
#include "vm/value/tensor_object.h"

#include "ops/device.h"
#include "vm/value/heap.h"

namespace cairn::value {

void put_aside(TensorObject& t) {
  if ((t.flags & kAside) != 0 || !t.tensor.storage) return;
  t.flags |= kAside;
  t.tensor.storage->aside = true;
  t.tensor.storage->device->set_idle(*t.tensor.storage.get());
}

void end_aside(TensorObject& t) {
  if ((t.flags & kAside) == 0) return;
  t.flags &= static_cast<std::uint8_t>(~kAside);
  t.tensor.storage->device->end_idle(*t.tensor.storage.get());
}

Value Heap::make_tensor_like(Value tensor) {
  const Value made = make_tensor(tensor_of(tensor));
  made.other()->flags |= tensor.other()->flags & kKept;
  if (is_aside(tensor)) put_aside(*as_tensor_object(made));
  return made;
}

} // namespace cairn::value
