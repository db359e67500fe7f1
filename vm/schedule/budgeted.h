// A run whose tape is heavy, that is, one of tensors, under a budget of bytes. Its first run is taped interval by interval, which
// costs such a run next to nothing and tells exactly what each interval's tape and the states between them weigh. Tapes and
// states are kept where they pay (keeping.h). At the end the tapes are swept, and for each gap between them the planner (plan.h)
// finds the moves of least cost.
#pragma once

#include "vm/schedule/keeping.h"
#include "vm/schedule/plan.h"
#include "vm/schedule/planned_gaps.h"
#include "vm/schedule/reversal.h"
#include "vm/schedule/schedule.h"

#include <optional>
#include <vector>

namespace cairn::schedule {

inline constexpr std::uint64_t kFirstSteps = std::uint64_t{1} << 18; // at most on a first tape, and in one of the first intervals

// Where nobody said how much memory there is, so much beside what is older than the run is not worth saving.
inline constexpr std::uint64_t kFrugalBytes = std::uint64_t{64} << 20;

class Budgeted {
public:
  Budgeted() = default;
  // The first `steps` steps are on the tape in work, with so many records, and the initial state is in slot 0. An interval ends
  // where its tape has more than `piece` records.
  Budgeted(std::uint64_t budget, std::uint64_t steps, std::uint64_t piece, std::uint64_t records);
  // Whether the next action is to sweep a tape.
  bool sweeps_next() const {
    return stage_ == Stage::reversing && done_ < todo_.size() && todo_[done_].kind == Action::Kind::reverse;
  }
  // From now on nothing is kept, and nothing reversed at the end: the run is only weighed, for any budget.
  void only_survey() {
    survey_ = true;
    budget_ = room_ = kMostOfOne;
  }
  // Nobody said how much memory there is: within `most`, as little is taken as costs little time.
  void be_frugal(std::uint64_t most) {
    most_budget_ = most;
    spare_ = kFrugalBytes;
  }
  // Tapes may be in a file that holds so many bytes, a MiB of which takes so many ticks to be written and read.
  void may_spill(std::uint64_t bytes, std::uint64_t ticks_of_mib) {
    spill_bytes_ = bounded(bytes);
    spill_ticks_ = bounded(ticks_of_mib);
  }
  // Records of an interval's tape, for a survey of a run that is now known.
  std::uint64_t good_piece() const;

  // The next action; nothing where another schedule has to go on: once handed_over(), or at the end of everything.
  std::optional<Action> next();
  // Where a run is too long for its intervals to fit, or has derivative operators inside whose memory nobody can tell, only
  // states are kept of what there is so far, and the rest is for somebody else to run and to reverse; its slots begin at
  // first_free().
  bool handed_over() const { return handed_over_; }
  bool nested() const { return nested_; }
  std::uint64_t room_for_rest() const; // bytes, of what has been handed over
  bool weighs_tapes() const { return stage_ == Stage::running && !known_ && !handed_over_; }
  std::uint64_t position() const { return positions_.empty() ? 0 : positions_.back(); }
  std::uint32_t first_free() const { return slots_.fresh(); }
  std::uint64_t records() const { return all_records_; } // of all tapes so far
  void ended(std::uint64_t total);                       // with the last tape in work
  void rest_is_reversed();                               // that was handed over

  // For another run like the one that is reversed now: what it knows then holds from the first step on. None: nobody could plan
  // this one.
  std::optional<Budgeted> again(std::uint64_t failures) const;
  // The same of a run that was surveyed, within that budget.
  std::optional<Budgeted> surveyed_within(std::uint64_t budget) const;
  std::uint64_t least_of_any() const;
  // The run that was known beforehand ended elsewhere.
  bool misled() const { return misled_; }

  // Memory has run out while the run is reversed: what is left is reversed from the initial state alone, in slot 0. False:
  // nothing is known that takes less.
  bool relieve(bool sweeping);
  // Steps from the start of the run on that are then to be reversed, behind the tape that is being swept if one is; 0: none, or
  // nobody knows.
  std::uint64_t left_to_reverse(bool sweeping) const;
  // The same once a sweep is over, if the next one is known not to do with the memory there is; else 0.
  std::uint64_t left_that_is_too_much() const;
  bool relieve_ahead(); // then, in the same way; whether what is left is known to fit
  // The same where the interval that the first run is in took more than was left for it, to run it or to weigh its tape: the
  // actions that come next let go of more and begin that interval again. False: there is nothing left to let go of.
  bool relieve_first_run(bool weighing);

