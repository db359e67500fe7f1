// Memory of the host that the GPU copies from and to at full speed: pinned once, used in a ring. Where the system pins none,
// ordinary memory, which the driver copies once more.
#pragma once

#include "gpu/stream.h"

#include <cstdint>
#include <deque>
#include <memory>

namespace cairn::gpu {

class Staging {
public:
  static constexpr std::int64_t kMostAtOnce = std::int64_t{4} << 20;

  Staging(Stream& stream, std::int64_t bytes = 4 * kMostAtOnce);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // At most kMostAtOnce bytes; waits until earlier copies no longer need them.
  char* take(std::int64_t bytes);
  // The copy that uses what was taken last.
  void used_by(Ticket ticket) { parts_.back().ticket = ticket; }

private:
  struct Part {
    std::int64_t begin, end;
    Ticket ticket;
  };
  Stream& stream_;
  std::int64_t bytes_, next_ = 0;
  char* pinned_ = nullptr;
  std::unique_ptr<char[]> ordinary_;
  std::deque<Part> parts_; // in the order in which they were taken
};

} // namespace cairn::gpu
