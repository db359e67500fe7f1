// Headroom for a call of a library, asked for before it. oneDNN reads and writes through what it got where it got no memory,
// OpenMP's library ends the process, OpenBLAS asks again without end, and none of them can be told otherwise. Where addresses are
// limited
// (`ulimit -v`, `ulimit -d`) a call is made only if so many are left as it takes at most; elsewhere the system gives addresses in
// any case, and nothing is asked. What is left is read from the system: to try would take it from the calls of other threads for
// a moment.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace cairn::ops::math {

// Bytes of addresses: for the libraries, their tables and first buffers.
inline constexpr std::size_t kHeadroomToLoad = std::size_t{512} << 20;
inline constexpr std::size_t kHeadroomForCall = std::size_t{160} << 20; // a buffer of OpenBLAS is 128 MiB
inline constexpr std::size_t kHeadroomBeside = std::size_t{96} << 20;   // for whoever else asks meanwhile

// Bytes of addresses that the process has, and those of them that are its data. False: the system does not tell.
inline bool addresses(std::size_t& all, std::size_t& data) {
  const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char text[128] = {};
  const ssize_t n = read(file, text, sizeof text - 1);
  close(file);
  std::size_t pages[6] = {};
  const char* at = text;
  for (std::size_t& count : pages) { // the first is all, the sixth is data
    char* end = nullptr;
    count = n > 0 ? std::strtoul(at, &end, 10) : 0;
    if (n <= 0 || end == at) return false;
    at = end;
  }
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  all = pages[0] * page;
  data = pages[5] * page;
  return true;
}

inline bool has_headroom(std::size_t bytes) {
  rlimit of_all{}, of_data{};
  if (getrlimit(RLIMIT_AS, &of_all) != 0 || getrlimit(RLIMIT_DATA, &of_data) != 0) return false;
  if (of_all.rlim_cur == RLIM_INFINITY && of_data.rlim_cur == RLIM_INFINITY) return true;
  std::size_t all = 0, data = 0;
  if (!addresses(all, data)) return false;
  const auto within = [bytes](const rlimit& limit, std::size_t taken) {
    return limit.rlim_cur == RLIM_INFINITY || (taken <= limit.rlim_cur && bytes <= limit.rlim_cur - taken);
  };
  return within(of_all, all) && within(of_data, data);
}

// One call, beside those that other threads make.
class Headroom {
public:
  Headroom() : there_(has_headroom(kHeadroomBeside + kHeadroomForCall * ++calls())) {}
  ~Headroom() { --calls(); }
  Headroom(const Headroom&) = delete;
  Headroom& operator=(const Headroom&) = delete;
  explicit operator bool() const { return there_; }

private:
  static std::atomic<std::size_t>& calls() {
    static std::atomic<std::size_t> count{0};
    return count;
  }
  bool there_;
};

} // namespace cairn::ops::math