  void stopped(std::uint64_t steps_left);
  void taped(std::uint64_t records) { records_ = records; }
  bool walks_next() const {
    if (stage_ == Stage::asking) return true;
    if (done_ < todo_.size()) return walks(todo_[done_].kind);
    return stage_ == Stage::weighing || stage_ == Stage::running;
  }
  void weighed(const Weights& weights);
  void note_updates(const std::vector<UpdatedLeaf>& leaves);
  std::string explanation() const;
  std::vector<KnownInterval> intervals() const;
  // Of a run of so many steps, once it is planned.
  std::optional<Schedule::Foreseen> foreseen(std::uint64_t total) const;
  // Of the run so far, if it was weighed: rehearsed on its intervals, where the first would have so many records.
  std::optional<Schedule::Prospect> prospect(std::uint64_t budget, std::uint64_t piece) const;
  bool fits(std::uint64_t budget) const; // a run that is known
  bool sound() const;
  template <class Self, class Archive> static void fields(Self& self, Archive& archive) {
    archive(self.budget_);
    archive(self.most_budget_);
    archive(self.spare_);
    archive(self.fresh_cost_);
    archive(self.room_);
    archive(self.piece_);
    archive(self.most_steps_);
    archive(self.steps_);
    archive(self.records_);
    archive(self.all_records_);
    archive(self.largest_);
    archive(self.left_for_next_);
    archive(self.older_);
    archive(self.peak_);
    archive(self.again_);
    archive(self.again_cost_);
    archive(self.step_cost_);
    archive(self.survey_);
    archive(self.nested_);
    archive(self.last_);
    archive(self.stage_);
    archive(self.handed_over_);
    archive(self.profile_);
    archive(self.positions_);
    archive(self.birth_of_);
    archive(self.reads_);
    archive(self.more_reads_);
    archive(self.for_rule_);
    archive(self.states_);
    archive(self.tapes_);
    archive(self.slots_);
    archive(self.todo_);
    archive(self.done_);
    archive(self.known_);
    archive(self.misled_);
    archive(self.end_seen_);
    archive(self.planned_beside_);
    archive(self.forward_);
    archive(self.spill_bytes_);
    archive(self.spill_ticks_);
    archive(self.spilled_);
    archive(self.moved_);
    archive(self.most_in_file_);
    archive(self.sweeps_);
    archive(self.short_);
    archive(self.relieved_at_);
  }

private:
  static constexpr std::size_t kMost = 128;                  // intervals; when there are as many,
  static constexpr std::size_t kPlanned = kMost - kMost / 4; // so many are left
  static constexpr std::size_t kMostReads = 4096;            // that are told apart
  enum class Stage : std::uint8_t { weighing, going, running, ending, reversing, asking, asked };
  struct State { // kept, at a boundary of the profile
    std::uint32_t boundary = 0;
    std::uint32_t slot = 0;
    template <class Self, class Archive> static void fields(Self& self, Archive& archive) {
      archive(self.boundary);
      archive(self.slot);
    }
  };
  // Cotangents of what is older than the run are held from the sweep of the last interval that reads it on. What the run reads
  // behind all intervals, on the tape that its end is on, counts as read by one more. An update rule has two more entries for
  // a leaf, whose serials are marked: the cotangent that is gone and the state that is made from the sweep of the first interval
  // that reads the leaf on.
  static constexpr std::uint64_t kFreed = std::uint64_t{1} << 62, kMade = std::uint64_t{1} << 61;
  struct Read {
    std::uint64_t serial = 0, bytes = 0;
    std::uint32_t last = 0; // interval
    bool is_freed() const { return (serial & kFreed) != 0; }
    bool is_made() const { return (serial & kMade) != 0; }
    template <class Self, class Archive> static void fields(Self& self, Archive& archive) {
      archive(self.serial);
      archive(self.bytes);
      archive(self.last);
    }
  };
  // The tape that the end of the run is on.
  struct Last {
    std::uint64_t bytes = 0;  // its own, or made since it began
    std::uint64_t taping = 0; // held for a while with it,
    std::uint64_t next = 0;   // and beside the cotangents of the state at its start, while it is swept
    std::uint64_t taped = 0, sweep = 0;
    template <class Self, class Archive> static void fields(Self& self, Archive& archive) {
      archive(self.bytes);
      archive(self.taping);
      archive(self.next);
      archive(self.taped);
      archive(self.sweep);
    }
  };
  struct Sweep {            // of todo_
    std::uint64_t from = 0; // which step on it reverses
    std::uint64_t peak = 0; // the most bytes foreseen for it and for what is run since the one before it
    template <class Self, class Archive> static void fields(Self& self, Archive& archive) {
      archive(self.from);
      archive(self.peak);
    }
  };
  static bool walks(Action::Kind kind) {
    return kind == Action::Kind::weigh || kind == Action::Kind::thin || kind == Action::Kind::spill;
  }
  void push(Action::Kind kind, std::uint64_t steps = 0, std::uint32_t slot = 0) { todo_.push_back({kind, steps, slot}); }
  void push_sweep(std::uint64_t from, std::uint64_t peak) {
    sweeps_.push_back({from, bounded(peak)});
    push(Action::Kind::reverse);
  }
  void add_interval(const Weights& weights);
  std::size_t good_number() const;    // of intervals
  std::uint64_t largest_tape() const; // of an interval
  std::uint64_t room_for_one() const; // at the end of the reversal
  std::uint64_t most_beside(std::size_t from, std::size_t to) const;
  void coarsen(std::size_t wanted, std::uint64_t most);
  std::vector<bool> kept_states() const;                                           // by boundary
  std::vector<bool> intervals_with(const std::vector<std::uint64_t>& tapes) const; // that begin at these steps
  std::vector<bool> kept_tapes() const { return intervals_with(tapes_); }
  std::uint64_t held() const; // by both
  void note_joined(const std::vector<JoinedCotangent>& joined, std::size_t interval);
  // Gives what it costs to add to cotangents of those that other intervals read as well.
  std::uint64_t note_reads(const std::vector<OldTensor>& read, std::size_t interval);
  void mark_updates(const std::vector<UpdatedLeaf>& leaves);
  void take_updates(const Budgeted& from, bool made);
  std::vector<std::uint64_t> more_reads_within() const;
  std::vector<std::uint64_t> read_from() const; // bytes of what intervals from each one on read
  Profile with_reads() const;
  void set_room();
  std::uint64_t left_alone() const; // of the budget
  std::uint64_t left_for_rule() const;
  std::uint64_t most_of_plan() const;
  double time_beside_one_tape() const;
  std::uint64_t cost_of_steps(std::uint64_t steps) const;
  Weights told_of(std::size_t interval) const;
  bool rehearse(const Weights& weights, std::uint64_t steps);
  std::vector<OldTensor> read_last_by(std::size_t interval) const;
  void survey_interval();
  void spare_fresh_memory();
  std::uint64_t bytes_of_next() const;
  std::size_t sweeps_begun() const; // of todo_
  std::uint64_t most_there_is() const { return std::max(budget_, most_budget_); }
  bool can_grow() const { return budget_ < most_budget_; }
  void grow();
  std::uint64_t cost_of_one_tape() const;
  std::uint64_t more_than_one_tape() const;    // that the plan at hand takes
  bool takes_too_long(double again) const;     // with so much that is run again
  double cost_again(std::uint64_t room) const; // about, of what would be computed again if the run ended here, gaps within a room
  double cost_of_gaps() const;                 // the same, with what a file takes
  void make_room_that_pays(std::uint64_t next);
  void plan_within();
  void make_room(std::uint64_t next, std::uint64_t less = 0); // bytes of the tape behind what is kept; of the room
  Keeping keeping(const Profile& profile, std::uint64_t next, std::uint64_t room) const;
  bool has_room(std::uint64_t next, std::uint64_t room);
  bool make_room_with(std::size_t most_form, std::uint64_t next, std::uint64_t room);
  void plan_rest();
  std::uint64_t length() const { return positions_.back() + steps_; } // of a run that has ended
  Budgeted as_known(std::uint64_t budget, bool made) const;
  // `in_earnest`: a plan that does not fit is worth some more tries.
  void plan_known(std::uint64_t older, bool in_earnest);
  // A run that is known, and what plans it in any room.
  struct Whole {
    Profile run;
    Interval last;
    std::vector<Profile> forms; // with lean tapes
    std::uint64_t most;         // room that the planner knows
    std::unique_ptr<Planner> planner;
    std::optional<Plan> plan(std::uint64_t room);
  };
  Whole whole() const;
  Budgeted planned_known(std::uint64_t older, std::uint64_t spare, Whole& of_whole, bool in_earnest) const;
  std::optional<Budgeted> planned_whole(Whole& whole) const;
  void run_there();
  std::uint32_t tapes_aside() const;
  bool is_joined(std::size_t interval) const { return interval < joined_.size() && joined_[interval]; }
  void make_lean(std::size_t interval, std::uint32_t form);
  void drop_state(std::size_t boundary);
  void drop_tape(std::size_t interval);
  // Of the tapes, those that are in the file (budgeted_spilling.cpp).
  void push_moving(Action::Kind kind, std::uint64_t bytes, std::uint32_t slot) { todo_.push_back({kind, 0, slot, bytes}); }
  std::vector<bool> spilled_tapes() const { return intervals_with(spilled_); }
  File file() const;
  void spill_tape(std::size_t interval);
  void give_up_file();
  std::uint64_t under_way() const; // bytes that may still be written while the run goes on
  std::uint64_t fetched_beside(std::size_t interval) const;
  std::uint64_t waiting_for_file(std::uint64_t again) const; // beside so much that is computed again
  void hand_over();
  void weighed_last(const Weights& weights);
  void drop_idle_states();
  std::size_t begin_of_last() const;
  void reverse_rest(PlannedGaps& gaps);
  void plan_gap(PlannedGaps& gaps, const Profile& whole, std::size_t from, std::size_t to);
  void perform(const std::vector<Move>& moves, std::size_t from);

