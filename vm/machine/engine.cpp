// The outer loop of execution.
#include "vm/machine/engine.h"

#include "vm/explain/recorder.h"
#include "vm/machine/errors.h"
#include "vm/machine/recorded.h"
#include "vm/schedule/asking.h"
#include "vm/text/number.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace cairn::machine {

Engine::Engine(Options o, const RunOperators& r) : print::Environment(o.memory), run_operators(r), options(std::move(o)) {
  if (options.profile) profile = std::make_unique<Profile>();
  if (options.explain) wanted_recorder().wishes.text = true;
  schedule::Spec spec;
  std::string message;
  schedule::parse(options.schedule, spec, message);
  schedules.assign({spec});
  LossyPolicy policy;
  parse(options.lossy, policy, message);
  lossy_policies.assign({policy});
  costs = options.costs;
  statistics.schedule = schedule::to_string(spec);
  suspend(false);
  heap_.stops_releasing = [this] {
    const bool stops = meter_.wants_stop();
    if (stops) suspend(true);
    return stops;
  };
}

Engine::~Engine() {
  drop_everything();
  for (const std::vector<Value>* table : {&loaded.constants, &loaded.procedures})
    for (Value v : *table)
      if (v.is_object()) heap_.end_immortal(value::object_of(v));
}

explain::Recorder& Engine::wanted_recorder() {
  if (recorder == nullptr) recorder = std::make_unique<explain::Recorder>();
  return *recorder;
}

void Engine::drop_everything() {
  release_runs(runs);
  runs.clear();
  for (Value v : globals) heap_.release(v);
  globals.clear();
  heap_.release(result);
  result = value::kUnspecified;
  if (tensor_world != nullptr) tensor_world->give_up_reads();
  heap_.release_all_set_aside();
}

void Engine::suspend(bool suspended) noexcept {
  suspended_ = suspended;
  set_handlers<false>(suspended);
  set_handlers<true>(suspended);
}

bool Engine::stays_suspended() {
  if (!heap_.release_set_aside()) return true;
  suspend(false);
  return false;
}

ops::SpillFile* Engine::spill_file() const {
  return tensor_world != nullptr ? tensor_world->cpu().spill_file() : spill_file_.get();
}

Statistics Engine::statistics_now() const {
  if (ended) heap_.release_all_set_aside(); // for the count of objects; peaks are the same
  Statistics s = statistics;
  s.steps = clock;
  s.work = meter_.work();
  s.heap_peak_bytes = std::max({s.heap_peak_bytes, heap_.heap_peak(), heap_.heap_live()});
  s.tape_peak_bytes = std::max(s.tape_peak_bytes, heap_.tape.peak);
  s.capsules_peak = std::max(s.capsules_peak, heap_.capsule_count_peak);
  s.capsule_peak_bytes = std::max({s.capsule_peak_bytes, heap_.capsules.peak, snapshot_bytes_peak});
  s.tensor_peak_bytes = std::max(s.tensor_peak_bytes, heap_.tensors.peak);
  s.scratch_peak_bytes = heap_.scratch_peak;
  if (const ops::SpillFile* const file = spill_file()) {
    s.spilled_bytes = file->written_bytes();
    s.fetched_bytes = file->read_bytes();
    s.stored_bytes = file->stored_bytes();
  }
  if (tensor_world != nullptr) {
    s.reads_expected = tensor_world->ahead.expected();
    s.reads_wanted = tensor_world->ahead.wanted();
  }
  s.live_objects_at_exit = heap_.live_objects();
  return s;
}

Status Engine::run(std::uint64_t steps) {
  if (ended) return Status::done;
  if (suspended_ && stays_suspended()) [[unlikely]] {
    meter_.take_cancellation();
    return Status::cancelled;
  }
  limit = pause = steps > kNever - clock ? kNever : clock + steps;
  const ops::Meter::Installed installed(&meter_);
  const schedule::Asking asking([this] { meter_.poll(); });
  const explain::Stopwatch::Going going(recorder == nullptr ? nullptr : &recorder->watch);
  enter_streamed_call();
  for (;;)
    if (const std::optional<Status> status = go_on()) return *status;
}

