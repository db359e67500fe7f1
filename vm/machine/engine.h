// The machine inside: stack of runs, globals, clock, accounts. Tapes and effects have types of their own. Everything else in this
// folder works on an Engine.
#pragma once

#include "vm/bytecode/digest.h"
#include "vm/bytecode/verifier.h"
#include "vm/machine/active_tapes.h"
#include "vm/machine/effects.h"
#include "vm/machine/files.h"
#include "vm/machine/interned.h"
#include "vm/machine/lossy_policy.h"
#include "vm/machine/observe.h"
#include "vm/machine/run.h"
#include "vm/machine/run_operator.h"
#include "vm/machine/tensors.h"
#include "vm/schedule/repeats.h"
#include "vm/schedule/schedule.h"
#include "vm/value/charged.h"

#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace cairn::explain {
class Recorder;
} // namespace cairn::explain

namespace cairn::machine {

using bytecode::Opcode;
using bytecode::Word;
using value::ClosureBlock;
using value::Code;
using value::Kind;
using value::Object;
using value::Procedure;

// What (error message irritant ...) throws: the list is borrowed from the frame that failed.
struct UserError : ProgramError {
  UserError(const std::string& message, Value list) : ProgramError(message), irritants(list) {}
  Value irritants;
};

// Something that no program can bring about: a fault of the machine, or a file that was changed. No handler is asked, since what
// it would be called for could come under one schedule and not under another.
struct Fault : ProgramError {
  using ProgramError::ProgramError;
};

struct LoadedModule {
  bytecode::Module module;
  std::vector<bytecode::FunctionFacts> facts;
  std::vector<value::OwnedCode> codes;
  std::vector<Value> constants;            // immortal
  std::vector<Value> procedures;           // a value for each function that needs no closure
  std::vector<const Code*> lone_code;      // of closure groups of one function; null for larger ones
  std::vector<const HostProcedure*> hosts; // by import
  bytecode::Proven proven;
  bytecode::Digest digest; // as far as the last extension asked for it
};

class Engine final : public print::Environment {
public:
  Engine(Options options, const RunOperators& run_operators);
  ~Engine() override;

  bool load(bytecode::Module module, std::string& message);
  bool load_only(bytecode::Module module, std::string& message); // its tables alone: there is nothing to run yet
  Status run(std::uint64_t steps = kNever);
  // Releases runs, globals and the last result, and all objects whose release was interrupted before.
  void drop_everything();
  // The next module of a session: an extension of the one that is loaded, or a whole one that begins with it. Its entry is ready
  // to run then.
  bool extend(bytecode::Module module, std::string& message);
  // Instead of running the program on: a call of a procedure. All borrowed. Throws ProgramError if it does not take so many
  // arguments.
  void begin(Value procedure, std::span<const Value> arguments);
  // The program ends here: its runs and the last result are released. Definitions (globals) stay.
  void end_program();
  // The same for the runs alone: the last result stays.
  void end_runs();
  // What a program knows of its files, and still expects of them, goes with it.
  void forget_files();
  // A capsule file turned out to be damaged while this machine was being filled from it: releases what has been read.
  void discard_damaged_state();
  std::uint64_t next_serial_now() const { return heap_.next_serial; }
  std::int64_t live_bytes() const { return heap_.live_bytes(); }
  Statistics statistics_now() const;

  // --- Environment
  Value primal(Value v) const override;
  void write(std::string_view text) override;
  void report(std::span<const print::Reported> values) override;
  bool read_number(double& flonum, std::int64_t& integer, bool& exact) override;
  std::uint64_t random_bits() override;
  double seconds() override;
  const std::vector<std::string>& arguments() const override { return options.arguments; }
  std::uint64_t capsule_steps(Value v) const override;
  bool capsule_finished(Value v) const override;

