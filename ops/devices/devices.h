// All kinds of devices that users may name.
#pragma once

#include "ops/device_spec.h"

#include <string>
#include <string_view>

namespace cairn::ops {

// False with a message if the text names no device.
bool parse_device(std::string_view text, DeviceMaker& maker, std::string& message);

} // namespace cairn::ops
