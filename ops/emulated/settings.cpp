// What a user may say of the emulated device: emulated[,memory=SIZE][,host=SIZE]… (device_spec.h). Each setting once.
#include "ops/device_spec.h"
#include "ops/emulated/device.h"
#include "vm/text/sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace cairn::ops {
namespace {

constexpr struct {
  std::string_view name;
  plans::Policy policy;
} kPolicies[] = {{"planned", plans::Policy::planned},
                 {"demand", plans::Policy::demand},
                 {"waiting", plans::Policy::waiting},
                 {"unified", plans::Policy::unified},
                 {"unified-prefetched", plans::Policy::unified_prefetched}};

class EmulatedSettings {
public:
  // False with a message for what makes no sense.
  bool read(std::string_view settings, std::string& message) {
    while (!settings.empty()) {
      settings.remove_prefix(1); // the separator
      const std::string_view setting = settings.substr(0, settings.find(','));
      settings.remove_prefix(setting.size());
      message = wrong_with(setting);
      if (!message.empty()) return false;
    }
    return fits_together(message);
  }
  const EmulatedOptions& options() const { return options_; }

private:
  // Takes one NAME=VALUE; what is wrong with it.
  std::string wrong_with(std::string_view setting) {
    const std::size_t equals = setting.find('=');
    const std::string_view name = setting.substr(0, equals);
    const std::string_view value = equals == std::string_view::npos ? std::string_view() : setting.substr(equals + 1);
    const auto* const size = std::ranges::find(sizes_, name, &SizeSetting::name);
    if (name != "disk" && name != "policy" && name != "lost-after" && size == std::end(sizes_))
      return fmt::format("emulated: `{}` is none of its settings: memory=SIZE, bandwidth=SIZE, bandwidth-out=SIZE, host=SIZE, "
                         "pinned=on|off|SIZE, disk=FOLDER, disk-size=SIZE, disk-bandwidth=SIZE, memory-bandwidth=SIZE, "
                         "policy=NAME and lost-after=NUMBER",
                         setting);
    for (const std::string_view before : given_)
      if (before.substr(0, before.find('=')) == name)
        return fmt::format("emulated: {}= is given twice, as `{}` and as `{}`; leave one of them out", name, before, setting);
    given_.push_back(setting);
    if (name == "disk") return wrong_with_disk(value, setting);
    if (name == "policy") return wrong_with_policy(value, setting);
    if (name == "lost-after") return wrong_with_loss(value, setting);
    if (name == "pinned" && (value == "on" || value == "off")) {
      options_.pinned_bytes = value == "on" ? INT64_MAX : 0;
      return "";
    }
    const text::Size read = text::parse_size(value);
    if (read.fault != text::Size::Fault::none || read.bytes == 0 || read.bytes >= std::uint64_t{1} << 62)
      return fmt::format("emulated: expected {}{}=SIZE, a size like 256MiB, got `{}`",
                         name == "pinned" ? "pinned=on, pinned=off or " : "", name, setting);
    if (size->bytes != nullptr) *size->bytes = static_cast<std::int64_t>(read.bytes);
    if (size->rate != nullptr) *size->rate = static_cast<double>(read.bytes);
    return "";
  }

  std::string wrong_with_disk(std::string_view folder, std::string_view setting) {
    if (folder.empty()) return fmt::format("emulated: expected disk=FOLDER, got `{}`", setting);
    options_.streaming.disk = folder;
    return "";
  }

  std::string wrong_with_policy(std::string_view name, std::string_view setting) {
    const auto* const policy = std::ranges::find_if(kPolicies, [&](const auto& known) { return known.name == name; });
    if (policy != std::end(kPolicies)) {
      options_.streaming.policy = policy->policy;
      return "";
    }
    std::string names;
    for (const auto& known : kPolicies) names += fmt::format("{}{}", names.empty() ? "" : ", ", known.name);
    return fmt::format("emulated: expected policy=NAME, one of {}, got `{}`", names, setting);
  }

  std::string wrong_with_loss(std::string_view number, std::string_view setting) {
    const auto [end, fault] = std::from_chars(number.data(), number.data() + number.size(), options_.lost_after);
    if (fault == std::errc() && end == number.data() + number.size() && options_.lost_after != 0) return "";
    return fmt::format("emulated: expected lost-after=NUMBER, of operations, at least 1, got `{}`", setting);
  }

  bool fits_together(std::string& message) {
    if (bandwidth_ != 0) options_.rates.bytes_in = options_.rates.bytes_out = bandwidth_;
    if (bandwidth_out_ != 0) options_.rates.bytes_out = bandwidth_out_;
    Backing::Streaming& streaming = options_.streaming;
    streaming.by_default = options_.host_bytes != 0 || !streaming.disk.empty();
    if (streaming.disk.empty()) {
      if (streaming.disk_bytes != 0)
        message = "emulated: disk-size=SIZE is of the folder that disk=FOLDER names, and there is none";
      return message.empty();
    }
    const std::int64_t free = free_bytes_in(streaming.disk, message);
    if (free == 0) {
      message = fmt::format("emulated: disk={}: {}", streaming.disk, message.empty() ? "no space is left there" : message);
      return false;
    }
    if (streaming.disk_bytes == 0) streaming.disk_bytes = free;
    return true;
  }

  EmulatedOptions options_;
  double bandwidth_ = 0, bandwidth_out_ = 0; // bytes a second; 0: as by default
  std::vector<std::string_view> given_;      // so far
  // What is given by a size: where it goes, in bytes or in bytes a second.
  struct SizeSetting {
    std::string_view name;
    std::int64_t* bytes;
    double* rate;
  };
  const SizeSetting sizes_[8] = {{"memory", &options_.memory_bytes, nullptr},
                                 {"host", &options_.host_bytes, nullptr},
                                 {"pinned", &options_.pinned_bytes, nullptr},
                                 {"disk-size", &options_.streaming.disk_bytes, nullptr},
                                 {"bandwidth", nullptr, &bandwidth_},
                                 {"bandwidth-out", nullptr, &bandwidth_out_},
                                 {"disk-bandwidth", nullptr, &options_.rates.disk},
                                 {"memory-bandwidth", nullptr, &options_.rates.memory}};
};

bool parsed_emulated(std::string_view settings, DeviceMaker& maker, std::string& message) {
  EmulatedSettings read;
  if (!read.read(settings, message)) return false;
  maker = [options = read.options()](Ledger& ledger) { return make_emulated_device(ledger, options); };
  return true;
}

} // namespace

extern const DeviceKind kEmulated; // listed in ops/devices
constinit const DeviceKind kEmulated{"emulated", "emulated[,memory=SIZE][,bandwidth=SIZE][,host=SIZE][,disk=FOLDER]", ',',
                                     parsed_emulated};

} // namespace cairn::ops