  // --- runs (runs.cpp)
  std::optional<Status> go_on();
  Run& current() { return runs.back(); }
  // The call of the device that streams to which launches belong; null: none.
  const std::shared_ptr<ops::streaming::Call>& streamed_call() const;
  // The state of the innermost streamed run, or null.
  RunState* streamed_run() const {
    const std::uint32_t place = runs.empty() ? 0 : runs.back().streamed;
    return place == 0 ? nullptr : runs[place - 1].run_state();
  }
  // Tells that device, where the runs have become others.
  void enter_streamed_call() noexcept;
  // Pushes a run and derives its inherited parts. Takes over what it owns, also where there is no memory.
  void push_run(Run run);
  // What a run inherits stays as it is while it is on the stack, and in all slices of it.
  void derive(std::size_t index);
  std::uint64_t derivations = 0; // how often that was done
  // The value of the run on top has been computed: pops it and delivers. `v` is taken over. False: the machine is done.
  bool finish_run(Value v);
  // Hands a value (taken over) to the frame on top, which waits for it.
  void deliver(Value v);
  // Cuts runs[index..] off, deadlines and starts turned into steps left and done.
  OwnedRuns cut(std::size_t index);
  std::uint64_t cut_serial = 0; // the serial counter as it was inside the runs that were cut off last
  // The clock has reached the deadline of a run: ends the outermost one that has it.
  void expire();
  // The elements of a tensor that an update waits for (value::kWatched) are about to be read: tells the run of that update.
  void note_read(std::uint64_t tensor);
  // Tells the innermost run that counts them of an operation on tensors, if it is one of the kNear runs on top: `cost()` gives
  // ticks and bytes.
  template <class Cost> void note_work(Cost&& cost) {
    constexpr std::size_t kNear = 8;
    for (std::size_t i = runs.size(), left = kNear; i-- > 0 && left > 0; --left) {
      RunState* const state = runs[i].run_state();
      if (state == nullptr || !state->counts_work()) continue;
      const auto [ticks, bytes] = cost();
      return state->worked(ticks, bytes);
    }
  }
  // The frame on top of `run` made private and ready to run: copied if shared, renewed if older than the epoch, lifted if the
  // tape has not seen it.
  Frame* enter(Run& run);
  // A value (taken over) is returned to the frame on top of `run`, which waits for it.
  Frame* return_to(Run& run, Value v);
  Frame* copy_frame(const Frame* frame);
  void lift_frame(Tape& tape, Frame* frame);
  void identify_frame(Tape& tape, Frame* frame);

  // A frame of procedure f on arguments; f and arguments are borrowed (references are added, taped numbers as they are).
  Frame* make_call(Value f, const Value* arguments, std::size_t count);
  // Starts (f x) in a new run pushed with these properties; `resume` starts without a step. f, x borrowed.
  void start_run(Run run, Value f, Value x);
  // Replaces the top of the run on top by the computation in capsule z (borrowed). Its top is already gone (parent: what waits
  // for the value). Returns false when the machine is done.
  bool thaw(Value z, Frame* parent);
  bool is_resume(Value f) const;

  Value make_capsule(OwnedRuns runs, std::uint64_t steps);
  Value make_finished_capsule(Value v, std::uint64_t steps);
  void release_runs(std::vector<Run>& list) { OwnedRuns::release(heap_, list); }

  // --- states
  NativeObject* make_state(OwnedState state) { return heap_.make_native(Kind::state, std::move(state)); }
  // The state made private: cloned if shared. Takes over the reference, unless it throws, and returns one.
  NativeObject* unique_state(NativeObject* state);

  // --- slots and fields on a tape (places.cpp)
  // A second place for v (borrowed): an identity node where it is on the tape of the current run, a reference otherwise.
  Value duplicate(Tape* tape, Value v) {
    if (tape != nullptr && tape->has(v)) return tape->identity(v);
    return Heap::retain(v);
  }
  // Field `slot` of an object that may be older than the tape.
  Value read_field(Tape* tape, Object* o, std::uint32_t slot, Value v) {
    if (tape != nullptr) return read_field_taped(*tape, o, slot, v);
    return Heap::retain(v);
  }
  Value read_field_taped(Tape& tape, Object* o, std::uint32_t slot, Value v);

  // --- arithmetic (arithmetic.cpp). Operands borrowed, results owned; ProgramError if they are no numbers.
  Value binary(Opcode op, Value x, Value y);
  Value unary(Opcode op, Value x);
  // The same for the operands of the instruction at hand, which may be tensors; `consumed` are those it gives up, as bits.
  Value arithmetic(Opcode op, Value x, Value y, std::uint64_t consumed);
  Value arithmetic(Opcode op, Value x, std::uint64_t consumed);
  Value comparison(Opcode op, Value x, Value y);
  bool less(Value x, Value y);
  bool less_equal(Value x, Value y);
  bool number_equal(Value x, Value y);
  bool eqv(Value x, Value y);
  bool is_number(Value v) const {
    return v.is_flonum() || v.is_integer() || v.is_taped() || (value::is_bundle(v) && !tensors::is_tensor_like(v));
  }
  // Something that derivatives are taken of: a number or a tensor.
  static bool is_leaf(Value v) {
    return v.is_flonum() || v.is_integer() || v.is_taped() || value::is_bundle(v) || value::is_tensor(v);
  }
  // A scalar number: its primal as a double, whatever tape or bundle it is.
  double to_double(Value v) const;
  std::int64_t to_index(Value v, const char* what) const;

