// What is in one memory, in the order in which it should leave it.
//
// Along a plan: what is needed last goes first, which is the best there is for blocks of one size without write-backs (Belady).
// Otherwise a byte is worth what it will cost to have it back, for as long as it must be kept until then. To bring a block back
// costs its bytes once if its elements are needed, and once more if it must be written back before it goes and would not have to
// be otherwise; so the time until the next use is divided by 0, 1 or 2, and the largest goes first. The number of bytes cancels
// out, but what is chosen to make room is looked at again from its end: what the others make superfluous stays.
//
// Without a plan, or where the run has left it: the least recently used goes first, but what has a copy below before what has
// none.
//
// Blocks carry what is noted of them, and as long as all fits no more is done for a launch than to note it: there is an order
// once it is asked for.
#pragma once

#include "ops/plans/follower.h"
#include "ops/plans/foresight.h"
#include "ops/plans/link.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace cairn::ops::plans {

// What is noted of a block. Whoever owns the block owns this, and removes it before it goes.
struct Resident {
  Name name = 0;
  std::uint64_t bytes = 0;
  bool here = false;                             // it has a copy in this memory: then it keeps its name
  bool dirty = false;                            // it has no copy below
  bool must_out = false;                         // and will be copied out in any case, sooner or later
  bool ahead = false;                            // it came before it was asked for, and was not used since
  unsigned pins = 0;                             // launches that are put together, or a copy: it must stay
  NextUse next;                                  // as it was known when it was used last, if there is an order
  std::uint64_t used = 0;                        // the count of launches then
  Picoseconds free_at = 0;                       // modelled: when nothing that is queued uses it any more
  Resident *before = nullptr, *behind = nullptr; // of those that are here
};

class Residents {
public:
  // Nothing is here, and there is no plan.
  Residents() = default;
  // A plan that both know; null for foresight: nothing is known of write-backs. Both outlive it.
  explicit Residents(const Follower* follower, const Foresight* foresight = nullptr) { begin(follower, foresight); }
  Residents(const Residents&) = delete;
  Residents& operator=(const Residents&) = delete;

  // Another plan from here on; null: none. What is here stays here, as `each` notes it anew, and counts as used now.
  template <class Each> void begin(const Follower* follower, const Foresight* foresight, Each&& each) {
    forget_order();
    now_ = 0;
    for (Resident* one = first_; one != nullptr; one = one->behind) {
      each(*one);
      one->used = 0;
    }
    begin(follower, foresight);
  }

  // The block gets a copy in this memory, or is used there again: call it when a launch has been queued, and what comes by
  // prefetch as well. `free_at`: when that use or copy ends.
  void put(Resident& block, bool dirty, Picoseconds free_at = 0) noexcept {
    if (ordered_ || !missing_.empty()) return put_in_order(block, dirty, free_at);
    if (!block.here) add(block);
    note(block, dirty, free_at);
  }
  // It came before it was asked for.
  void put_ahead(Resident& block, Picoseconds free_at) noexcept;
  // It was written back: there is a copy below now.
  void cleaned(Resident& block, Picoseconds free_at = 0) noexcept;
  // The copy has gone, the block has not.
  void remove(Resident& block) noexcept;
  // The block does not exist any more, wherever it was. (To be told to the follower, too, and to it behind this.)
  void dropped(Resident& block) noexcept {
    if (block.here) take_out(block);
    dropped(block.name);
  }
  void dropped(Name name) noexcept; // it is not here
  // After a launch that wrote the block: it will have to be copied out, so that may be queued at once.
  bool must_out(const Resident& block) const { return foresees() && will_be_copied_out(block); }
  // Whether so many bytes may come before they are asked for.
  bool may_come_early(std::uint64_t bytes) const {
    return early_ == 0 || foresight_ == nullptr || (early_ <= foresight_->early && bytes <= foresight_->early - early_);
  }
  // When launches will begin, if that is known; else null.
  const Foresight* times() const { return foresight_ == nullptr || foresight_->begins.empty() ? nullptr : foresight_; }
  // Whether it was chosen to leave behind its last use.
  bool leaves(const Resident& resident) const { return !resident.ahead && foresight_ != nullptr && leaves_behind(resident.next); }
  bool leaves_behind(const NextUse& next) const {
    return foresight_ != nullptr && !foresight_->leaves.empty() && next.before != NextUse::kNone &&
           foresight_->leaves[next.before];
  }
  // Whether the others stay where their room is only wanted for what comes ahead.
  bool stays_firm() const { return foresight_ != nullptr && foresight_->firm; }
  bool foresees() const { return foresight_ != nullptr && !foresight_->copied_out.empty(); } // else nothing must
  // The run has left the plan or found it again: what is known of next uses has changed. (The plan's ordinary course changes
  // nothing: a block's next use stays the same until it is used.)
  void replan();
  // A launch has been queued.
  void tick() { ++now_; }

