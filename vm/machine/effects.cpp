// See effects.h.
#include "vm/machine/effects.h"

#include "ops/mixing.h"
#include "vm/machine/errors.h"
#include "vm/text/number.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace cairn::machine {

std::uint64_t Effects::random_bits() {
  std::uint64_t counter = counters.drawn + 1;
  std::uint64_t* drawn = &counters.drawn;
  std::size_t fresh = runs_.size(); // to the runs from there on it is new
  for (; fresh > 0; --fresh) {
    EffectLog* log = log_of(fresh - 1);
    if (log == nullptr) continue;
    if (log->drawn < log->draws.size()) {
      counter = log->draws[log->drawn];
      drawn = &log->drawn;
      break;
    }
    if (log->silent) throw print::WorldError("the random numbers of a replay are not known");
  }
  // Nothing is drawn where there is no room to note it.
  for (std::size_t i = fresh; i < runs_.size(); ++i) {
    EffectLog* log = log_of(i);
    if (log == nullptr) continue;
    log->draws.make_room(counter);
    if (log->bytes() != log->charged) log->account(heap_);
  }
  draws_.push_back(fresh);
  ++*drawn;
  for (; fresh < runs_.size(); ++fresh) {
    EffectLog* log = log_of(fresh);
    if (log == nullptr) continue;
    log->draws.append(counter);
    log->drawn = log->draws.size();
  }
  return ops::mixed(options_.seed * ops::kGolden + ops::mixed(counter));
}

void Effects::put_back_draw() {
  std::size_t fresh = draws_.back();
  draws_.pop_back();
  if (fresh != 0)
    --log_of(fresh - 1)->drawn;
  else
    --counters.drawn;
  for (; fresh < runs_.size(); ++fresh) {
    EffectLog* log = log_of(fresh);
    if (log == nullptr) continue;
    log->draws.drop_last();
    log->drawn = log->draws.size();
  }
}

void Effects::put_back_draws(std::size_t first) {
  while (draws_.size() > first) put_back_draw();
}

EffectLog* Effects::replaying_log(std::vector<EffectLog*>& fresh) {
  for (std::size_t i = runs_.size(); i-- > 0;) {
    EffectLog* log = log_of(i);
    if (log == nullptr) continue;
    if (log->position < log->happened || log->silent) return log;
    fresh.push_back(log);
  }
  return nullptr;
}

void Effects::make_room(const std::vector<EffectLog*>& fresh, std::uint64_t effects) {
  for (EffectLog* log : fresh) log->make_room(heap_, effects);
}

void Effects::record(const std::vector<EffectLog*>& fresh, Value v) {
  for (EffectLog* log : fresh) {
    log->inputs.push_back(v);
    if (log->bytes() != log->charged) log->account(heap_);
    log->position = ++log->happened;
  }
}

bool Effects::replayed() const {
  for (std::size_t i = 0; i < runs_.size(); ++i)
    if (log_of(i) != nullptr || (runs_[i].state != nullptr && runs_[i].run_state()->reads_again())) return true;
  return false;
}

void Effects::check_limit(std::uint64_t bytes) const {
  const std::uint64_t limit = options_.output_limit, written = counters.output_bytes + counters.file_bytes;
  if (bytes > limit - std::min(limit, written))
    throw value::FinalBudgetExceeded(fmt::format("the program may write {} bytes and no more", limit), false);
}

void Effects::write(std::string_view text) {
  if (repeated_ < counters.done) {
    ++repeated_;
    return;
  }
  once([&] {
    check_limit(text.size());
    counters.output_bytes += text.size();
    if (options_.output) options_.output(text);
  });
  repeated_ = ++counters.done;
}

void Effects::report(std::span<const print::Reported> values) {
  if (repeated_ < counters.done) {
    ++repeated_;
    return;
  }
  constexpr std::uint64_t kRow = 64, kNumber = 24; // about what they take in a table
  std::uint64_t bytes = kRow;
  for (const print::Reported& r : values) bytes += r.name.size() + kNumber;
  once([&] {
    check_limit(bytes);
    counters.file_bytes += bytes;
    ++counters.reports;
    if (options_.report) options_.report(values);
  });
  repeated_ = ++counters.done;
}

bool Effects::read_number(double& flonum, std::int64_t& integer, bool& exact) {
  std::vector<EffectLog*> fresh;
  Value v = value::kUnspecified;
  EffectLog* log = replaying_log(fresh);
  make_room(fresh);
  if (log != nullptr && log->position == log->happened) throw print::WorldError("read-real: the input of a replay is not known");
  if (log != nullptr) {
    v = log->inputs[log->position++];
    if (!v.is_integer() && !v.is_flonum()) throw print::WorldError("read-real: the log of a replay does not fit");
  } else {
    bool comment = false;
    std::string word;
    auto fill = [&] {
      if (counters.input_ended || !options_.input) return false;
      // Stopped inside of a comment, its rest must still be one: it gets a semicolon back. Inside of a word, which is short,
      // nothing stops.
      if (comment) input_[--input_at_] = ';';
      if (word.empty()) meter_.poll();
      if (comment) ++input_at_;
      input_.erase(0, input_at_);
      input_at_ = 0;
      char buffer[4096];
      std::size_t n = options_.input(buffer, sizeof buffer);
      if (n == 0) counters.input_ended = true;
      counters.input_bytes += n;
      input_.append(buffer, n);
      return n != 0;
    };
    auto space = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'; };
    for (;;) {
      if (input_at_ == input_.size() && !fill()) break;
      char c = input_[input_at_];
      if (comment)
        comment = c != '\n';
      else if (c == ';' && word.empty())
        comment = true;
      else if (space(c)) {
        if (!word.empty()) break;
      } else {
        word += c;
        if (word.size() > 4096) throw print::WorldError("read-real: the input is no number");
      }
      ++input_at_;
    }
    if (word.empty()) return false;
    auto number = text::parse_number(word);
    if (!number) throw print::WorldError(fmt::format("read-real: the input '{}' is no number", word.substr(0, 40)));
    v = number->exact ? value::integer(number->integer) : value::flonum(number->flonum);
  }
  record(fresh, v);
  exact = v.is_integer();
  if (exact)
    integer = v.integer();
  else
    flonum = v.flonum();
  return true;
}

// Input like any other: a replay is told what the first run was told.
double Effects::seconds() {
  const Value v = asked("clock: the time", [] {
    return value::flonum(std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count());
  });
  if (!v.is_flonum()) throw print::WorldError("clock: the log of a replay does not fit");
  return v.flonum();
}

} // namespace cairn::machine
