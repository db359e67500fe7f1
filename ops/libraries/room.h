// Room for a call of a library, asked for before it. OpenMP's library ends the process when it gets no memory, OpenBLAS asks again without end,
// and neither can be told otherwise. Where addresses are limited (`ulimit -v`, `ulimit -d`) a call is made only if so many are left as it takes at
// most; elsewhere the system gives addresses in any case, and nothing is asked.
#pragma once

#include <atomic>
#include <cstddef>
#include <sys/mman.h>
#include <sys/resource.h>

namespace cairn::ops::math {

inline constexpr std::size_t kRoomToLoad = std::size_t{512} << 20; // bytes of addresses: the libraries, their tables and first buffers
inline constexpr std::size_t kRoomForCall = std::size_t{160} << 20; // a buffer of OpenBLAS is 128 MiB
inline constexpr std::size_t kRoomBeside = std::size_t{96} << 20;   // for whoever else asks meanwhile

inline bool has_room(std::size_t bytes) {
  for (const auto which : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit limit{};
    if (getrlimit(which, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) continue;
    void* const there = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (there == MAP_FAILED) return false;
    munmap(there, bytes);
    return true;
  }
  return true;
}

// One call, beside those that other threads make.
class Room {
public:
  Room() : there_(has_room(kRoomBeside + kRoomForCall * ++calls())) {}
  ~Room() { --calls(); }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;
  explicit operator bool() const { return there_; }

private:
  static std::atomic<std::size_t>& calls() {
    static std::atomic<std::size_t> count{0};
    return count;
  }
  bool there_;
};

} // namespace cairn::ops::math
