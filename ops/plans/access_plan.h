// What one call did to the blocks that stream: the sequence of its launches, what each of them read and wrote, and where blocks
// were made and dropped between them. It is recorded once; when the call is made again, it says what will be needed next.
//
// A plan foretells, it does not promise. Whoever follows one must be right when it is wrong, so a plan may choose what is moved
// when, and nothing else.
#pragma once

#include "ops/plans/name_map.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cairn::ops::plans {

using Picoseconds = std::uint64_t; // modelled

// Which block: what was there before the call by its place among the leaves of what was given to it, what was made in it by its
// birth less that of the call.
using Name = std::uint64_t;
inline constexpr Name kBorn = Name{1} << 63;
constexpr Name leaf_name(std::uint64_t leaf) { return leaf & ~kBorn; }
constexpr Name born_name(std::uint64_t birth) { return birth | kBorn; }
constexpr bool is_born(Name name) { return (name & kBorn) != 0; }
std::string shown(Name name); // "x3", "b12"

enum class Use : std::uint8_t {
  read,
  write_whole,
  write_part,
  overwrite // read, and written as a whole: in a plan a block that is written in part, or the end of one and the start of another
};
constexpr bool needs_elements(Use use) { return use != Use::write_whole; }
constexpr bool writes(Use use) { return use != Use::read; }
// Both in one launch: what is read as well keeps a part of what it was.
constexpr Use both(Use a, Use b) {
  if (a == b) return a;
  const auto is = [](Use use) { return use == Use::read || use == Use::write_whole || use == Use::overwrite; };
  return is(a) && is(b) ? Use::overwrite : Use::write_part;
}
constexpr Use planned(Use use) { return use == Use::overwrite ? Use::write_part : use; }

struct Access {
  Name name = 0;
  std::uint64_t bytes = 0;
  Use use = Use::read;
  bool operator==(const Access&) const = default;
};

// The same as plans hold it: a block by its place in the plan's list of blocks.
struct PlannedUse {
  std::uint32_t block = 0;
  Use use = Use::read;
  bool operator==(const PlannedUse&) const = default;
};
struct PlannedBlock {
  Name name = 0;
  std::uint64_t bytes = 0;
  bool operator==(const PlannedBlock&) const = default;
};
// Between two launches. What is dropped is never needed again.
struct Change {
  std::uint32_t block = 0;
  bool made = false; // else dropped
  bool operator==(const Change&) const = default;
};

class AccessPlan {
public:
  static constexpr std::size_t kMostLaunches = std::size_t{1} << 26, kMostUses = std::size_t{1} << 28;
  static constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 48;  // of a block
  static constexpr Picoseconds kMostDuration = std::uint64_t{1} << 60; // of all launches together: two weeks

  AccessPlan() : AccessPlan(Parts{}) {}

  std::size_t bytes_of_memory() const;                         // what it takes
  std::size_t size() const { return parts_.durations.size(); } // in launches: positions are [0, size())
  Picoseconds duration(std::size_t position) const { return parts_.durations[position]; }
  Picoseconds duration() const { return begins_.back(); } // of all launches
  // When the launch at that position begins if none ever waits; behind the end, the plan once more.
  Picoseconds begins(std::uint64_t position) const {
    return size() == 0 ? 0 : position / size() * duration() + begins_[static_cast<std::size_t>(position % size())];
  }
  // Each block at most once, in the order in which the launch named them first.
  std::span<const PlannedUse> uses(std::size_t position) const {
    return std::span(parts_.uses)
        .subspan(parts_.first_use[position], parts_.first_use[position + 1] - parts_.first_use[position]);
  }
  // In front of the launch at `position`; behind the last one at size().
  std::span<const Change> changes(std::size_t position) const {
    return std::span(parts_.changes)
        .subspan(parts_.first_change[position], parts_.first_change[position + 1] - parts_.first_change[position]);
  }
  // In the order in which they were first used or made.
  std::span<const PlannedBlock> blocks() const { return parts_.blocks; }
  std::optional<std::uint32_t> find(Name name) const;
  // Where a block is used, in rising order.
  std::span<const std::uint32_t> positions(std::uint32_t block) const {
    return std::span(positions_).subspan(first_position_[block], first_position_[block + 1] - first_position_[block]);
  }
  // How it is used at each of these.
  std::span<const Use> uses_of(std::uint32_t block) const {
    return std::span(uses_at_).subspan(first_position_[block], first_position_[block + 1] - first_position_[block]);
  }
  // The number of its first use, where uses are counted block by block; the others follow.
  std::uint32_t first_use(std::uint32_t block) const { return first_position_[block]; }
  // The place in front of which it is dropped; size() + 1 if it is not.
  std::size_t dropped(std::uint32_t block) const { return dropped_[block]; }

  // Of all blocks that are there at once, at most; what was there before is there to the end.
  std::uint64_t bytes_at_once() const { return bytes_at_once_; }

  // Whatever the caller says of the program that was recorded: its digest.
  std::uint64_t program() const { return parts_.program; }
  // Of everything that the plan says.
  std::uint64_t digest() const { return digest_; }
  bool operator==(const AccessPlan& other) const { return parts_ == other.parts_; }

  // A line: how many launches and blocks, how many bytes, how long.
  std::string summary() const;
  // The sequence itself, a line a launch, `most` of them.
  std::string listing(std::size_t most) const;
  // Why it cannot be a plan of that program with these leaves, one behind another; empty: it can.
  std::string why_not_of(std::uint64_t program) const; // whatever the leaves are
  std::string why_not(std::uint64_t program, std::span<const std::uint64_t> bytes_of_leaves) const;

  // What a plan is made of. Offsets have one element more than there are launches, and changes one more than that.
  struct Parts {
    std::uint64_t program = 0;
    std::vector<PlannedBlock> blocks;
    std::vector<Picoseconds> durations;
    std::vector<std::uint32_t> first_use = {0};
    std::vector<PlannedUse> uses;
    std::vector<std::uint32_t> first_change = {0, 0};
    std::vector<Change> changes;
    bool operator==(const Parts&) const = default;
  };
  const Parts& parts() const { return parts_; }
  // What does not fit together is said in `fault`, and there is no plan then.
  static std::optional<AccessPlan> made_of(Parts parts, std::string& fault);

private:
  explicit AccessPlan(Parts parts);
  Parts parts_;
  std::vector<std::uint32_t> by_name_; // blocks in the order of their names
  std::vector<std::uint32_t> first_position_, positions_;
  std::vector<Use> uses_at_;
  std::vector<std::size_t> dropped_;
  std::vector<Picoseconds> begins_ = {0};
  std::uint64_t digest_ = 0, bytes_at_once_ = 0;
};

// Makes a plan of what happens.
class Recorder {
public:
  explicit Recorder(std::uint64_t program) { parts_.program = program; }
  // One launch; a block may be named several times.
  void launch(Picoseconds duration, std::span<const Access> accesses);
  // A block without elements. Whether it gets them from a launch or from the host is seen by how it is used first.
  void made(Name name, std::uint64_t bytes);
  void dropped(Name name);
  // What was recorded; nothing is left. None with a reason if it is more than a plan can hold, or makes no sense.
  std::optional<AccessPlan> finish(std::string& fault);

private:
  std::uint32_t block(Name name, std::uint64_t bytes);
  AccessPlan::Parts parts_;
  NameMap<std::uint32_t> blocks_;
  bool too_much_ = false;
};

} // namespace cairn::ops::plans
