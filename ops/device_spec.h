// Devices as users name them: cpu | emulated[,memory=SIZE][,bandwidth=SIZE] | cuda[:N].
#pragma once

#include "ops/device.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace cairn::ops {

// Makes the device for a machine; empty: the processor, which every machine has. The function may throw std::runtime_error.
using DeviceMaker = std::function<std::unique_ptr<Device>(Ledger&)>;

// False with a message if the text names no device. Sizes are numbers of bytes, or with KB MB GB TB, KiB MiB GiB TiB behind them.
bool parse_device(std::string_view text, DeviceMaker& maker, std::string& message);

} // namespace cairn::ops
