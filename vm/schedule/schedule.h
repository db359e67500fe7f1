// Schedules: where to snapshot, where to replay, where to tape. A schedule is a pure generator of actions: it knows nothing but
// numbers, never the machine. The executor (vm/runs) performs the actions; the checker (checker.h) runs them on an abstract
// machine.
//
// The abstract machine has a current state (at some step position, or none), numbered slots that hold states, one tape in
// work, and a stack of tapes put aside.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::schedule {

inline constexpr std::uint64_t kToEnd = UINT64_MAX;
inline constexpr std::uint64_t kDefaultBase = 4096;
inline constexpr std::uint64_t kLeastBase = 16;
inline constexpr std::uint64_t kRecordBytes = 32; // of a record on a tape
// A tape that should stop may come to so many times as much, where that is a better place.
inline constexpr std::uint64_t kOvershoot = 24;
inline constexpr std::uint64_t kLeastPlanned = std::uint64_t{1} << 20;    // bytes of the least budget that `auto` plans within
inline constexpr std::uint64_t kUnlimitedBudget = std::uint64_t{1} << 47; // bytes, more than there are: sums stay within 64 bits
// An interval of a planned run ends at first where its tape has such a part of the budget: once tapes have filled it, there are
// about as many intervals as plans tell apart (kMost of budgeted.h).
inline constexpr std::uint64_t kIntervalOfBudget = 128;
// Where no plan is known to fit, a run is reversed with so many states at once, the initial one among them: a step is then run
// again about as often as the cube root of the length says.
inline constexpr std::uint64_t kFewestStates = 3;

struct Action {
  enum class Kind : std::uint8_t {
    advance,  // run `steps` steps (kToEnd: to the end) without tape; current moves on; may end sooner if the end is not known yet
    snapshot, // keep the current state in `slot` (which is empty)
    restore,  // current = the state in `slot`, which keeps it
    discard,  // empty `slot`
    tape, // run `steps` steps on the tape in work, or on a new one; current moves on; may end sooner if the end is not known yet,
          // or if the tape holds more than `records`, which may take it to kOvershoot times as many
    reverse,   // sweep the tape in work, which is then gone; what it holds is the latest part not yet reversed
    put_aside, // put the tape in work aside, behind those that are there
    take_back, // make the tape put aside last the tape in work
    abandon,   // let go of tape `slot` of those put aside, from the first on, without a sweep
    thin,      // make tape `slot` of those put aside lean, at level `steps`: what can be computed again from the rest goes
    weigh,     // tell what the tape in work and the state at its end hold; before the first tape, what is older than the run
    spill, // what tape `slot` of those put aside holds of tensors may go to a file, until the tape is taken back; go on once at
           // most `records` bytes are still to be written
    fetch, // begin to bring back what tapes put aside have there, the last tape first: at most `records` bytes at once
    done
  };
  Kind kind = Kind::done;
  std::uint64_t steps = 0;
  std::uint32_t slot = 0;
  std::uint64_t records = UINT64_MAX; // tape: stop sooner once the tape in work holds more
  bool operator==(const Action&) const = default;
  template <class Self, class Archive> static void fields(Self& self, Archive& archive) {
    archive(self.kind);
    archive(self.steps);
    archive(self.slot);
    archive(self.records);
  }
};

// A tensor that is older than the run.
struct OldTensor {
  std::uint64_t serial = 0;
  std::uint64_t bytes = 0;
  std::uint64_t sum = 0; // cost of adding what one tape comes to to the cotangent that another has left
};

// What the rule of an update is taken to hold for a while beside what it takes and gives: a part of the largest leaf's size, as
// sums of products are not fused, and of each leaf what a gradient notes of it and of what its rule gave.
constexpr std::uint64_t held_by_rule(std::uint64_t largest, std::uint64_t leaves) { return 2 * largest + 384 * leaves; }

// A tensor that is older than the run and is handed to an update rule once its cotangent is complete.
struct UpdatedLeaf {
  std::uint64_t serial = 0;
  std::uint64_t first = 0; // steps before the run first reads it
  std::uint64_t freed = 0; // bytes of its cotangent that the rule lets go of; 0: what the rule makes of the leaf takes as much
  std::uint64_t made = 0;  // and that the rule makes beside the leaf, the state of an optimiser
};

// The cotangent of a result that was joined from several tensors. Theirs are parts of its memory, all of which is held as long as
// one of them is: since when each was alive, by birth, and its bytes.
struct JoinedCotangent {
  std::uint64_t bytes = 0;
  std::vector<std::pair<std::size_t, std::uint64_t>> parts;
};