  std::uint64_t budget_ = 0;
  std::uint64_t most_budget_ = 0;   // that it may grow to, because nobody said what it should be; 0: somebody did
  std::uint64_t spare_ = 0;         // then: what there is beside what is older than the run
  std::uint64_t fresh_cost_ = 0;    // of a KiB of memory that was never used before
  std::uint64_t room_ = 0;          // of the budget, for states, tapes and cotangents
  std::uint64_t piece_ = 0;         // records of an interval's tape after which it ends,
  std::uint64_t most_steps_ = 0;    // or steps
  std::uint64_t steps_ = 0;         // of the tape in work
  std::uint64_t records_ = 0;       // on it
  std::uint64_t all_records_ = 0;   // of all tapes that have been weighed
  std::uint64_t largest_ = 0;       // the most bytes of one operation
  std::uint64_t left_for_next_ = 0; // bytes, for the interval that the first run is in
  std::uint64_t older_ = 0;         // bytes of what is older than the run
  std::uint64_t peak_ = 0;          // the most bytes foreseen beside that, so far
  std::uint64_t again_ = 0;         // steps that the plan runs again; since memory ran out, all that it runs
  std::uint64_t again_cost_ = 0;    // modelled; of a known run with what the sweeps of lean tapes compute again; since memory ran
                                    // out, of all that is left
  std::uint64_t step_cost_ = 0;     // of a step, as it was told last
  bool survey_ = false;
  bool nested_ = false; // a derivative operator runs inside
  Last last_;
  Stage stage_ = Stage::weighing;
  bool handed_over_ = false;
  Profile profile_{{}, {{}}, {}, {0}};      // no interval yet
  std::vector<std::uint64_t> positions_{0}; // of the boundaries, in steps
  std::vector<std::uint32_t> birth_of_;     // the interval of each birth that weights are told by
  std::vector<Read> reads_;                 // by serial, so many as are told apart
  std::uint64_t more_reads_ = 0;            // bytes of all others
  std::uint64_t for_rule_ = 0;              // that the rule of an update may hold for a while
  std::vector<State> states_;               // in order; the first is the initial one
  std::vector<std::uint64_t> tapes_;        // put aside: the step where each begins; all of an interval or none
  Slots slots_;
  std::vector<Action> todo_;
  std::uint64_t done_ = 0; // of them
  // Of a run that is known beforehand, whose plan is all in todo_ while the profile stays as it was learnt:
  bool known_ = false;
  bool misled_ = false, end_seen_ = false;
  std::uint64_t planned_beside_ = 0; // bytes of what is older, about
  std::uint64_t forward_ = 0;        // the first actions, after which its end must have been seen
  std::uint64_t spill_bytes_ = 0, spill_ticks_ = 0;
  std::vector<std::uint64_t> spilled_; // tapes in the file: the step where each begins
  std::uint64_t moved_ = 0;            // bytes that were to be written so far,
  std::uint64_t most_in_file_ = 0;     // and that are in the file at once
  std::vector<Sweep> sweeps_;
  // Where that turned out to take more than foreseen: bytes that plans leave alone for it, and how many steps were still to be
  // reversed then.
  std::uint64_t short_ = 0, relieved_at_ = 0;
  std::vector<bool> joined_; // while it is planned, by interval: its tape goes on where the one before it ended; at last, the
                             // tape that the end is on
};

} // namespace cairn::schedule
