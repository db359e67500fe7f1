// Makes a plan of a call that a program asked for, and can look at: so the plan says nothing that depends on counts of
// references. Memory that is used again in place is seen as another block from there on, and a block is dropped behind its last
// use unless the call's value has it, whenever its memory was really given back.
//
// A recording is part of the state of a run: it is copied, taken back behind work that was stopped, and goes on elsewhere, where
// blocks have other names.
#pragma once

#include "ops/plans/access_plan.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace cairn::ops::plans {

class CallRecorder {
public:
  // What is kept until there is a plan: everything that goes on elsewhere.
  struct Parts {
    struct Block {
      std::uint64_t bytes = 0;
      Name name = 0;     // on the device
      bool made = false; // within the call; else it was there before
      bool named = true; // that name is still its own: no later block has it
      bool operator==(const Block&) const = default;
    };
    std::uint64_t program = 0;
    std::vector<Block> blocks;
    std::vector<Picoseconds> durations;
    std::vector<std::uint32_t> first_use = {0};
    std::vector<PlannedUse> uses;
    enum class Lost : std::uint8_t { nothing, too_long, no_memory, too_deep };
    Lost lost = Lost::nothing; // why there will be no plan; then the rest is empty
    bool operator==(const Parts&) const = default;
  };

  explicit CallRecorder(std::uint64_t program) { parts_.program = program; }
  // Goes on with what another one has recorded; `renamed`: the names here of the blocks that are still there. None, with a
  // reason, for what no recorder can have recorded.
  static std::optional<CallRecorder> going_on(Parts parts, const std::unordered_map<Name, Name>& renamed, std::string& fault);

  // One launch, with each block once.
  void launch(Picoseconds duration, std::span<const Access> accesses);
  void made(Name name, std::uint64_t bytes);
  // Something could not be noted, so nothing is from here on.
  void give_up(Parts::Lost why) noexcept;
  void dropped(Name name) { latest_.erase(name); }
  // The plan; `kept`: names of blocks that the value of the call has. None with a reason if it is more than a plan can hold.
  // std::bad_alloc where memory was short for what had to be noted.
  std::optional<AccessPlan> finish(std::span<const Name> kept, std::string& fault) const;

  // How far it has come; what was recorded since can be taken back, for work that has not happened.
  struct Mark {
    std::size_t blocks = 0, launches = 0;
  };
  Mark mark() const { return {parts_.blocks.size(), parts_.durations.size()}; }
  void take_back(const Mark& mark);

  const Parts& parts() const { return parts_; }
  std::size_t bytes() const; // of memory

private:
  void note(Picoseconds duration, std::span<const Access> accesses);
  std::uint32_t add(Name name, std::uint64_t bytes, bool made);
  Parts parts_;
  std::unordered_map<Name, std::uint32_t> latest_; // of the blocks that are there
  std::vector<std::uint32_t> before_;              // of each block, the one that had its name; itself: none
};

} // namespace cairn::ops::plans
