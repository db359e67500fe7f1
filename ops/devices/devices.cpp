// See devices.h.
#include "ops/devices/devices.h"

#include <fmt/format.h>

#include <cstddef>
#include <iterator>

namespace cairn::ops {

// Each kind is defined where its device is.
extern const DeviceKind kCpu, kEmulated, kCuda;

namespace {

constexpr const DeviceKind* kKinds[] = {&kCpu, &kEmulated, &kCuda};

// "cpu, emulated and cuda"
std::string all_kinds() {
  std::string text;
  for (std::size_t i = 0; i < std::size(kKinds); ++i) {
    if (i != 0) text += i + 1 == std::size(kKinds) ? " and " : ", ";
    text += kKinds[i]->form;
  }
  return text;
}

} // namespace

bool parse_device(std::string_view text, DeviceMaker& maker, std::string& message) {
  maker = nullptr;
  const std::string_view name = text.substr(0, text.find_first_of(",:"));
  const std::string_view settings = text.substr(name.size());
  for (const DeviceKind* kind : kKinds)
    if (kind->name == name && (settings.empty() || kind->separators.find(settings.front()) != std::string_view::npos))
      return kind->parse(settings, maker, message);
  message = fmt::format("there is no device `{}`; there are {}", text, all_kinds());
  return false;
}

bool parse_devices(std::string_view text, std::vector<DeviceMaker>& makers, std::string& message) {
  makers.clear();
  for (bool more = true; more;) {
    const std::size_t end = text.find(';');
    if (!parse_device(text.substr(0, end), makers.emplace_back(), message)) return false;
    more = end != std::string_view::npos;
    if (more) text.remove_prefix(end + 1);
  }
  return true;
}

} // namespace cairn::ops
