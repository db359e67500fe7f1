// All kinds of devices that users may name.
#pragma once

#include "ops/device_spec.h"

#include <string>
#include <string_view>
#include <vector>

namespace cairn::ops {

// False with a message if the text names no device.
bool parse_device(std::string_view text, DeviceMaker& maker, std::string& message);
// The same of several with semicolons between.
bool parse_devices(std::string_view text, std::vector<DeviceMaker>& makers, std::string& message);

} // namespace cairn::ops