  Resident* first() const { return first_; } // of those that are here, in no order
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t count() const { return count_; }
  // Blocks of the plan that exist, are not here, and will be needed with their elements: (position, block), the soonest first.
  // Empty off the plan.
  const std::set<std::pair<std::uint64_t, std::uint32_t>>& missing() const { return missing_; }

  struct Want {
    std::uint64_t bytes = 0;                     // that must become free
    std::optional<std::uint64_t> needed_at = {}; // what the plan needs there or before stays; none: whatever is not pinned may go
    // What queued work, or its own write-back over that link behind what is queued on it, would keep beyond this stays if there
    // is anything else.
    Picoseconds free_by = UINT64_MAX;
    const Link* link = nullptr;
    Picoseconds copy_out = 0;
  };
  // Who should leave so that so many bytes become free; empty if that cannot be done.
  std::vector<Resident*> choose(const Want& want) const;

private:
  // The sets of those that cost nothing; that were chosen to leave; that cost one or two copies to have back; those without a
  // known next use: clean and dirty.
  enum Class : std::uint8_t { kFree, kLeaves, kOnce, kTwice, kOldClean, kOldDirty, kClasses };
  struct Key {
    std::uint64_t order = 0; // the smallest goes first
    Name name = 0;
    Resident* resident = nullptr; // says no more than the name
    bool operator<(const Key& other) const { return order != other.order ? order < other.order : name < other.name; }
  };
  Class class_of(const Resident& resident) const;
  static Key key_of(Resident& resident);
  void insert(Resident& resident) const;
  void insert_or_forget(Resident& resident) noexcept;
  void erase(Resident& resident) const;
  void order() const;
  void forget_order() const noexcept;

  void begin(const Follower* follower, const Foresight* foresight);
  void note(Resident& block, bool dirty, Picoseconds free_at) {
    block.dirty = dirty;
    not_ahead_any_more(block);
    block.used = now_;
    block.free_at = std::max(block.free_at, free_at); // a write-back may take longer than the use
  }
  void add(Resident& block) {
    block.here = true;
    block.before = nullptr;
    block.behind = first_;
    if (first_ != nullptr) first_->before = &block;
    first_ = &block;
    bytes_ += block.bytes;
    ++count_;
  }
  void not_ahead_any_more(Resident& block) {
    if (!block.ahead) return;
    block.ahead = false;
    early_ -= block.bytes;
  }
  void put_in_order(Resident& block, bool dirty, Picoseconds free_at) noexcept;
  bool will_be_copied_out(const Resident& block) const;
  void take_out(Resident& block) noexcept;
  void add_missing(std::uint32_t block);
  void remove_missing(std::uint32_t block) noexcept;

  const Follower* follower_ = nullptr;
  const Foresight* foresight_ = nullptr;
  Resident* first_ = nullptr;
  std::set<std::pair<std::uint64_t, std::uint32_t>> missing_;
  std::vector<std::uint64_t> missing_at_; // by block of the plan; kNever: it is not missing
  // As long as all fits there is no order, and next uses are not looked up.
  mutable std::set<Key> orders_[kClasses];
  mutable bool ordered_ = false;
  std::uint64_t bytes_ = 0, count_ = 0, now_ = 0;
  std::uint64_t early_ = 0; // bytes that came before they were asked for
};

} // namespace cairn::ops::plans
