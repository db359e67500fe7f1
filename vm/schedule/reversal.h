// The backward half of every schedule: given states kept along a run of known length, reverse the run from its end to the oldest
// of them, splitting what is longer than a base case and reusing each slot as soon as its state is no longer needed.
#pragma once

#include "vm/schedule/schedule.h"
#include "vm/schedule/words.h"

#include <optional>

namespace cairn::schedule {

inline constexpr std::uint64_t kNowhere = UINT64_MAX; // no current state
inline constexpr std::uint64_t kNoLimit = UINT32_MAX; // as many slots as slot numbers

// Numbers of slots from `first` on: the smallest never used, or the one given back last.
class Slots {
public:
  explicit Slots(std::uint32_t first = 0) : first_(first), fresh_(first) {}
  std::uint32_t fresh() const { return fresh_; } // the smallest never used
  std::uint32_t take();
  void give(std::uint32_t slot) { free_.push_back(slot); }
  // Whether `held` and the free ones are exactly the numbers handed out so far.
  bool sound(std::vector<std::uint32_t> held) const;
  template <class Self, class Archive> static void fields(Self& self, Archive& archive) {
    archive(self.free_);
    archive(self.first_);
    archive(self.fresh_);
  }

private:
  std::vector<std::uint32_t> free_;
  std::uint32_t first_ = 0;
  std::uint32_t fresh_ = 0;
};

// A kept state.
struct KeptState {
  std::uint64_t position = 0;
  std::uint32_t slot = 0;
  template <class Self, class Archive> static void fields(Self& self, Archive& archive) {
    archive(self.position);
    archive(self.slot);
  }
};

class Reversal {
public:
  // How a stretch that is longer than the base case is cut: never (it is taped whole), in the middle, or as revolve does.
  enum class Cut : std::uint8_t { never, halves, revolve };
  Reversal() = default;
  // `kept` from the oldest to the latest, whose slots come from `slots`; at most `limit` may be held at once.
  Reversal(Cut cut, std::uint64_t base, std::uint64_t limit, std::vector<KeptState> kept, Slots slots, std::uint64_t end);

  // The next action, or nothing once the stretch that starts at the oldest kept state is reversed and every slot is empty.
  std::optional<Action> next();
  // Memory has run out: states are given up, and there are fewer from now on; or tapes are shorter. What was run or taped when
  // that happened is run again. None: there is nothing to spare. At last no state is spared but the initial one, nor is any
  // tape but that of a single step; what is left may then begin at the initial state, in slot 0, with all else given up.
  std::optional<Schedule::Relief> relieve(bool sweeping, bool at_last);
  // Whether a tape is swept next, and there is something to spare at last.
  bool may_relieve_ahead() const { return stage_ == Stage::reverse && cut_ != Cut::never && (kept_.size() > 1 || base_ > 1); }
  // Steps from the start of the run on that are still to be reversed, behind the tape that is being swept if one is.
  std::uint64_t left() const { return stage_ == Stage::reverse ? taped_to_ : end_; }
  bool sound() const;
  template <class Self, class Archive> static void fields(Self& self, Archive& archive) {
    archive(self.cut_);
    archive(self.stage_);
    archive(self.base_);
    archive(self.limit_);
    archive(self.end_);
    archive(self.taped_to_);
    archive(self.at_);
    archive(self.kept_);
    archive(self.slots_);
  }

private:
  enum class Stage : std::uint8_t { choose, tape, reverse };
  Action tape();
  std::uint64_t cut_after(std::uint64_t steps) const;

  Cut cut_ = Cut::never;
  Stage stage_ = Stage::choose;
  std::uint64_t base_ = 0;
  std::uint64_t limit_ = 0;
  std::uint64_t end_ = 0;       // everything from here on is reversed (or, while the tape is in work, will be)
  std::uint64_t taped_to_ = 0;  // where the last tape ended
  std::uint64_t at_ = kNowhere; // position of the current state
  std::vector<KeptState> kept_;
  Slots slots_;
};

} // namespace cairn::schedule