  // --- dispatch_plain.cpp, dispatch_taped.cpp
  enum class Exit { expired, switched, done, next };
  template <bool Taped> Exit dispatch();
  using Handler = Exit (*)(Engine* e, Frame* frame, const Word* pc, std::int64_t left, const void* handlers);
  // The handlers by opcode: [0] for runs without a tape, [1] for those that record on one. Each machine has tables of its own, so
  // that it can be suspended: then all entries are one function that leaves the loop by throwing Cancelled, whatever the next
  // instruction is.
  Handler handlers[2][std::size(bytecode::kOpcodes)];
  template <bool Taped> void set_handlers(bool suspended);
  // What the handlers share beside their arguments; of the run on top.
  struct Loop {
    Run* run;
    Tape* tape;
    std::uint64_t epoch;
    std::uint64_t end; // the clock when no steps are left
    const Value* constants;
    const value::OwnedCode* codes;
    // Between two handlers, where they do not jump to each other.
    Frame* frame;
    const Word* pc;
    std::int64_t left;
  };
  Loop loop{};

  // --- calls.cpp. `fields` are the operands of the instruction of `frame`; last uses are taken over.
  Frame* call_in_general(Frame* frame, std::span<const std::uint16_t> fields, Value callee);
  Frame* call_directly(Frame* frame, std::span<const std::uint16_t> fields, const Code* callee);
  Frame* apply_to_list(Value callee, Value list); // both borrowed
  // New objects, whole or not at all. Fields as above; everything else is borrowed.
  Value pair_of(Frame* frame, std::uint16_t car, std::uint16_t cdr);
  Value vector_of(Frame* frame, std::span<const std::uint16_t> fields);
  Value group_of(Frame* frame, const bytecode::Group& group, std::span<const std::uint16_t> captures);
  Value updated_vector(Frame* frame, value::Vector* old, std::uint64_t index, std::uint16_t x);
  void read_pair(Frame* frame, value::Pair* pair, std::uint16_t car, std::uint16_t cdr); // into registers
  Value vector_of(std::uint64_t length, Value x);
  Value vector_of_list(Value list);                           // a proper one
  Value vector_with(value::Vector* old, std::uint64_t index); // a copy in which that item is left unspecified
  Value primitive(bytecode::Primitive which, Frame* frame, std::span<const std::uint16_t> fields);
  Value tensor(std::uint16_t which, Frame* frame, std::span<const std::uint16_t> fields);
  Value host(std::uint16_t import, Frame* frame, std::span<const std::uint16_t> fields);
  bool perform_run_instruction(const Word* instruction); // as in RunOperators; a handler calls nothing by a pointer
  [[noreturn]] void fail(bool no_match, Value v);
  // Whether an error in the program has a handler; then it is handled as soon as execution goes on.
  bool has_handler(const ProgramError& error);
  // Devices are made when the first tensor is.
  TensorWorld& tensors() {
    if (tensor_world == nullptr) [[unlikely]]
      make_tensor_world();
    return *tensor_world;
  }
  void make_tensor_world();
  // Tensors that only wait may go to that file.
  void spill_to(std::unique_ptr<ops::SpillFile> file) { spill_file_ = std::move(file); }
  ops::SpillFile* spill_file() const; // null: there is none
  // The tape of the run on top holds all that its schedule wanted: the interval ends with the instruction at hand, which is over.
  void end_interval();

  // --- errors (errors.cpp)
  void set_error(const std::string& message);
  std::string procedure_name(const Code* code) const;
  std::string describe(Value v) const; // abbreviated, for messages

