// What a user may say of the emulated device: emulated[,memory=SIZE][,host=SIZE]… (device_spec.h).
#include "ops/modelled/settings.h"
#include "ops/device_spec.h"
#include "ops/emulated/device.h"

#include <fmt/format.h>

#include <charconv>
#include <system_error>

namespace cairn::ops {
namespace {

std::string read_lost_after(std::string_view number, std::string_view setting, EmulatedOptions& options) {
  const auto [end, fault] = std::from_chars(number.data(), number.data() + number.size(), options.lost_after);
  if (fault == std::errc() && end == number.data() + number.size() && options.lost_after != 0) return "";
  return fmt::format("emulated: expected lost-after=NUMBER, of operations, at least 1, got `{}`", setting);
}

bool parsed_emulated(std::string_view settings, DeviceMaker& maker, std::string& message) {
  EmulatedOptions options;
  if (!ModelledSettings::take_number(settings, "emulated", options.number, message)) return false;
  const auto lost_after = [&](std::string_view value, std::string_view setting) {
    return read_lost_after(value, setting, options);
  };
  if (!ModelledSettings(options, "emulated", true, {"lost-after", "lost-after=NUMBER", lost_after}).read(settings, message))
    return false;
  maker = [options](Ledger& ledger) { return make_emulated_device(ledger, options); };
  return true;
}

} // namespace

extern const DeviceKind kEmulated; // listed in ops/devices
constinit const DeviceKind kEmulated{"emulated", "emulated[:N][,memory=SIZE][,bandwidth=SIZE][,host=SIZE][,disk=FOLDER]", ":,",
                                     parsed_emulated};

} // namespace cairn::ops