// Tapes are as recorded, or lean at one of several levels: at each more goes than at the one before it, of what costs more to
// compute again.
inline constexpr std::size_t kTapeForms = 4;

// What a tape holds in one of these forms, by birth; and of that what the one weighed before it holds as well in each form of its
// own, and what the state at its end does. Empty: nobody knows.
struct TapeForm {
  std::vector<std::uint64_t> tape, after; // the tape's records and tables apart
  std::array<std::vector<std::uint64_t>, kTapeForms> before;
  std::uint64_t together = 0; // of the last birth: what the state, the tape or both hold; 0: nobody has said
  std::uint64_t again = 0;    // cost of what its sweep computes again
  // Held for a while beside the state at its end and the whole tape while it is swept, with what is computed again. Then
  // cotangents are: those of the state at its start and of what is older than the run among them, those of the state at its end
  // not.
  std::uint64_t sweeping = 0;
  // What that would be more if cotangents of the state at the end were parts of others, which somebody else has as well.
  std::uint64_t more_if_parts = UINT64_MAX;
};

// What a schedule that asks is told of the tape in work and of the state at its end, in logical bytes. Entries are by birth:
// entry k counts what was made between the k-th time that it was told weights and the next; what is older than the run weighs
// nothing.
struct Weights {
  std::vector<std::uint64_t> state; // a run that has ended has none
  std::array<TapeForm, kTapeForms> forms;
  std::vector<std::uint64_t> gone; // of what the tape as recorded holds, what the state does not; empty: nobody knows
  std::uint64_t own = 0;           // of the tape's records and tables
  std::uint64_t stays =
      0; // of all that it holds, what does not go to a file: these, little tensors, what stands beside large ones
  std::uint64_t padding = 0;          // what a file takes for the others beside their bytes
  std::uint64_t piece = 0, swept = 0; // where there were several tapes: as Interval has it (profile.h)
  std::uint64_t largest = 0;          // of operands and results of one operation on the tape
  // Held for a while beside the states at both ends and the whole tape: while the interval runs without tape, and with it.
  std::uint64_t advancing = 0, taping = 0;
  // The same beside the state at the end alone, where that at the start is not held; none: nobody knows.
  std::optional<std::uint64_t> advancing_alone, taping_alone;
  std::uint64_t more_reads = 0;        // where there were several tapes: as Interval has it (profile.h)
  bool nested = false;                 // a derivative operator ran on the tape that nobody can weigh
  std::uint64_t cost = 0;              // modelled, of the operations on the tape, in ticks (cost_table.h),
  std::uint64_t encoding = 0;          // of what the tape encodes with an error, which a run without tape does not,
  std::uint64_t sweep = 0;             // of sweeping the tape, numbers and all,
  std::uint64_t step = 0;              // and of a step,
  std::uint64_t fresh = 0;             // and of a KiB of memory that was never used before
  std::vector<OldTensor> read;         // what the tape reads of what is older than the run, by serial
  std::vector<JoinedCotangent> joined; // of what is older than the interval
  std::uint64_t beside_cotangents =
      0;                            // at its end, bytes beside those of the state's: what joined ones had in all, told once more
  std::uint64_t older = 0;          // the first time: of all that is older than the run
  std::vector<UpdatedLeaf> updated; // of a run that has ended: as far as it is known what rules will do
};

// What a user wrote: "binomial,base=64,snapshots=8".
struct Spec {
  enum class Kind : std::uint8_t {
#define SCHEDULE(id, name, generator, options) id,
#include "vm/schedule/schedules.def"
#undef SCHEDULE
  };
  Kind kind = Kind::automatic;
  std::uint64_t base = kDefaultBase; // steps of the base case
  bool base_given = false;
  std::uint64_t snapshots = 0; // 0: not given
  std::uint64_t passes = 0;    // 0: not given
  std::uint64_t memory = 0;    // bytes; 0: not given
  // What is left of the machine's budget where it says less. 0: none.
  std::uint64_t within(std::uint64_t budget) const { return memory != 0 && (budget == 0 || memory < budget) ? memory : budget; }
};

// Whether it looks for a plan within a budget of bytes, where it has one.
inline bool plans(Spec::Kind kind) { return kind == Spec::Kind::automatic || kind == Spec::Kind::budget; }

// Parses a spec; false with a message that says what would be right.
bool parse(std::string_view text, Spec& spec, std::string& error);
std::string to_string(const Spec& spec);