// Until something ends it; nothing where memory ran out and an operator has begun again.
std::optional<Status> Engine::go_on() {
  NumberWatch numbers;
  try {
    if (thrown_) [[unlikely]] {
      const Thrown error = *std::exchange(thrown_, {});
      run_operators.handle_error(*this, error.message, error.irritants);
    }
    for (;;) {
      if (limit <= clock) return Status::out_of_steps;
      Run& r = runs.back();
      if (r.least_deadline <= clock) {
        const ops::Meter::Uninterrupted whole(meter_);
        expire();
        continue;
      }
      if (profile != nullptr || options.check_nan) pause = clock + 1;
      if (profile != nullptr) profile->before(*this);
      if (options.check_nan) numbers.before(*this);
      Exit exit = r.tape != nullptr ? dispatch<true>() : dispatch<false>();
      if (profile != nullptr) profile->after(*this);
      if (options.check_nan)
        if (std::string complaint = numbers.after(*this); !complaint.empty()) {
          error = located(*this, complaint, true);
          end_program();
          return Status::error;
        }
      if (exit == Exit::done) {
        ended = true;
        runs.clear();
        if (tensor_world != nullptr) tensor_world->give_up_reads();
        if (options.one_shot)
          for (Value& v : globals) heap_.release(std::exchange(v, value::kUndefined));
        return Status::done;
      }
    }
  } catch (const ops::Cancelled&) {
    --clock;
    meter_.take_cancellation();
    return Status::cancelled;
  } catch (const ops::OutOfWork& e) {
    --clock;
    work_needed = e.total - meter_.work();
    return Status::out_of_work;
  } catch (const ProgramError& e) {
    if (has_handler(e)) return std::nullopt;
    remember(e.what());
    end_program();
    return Status::error;
  } catch (const ops::ElementsLost& e) {
    remember(e.what());
    end_program();
    return Status::error;
  } catch (const value::BudgetExceeded& e) {
    std::string holders;
    try {
      const auto* last = dynamic_cast<const value::FinalBudgetExceeded*>(&e);
      const bool on_device = dynamic_cast<const DeviceFull*>(&e) != nullptr;
      const bool goes_on = last == nullptr && run_operators.begin_again(*this, on_device);
      refused_step_undone = false; // that of the next one is another matter
      if (goes_on) return std::nullopt;
      const bool memory = last == nullptr || last->memory;
      if (tensor_world != nullptr && memory) holders = tensor_world->holders(*this);
      holders.insert(0, e.what());
      if (memory) holders += on_device ? device_hints(*this) : memory_hints(*this);
      if (const ops::SpillFile* const file = spill_file(); memory && file != nullptr && !file->refusal().empty())
        holders += "\n  nothing more could be put aside: " + file->refusal() + file_hint(*this, file->most_bytes());
    } catch (const std::bad_alloc&) {
      holders.clear();
    }
    remember(holders.empty() ? e.what() : holders.c_str());
  } catch (const std::bad_alloc&) {
    remember("out of memory: the system refused a request");
  }
  end_program();
  return Status::over_budget;
}

bool Engine::has_handler(const ProgramError& error) {
  if (std::none_of(runs.rbegin(), runs.rend(), [](const Run& r) { return r.kind == RunKind::guarded; })) return false;
  if (dynamic_cast<const Fault*>(&error) != nullptr || dynamic_cast<const print::RecordedError*>(&error) != nullptr) return false;
  if (dynamic_cast<const print::WorldError*>(&error) != nullptr && effects.replayed()) return false;
  const auto* of_user = dynamic_cast<const UserError*>(&error);
  thrown_ = Thrown{error.what(), of_user != nullptr ? of_user->irritants : value::kUnspecified};
  effects.end_instruction();
  if (profile != nullptr) profile->after(*this);
  return true;
}

// Without location and calls if there is no memory for them.
void Engine::remember(const char* message) noexcept {
  try {
    set_error(message);
  } catch (...) {
    error = {};
    try {
      error.message = message;
    } catch (...) {
      error.message = "out of memory"; // fits into the string itself
    }
  }
}

Value Engine::primal(Value v) const {
  for (;;) {
    if (v.is_taped()) {
      const Tape* tape = tapes.of(v);
      if (tape == nullptr) throw ProgramError("a number of a tape that is gone");
      return value::flonum(tape->primal(v.tape_node()));
    }
    if (!value::is_bundle(v)) return v;
    v = value::as_bundle(v)->primal;
  }
}

// --- effects

void Engine::write(std::string_view text) { effects.write(text); }
void Engine::report(std::span<const print::Reported> values) { effects.report(values); }
bool Engine::read_number(double& flonum, std::int64_t& integer, bool& exact) {
  return effects.read_number(flonum, integer, exact);
}
std::uint64_t Engine::random_bits() { return effects.random_bits(); }
double Engine::seconds() { return effects.seconds(); }

} // namespace cairn::machine
