// What tapes may keep with an error, and how large that may be: the policy that `with-lossy-tape` and `--lossy` put in force. It
// is a value: of the same operation it says the same in every replay.
#pragma once

#include "ops/operator.h"

#include <array>
#include <string>
#include <string_view>

namespace cairn::machine {

struct LossyPolicy {
  double bound = 0;      // of the error of an element; 0: none but those that second operands say themselves (ops::mark_of)
  bool relative = false; // the bound is a share of the tensor's largest magnitude
  bool adaptive = false; // there are such; else, without a bound, tapes keep everything as it is
  std::array<bool, static_cast<std::size_t>(ops::LossyKind::count_)> named = {false, true}; // by kind: convolutions alone
  bool small = false; // encodings are in the small form, not in the fast one: of the same elements

  // Of products that it covers, what a mark of the second operand says comes before its own bound.
  bool covers(const ops::Operator& op) const { return (bound != 0 || adaptive) && named[static_cast<std::size_t>(op.lossy)]; }
};

// "none", "adaptive", "absolute=1e-3", "relative=1e-2,operators=convolution+product,form=small". False, with a message that says
// what would be right.
bool parse(std::string_view text, LossyPolicy& policy, std::string& error);
std::string to_string(const LossyPolicy& policy);

} // namespace cairn::machine
