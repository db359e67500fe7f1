// The mutable states of the reverse operators.
#pragma once

#include "vm/machine/derivative_rules.h"
#include "vm/runs/graph.h"
#include "vm/runs/update.h"
#include "vm/value/charged.h"

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace cairn::runs {

using machine::EffectLog;
using machine::RunState;
using value::NativeObject;

// The cotangent of a place, and what the place holds: a flonum, or a number of an outer tape.
struct Cotangent {
  double value = 0;
  Value original{};
};
using Cotangents = tape::PlaceMap<Cotangent, value::ChargedAllocator<std::byte>>;        // as many as a program has numbers
using TensorCotangents = std::map<std::pair<std::uint64_t, std::uint32_t>, ops::Tensor>; // by serial and slot

// What *j and checkpoint-*j have in common: a tape and its sweep. Owns its values.
struct SweepState : RunState {
  Tape* work = nullptr;       // the tape in work
  std::uint32_t position = 0; // records before it are still to be swept
  bool sweeping = false;
  Value x = value::kUnspecified; // the argument, rebuilt as a tree
  Value cotangent = value::kUnspecified;
  Value value = value::kUnspecified;            // what the run returned; after the seeds are set: without tape
  std::uint64_t serial = 0;                     // of the operator's frame: names its result on an outer tape
  Cotangents through;                           // cotangents of places older than the tape in work
  TensorCotangents tensors_through;             // the same of tensors
  value::ChargedVector<tape::Output> skeletons; // results of composites that belong to an earlier interval
  EffectLog log;
  std::unique_ptr<Update> update; // *j-update and its kin; else null
  // If this operator runs inside the run of an update: the step of that run at which it began, and the serial of its frame. All
  // that it reads counts as read at that step, because to the tape of the update the operator is one operation that belongs to
  // its first step (docs/design.md 5.8).
  std::uint64_t began = 0, began_serial = 0;

  const bool checkpoint; // a CheckpointState; else a ReverseState
  Tape* tape() const override { return sweeping ? nullptr : work; }
  EffectLog* effects() override { return &log; }
  bool read(std::uint64_t tensor, std::uint64_t steps) override;
  // The tape in work is met while it records, and while it is swept: f, x and the cotangents of its composites have numbers of
  // it.
  void activate(Engine& engine) const override;
  void release(Heap& heap) override;
  void drop_tape(Engine& engine);

  // Steps from the beginning to that of the run that runs.
  virtual std::uint64_t run_position() const { return 0; }

protected:
  SweepState(Engine& engine, bool of_checkpoint)
      : through({engine.heap(), engine.heap().tape}), skeletons({engine.heap(), engine.heap().tape}), checkpoint(of_checkpoint),
        engine_(&engine) {}
  void copy_into(SweepState& copy, Engine& engine) const;
  Engine* engine_;
};

// Without a tape it is that of a procedure with rules, or of a rule, and what its run does to the world is the world's.
struct ReverseState final : SweepState {
  explicit ReverseState(Engine& engine) : SweepState(engine, false), own(engine.heap(), engine.heap().tape) {}
  value::Charged own; // of a tape the state itself is a small part
  // As tape::Output has them: of such a run, and of one with a tape that was weighed.
  std::uint64_t cost = 0, largest = 0, largest_swept = 0;
  bool counts_work() const override { return work == nullptr; }
  void worked(std::uint64_t ticks, std::uint64_t bytes) override;
  void account() override { own.set(work == nullptr ? static_cast<std::int64_t>(sizeof(ReverseState)) : 0); }
  std::uint64_t varies_from() const override { return work != nullptr ? work->low() : machine::kNever; }
  EffectLog* effects() override { return work != nullptr ? &log : nullptr; }
  // A reverse rule's, for whose result no frame waits.
  bool reads_again() const override { return work == nullptr && serial == 0; }
  machine::OwnedState clone(Engine& engine) const override;
  void finished(Engine& engine, Value value, std::uint64_t steps) override;
};

// A state that an execution can be continued from, any number of times.
struct Snapshot {
  std::vector<Run> runs;                // [0] is the interval's own, without its state; empty: no state
  std::uint64_t serial = 0;             // the serial counter
  std::uint64_t draws = 0, effects = 0; // how many of its log's random numbers and effects are behind it
  // Objects with a smaller serial are inputs of a tape that starts here. This is `serial`, except where an inner schedule is
  // replaying, whose serial counter has been set back.
  std::uint64_t start = 0;
  std::uint64_t position = 0; // steps from the beginning
  std::int64_t bytes = 0;     // logical bytes of what it holds and the snapshot before it does not
  bool counted = false;       // among the snapshots that are held
  bool empty() const { return runs.empty(); }
  // What it has beside its runs, as CheckpointState::fields.
  template <class F, class... Snapshots> static void fields(F&& f, Snapshots&... s) {
    f(s.serial...);
    f(s.draws...);
    f(s.effects...);
    f(s.start...);
    f(s.position...);
  }
};

// What a snapshot takes beside the objects that its runs refer to.
inline std::int64_t own_bytes(const std::vector<Run>& runs) {
  return static_cast<std::int64_t>(sizeof(Snapshot) + runs.size() * sizeof(Run));
}

// A slot with a number in the state where a tape ends: the number's node there, or none if it is not on the tape. The state
// itself need not be kept to seed the tape: a tensor is found by its serial.
struct TapeEnd {
  tape::Place place;
  std::uint32_t node = tape::kNone;
};
using TapeEnds = value::ChargedVector<TapeEnd>;

// What a tape that was weighed holds of the elements in the state at its end, to be compared with the next one, when it may have
// gone already. In the order of `birth`, which is the serial that elements are known by; `until` is the last level at which a
// lean tape still has them.
struct Weighed {
  std::uint64_t birth = 0;
  std::uint64_t until = 0;
  bool operator==(const Weighed&) const = default;
};
using WeighedElements = value::ChargedVector<Weighed>;

// A number in the state at so many steps that depends on nothing that is varied, as the first run's tapes have shown. What is not
// known is taken to be varied, so a few will do: step sizes and the like stand in frames.
struct ConstantPlace {
  std::uint64_t position = 0;
  tape::Place place;
  auto operator<=>(const ConstantPlace&) const = default;
};
using ConstantPlaces = value::ChargedVector<ConstantPlace>;                   // ascending
inline constexpr std::size_t kMostConstants = 16, kMostConstantsInAll = 2048; // of one state, and of all

// A tape that waits while another is in work.
struct TapeAside {
  Tape* tape = nullptr; // owned
  TapeEnds ends;
  std::uint64_t until = 0; // as CheckpointState has it
  bool ended = false;      // it ends at the end of the program
  bool spilled = false;    // its tensors may be in a file,
  bool idle = false;       // and here they were told so. A copy of the state tells nothing, since the records are the same.
};

struct CheckpointState final : SweepState {
  explicit CheckpointState(Engine& engine)
      : SweepState(engine, true), weighed({engine.heap(), engine.heap().tape}), constants({engine.heap(), engine.heap().tape}) {}
  std::uint64_t varies_from() const override { return low; }
  std::unique_ptr<schedule::Schedule> schedule;
  std::uint32_t spec = 0;
  Snapshot current;
  Snapshot start; // let go of by its schedule and kept for begin_again(); empty where the run cannot begin again from it
  // Where it has begun again: what was planned first, and how far that came. For messages alone, and in no copy and no file.
  struct {
    std::unique_ptr<schedule::Schedule> schedule;
    std::uint64_t position = 0;
    bool total_known = false;
    std::uint64_t total = 0;
    bool surveyed = false; // it knows the whole run,
    bool tried = false;    // and what it said would do did not
  } first;
  std::deque<Snapshot> slots;        // as many as a budget has room for, so that none moves when one is added
  std::vector<std::uint32_t> held;   // the slots that have a state, by its position
  std::int64_t held_bytes = 0;       // of these together
  std::vector<TapeAside> aside;      // the one put aside last comes last
  std::optional<TapeEnds> ends;      // of the tape in work, if it was aside; else it ends at `current`
  std::vector<std::uint64_t> births; // where births begin by which the schedule was told weights; the first is `begin`
  WeighedElements weighed;           // of the last tape that the schedule was told weights of
  ConstantPlaces constants;          // of the run, however often it begins again
  bool complete = false;
  bool ended = false;      // current is the end of the program, `value` its value
  bool work_ended = false; // the tape in work ends there
  bool total_known = false;
  bool outermost = false;
  std::uint64_t total = 0;
  std::uint64_t executed = 0; // steps advanced and taped
  std::uint64_t low = 0;      // objects older than this are constants
  std::uint64_t begin = 0;    // objects from here on were made by the run itself
  std::uint64_t highest = 0;  // serial counter after everything run so far
  // Where the tape in work ends, unless that is the end of the program, and where the tape that was swept last began: the serial
  // counter as Snapshot::start has it. That is one place of the run, which two runs have come to.
  std::uint64_t until = 0, swept_from = 0;
  tape::Place x_place; // where x is if it is a number
  // For the report of --explain.
  std::uint64_t taped_steps = 0, taped_sum = 0; // steps run on a tape, and the records they made
  std::uint64_t work_before = 0;                // records of the tape in work before the last action
  std::uint64_t asked = 0;                      // steps of the last action; 0: to the end
  std::uint64_t peak_records = 0;               // in work and aside together
  std::uint64_t stack_bytes = 0;                // the most that the schedule was told
  std::uint64_t begun_again = 0;                // how often, since memory had run out
  std::uint64_t call = 0;                       // its kind, by which it is remembered (schedule/repeats.h); 0: it is not
  bool known = false;                           // its schedule is of an earlier call
  std::uint64_t snapshots_taken = 0, peak_snapshots = 0;
  std::int64_t snapshot_bytes_sum = 0, peak_snapshot_bytes = 0;
  // All of these from `complete` on, in the order of files: calls f(a field of each state). Whoever copies, writes or reads a
  // state has them from here.
  template <class F, class... States> static void fields(F&& f, States&... s) {
    f(s.complete...);
    f(s.ended...);
    f(s.work_ended...);
    f(s.total_known...);
    f(s.outermost...);
    f(s.total...);
    f(s.executed...);
    f(s.low...);
    f(s.begin...);
    f(s.highest...);
    f(s.until...);
    f(s.swept_from...);
    f(s.taped_steps...);
    f(s.taped_sum...);
    f(s.work_before...);
    f(s.asked...);
    f(s.peak_records...);
    f(s.stack_bytes...);
    f(s.begun_again...);
    f(s.call...);
    f(s.known...);
    f(s.snapshots_taken...);
    f(s.peak_snapshots...);
    f(s.snapshot_bytes_sum...);
    f(s.peak_snapshot_bytes...);
    f(s.x_place...);
  }
  // A composite's reverse pass: gradients of every place of the outer tape's world, not of x alone.
  NativeObject* outer = nullptr; // the state whose tape has the composite; owned

  bool may_end(Engine& engine, std::size_t run) override;
  machine::OwnedState clone(Engine& engine) const override;
  void finished(Engine& engine, Value value, std::uint64_t steps) override;
  void expired(Engine& engine, machine::OwnedRuns segment) override;
  void release(Heap& heap) override;
  std::uint64_t serial_floor() const override { return highest; }
  void activate(Engine& engine) const override;
  void resumed(Engine& engine) override;
  void uncount(Engine& engine, Snapshot& snapshot);
  void drop(Engine& engine, Snapshot& snapshot); // and no longer counts it
  void drop(Engine& engine, TapeAside& tape);
  void spill(TapeAside& tape); // tells its tensors that nobody will ask for them for some time
  void end_spill(TapeAside& tape);
  void drop_all(Engine& engine);                        // tapes and states, but for `start`
  std::size_t held_until(std::uint64_t position) const; // how many of `held` are not behind it
  void find_held();                                     // from the slots
  std::string memory_hint(const Engine& engine) const override;
  std::uint64_t run_position() const override { return current.position; }
};

inline CheckpointState* as_checkpoint(SweepState& s) { return s.checkpoint ? static_cast<CheckpointState*>(&s) : nullptr; }
inline const CheckpointState* as_checkpoint(const SweepState& s) {
  return s.checkpoint ? static_cast<const CheckpointState*>(&s) : nullptr;
}
// The derivative operator whose run that is, or null.
inline SweepState* derivative_of(const Run& r) {
  const bool differentiates = r.kind == machine::RunKind::reverse || r.kind == machine::RunKind::interval;
  return differentiates && r.state != nullptr ? static_cast<SweepState*>(r.run_state()) : nullptr;
}
inline SweepState* as_sweep(Value v) { return static_cast<SweepState*>(static_cast<NativeObject*>(v.other())->native); }

// With references of its own; not counted.
Snapshot copy_of(Heap& heap, const Snapshot& s);

// Counts a snapshot and its bytes among those that are held, until it is dropped.
void count_snapshot(Engine& engine, Snapshot& snapshot);

// --- what the run_ instructions do; `frame` is the one on top, which waits for the result

// The state that a slot holds, for writing: it is copied if it is shared, and its tapes become the active ones, because copies of
// a tape have one id and it is this copy whose numbers the instructions meet from now on.
template <class T> T* state_in(Engine& engine, Value& slot) {
  NativeObject* o = nullptr;
  if (value::is_kind(slot, value::Kind::state)) o = static_cast<NativeObject*>(slot.other());
  // Objects of that kind have no other states.
  if (o == nullptr || (std::is_same_v<T, CheckpointState> && !static_cast<SweepState*>(o->native)->checkpoint))
    throw machine::ProgramError("invalid bytecode: no state of a run operator");
  o = engine.unique_state(o);
  slot = value::of_other(o);
  auto* state = static_cast<T*>(o->native);
  state->activate(engine);
  return state;
}

// A state may come from a file, so instructions check that it is one in which they can be executed.
inline void want(bool holds) {
  if (!holds) throw machine::ProgramError("a derivative operator is in a state in which it cannot go on");
}

// Everything is borrowed. `update`: the pair of a rule and its state, or unspecified.
struct Opening {
  bool checkpoint = false, in_place = false;
  Value f, x, cotangent, update = value::kUnspecified;
};
void open_reverse(Engine& engine, value::Frame* frame, const Opening& of);
// ProgramError for a tensor whose cotangent is to be variances (ops::kMeasured) where other rules would be applied to them than
// those of single operators.
void want_unmeasured(Value tensor);
// Whether no reverse operator is around what runs.
bool is_alone(const Engine& engine);
// Whether f, x or the cotangent have numbers of forward levels, or an operator around this one may look on.
bool within_derivative(Engine& engine, Value f, Value x, Value cotangent);
void seed_reverse(Engine& engine, Value& state);
void sweep(Engine& engine, value::Frame* frame, Value& state);
bool swept(Engine& engine, Value& nested, Value& state); // true: complete, or a rule is due
bool end_sweep(Engine& engine, SweepState& s); // true: all records are swept, and of checkpoint-*j the interval is finished
Value close_reverse(Engine& engine, Value state);
void act(Engine& engine, machine::rules::Owned& state);
void finish_interval(Engine& engine, CheckpointState& s);
// Starts the reverse pass of the composite on top of the tape in work; false if none of its results has a cotangent.
bool begin_composite(Engine& engine, value::Frame* frame, Value state);
void let_go_of_outer(Engine& engine, Value& nested);
void end_composite(Engine& engine, SweepState& s, Value nested);
void drop_composite(Engine& engine, SweepState& s);                // drops the last one of its tape in work
void explain_checkpoint(Engine& engine, const CheckpointState& s); // it has ended
// Empties a slot.
void discard(Engine& engine, CheckpointState& s, std::uint32_t slot);
// Memory has run out within the budget, and the program is about to end. An outermost gradient that was planned and has handed on
// nothing yet begins once more from its start, with less to keep: with three quarters of what it planned with, then by bisection,
// then with three states. How much memory is in use at a moment decides that, so nobody promises its number of steps.
// False: there is none. Whatever ran inside is gone then. `on_device`: a device has no room. The first time, all plans from there
// on are made for what was held then.
bool begin_again(Engine& engine, bool on_device);
// Whether it would, had it a start.
bool can_begin_again(const Engine& engine, const CheckpointState& s);
// Whether it can do with less from where it is, as far as its schedule knows how: also once rules of an update have run, as what
// is left to reverse reads none of the leaves that they took.
bool can_go_on(const Engine& engine, const CheckpointState& s);
// Where it can no longer begin again, because rules of an update have run: in front of a sweep that is known not to fit it goes
// on with less, since that could not be done in the middle of it.
void make_way_ahead(Engine& engine, CheckpointState& s);
// A known run that came otherwise begins once more from its start, as if nobody knew it.
void begin_unknown(Engine& engine, CheckpointState& s);
// The end of the program where a known run, of which nothing was run yet, cannot fit under any schedule.
void refuse_known(Engine& engine, CheckpointState& s);
// The run of one that begins again has been weighed: with the plan for it, or else as memory_hint says.
void end_own_survey(Engine& engine, CheckpointState& s);
// By operands and what is remembered of calls. What is not told apart by that turns out when it runs.
void choose_schedule(Engine& engine, CheckpointState& s, const Opening& of);
// It has ended.
void remember(Engine& engine, const CheckpointState& s);
// A survey that has come to the end of its run: begins once more where that tells more, or says what it found and stops the
// machine.
bool survey_again(Engine& engine, CheckpointState& s);
// Whether the machine only surveys gradients, and what opens now would be one: those inside of rules that run after a surveyed
// gradient are not.
bool is_surveying(const Engine& engine);
// In a survey rules of updates run once, by cotangents of zeros, so that it is known what they make. True: some are to run yet.
bool survey_updates(Engine& engine, CheckpointState& s);
// Whether these are rules that do.
inline bool is_surveyed(const SweepState& s) {
  const CheckpointState* const c = as_checkpoint(s);
  return c != nullptr && c->complete && c->schedule->surveyed();
}
[[noreturn]] void end_survey(Engine& engine, const CheckpointState& s);
void seed_final(Engine& engine, SweepState& s, const char* name);
// j* over a reverse operator: bundles in f, x or the cotangent (all borrowed). False: there are none.
bool forward_over_reverse(Engine& engine, value::Frame* frame, bool checkpoint, Value f, Value x, Value cotangent);

// A value that a composite gives: rebuilt, with leaves that are its places on the tape of the run around. `whole`: the tape has
// its elements too, for a reverse rule.
Value composite_result(Engine& engine, const SweepState& s, Value plain, bool whole);

// --- procedures with rules (ruled.cpp)
// v with the primal of every number in it.
Value without_derivatives(Engine& engine, Value v);
void apply_ruled(Engine& engine, value::Frame* frame, Value procedure, Value reverse, Value x);
Value result_of_ruled(Engine& engine, Value state);
void begin_reverse_rule(Engine& engine, const tape::Composite& c, Value y, Value cotangent);
void end_reverse_rule(Engine& engine, const tape::Composite& c, Value result, const std::function<void(const PairedLeaf&)>& add);

// Whether what a rule gave fits, before anything is added up: nothing where `nested` is another state.
void check_reverse_rule(Engine& engine, Value nested, Value state);

// 0: no forward levels.
std::uint64_t outermost_tag(Engine& engine, Value v);
// The pair of primal and tangent for a tag, with zeros where there is no tangent.
Value duals(Engine& engine, Value v, std::uint64_t tag);
Value bundle(Engine& engine, Value x, Value tangent, std::uint64_t tag, bool keep_integers, const char* what = "j*: the tangent");
Value unbundle(Engine& engine, Value v, std::uint64_t tag);
Value rebundle(Engine& engine, Value result, std::uint64_t tag);

// Code of the machine's own beside that of the run operators: bodies of frames that run operators push.
enum class HelperCode { nested_checkpoint, dual_apply, dual_reverse, dual_checkpoint, count };
const value::Code& helper_code(HelperCode code);

} // namespace cairn::runs
