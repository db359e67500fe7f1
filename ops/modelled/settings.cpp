#include "ops/modelled/settings.h"

#include "vm/text/sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string>
#include <system_error>

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

} // namespace

bool ModelledSettings::take_number(std::string_view& settings, std::string_view device, int& number, std::string& message) {
  const std::string_view text = settings.substr(0, settings.find(','));
  settings.remove_prefix(text.size());
  if (text.empty()) return true;
  const auto [end, fault] = std::from_chars(text.data() + 1, text.data() + text.size(), number); // behind the colon
  if (fault == std::errc() && end == text.data() + text.size() && number >= 0) return true;
  message = fmt::format("{}: expected {}:N, got `{}{}`", device, device, device, text);
  return false;
}

bool ModelledSettings::read(std::string_view settings, std::string& message) {
  while (!settings.empty()) {
    settings.remove_prefix(1); // the comma
    const std::string_view setting = settings.substr(0, settings.find(','));
    settings.remove_prefix(setting.size());
    message = wrong_with(setting);
    if (!message.empty()) return false;
  }
  return finish(message);
}

// Takes one NAME=VALUE; what is wrong with it.
std::string ModelledSettings::wrong_with(std::string_view setting) {
  // What is given by a size: where it goes, in bytes or in bytes a second.
  const struct {
    std::string_view name;
    std::int64_t* bytes;
    double* rate;
  } sizes[] = {{"memory", &options_.memory_bytes, nullptr},
               {"host", &options_.host_bytes, nullptr},
               {"pinned", &options_.pinned_bytes, nullptr},
               {"disk-size", &options_.streaming.disk_bytes, nullptr},
               {"bandwidth", nullptr, &bandwidth_},
               {"bandwidth-out", nullptr, &bandwidth_out_},
               {"disk-bandwidth", nullptr, &options_.rates.disk},
               {"memory-bandwidth", nullptr, &options_.rates.memory}};
  const std::size_t equals = setting.find('=');
  const std::string_view name = setting.substr(0, equals);
  const std::string_view value = equals == std::string_view::npos ? std::string_view() : setting.substr(equals + 1);
  const auto* const size = std::ranges::find_if(sizes, [&](const auto& known) { return known.name == name; });
  const bool is_own = !own_.name.empty() && name == own_.name;
  if (name != "disk" && name != "policy" && !is_own && size == std::end(sizes))
    return fmt::format("{}: `{}` is none of its settings: memory=SIZE, bandwidth=SIZE, bandwidth-out=SIZE, host=SIZE, "
                       "pinned=on|off|SIZE, disk=FOLDER, disk-size=SIZE, disk-bandwidth=SIZE, memory-bandwidth=SIZE{}",
                       device_, setting, own_.form.empty() ? " and policy=NAME" : fmt::format(", policy=NAME and {}", own_.form));
  for (const std::string_view before : given_)
    if (before.substr(0, before.find('=')) == name)
      return fmt::format("{}: {}= is given twice, as `{}` and as `{}`; leave one of them out", device_, name, before, setting);
  given_.push_back(setting);
  if (is_own) return own_.read(value, setting);
  if (name == "policy") return wrong_with_policy(value, setting);
  if (name == "disk") {
    options_.streaming.disk = value;
    return value.empty() ? fmt::format("{}: expected disk=FOLDER, got `{}`", device_, setting) : "";
  }
  if (name == "pinned" && (value == "on" || value == "off")) {
    options_.pinned_bytes = value == "on" ? INT64_MAX : 0;
    return "";
  }
  const text::Size read = text::parse_size(value);
  if (read.fault != text::Size::Fault::none || read.bytes == 0 || read.bytes >= std::uint64_t{1} << 62)
    return fmt::format("{}: expected {}{}=SIZE, a size like 256MiB, got `{}`", device_,
                       name == "pinned" ? "pinned=on, pinned=off or " : "", name, setting);
  if (size->bytes != nullptr) *size->bytes = static_cast<std::int64_t>(read.bytes);
  if (size->rate != nullptr) *size->rate = static_cast<double>(read.bytes);
  return "";
}

std::string ModelledSettings::wrong_with_policy(std::string_view name, std::string_view setting) {
  std::string names;
  for (const auto& known : kPolicies) {
    if (plans::is_unified(known.policy) && !moves_pages_) continue;
    if (known.name == name) {
      options_.streaming.policy = known.policy;
      return "";
    }
    names += fmt::format("{}{}", names.empty() ? "" : ", ", known.name);
  }
  return fmt::format("{}: expected policy=NAME, one of {}, got `{}`", device_, names, setting);
}

// What follows from all of them together.
bool ModelledSettings::finish(std::string& message) {
  options_.memory_asked = options_.memory_bytes;
  if (bandwidth_ != 0) options_.rates.bytes_in = options_.rates.bytes_out = bandwidth_;
  if (bandwidth_out_ != 0) options_.rates.bytes_out = bandwidth_out_;
  Backing::Streaming& streaming = options_.streaming;
  streaming.by_default = options_.host_bytes != 0 || !streaming.disk.empty();
  if (streaming.disk.empty()) {
    if (streaming.disk_bytes != 0)
      message = fmt::format("{}: disk-size=SIZE is of the folder that disk=FOLDER names, and there is none", device_);
    return message.empty();
  }
  const std::int64_t free = free_bytes_in(streaming.disk, message);
  if (free == 0) {
    message = fmt::format("{}: disk={}: {}", device_, streaming.disk, message.empty() ? "no space is left there" : message);
    return false;
  }
  if (streaming.disk_bytes == 0) streaming.disk_bytes = free;
  return true;
}

} // namespace cairn::ops
