// How often variables are used, and which lambdas are transparent: never seen as values, so that what they capture is nobody's
// business. What any other lambda captures can be observed (the cotangent of a closure is a closure), so passes keep it.
#pragma once

#include "compiler/back/tree.h"

namespace cairn::compiler::back {

struct Usage {
  std::uint32_t uses = 0;
  std::uint32_t calls = 0; // uses as the operator of a call
};

// Counts per variable over the forms given; marks lambdas as transparent.
Vector<Usage> count_uses(const Tree& tree, const Vector<bool>& wanted);

// Nodes of a body, at most `limit` + 1.
std::size_t size_up_to(const Node* node, std::size_t limit);
bool mentions_global(const Node* node, std::uint32_t global);

} // namespace cairn::compiler::back
