// Runs, capsules, and what the machine knows of a run operator. The state of a machine is a stack of runs; a capsule is the top
// segment of that stack (docs/design.md, section 4).
#pragma once

#include "vm/tape/tape.h"
#include "vm/value/heap.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace cairn::ops::streaming {
struct Call;
}

namespace cairn::machine {

class Engine;
using tape::Tape;
using value::Frame;
using value::Heap;
using value::NativeObject;
using value::Value;

inline constexpr std::uint64_t kNever = UINT64_MAX;
inline constexpr std::uint32_t kInherit = UINT32_MAX;

enum class RunKind : std::uint8_t {
  base,      // the program itself, or a computation that a capsule file continues
  interrupt, // ends in a capsule
  primops,   // ends in its number of steps
  resumed,   // the base of a resumed capsule; ends in its value
  scheduled, // with-schedule, with-lossy-tape; ends in its value
  forward,   // j*: ends in its value
  reverse,   // *j: ends in its state, records on the state's tape; of a procedure with rules, and of a rule: on none
  interval,  // checkpoint-*j: ends in its state, finished or out of steps; may record on the state's tape
  guarded,   // call-with-error-handler; ends in its value, or with an error in the program
  streamed   // get-streaming-plan, call-with-streaming-plan; ends in what its state makes of its value
};

// Results of input and random numbers of a run that may be replayed, and how many effects there were (docs/design.md, invariant
// 4).
struct EffectLog {
  std::uint64_t position = 0; // how many of them the execution that is going on has passed
  std::uint64_t happened = 0; // effects so far; those before it are replays
  tape::EffectValues inputs;
  tape::Draws draws;        // of its random numbers
  std::uint64_t drawn = 0;  // how many of these the execution that is going on has drawn
  bool silent = false;      // the run repeats one that is over: all its output has happened
  std::int64_t charged = 0; // of the account of tapes
  std::int64_t bytes() const { return tape::EffectValues::bytes_of(inputs.size()) + draws.bytes(); }
  // Charges what is new.
  void account(Heap& heap) {
    heap.charge(heap.tape, bytes() - charged);
    charged = bytes();
  }
  // For so many more effects.
  void make_room(Heap& heap, std::uint64_t effects) {
    const std::int64_t with_them = tape::EffectValues::bytes_of(inputs.size() + effects) + draws.bytes();
    if (with_them != charged) heap.charge(heap.tape, with_them - charged);
    charged = with_them;
    inputs.make_room(effects);
  }
  void release(Heap& heap) const { heap.charge(heap.tape, -charged); }
  // Of the same effects, charged by itself.
  EffectLog copy(Heap& heap) const {
    EffectLog log = *this;
    log.charged = 0;
    log.account(heap);
    return log;
  }
};

struct Run;
class OwnedRuns;
struct RunState;
using OwnedState = value::OwnedNative<RunState>;

// The mutable part of a run operator. A heap object of kind `state` owns it, and that object is held by a frame of the operator
// or by the run that the operator started. Copied before writing when shared.
struct RunState : value::Native {
  virtual OwnedState clone(Engine& engine) const = 0;
  // The tape that its run records on, or null.
  virtual Tape* tape() const { return nullptr; }
  // Makes those tapes the active ones (ActiveTapes::activate) whose numbers an instruction may meet while this state is in use.
  virtual void activate(Engine& engine) const = 0;
  // The run ended after this many steps with this value (taken over).
  virtual void finished(Engine& engine, Value value, std::uint64_t steps) = 0;
  // Streamed runs: the run ended with this value (taken over); what is delivered.
  virtual Value result(Engine& engine, Value value) { return static_cast<void>(engine), value; }
  // Charges what it has recorded. BudgetExceeded.
  virtual void account() {}
  // The call that launches of its run belong to.
  virtual const std::shared_ptr<ops::streaming::Call>& call() const;
  // Interval runs: the budget ended; `segment` is what was running.
  virtual void expired(Engine& engine, OwnedRuns segment);
  // Interval runs reset the serial counter to replay. The counter outside them may not fall below this.
  virtual std::uint64_t serial_floor() const { return 0; }
  // A capsule with this streamed run, or this interval run, in it was resumed. Of an interval: the serial counter of the machine
  // is that of whoever resumed it, and may not be below that when the run has ended.
  virtual void resumed(Engine& engine) { static_cast<void>(engine); }
  // The elements of a tensor are read, so many steps after its run began. False: the tensor is nothing to this run.
  virtual bool read(std::uint64_t tensor, std::uint64_t steps) {
    return static_cast<void>(tensor), static_cast<void>(steps), false;
  }
  // Behind an operation on tensors, while its tape has a limit: whether the run, which is `run` of the machine's, ends here.
  virtual bool may_end(Engine& engine, std::size_t run) { return static_cast<void>(engine), static_cast<void>(run), true; }
  // Whether its run wants to know of the operations on tensors in it, and in what runs inside; and of one, which took so many
  // ticks and has so many bytes of operands and results.
  virtual bool counts_work() const { return false; }
  virtual void worked(std::uint64_t ticks, std::uint64_t bytes) { static_cast<void>(ticks), static_cast<void>(bytes); }
  // What would help where memory is gone while this is in use: lines to follow the message, or nothing.
  virtual std::string memory_hint(const Engine& engine) const { return static_cast<void>(engine), ""; }
  // What is older is a constant to the derivative that its run is taken for. kNever: it is taken for none.
  virtual std::uint64_t varies_from() const { return kNever; }
  // The log of effects of its run, or null.
  virtual EffectLog* effects() { return nullptr; }
  // Whether its run reads again what has been read before it.
  virtual bool reads_again() const { return false; }
};

struct Run {
  Frame* top = nullptr; // owned
  RunKind kind = RunKind::base;
  // Rules of updates that run in it, one within another: what they do on a device lies beside the sweeps that wait for nothing of
  // it. Files do not have it: what is left of a rule that goes on from one is done like everything else.
  std::uint16_t rules = 0;
  bool in_rule = false;            // derived: a rule runs in it or below
  std::uint64_t deadline = kNever; // clock at which its budget ends; in a capsule: steps left
  std::uint64_t start = 0;         // clock at which it began; in a capsule: steps done
  std::uint64_t epoch = 0;         // returning into older frames is a logical copy (docs/design.md 5.3)
  NativeObject* state = nullptr;   // owned; reverse, interval, streamed
  std::uint32_t own_schedule = kInherit, own_lossy = kInherit; // numbers of what is in force in it: schedule, policy of tapes
  // Derived from this run and the ones below whenever it is pushed.
  std::uint32_t schedule = 0, lossy = 0;
  std::uint64_t least_deadline = kNever;
  Tape* tape = nullptr;
  std::uint32_t forward_depth = 0;
  std::uint32_t streamed = 0; // 1 + the place of the innermost streamed run; 0: there is none

