// The outer loop of execution, and effects.
#include "vm/machine/engine.h"

#include "vm/machine/errors.h"
#include "vm/text/number.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace cairn::machine {

namespace {

// splitmix64 finaliser (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014), applied to a counter.
std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

} // namespace

Engine::Engine(Options o, const RunOperators& r) : print::Environment(o.memory), run_operators(r), options(std::move(o)) {
  if (options.profile) profile = std::make_unique<Profile>();
  schedule::Spec spec;
  std::string message;
  schedule::parse(options.schedule, spec, message);
  schedules.push_back(spec);
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

void Engine::drop_everything() {
  release_runs(runs);
  runs.clear();
  for (Value v : globals) heap_.release(v);
  globals.clear();
  heap_.release(result);
  result = value::kUnspecified;
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
  s.live_objects_at_exit = heap_.live_objects();
  return s;
}

Status Engine::run(std::uint64_t steps) {
  if (ended) return Status::done;
  if (suspended_ && stays_suspended()) [[unlikely]] {
    meter_.take_cancellation();
    return Status::cancelled;
  }
  limit = steps > kNever - clock ? kNever : clock + steps;
  runs[0].deadline = limit;
  if (runs.size() == 1 && runs[0].own_schedule == kInheritSchedule) { // all that a short call needs
    runs[0].least_deadline = limit;
    runs[0].tape = nullptr;
    runs[0].forward_depth = 0;
    runs[0].schedule = 0;
  } else {
    for (std::size_t i = 0; i < runs.size(); ++i) derive(i);
  }
  NumberWatch numbers;
  const ops::Meter::Installed installed(&meter_);
  try {
    for (;;) {
      Run& r = runs.back();
      if (r.least_deadline <= clock) {
        const ops::Meter::Uninterrupted whole(meter_);
        if (!expire()) return Status::out_of_steps;
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
    remember(e.what());
    end_program();
    return Status::error;
  } catch (const value::BudgetExceeded& e) {
    std::string holders;
    try {
      if (tensor_world != nullptr) holders = tensor_world->holders(*this);
      holders.insert(0, e.what());
      holders += memory_hints(*this);
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

// --- effects and random numbers: new at every enclosing run, or taken again from the innermost log that has them

std::uint64_t Engine::random_bits() {
  auto log_of = [&](std::size_t run) { return runs[run].state != nullptr ? runs[run].run_state()->effects() : nullptr; };
  std::uint64_t counter = 0;
  std::size_t fresh = runs.size(); // to the runs from there on it is new
  for (; fresh > 0; --fresh) {
    EffectLog* log = log_of(fresh - 1);
    if (log == nullptr) continue;
    if (log->drawn < log->draws.size()) {
      counter = log->draws[log->drawn++];
      break;
    }
    if (log->silent) throw ProgramError("the random numbers of a replay are not known");
  }
  if (fresh == 0) counter = ++random_counter;
  draws_now.push_back(fresh);
  for (; fresh < runs.size(); ++fresh) {
    EffectLog* log = log_of(fresh);
    if (log == nullptr) continue;
    log->draws.append(counter);
    log->drawn = log->draws.size();
    if (log->bytes() != log->charged) log->account(heap_);
  }
  return mix(options.seed * 0x9E3779B97F4A7C15u + mix(counter));
}

void Engine::undo_draw() {
  std::size_t fresh = draws_now.back();
  draws_now.pop_back();
  if (fresh != 0)
    --runs[fresh - 1].run_state()->effects()->drawn;
  else
    --random_counter;
  for (; fresh < runs.size(); ++fresh) {
    EffectLog* log = runs[fresh].state != nullptr ? runs[fresh].run_state()->effects() : nullptr;
    if (log == nullptr) continue;
    log->draws.drop_last();
    log->drawn = log->draws.size();
  }
}

EffectLog* Engine::replaying_log(std::vector<EffectLog*>& fresh) {
  for (std::size_t i = runs.size(); i-- > 0;) {
    RunState* s = runs[i].run_state();
    EffectLog* log = s != nullptr ? s->effects() : nullptr;
    if (log == nullptr) continue;
    if (log->position < log->happened || log->silent) return log;
    fresh.push_back(log);
  }
  return nullptr;
}

void Engine::record_effect(const std::vector<EffectLog*>& fresh, Value v) {
  for (EffectLog* log : fresh) {
    log->inputs.push_back(v);
    if (log->bytes() != log->charged) log->account(heap_);
    log->position = ++log->happened;
  }
}

void Engine::write(std::string_view text) {
  if (effects_repeated < effects_done) {
    ++effects_repeated;
    return;
  }
  std::vector<EffectLog*> fresh;
  if (EffectLog* log = replaying_log(fresh)) {
    if (log->position < log->happened) ++log->position;
  } else {
    if (text.size() > options.output_limit - std::min(options.output_limit, output_length))
      throw value::BudgetExceeded(fmt::format("the program may write {} bytes and no more", options.output_limit));
    output_length += text.size();
    if (options.output) options.output(text);
  }
  record_effect(fresh, value::kUnspecified);
  effects_repeated = ++effects_done;
}

bool Engine::read_number(double& flonum, std::int64_t& integer, bool& exact) {
  std::vector<EffectLog*> fresh;
  Value v = value::kUnspecified;
  EffectLog* log = replaying_log(fresh);
  if (log != nullptr && log->position == log->happened) throw ProgramError("read-real: the input of a replay is not known");
  if (log != nullptr) {
    v = log->inputs[log->position++];
    if (!v.is_integer() && !v.is_flonum()) throw ProgramError("read-real: the log of a replay does not fit");
  } else {
    bool comment = false;
    std::string word;
    auto fill = [&] {
      if (input_ended || !options.input) return false;
      // Stopped inside of a comment, its rest must still be one: it gets a semicolon back. Inside of a word, which is short,
      // nothing stops.
      if (comment) pending_input[--pending_at] = ';';
      if (word.empty()) meter_.poll();
      if (comment) ++pending_at;
      pending_input.erase(0, pending_at);
      pending_at = 0;
      char buffer[4096];
      std::size_t n = options.input(buffer, sizeof buffer);
      if (n == 0) input_ended = true;
      input_length += n;
      pending_input.append(buffer, n);
      return n != 0;
    };
    auto space = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'; };
    for (;;) {
      if (pending_at == pending_input.size() && !fill()) break;
      char c = pending_input[pending_at];
      if (comment)
        comment = c != '\n';
      else if (c == ';' && word.empty())
        comment = true;
      else if (space(c)) {
        if (!word.empty()) break;
      } else {
        word += c;
        if (word.size() > 4096) throw ProgramError("read-real: the input is no number");
      }
      ++pending_at;
    }
    if (word.empty()) return false;
    auto number = text::parse_number(word);
    if (!number) throw ProgramError(fmt::format("read-real: the input '{}' is no number", word.substr(0, 40)));
    v = number->exact ? value::integer(number->integer) : value::flonum(number->flonum);
  }
  record_effect(fresh, v);
  exact = v.is_integer();
  if (exact)
    integer = v.integer();
  else
    flonum = v.flonum();
  return true;
}

} // namespace cairn::machine
