// *j-update and its kin: each leaf of x is replaced by its rule as soon as its cotangent is complete, so gradients of all leaves
// never exist together (after the dissertation behind SCORCH, chapter 4).
//
// A tensor's cotangent is complete when the sweep has passed the step at which its elements were first read. That step is known
// from the first run; a tape that records it notes it there. Numbers, and tensors that were never read, have their turn when all
// is swept.
#pragma once

#include "vm/machine/derivative_rules.h"
#include "vm/schedule/schedule.h"
#include "vm/tape/places.h"
#include "vm/tape/tape.h"

#include <map>
#include <memory>
#include <vector>

namespace cairn::runs {

using machine::Engine;
using tape::Tape;
using value::Heap;
using value::Value;

struct SweepState;

// Owns its values.
struct Update {
  struct Leaf {
    Value leaf, state;                // before its turn and, when done, after; both are given to the rule
    tape::Place place;                // checkpoint-*j: a number's
    std::uint32_t node = tape::kNone; // *j: a number's
    bool done = false;
    std::uint64_t made = 0; // in a survey: bytes of the state that its rule made
  };
  struct Tensor {
    std::uint32_t leaf;
    std::uint64_t first_read = machine::kNever; // steps from the beginning
  };
  Value rule = value::kUnspecified;
  bool in_place = false; // leaves are given up to their rule
  bool stateful = false;
  std::vector<Leaf> leaves;                // in preorder
  std::map<std::uint64_t, Tensor> tensors; // leaves of floating types, by serial
  bool begun = false;                      // a rule has run
  bool reached = false;                    // a leaf had a cotangent, or that is not known
  std::uint32_t rest = 0;                  // leaves before it are done
  std::uint32_t pending = tape::kNone;     // the leaf whose rule runs
  // Its use count is the number of copies of this update: while a capsule has one, leaves are not given up to their rules,
  // because the capsule still needs their elements.
  std::shared_ptr<const int> copies = std::make_shared<const int>(0);

  std::unique_ptr<Update> clone(Heap& heap) const;
  void release(Heap& heap);
  template <class F> void each_held(F&& f) const {
    f(rule);
    for (const Leaf& l : leaves) {
      f(l.leaf);
      f(l.state);
    }
  }
  // Charges what is new.
  void account(Heap& heap);

private:
  std::int64_t charged_ = 0;
};

// Throws ProgramError if anything but `x` itself holds what is in it.
void want_unshared(Engine& engine, Value x, const char* name);
// Of a state whose x has been copied; `update` is (rule . state).
void begin_update(Engine& engine, SweepState& s, Value update, bool in_place);
// Leaves of x in the value of the run: in place they may not be there.
void want_apart(Engine& engine, const SweepState& s);
// An operator with this serial begins inside a run of an update, if there is one; `tape` is that of the run around it, or null.
void begin_inside_update(Engine& engine, SweepState& s, std::uint64_t serial, Tape* tape);
// Whether leaves have states with tensors: then what rules make of them is taken to be as large.
bool has_states(Engine& engine, const SweepState& s);
// What rules do of leaves as far as it is known: of a survey, or of those whose rules have run already, after which the others
// are taken to go. Otherwise states are taken to keep their sizes, and to be made anew where something else holds the old ones.
std::vector<schedule::UpdatedLeaf> updated_leaves(Engine& engine, const SweepState& s);
// Bytes that the rules of leaves whose turn comes are taken to hold for a while beside what they take and give.
std::uint64_t held_by_rule(const Update& update);
// Whether the rule of some leaf may run now.
bool update_is_due(SweepState& s);
// Calls the rule of a leaf that is due; #f is delivered if there is none.
void start_update(Engine& engine, value::Frame* frame, SweepState& s);
// Takes what the rule returned (taken over).
void end_update(Engine& engine, SweepState& s, Value result);
// (y x' state'), owned.
Value updated_result(Engine& engine, SweepState& s);

} // namespace cairn::runs