// What an automatic choice may depend on: machine state alone, never clocks, nor the current level of an account. (But what that
// was when a device had no room becomes the budget of what begins again then, and is state from there on.)
struct Resources {
  std::int64_t budget_bytes = 0; // memory budget copied into the state when the program started, or that one; 0: none
  bool alone = false;            // no other derivative operator is around this one, with tapes and states of its own
  bool asked = false;            // somebody said how much memory there is: plans may take all of it
  bool survey = false;           // the run is only to be got to know: it is not reversed,
  std::uint64_t piece = 0;       // in intervals of so many records; 0: of few, since nobody knows how long it is
  // A file for what tapes hold of tensors: bytes, as they were when the program started, and ticks for writing and reading a
  // MiB of it. 0: there is none.
  std::int64_t spill_bytes = 0;
  std::uint64_t spill_ticks = 0;
  std::uint64_t steps_of_record = 1; // that take as long as a record on a tape that grows
};

// What a schedule that plans has got to know of a stretch of the run, for people. Costs are modelled, sizes are bytes.
struct KnownInterval {
  std::uint64_t steps = 0;
  std::uint64_t forward = 0;  // cost of running it once, without a tape,
  std::uint64_t sweep = 0;    // and of sweeping its tape
  std::uint64_t again = 0;    // cost of what the sweep of the leanest tape computes again
  std::uint64_t tape = 0;     // of a tape of it alone,
  std::uint64_t lean = 0;     // and of the leanest one
  std::uint64_t state = 0;    // of the state at its end, beside what is older than the run
  std::uint64_t made = 0;     // of what the tape or the state holds and was made in it
  std::uint64_t sweeping = 0; // held for a while beside its tape when it is swept
};

