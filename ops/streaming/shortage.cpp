// See shortage.h.
#include "ops/streaming/shortage.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

namespace cairn::ops::streaming {
namespace {

std::string held_text(std::string_view memory, std::int64_t in_use, std::int64_t budget) {
  if (budget == 0) return fmt::format("\n  {}: {} bytes in use", memory, in_use);
  return fmt::format("\n  {}: {} of {} bytes in use", memory, in_use, budget);
}

// In a form that --device reads, and not less than the bytes.
std::string size_text(std::int64_t bytes) { return fmt::format("{}KiB", (bytes + 1023) / 1024); }

} // namespace

std::string with_ledger(const std::string& what, const Backing& backing, std::int64_t on_disk, const Least& least) {
  const Backing::Streaming& settings = backing.streaming();
  std::string text = what + held_text("the device's memory (memory=)", backing.device_in_use(), backing.device_budget());
  if (settings.by_default || backing.host_in_use() != 0)
    text += held_text("the host's memory for what streams (host=)", backing.host_in_use(), backing.host_budget());
  if (!settings.disk.empty()) text += held_text("the disk (disk-size=)", on_disk, settings.disk_bytes);
  std::vector<std::string> cures;
  const auto add = [&](std::string_view setting, std::int64_t bytes, std::int64_t budget) {
    if (budget != 0 && bytes > budget) cures.push_back(fmt::format("{}={} at least", setting, size_text(bytes)));
  };
  add("memory", least.memory, backing.device_budget());
  add("host", least.host, backing.host_budget());
  add("disk-size", least.disk, settings.disk_bytes);
  if (least.wants_disk) cures.push_back("disk=FOLDER");
  if (!least.streams) cures.push_back("host=SIZE, so that tensors stream");
  for (std::size_t i = 0; i < cures.size(); ++i)
    text += (i == 0 ? "\n  of --device, what would have been enough for this operation: " : "; or ") + cures[i];
  if (least.memory > backing.device_budget() && backing.device_budget() != 0)
    text += "\n  what is enough for the whole run is `least_memory_bytes` in --stats of one without memory=";
  if (least.host > backing.host_budget() && backing.host_budget() != 0)
    text += "\n  of the host's memory `host_peak_bytes` in --stats of one with host=1TiB is enough for the whole run";
  return text;
}

} // namespace cairn::ops::streaming
