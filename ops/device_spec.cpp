// See device_spec.h.
#include "ops/device_spec.h"

#include <fmt/format.h>

#include <charconv>
#include <cstddef>
#include <iterator>

namespace cairn::ops {

// Each kind is defined where its device is.
extern const DeviceKind kCpu, kEmulated, kCuda;

namespace {

struct Unit {
  std::string_view name;
  double bytes;
};
constexpr Unit kUnits[] = {{"", 1},          {"B", 1},           {"KB", 1e3},        {"MB", 1e6},        {"GB", 1e9},
                           {"TB", 1e12},     {"KiB", 0x1p10},    {"MiB", 0x1p20},    {"GiB", 0x1p30},    {"TiB", 0x1p40}};

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

std::int64_t size_named(std::string_view text) {
  double number = 0;
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc()) return 0;
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  for (const Unit& u : kUnits) {
    if (u.name != unit) continue;
    double bytes = number * u.bytes;
    return bytes >= 1 && bytes < 0x1p62 ? static_cast<std::int64_t>(bytes) : 0;
  }
  return 0;
}

bool parse_device(std::string_view text, DeviceMaker& maker, std::string& message) {
  maker = nullptr;
  const std::string_view name = text.substr(0, text.find_first_of(",:"));
  const std::string_view settings = text.substr(name.size());
  for (const DeviceKind* kind : kKinds)
    if (kind->name == name && (settings.empty() || settings.front() == kind->separator))
      return kind->parse(settings, maker, message);
  message = fmt::format("there is no device `{}`; there are {}", text, all_kinds());
  return false;
}

} // namespace cairn::ops