  RunState* run_state() const { return state != nullptr ? static_cast<RunState*>(state->native) : nullptr; }
};

// Runs with what they refer to, while neither the machine nor a state nor a capsule has them.
class OwnedRuns {
public:
  explicit OwnedRuns(Heap& heap, std::vector<Run> runs = {}) : list(std::move(runs)), heap_(&heap) {}
  OwnedRuns(OwnedRuns&& other) noexcept : list(other.take()), heap_(other.heap_) {}
  OwnedRuns& operator=(OwnedRuns&&) = delete;
  ~OwnedRuns() { release(*heap_, list); }
  std::vector<Run> take() { return std::exchange(list, {}); }
  // A copy, with references of its own.
  static OwnedRuns of(Heap& heap, const std::vector<Run>& runs) {
    OwnedRuns copy(heap);
    copy.list = runs;
    for (const Run& r : copy.list) {
      if (r.top != nullptr) Heap::retain(r.top);
      if (r.state != nullptr) Heap::retain(r.state);
    }
    return copy;
  }
  static void release(Heap& heap, std::vector<Run>& list) {
    for (Run& r : list) {
      if (r.top != nullptr) heap.release(r.top);
      if (r.state != nullptr) heap.release(r.state);
    }
    list.clear();
  }
  std::vector<Run> list;

private:
  Heap* heap_;
};

struct Capsule final : value::Native {
  std::vector<Run> runs; // deadline and start as steps left and done
  bool finished = false;
  Value value = value::kUnspecified; // if finished
  std::uint64_t steps = 0;
  // If an interval of a schedule is among the runs: the serial counter that it goes on with, so that its replay stays a replay.
  std::uint64_t serial = 0;
  std::int64_t charged = 0;
  void release(Heap& heap) override;
};

inline Capsule* as_capsule(Value v) { return static_cast<Capsule*>(static_cast<NativeObject*>(v.other())->native); }

} // namespace cairn::machine
