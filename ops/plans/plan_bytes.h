// Plans as bytes, for files and capsules: a head with version and checksum, then the parts of the plan. What is read is checked
// as if somebody had made it up.
#pragma once

#include "ops/plans/access_plan.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cairn::ops::plans {

std::vector<std::byte> to_bytes(const AccessPlan& plan);
// None, with a reason, for what is no plan.
std::optional<AccessPlan> from_bytes(std::span<const std::byte> bytes, std::string& fault);
// Makes the checksum right after bytes were changed: for tests and fuzzers. False: they are too few to have one.
bool reseal_plan(std::span<std::byte> bytes);

} // namespace cairn::ops::plans