  const RunOperators& run_operators;
  Options options;
  Error error;
  std::unique_ptr<TensorWorld> tensor_world; // outlives every value
  LoadedModule loaded;
  std::vector<Value> globals;
  std::vector<Run> runs;
  value::Charged runs_charged{heap_}; // where there are many
  Effects effects{heap_, meter_, options, runs};
  Files files{heap_, meter_};
  ActiveTapes tapes{heap_};
  std::uint64_t clock = 0;           // steps executed
  std::uint64_t limit = kNever;      // clock at which this process stops
  std::uint64_t pause = kNever;      // clock at which the loop is left even if no run has that deadline: the limit at the latest
  std::unique_ptr<Profile> profile;  // null: nobody wants one
  mutable GradientProgress gradient; // of the outermost checkpoint-*j; for people only
  std::unique_ptr<explain::Recorder> recorder; // of the same; null: nobody asked for reports
  explain::Recorder& wanted_recorder();
  std::int64_t state_budget = 0; // memory budget when the program started: part of the state, for schedules that choose by it
  bool budget_asked = false;     // and whether somebody asked for just that one
  std::int64_t state_spill = 0;  // the same of the file for tensors that wait; 0: none
  bool spill_refused = false;    // a gradient found that it takes less: none counts on it any more. Part of the state
  // Of devices that tiles were dealt over: what each was told to have, 0 where nothing was said. Part of the state, as numbers of
  // tiles follow from it: a run that goes on beside other devices computes the same ones.
  std::vector<std::pair<std::string, std::int64_t>> device_budgets;
  bool spill_used = false; // a plan has put something there: its buffer is charged from then on. Part of the state
  // Below that the buffer of the file would take what it is to save.
  static constexpr std::int64_t kLeastBudgetOfSpilling = 2 * ops::SpillFile::kBuffer;
  bool may_spill() const { return state_spill != 0 && !spill_refused && state_budget >= kLeastBudgetOfSpilling; }
  void use_spill_file();
  // Where nothing is there now, its buffer is given back, until something is put there again.
  void rest_spill_file();
  schedule::CostTable costs; // for plans; as fixed as that
  // Modelled time of so many operations that take so much together.
  std::uint64_t modelled_ticks(double operations, const ops::Cost& cost) const {
    return costs.ticks(operations, cost.products, cost.flops, cost.bytes) + costs.ticks_of_lossy(cost.lossy, cost.lossy_small);
  }
  // What schedules may choose by.
  schedule::Resources resources(bool alone) const {
    return {.budget_bytes = state_budget,
            .alone = alone,
            .asked = budget_asked,
            .spill_bytes = may_spill() ? state_spill : 0,
            .spill_ticks = costs.ticks_of_spilling(),
            .steps_of_record = costs.steps_of_record(schedule::kRecordBytes)};
  }
  schedule::Repeats repeats; // plans of calls that may come again
  value::Charged repeats_charged{heap_};
  bool refused_step_undone = false; // the step that was refused memory last may be done again
  std::int64_t tiled_borders = 0;   // bytes that the last call of `tiled` keeps in memory, for hints; no state
  std::int64_t tiled_needs = 0;     // bytes that its derivative is foreseen to need of the memory
  std::int64_t tiled_file = 0;      // and of the file, for all that may go there
  std::uint64_t next_tag = 1;       // of j* invocations; part of the machine state
  std::string unreached;            // the place of the first update whose value depends on no leaf, for hosts; no state
  std::uint64_t work_needed = 0;    // after Status::out_of_work: the least that the instruction takes beyond the count
  Interned<schedule::Spec> schedules{heap_};
  Interned<LossyPolicy> lossy_policies{heap_};
  Value result = value::kUnspecified;
  bool ended = false;
  Statistics statistics;
  std::int64_t snapshot_bytes = 0, snapshot_bytes_peak = 0; // logical bytes that the snapshots of schedules hold

private:
  struct Thrown {
    std::string message;
    Value irritants; // borrowed from the frame that failed
  };
  std::optional<Thrown> thrown_;               // an error that is to be handled next
  std::unique_ptr<ops::SpillFile> spill_file_; // until there are tensors
  class Extension;
  bool continues(const bytecode::Module& module, std::string& message); // is it an extension of the module that is loaded?
  void remember(const char* message) noexcept; // set_error; the message alone where there is no memory for more
  // A run that is cancelled while it releases many objects leaves the rest of them set aside (value/heap.h), and the machine is
  // suspended: no instruction is executed before they are released, so that nothing which looks at reference counts ever meets
  // them.
  void suspend(bool suspended) noexcept;
  // Goes on releasing. True if it was cancelled again before all of them were gone; else the machine is no longer suspended.
  bool stays_suspended();
  bool suspended_ = false;
  Frame* applied_to_list(Value callee, Value list);
};

} // namespace cairn::machine