// A generator. next() is called once an action has been performed (and once at the start); feedback for that action comes before
// it.
class Schedule {
public:
  virtual ~Schedule() = default;
  virtual Action next() = 0;
  // The program ended after `total` steps, seen for the first time during the last advance or tape action.
  virtual void ended(std::uint64_t total) = 0;
  // Facts about the last action, before the others: bytes of the frames on the stack that are younger than the run, if the
  // schedule asks for them.
  virtual bool weighs_stack() const { return false; }
  // Whether it may ask what the tape in work holds, and what a derivative operator on it does.
  virtual bool weighs_tapes() const { return false; }
  // Whether it decides by such weights what tapes do without: until then they keep all that rules ask for.
  virtual bool plans() const { return false; }
  virtual void stack(std::uint64_t bytes) { (void)bytes; }
  // The last action, a tape, stopped so many steps sooner because of its records.
  virtual void stopped(std::uint64_t steps_left) { (void)steps_left; }
  // Facts about the last action: records the tape in work holds (32 bytes each, what tensors hold counted in them); logical bytes
  // of what a snapshot holds and no earlier one does.
  virtual void taped(std::uint64_t records) { (void)records; }
  virtual void kept(std::uint64_t bytes) { (void)bytes; }
  // Whether the next action walks over a whole tape: it may be stopped, and is then to be asked for again.
  virtual bool walks_next() const { return false; }
  // Weights, if the last action was to tell them.
  virtual void weighed(const Weights& weights) { (void)weights; }
  // What a schedule that plans foresees once it has a plan; others are predicted from the length of the run (checker.h).
  struct Foreseen {
    std::uint64_t executed = 0; // steps, the first run included; since memory ran out: those of the plan made then
    std::uint64_t peak = 0;     // bytes, what is older than the run included
    std::uint64_t in_file = 0;  // bytes that are in a file at once
    std::uint64_t budget = 0;   // bytes that it was planned for
    double time = 1;            // modelled: of these steps and what is swept behind them, as a part of that of one tape,
    std::uint64_t one_tape = 0; // and what that takes, in ticks
    std::uint64_t of_rule = 0;  // bytes that rules of an update may hold for a while beside the peak
    std::uint64_t older = 0;    // bytes that are older than the run,
    std::uint64_t on_tape = 0;  // and that one tape of the run with all that rules ask for holds beside them
  };
  virtual std::optional<Foreseen> foreseen() const { return std::nullopt; }
  // Steps that are executed in all where the end of the run was not planned, once that is seen, and unless memory runs out behind
  // it.
  virtual std::optional<std::uint64_t> foreseen_steps() const { return std::nullopt; }
  // Steps that are still to be executed where the run has ended, by what it would do next. None: it would do too much to be
  // counted.
  std::optional<std::uint64_t> steps_to_come() const;
  // It has turned out what rules of updates do: holds for what the schedule says of other budgets.
  virtual void note_updates(const std::vector<UpdatedLeaf>& leaves) { (void)leaves; }
  // What a schedule that plans would take within another budget, as far as it knows the run.
  struct Prospect {
    std::uint64_t peak = 0; // bytes, what is older than the run included
    double time = 1;        // modelled, of that of one tape
    bool fits = false;      // with what a plan leaves alone of a budget
  };
  virtual std::optional<Prospect> prospect(std::uint64_t budget) const {
    (void)budget;
    return std::nullopt;
  }
  // Whether a schedule that knows the whole run beforehand is sure to find a plan within that budget.
  virtual bool fits(std::uint64_t budget) const {
    (void)budget;
    return false;
  }
  // Of a run that is weighed: its intervals, as many as plans are made of, but for the tape that its end is on.
  virtual std::vector<KnownInterval> intervals() const { return {}; }
  // Whether this was a survey that has ended: nothing is reversed, and nothing more comes.
  virtual bool surveyed() const { return false; }
  // Of such a survey: in intervals of how many records the run should be looked at once more. They were small at first, however
  // long it came to be, and small ones hold little that a lean tape would let go of. 0: once is enough.
  virtual std::uint64_t closer_look() const { return 0; }
  // Of such a survey: a schedule for the run that it has seen, within so many bytes; as again(). Null: nobody can plan it.
  virtual std::unique_ptr<Schedule> planned(std::uint64_t budget) const {
    (void)budget;
    return nullptr;
  }
  // Of a run that is known: bytes that it takes under whatever schedule, what is older than the run included; 0: nobody knows.
  virtual std::uint64_t least_of_any() const { return 0; }
  // Once everything is reversed: a schedule for another run like this one, which knows it beforehand. Its first action is to
  // weigh where there is no tape yet. The more such schedules have failed for runs of its kind, the more of the room it leaves
  // alone. Null: nobody planned this run.
  virtual std::unique_ptr<Schedule> again(std::uint64_t failures) const {
    (void)failures;
    return nullptr;
  }
  // Whether the run is not the one that was known beforehand: it has to begin again under another schedule.
  virtual bool misled() const { return false; }
  // What to let go of at once where memory has run out. The run that is going on, with the tape that it is on, is given up, and
  // next() goes on without a current state: so it is where a tape is being weighed, the action being `weigh`, too. Or a tape is
  // being swept, which goes on. Or `ahead`: it is not swept yet, and is given up, as it is known by now that this would take too
  // much.
  enum class During : std::uint8_t { run, weighing, sweep, ahead };
  struct Relief {
    std::vector<std::uint32_t> slots; // whose states go; or else
    bool all = false;                 // all states and all tapes put aside; the initial state is then in slot 0
    std::optional<std::uint64_t> goes_on_from =
        {}; // the first run does, from that step; none: what is left is reversed in another way
  };
  // None: there is nothing, or the run cannot go on without it. `at_last`: the program ends then, so anything is better that may
  // do with less.
  virtual std::optional<Relief> relieve(During during, bool at_last) {
    (void)during;
    (void)at_last;
    return std::nullopt;
  }
  // Where the program can no longer begin again, and the last action, a sweep, is over: what to let go of before the next one,
  // which is known not to fit, as its tape cannot be given up any more once it is being swept. By what was foreseen alone.
  virtual std::optional<Relief> relieve_ahead() { return std::nullopt; }
  // Whether a tape is swept next, before which less could be kept; and whether it was foreseen what that takes.
  enum class Sweep : std::uint8_t { none, foreseen, unforeseen };
  virtual Sweep next_sweep() const { return Sweep::none; }
  // How often that has helped: what was foreseen does not hold then.
  virtual std::uint64_t relieved() const { return 0; }
  // For --explain: one line "binomial, base 4096, 8 snapshots: ..." why this schedule.
  virtual std::string explanation() const = 0;
  virtual std::unique_ptr<Schedule> clone() const = 0;
  // The whole state as words, for capsule files; restore() gives back an equal generator, or null if the words are malformed.
  virtual void save(std::vector<std::uint64_t>& words) const = 0;
};

std::unique_ptr<Schedule> make(const Spec& spec, const Resources& resources);
std::unique_ptr<Schedule> restore(const std::vector<std::uint64_t>& words);

} // namespace cairn::schedule
