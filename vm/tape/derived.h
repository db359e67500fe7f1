// What of a tape can be computed again from the rest of it. A tensor that an operation on the tape made, of operands that the
// tape keeps anyway or that can be computed again themselves, need not be kept for those that use it: the sweep applies the
// operator once more, to the same operands with the same attributes, and has the same bits.
#pragma once

#include "vm/tape/tensor_record.h"
#include "vm/value/charged.h"

#include <cstdint>
#include <span>

namespace cairn::tape {

// The results of records, one after the other from the first of a tape on.
class Derived {
public:
  explicit Derived(value::Heap& heap) : entries_(heap) {}

  enum class As {
    recorded, // what is kept is there: whether what is not kept can be had
    lean      // whatever can be computed again is taken to be no longer kept
  };
  // The next record; `inputs` are its tensors. `may`: whether its results are to count among what is computed again.
  void add(const TensorRecord& record, std::span<const ops::Tensor> inputs, As as, bool may);
  // Whether the result that is this node can be computed again. kNone cannot.
  bool has(std::uint32_t node) const { return depth_of(node) != 0; }

  // So many operations one behind the other at most, since the sweep calls itself for each.
  static constexpr std::uint8_t kDeepest = 12;

private:
  struct Entry {
    std::uint32_t node, end;
    std::uint8_t depth; // operations behind each other that it takes; 0: it cannot be had
  };
  std::uint8_t depth_of(std::uint32_t node) const;
  value::ChargedVector<Entry> entries_;
};

} // namespace cairn::tape
