// What of a tape can be computed again from the rest of it. A tensor that an operation on the tape made, of operands that the
// tape keeps anyway or that can be computed again themselves, need not be kept for those that use it: the sweep applies the
// operator once more, to the same operands with the same attributes, and has the same bits.
#pragma once

#include "vm/tape/tensor_record.h"
#include "vm/value/charged.h"

#include <cstdint>

namespace cairn::tape {

// The results of records, one after the other from the first of a tape on.
class Derived {
public:
  explicit Derived(value::Heap& heap) : depths_(heap) {}

  enum class As {
    recorded, // what is kept is there: whether what is not kept can be had
    lean      // whatever can be computed again is taken to be no longer kept
  };
  // The next record. `may`: whether its results are to count among what is computed again.
  void add(const TensorRecord& record, As as, bool may) {
    if (may) add(record, as);
  }
  // Whether the result that is this node can be computed again. kNone cannot.
  bool has(std::uint32_t node) const { return depth_of(node) != 0; }

  // So many operations one behind the other at most, since the sweep calls itself for each.
  static constexpr std::uint8_t kDeepest = 12;

private:
  void add(const TensorRecord& record, As as);
  std::uint8_t depth_of(std::uint32_t node) const { return node < depths_.size() ? depths_[node] : 0; }
  value::ChargedVector<std::uint8_t> depths_; // by node: operations behind each other that it takes; 0: it cannot be had
};

} // namespace cairn::tape
