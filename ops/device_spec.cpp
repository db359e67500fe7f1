// See device_spec.h.
#include "ops/device_spec.h"

#include <fmt/format.h>

#include <charconv>
#include <iterator>

namespace cairn::ops {

namespace {

struct Unit {
  std::string_view name;
  double bytes;
};
constexpr Unit kUnits[] = {{"", 1},          {"B", 1},           {"KB", 1e3},        {"MB", 1e6},        {"GB", 1e9},
                           {"TB", 1e12},     {"KiB", 0x1p10},    {"MiB", 0x1p20},    {"GiB", 0x1p30},    {"TiB", 0x1p40}};

// 0: no size.
std::int64_t size_of(std::string_view text) {
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

bool emulated(std::string_view settings, DeviceMaker& maker, std::string& message) {
  EmulatedOptions options;
  while (!settings.empty()) {
    settings.remove_prefix(1);
    std::string_view setting = settings.substr(0, settings.find(','));
    settings.remove_prefix(setting.size());
    std::size_t equals = setting.find('=');
    std::string_view name = setting.substr(0, equals);
    std::int64_t bytes = equals == std::string_view::npos ? 0 : size_of(setting.substr(equals + 1));
    if (name != "memory" && name != "bandwidth") {
      message = fmt::format("emulated: `{}` is neither memory=SIZE nor bandwidth=SIZE", setting);
      return false;
    }
    if (bytes == 0) {
      message = fmt::format("emulated: expected {}=SIZE, a size like 256MiB, got `{}`", name, setting);
      return false;
    }
    (name == "memory" ? options.memory_bytes : options.bytes_per_second) = bytes;
  }
  maker = [options](Ledger& ledger) { return make_emulated_device(ledger, options); };
  return true;
}

} // namespace

bool parse_device(std::string_view text, DeviceMaker& maker, std::string& message) {
  maker = nullptr;
  if (text == "cpu") return true;
  std::string_view kind = text.substr(0, text.find_first_of(",:"));
  std::string_view rest = text.substr(kind.size());
  if (kind == "emulated" && !rest.starts_with(':')) return emulated(rest, maker, message);
  if (kind == "cuda" && !rest.starts_with(',')) {
    int index = 0;
    if (!rest.empty()) {
      rest.remove_prefix(1);
      auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), index);
      if (code != std::errc() || end != rest.data() + rest.size() || index < 0) {
        message = fmt::format("cuda: expected cuda:N, got `{}`", text);
        return false;
      }
    }
    maker = [index](Ledger& ledger) { return make_cuda_device(ledger, index); };
    return true;
  }
  message = fmt::format("there is no device `{}`; there are cpu, emulated[,memory=SIZE][,bandwidth=SIZE] and cuda[:N]", text);
  return false;
}

} // namespace cairn::ops
