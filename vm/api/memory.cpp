// Reads /proc and /sys as they are on Linux: control groups of both versions are trees of folders whose files hold the limits,
// and each ancestor's limit counts too. What cannot be read does not limit.
#include "vm/api/memory.h"

#include <algorithm>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <unistd.h>

namespace cairn::api {

namespace {

// "max" (version 2) and numbers beyond 64 bits read as no limit.
std::uint64_t limit_in(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  std::uint64_t bytes = 0;
  if (!(file >> text)) return UINT64_MAX;
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  return code == std::errc() ? bytes : UINT64_MAX;
}

// The least limit of the group at `root` + `group` and of its ancestors. In a container the group's own path may not be visible;
// then only the root's file is.
std::uint64_t limit_up_from(const std::string& root, std::string group, const char* file) {
  std::uint64_t least = limit_in(root + "/" + file);
  while (group.size() > 1) {
    least = std::min(least, limit_in(root + group + "/" + file));
    group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
  }
  return least;
}

bool lists_memory(std::string_view controllers) {
  while (!controllers.empty()) {
    std::size_t comma = controllers.find(',');
    if (controllers.substr(0, comma) == "memory") return true;
    controllers = comma == std::string_view::npos ? std::string_view() : controllers.substr(comma + 1);
  }
  return false;
}

// Lines of /proc/self/cgroup are NUMBER:CONTROLLERS:PATH; version 2 has number 0 and no controllers.
std::uint64_t control_group_limit() {
  std::uint64_t least = UINT64_MAX;
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    std::size_t first = line.find(':');
    std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string controllers = line.substr(first + 1, second - first - 1);
    std::string group = line.substr(second + 1);
    if (controllers.empty())
      least = std::min(least, limit_up_from("/sys/fs/cgroup", group, "memory.max"));
    else if (lists_memory(controllers))
      least = std::min(least, limit_up_from("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes"));
  }
  return least;
}

} // namespace

std::uint64_t available_memory_bytes() {
  auto pages = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES));
  auto page_bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return std::min(pages * page_bytes, control_group_limit());
}

// getrusage is the second choice: what it tells goes back to before the process became this program.
std::uint64_t peak_resident_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    std::uint64_t kilobytes = 0;
    if (std::sscanf(line.c_str(), "VmHWM: %" SCNu64, &kilobytes) == 1) return kilobytes * 1024;
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

} // namespace cairn::api
