// Which block to bring before it is asked for, and when that is worth room for it.
//
// It looks ahead along the plan and adds up what launches are modelled to take, and what copies of the blocks that are not there
// will take: a block is brought when to wait for one launch more would let some launch of the window come to a stop, and not
// before: what comes too early takes the room of what could have stayed. Where copies take longer than launches, waiting always
// looks like that; then one copy is queued when the one before it would end during the next launch, so that the link is never
// idle and nothing comes earlier than it must.
//
// What leaves for it is needed later than what comes, always. Times are modelled: they follow from the sequence of calls alone.
#pragma once

#include "ops/plans/follower.h"
#include "ops/plans/link.h"
#include "ops/plans/residents.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace cairn::ops::plans {

class Prefetcher {
public:
  // All of them outlive it. `capacity`: of the memory, so many bytes are looked for ahead at most.
  Prefetcher(const Follower& follower, const Residents& residents, const Link& link, std::uint64_t capacity)
      : follower_(follower), residents_(residents), link_(link), capacity_(capacity) {}

  struct Fetch {
    Name name = 0;
    std::uint64_t bytes = 0;
    std::uint64_t needed_at = 0;    // position
    std::vector<Resident*> evicted; // first, written back where they are dirty
  };
  // To be asked after each launch until it says no more: what to bring now. `free`: bytes of the memory that are free.
  // What it says must be done (or at least not be asked for again at once), and the residents told.
  std::optional<Fetch> next(std::uint64_t free, const Timeline& now) const;

private:
  bool pays_to_wait(const Fetch& fetch, std::uint64_t free, const Timeline& now) const;
  const Follower& follower_;
  const Residents& residents_;
  const Link& link_;
  std::uint64_t capacity_;
  static constexpr std::size_t kWindowLaunches = 4096, kWindowCopies = 512; // to look ahead at most
};

} // namespace cairn::ops::plans
