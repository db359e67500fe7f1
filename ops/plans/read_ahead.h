// Which block to read from a disk into the host's memory before the copy from there to the device is wanted: the second rung
// below the prefetcher, which looks ahead in the same way. A block is read when to wait for one launch more would bring it too
// late for its own copy to lie beside the work; one read is queued at a time, when the disk would be idle before this is asked
// again.
#pragma once

#include "ops/plans/follower.h"
#include "ops/plans/link.h"
#include "ops/plans/residents.h"

#include <cstdint>
#include <functional>
#include <optional>

namespace cairn::ops::plans {

class ReadAhead {
public:
  static constexpr std::size_t kWindowLaunches = 4096, kWindowBlocks = 512; // to look ahead at most
  // All of them outlive it. `residents`: of the device. `window`: bytes to be read ahead at most.
  ReadAhead(const Follower& follower, const Residents& residents, const Link& link, const Link& disk, std::uint64_t window)
      : follower_(follower), residents_(residents), link_(link), disk_(disk), window_(window) {}

  struct Read {
    Name name = 0;
    std::uint64_t needed_at = 0; // position
  };
  // To be asked after each launch until it says no more. `is_away`: the block is on the disk alone, and not on its way.
  std::optional<Read> next(const Timeline& now, Picoseconds disk_end, const std::function<bool(Name)>& is_away) const;

private:
  const Follower& follower_;
  const Residents& residents_;
  const Link& link_;
  const Link& disk_;
  std::uint64_t window_;
};

} // namespace cairn::ops::plans
