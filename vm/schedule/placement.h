// Which states of a first run to keep while its length is not known yet, so that whenever the run ends, the states at hand make a
// cheap reversal. Positions are counted in units of the base case from the origin, the first state kept.
#pragma once

#include "vm/schedule/binomials.h"
#include "vm/schedule/reversal.h"

#include <algorithm>
#include <utility>

namespace cairn::schedule {

// How many states may be kept at once.
struct Allowance {
  enum class Kind : std::uint8_t {
    strided,     // all at multiples of a stride, which doubles whenever there are as many of them as it has steps
    fixed,       // `most` of them
    logarithmic, // four more each time the run has doubled
    bytes        // as many as fit into `bytes` (at least kLeastBySize while `ceiling` allows, at most `most`)
  };
  Kind kind = Kind::logarithmic;
  std::uint64_t most = kNoLimit;
  std::uint64_t bytes = 0;
  std::uint64_t ceiling = 0;
  template <class Self, class Archive> static void fields(Self& self, Archive& archive) {
    archive(self.kind);
    archive(self.most);
    archive(self.bytes);
    archive(self.ceiling);
  }
};

class Placement {
public:
  Placement() = default;
  Placement(Allowance allowance, std::uint64_t base, std::uint64_t origin);

  // The next action of the first run: discards, snapshots and advances in turn, for ever. The current state starts at the origin.
  Action next();
  // The size of the snapshot just taken: what it holds and no earlier one does.
  void kept(std::uint64_t bytes);
  // Memory has run out during an advance: slots of the states that are given up, a quarter of them, from now on with fewer. The
  // run goes on from the latest state that is left, which resume_at() names. None: there are none to spare.
  std::vector<std::uint32_t> relieve();
  std::uint32_t resume_at() const { return kept_.back().slot; }
  std::uint64_t resume_from() const { return position_of(kept_.back()); } // and from which step
  // The first run ended at step `end`: the reversal of everything from the origin on.
  Reversal reversal(std::uint64_t end) const;

  // Before the first action: another base case and origin, once the facts they depend on are known, and the first slot.
  void rebase(std::uint64_t base, std::uint64_t origin, std::uint32_t first_slot = 0);
  // When there is no more room for states, base cases become twice as long, up to so many steps.
  void lengthen_to(std::uint64_t most_base) { most_base_ = most_base; }
  // Where bytes are counted: at least so many.
  void allow(std::uint64_t bytes) { allowance_.bytes = std::max(allowance_.bytes, bytes); }
  // Where bytes are counted: exactly so many, and no minimum of states beyond them.
  void allow_only(std::uint64_t bytes) { allowance_.bytes = allowance_.ceiling = bytes; }

  std::uint64_t base() const { return base_; }
  std::uint64_t stride_steps() const { return stride_ * base_; }
  std::uint64_t most() const { return std::max(allowed(), held()); }
  std::uint64_t held() const { return kept_.size(); }
  bool sound() const;
  template <class Self, class Archive> static void fields(Self& self, Archive& archive) {
    archive(self.allowance_);
    archive(self.base_);
    archive(self.most_base_);
    archive(self.origin_);
    archive(self.at_);
    archive(self.stride_);
    archive(self.held_bytes_);
    archive(self.largest_bytes_);
    archive(self.store_);
    archive(self.arrived_);
    archive(self.kept_);
    archive(self.dropping_);
    archive(self.slots_);
  }

private:
  struct Kept {
    std::uint64_t unit = 0;
    std::uint64_t bytes = 0;
    std::uint32_t slot = 0;
    template <class Self, class Archive> static void fields(Self& self, Archive& archive) {
      archive(self.unit);
      archive(self.bytes);
      archive(self.slot);
    }
  };
  // What to do with the state at a unit: pass it by, or keep it, in place of others if there is no room.
  enum class Verdict : std::uint8_t { pass, keep, replace_middle, replace_last };

  std::uint64_t position_of(const Kept& state) const { return origin_ + state.unit * base_; }
  std::uint64_t allowed() const;
  Verdict judge(std::uint64_t unit);
  std::uint64_t units_to_next_decision();
  void arrive();
  void arrive_strided();
  bool lengthens() const { return 2 * base_ <= most_base_ && kept_.size() > 1 && kept_.size() >= allowed(); }
  void lengthen();
  void weigh();
  void drop(std::vector<std::uint64_t> indices);

  Allowance allowance_;
  std::uint64_t base_ = 0;
  std::uint64_t most_base_ = 0;
  std::uint64_t origin_ = 0;
  std::uint64_t at_ = 0;            // unit of the current state
  std::uint64_t stride_ = 1;        // in units; strided only
  std::uint64_t largest_bytes_ = 0; // that one state was charged for
  std::uint64_t held_bytes_ = 0;    // of the states kept
  bool store_ = true;               // the current state is to be kept, once `dropping_` is empty
  bool arrived_ = false;            // the current state is not judged yet
  std::vector<Kept> kept_;          // oldest first
  std::vector<std::uint32_t> dropping_;
  Slots slots_;

  // Costs of the gaps between kept states, derived from kept_ and allowed(); not part of the saved state.
  struct Weights {
    bool fresh = false;
    std::uint64_t slots = 0;
    Wide all = 0;                                       // of all closed gaps
    Wide head = 0;                                      // of all but the last of them
    std::vector<std::pair<Wide, std::uint64_t>> middle; // after dropping a state in the middle: cost, index; cheapest first
  };
  Weights weights_;
};

} // namespace cairn::schedule
