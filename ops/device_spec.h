// Devices as users name them: cpu | emulated[:N][,memory=SIZE][,bandwidth=SIZE][,host=SIZE][,disk=FOLDER] |
// cuda[:N][,memory=SIZE][,host=SIZE][,disk=FOLDER]. A kind of device is defined beside its device and listed in
// ops/devices/devices.cpp.
#pragma once

#include "ops/device.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace cairn::ops {

// Makes the device for a machine; empty: the processor, which every machine has. The function may throw std::runtime_error.
using DeviceMaker = std::function<std::unique_ptr<Device>(Ledger&)>;

struct DeviceKind {
  std::string_view name;       // what users write, and behind it settings
  std::string_view form;       // all that they may write, for messages
  std::string_view separators; // what settings begin with, one of these
  // Settings from that on, or nothing. False with a message if they make no sense.
  bool (*parse)(std::string_view settings, DeviceMaker& maker, std::string& message) = nullptr;
};

} // namespace cairn::ops
