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
  explicit Derived(value::Heap& heap) : levels_(heap) {}

  enum class As {
    recorded, // what is kept is there: whether what is not kept can be had
    lean      // from which level on a lean tape keeps it no longer, since all that can be computed again at a level goes there
  };
  // The next record.
  void add(const TensorRecord& record, As as);
  // The level of lean tapes from which on the result that is this node can be computed again. 0: it cannot, as kNone cannot.
  std::uint8_t level_of(std::uint32_t node) const { return node < levels_.size() ? levels_[node] : 0; }
  bool has(std::uint32_t node) const { return level_of(node) != 0; }

private:
  value::ChargedVector<std::uint8_t> levels_; // by node
};

} // namespace cairn::tape
