// Walks along a plan while the call that it was recorded from is made again. Told of each launch before it is made, it says
// whether that is the one which the plan foretells, and when each block will be used next. A run may leave the plan anywhere:
// then nothing is known until launches come that the plan has, one behind another, and from there it is followed again.
//
// What was made in the call is known by its place in launches rather than by its name, since one block more or less in front of
// it changes the names of all that follow: a name is bound to a block of the plan when a launch that fits uses it first. Leaves
// are known by their names.
#pragma once

#include "ops/plans/access_plan.h"
#include "ops/plans/name_map.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace cairn::ops::plans {

// When a block will be used next, counted in launches from the start of the plan; behind its end, the plan once more.
struct NextUse {
  static constexpr std::uint64_t kNever = UINT64_MAX, kUnknown = UINT64_MAX - 1;
  std::uint64_t position = kUnknown;
  bool needs_elements = true;   // then; else all of it will be overwritten, or it is dropped there
  std::uint32_t before = kNone; // the use in front of it, a number as AccessPlan::first_use gives them
  static constexpr std::uint32_t kNone = UINT32_MAX;
  bool known() const { return position != kUnknown; }
  bool never() const { return position == kNever; }
  bool operator==(const NextUse&) const = default;
};

enum class Ending : std::uint8_t {
  once, // nothing is known of what follows the plan
  again // the plan follows: a training's steps. Leaves are used again, what was made in the call is not
};

class Follower {
public:
  // The plan outlives it.
  explicit Follower(const AccessPlan& plan, Ending ending = Ending::once);

  enum class Step : std::uint8_t {
    follows,  // the launch that the plan foretells
    diverges, // another one: from here on nothing is known
    lost,     // still off the plan
    returns   // the plan is found again, perhaps at once: this launch is at `position()`
  };
  // The next launch of the run. A block may be named several times.
  Step launch(std::span<const Access> accesses);
  // The block has another name from here on, perhaps one that another block had, which is no more then.
  void renamed(Name from, Name to);
  // The block does not exist any more.
  void dropped(Name name);

  bool on_plan() const { return on_plan_; }
  // Of the launch that came last, if it is on the plan. It grows beyond size() where the plan follows itself.
  std::uint64_t position() const { return position_; }
  std::uint64_t following() const { return next_; } // of the next launch, if that is on the plan
  std::uint64_t divergences() const { return divergences_; }
  std::uint64_t followed() const { return followed_; } // launches that were on the plan
  std::uint64_t strayed() const { return strayed_; }   // and off it

  // After the launch that came last. O(log n) in the number of uses of this block.
  NextUse next_use(Name name) const;
  NextUse next_use_of(std::uint32_t block) const { return use_from(block, next_); }
  // Behind a position that is still to come.
  NextUse next_use_after(std::uint32_t block, std::uint64_t position) const { return use_from(block, position + 1); }
  // Which use wrote it last, the launch that came last included: a number as AccessPlan::first_use gives them.
  std::optional<std::uint32_t> last_write(Name name) const;
  // Which block of the plan that is, and the other way round; none if it is not known (yet).
  std::optional<std::uint32_t> planned(Name name) const;
  std::optional<Name> name_of(std::uint32_t block) const;

  const AccessPlan& plan() const { return plan_; }
  Ending ending() const { return ending_; }

  // So many launches that fit, one behind another, are taken for the plan; one will do if the plan has only one like it.
  static constexpr std::size_t kAlike = 3;

private:
  // Whose name a block of the plan has, and in which stretch of the run between two divergences it was seen last. A name that was
  // seen in this stretch is that block's, and as large; of what is made, no other's.
  static constexpr std::uint64_t kUnseen = UINT64_MAX;
  static constexpr std::uint64_t kEver = kUnseen - 1; // leaves keep their names
  struct Owner {
    Name name = 0;
    std::uint64_t stretch = kUnseen;
    bool gone = false; // a leaf that was dropped
  };
  NextUse use_from(std::uint32_t block, std::uint64_t position) const;
  std::uint64_t signature(std::span<const Access> accesses) const;
  std::uint64_t signature_at(std::size_t position) const;
  std::optional<std::size_t> find(std::uint64_t signature);
  bool fits(std::size_t position);
  bool may_be(const Access& access, std::uint32_t planned) const;
  Step turn(Step otherwise);
  void bind(std::size_t position);
  void go_on(std::uint64_t position);
  void merge(std::span<const Access> accesses);
  void index();

  const AccessPlan& plan_;
  Ending ending_;
  // Of every launch of the plan, what it looks like without the names of what was made, and the same of kAlike launches: sorted,
  // and there once the plan has been left.
  std::vector<std::pair<std::uint64_t, std::uint32_t>> by_signature_, by_window_;
  NameMap<std::uint32_t> bindings_;          // of what was made: the block of the plan that has the name
  Name newest_ = 0;                          // no later name was ever bound
  std::vector<Owner> owners_;                // by block
  std::span<const Access> launch_;           // that is looked at
  std::vector<Access> merged_;               // the same, each block once, where it is not so
  std::vector<std::uint32_t> unbound_;       // which of its accesses are of blocks that are to be bound where it fits
  std::array<std::uint64_t, kAlike> seen_{}; // signatures of the launches since the plan was left, the last one at the end
  std::size_t seen_count_ = 0;
  bool overwrites_leaves_ = false; // names of leaves may be those of other blocks
  bool on_plan_ = true;
  std::uint64_t position_ = 0, next_ = 0; // of the launch that came last, and of the one that the plan foretells
  std::size_t place_ = 0;                 // next_ in the plan, which may follow itself
  std::uint64_t stretch_ = 0;
  std::uint64_t divergences_ = 0, followed_ = 0, strayed_ = 0;
};

} // namespace cairn::ops::plans
