// A call that a program asked to be recorded, or to be made along a plan (get-streaming-plan, call-with-streaming-plan). It is
// part of the state of the run that makes it, so that one which is interrupted and goes on, perhaps twice, records what it would
// have recorded.
#pragma once

#include "ops/plans/access_plan.h"
#include "ops/plans/call_recorder.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace cairn::ops::streaming {

struct Call {
  static constexpr std::uint64_t kGone = UINT64_MAX; // a leaf that was dropped

  // The blocks that stream of what the call was given, by their numbers on the device (StreamingDevice::number_of), each once.
  std::vector<std::uint64_t> leaves;
  // One of the two.
  std::optional<plans::CallRecorder> recorder;
  std::shared_ptr<const plans::AccessPlan> plan;
};

} // namespace cairn::ops::streaming
