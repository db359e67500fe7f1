// What kept elements of tensors has failed, and what was computed with them cannot be had any more. A run ends there with an
// error at its place; states that were saved before are good.
#pragma once

#include <stdexcept>

namespace cairn::ops {

struct ElementsLost : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The device does nothing any more, and nothing can be read from it.
struct DeviceLost : ElementsLost {
  using ElementsLost::ElementsLost;
};

} // namespace cairn::ops
