// The operations of tensors on one tape, and what is held for a while as they are done and swept one by one.
#pragma once

#include "vm/schedule/schedule.h"
#include "vm/tape/tensor_record.h"
#include "vm/value/charged.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cairn::runs {

inline constexpr std::size_t kNothing = SIZE_MAX;

struct Operation {
  std::uint32_t node = 0, end = 0;                        // of its results
  std::vector<std::uint32_t> operands;                    // tape::kNone: a number, whose cotangent is none of tensors
  std::vector<std::uint64_t> operand_bytes, result_bytes; // a view has no bytes of its own
  std::size_t last_use = 0;                               // the last operation that reads a result
  std::size_t view_of = kNothing;                         // the operation whose memory a view shows, if this tape has it,
  std::size_t overwritten = kNothing;                     // and the one whose first result may become this one's memory
  ops::VjpMemory cotangents = ops::VjpMemory::own;        // of operands: where the reverse rule makes them,
  std::size_t called = 0;                                 // so many operands in front are those of calls with rules of their own
  bool turns = false;                                     // views among them have axes in another order, or gaps,
  bool may_copy = false;                                  // and of such a cotangent there is no view
  std::uint64_t kept_new = 0; // bytes that the tape keeps from here on, of elements that were made in the interval; the sweep
                              // gives them up once it has passed this operation
  bool result_kept = false;
  std::vector<std::uint32_t> taken; // nodes whose cotangents an update rule takes once the sweep has passed this operation
  std::uint64_t beside = 0;         // held for the time of this operation alone, when it is done and when it is swept
  // Of a lean tape: the same as kept_new; of results that it does not keep but can compute again, their bytes. What the sweep of
  // this operation wants to have computed again, and what computing its results again does.
  std::uint64_t kept_lean = 0, again_bytes = 0;
  std::vector<std::uint32_t> wanted, wanted_again;
};

// The one that has made it, or kNothing: nodes ascend.
std::size_t operation_of(const std::vector<Operation>& operations, std::uint32_t node);

inline constexpr std::size_t kOfOperands = 192; // bytes of an operation's lists, and of its cotangents in a map, as a rule

// The bytes of a tensor on the tape.
struct Node {
  std::uint32_t node = 0;
  std::uint64_t bytes = 0;
};

// Sets what is held for a while: `advancing`, `taping`, `sweeping` and `sweeping_lean`. The state at the end of the tape has the
// nodes `ends`; that state, its cotangents and what the tape keeps are counted elsewhere. Returns what cotangents there are at
// the start of the tape that lie in memory with others: nodes, and the bytes of all that memory.
using Nodes = std::vector<Node, value::ChargedAllocator<Node>>;
struct Together {
  std::uint64_t bytes = 0;
  std::vector<Node> nodes;
};
std::vector<Together> follow(const std::vector<Operation>& operations, const Nodes& ends, schedule::Weights& weights);

} // namespace cairn::runs
