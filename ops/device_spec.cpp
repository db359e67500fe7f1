// See device_spec.h.
#include "ops/device_spec.h"

#include <charconv>
#include <cstddef>

namespace cairn::ops {

namespace {

struct Unit {
  std::string_view name;
  double bytes;
};
constexpr Unit kUnits[] = {{"", 1},      {"B", 1},        {"KB", 1e3},     {"MB", 1e6},     {"GB", 1e9},
                           {"TB", 1e12}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}};

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

} // namespace cairn::ops
