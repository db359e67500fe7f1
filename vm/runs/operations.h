// The operations of tensors on one tape, and what is held for a while as they are done and swept one by one.
#pragma once

#include "vm/schedule/schedule.h"
#include "vm/value/charged.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cairn::runs {

struct Operation {
  std::uint32_t node = 0, end = 0; // of its results
  std::vector<std::uint32_t> operands;
  std::vector<std::uint64_t> operand_bytes, result_bytes;
  std::size_t last_use = 0;   // the last operation that reads a result
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

inline constexpr std::size_t kOfOperands = 192; // bytes of an operation's lists, and of its cotangents in a map, as a rule

// The bytes of a tensor on the tape.
struct Node {
  std::uint32_t node = 0;
  std::uint64_t bytes = 0;
};

// Sets what is held for a while: `advancing`, `taping`, `sweeping` and `sweeping_lean`. The state at the end of the tape has the
// nodes `ends`, and its cotangents are counted elsewhere.
using Nodes = std::vector<Node, value::ChargedAllocator<Node>>;
void follow(const std::vector<Operation>& operations, const Nodes& ends, schedule::Weights& weights);

} // namespace cairn::runs
