// See the header. Tapes are followed as the checker of schedules does: where the one in work began, and those put aside.
#include "vm/explain/recorder.h"

#include <algorithm>
#include <utility>

namespace cairn::explain {

namespace {

constexpr const char* kOthers = "other places";

// 10, 20, 50, 100, 200, ...: so that a loop of a million gradients is told in some fifteen lines.
bool is_round(std::uint64_t n) {
  while (n >= 100 && n % 10 == 0) n /= 10;
  return n == 10 || n == 20 || n == 50;
}

void add(Calls::Sums& sums, const Gradient& g) {
  const bool first = sums.steps.most == 0 && sums.steps.least != 0;
  sums.steps.add(g.steps);
  sums.executed.add(g.executed);
  sums.peak = std::max(sums.peak, g.measured.peak.value_or(0));
  sums.least_replay = first ? g.measured.replay : std::min(sums.least_replay, g.measured.replay);
  sums.most_replay = first ? g.measured.replay : std::max(sums.most_replay, g.measured.replay);
}

} // namespace

Calls& Recorder::calls_from(const std::string& place) {
  const bool room = calls_.size() < kMostPlaces || calls_.contains(place);
  Calls& calls = calls_[room ? place : kOthers];
  if (calls.place.empty()) calls.place = room ? place : kOthers;
  return calls;
}

void Recorder::forget() {
  open_ = false;
  gradients_ = 0;
  calls_.clear();
  looked_.clear();
  tiled_.clear();
  kept_.clear();
  broken_off_.reset();
}

bool Recorder::note(Tiled tiled) {
  if (tiled_.size() >= kMostPlaces && !tiled_.contains(tiled.place)) return false;
  Tiled& known = tiled_[tiled.place];
  if (known == tiled) return false;
  known = std::move(tiled);
  return true;
}

void Recorder::begin(Opening opening, const Moment& now) {
  const Calls& calls = calls_from(opening.place);
  full_ = calls.number < kFullCalls;
  const bool keeps = wishes.keep && full_ && kept_.size() < kMostKept;
  detailed_ = wishes.every || (wishes.text && full_) || keeps;
  const bool again = open_ && serial_ == opening.serial; // and memory had run out
  if (!again) {
    watched_ = watch.seconds();
    planned_ = planning.seconds();
  }
  Spent spent;
  if (opening.whole) spent.executed = opening.executed;
  spent.time = before_ = again ? before_ + time(now) : 0;
  open_ = true;
  serial_ = opening.serial;
  start_ = now;
  sweeps_ = last_time_ = 0;
  const bool whole = opening.whole && (!again || now_.whole);
  now_ = {};
  now_.spent = spent;
  now_.number = again ? gradients_ : ++gradients_;
  now_.place = std::move(opening.place);
  now_.schedule = std::move(opening.schedule);
  now_.budget = opening.budget;
  now_.whole = whole;
  now_.executed = opening.executed;
  now_.executed_before = again ? opening.executed : 0;
  now_.steps = opening.steps;
  now_.measured.peak = now.level;
  timeline_ = {};
  going_ = false;
  work_ = {};
  has_work_ = opening.taping;
  aside_.assign(opening.aside, {});
  asked_ = 0;
  last_ = now;
}

void Recorder::arrive(const Moment& now, std::uint64_t position, std::uint64_t executed, std::uint64_t steps) {
  now_.measured.peak = std::max(now_.measured.peak.value_or(0), now.peak);
  now_.measured.in_file = std::max(now_.measured.in_file, now.in_file);
  now_.spilled = now.spilled - start_.spilled;
  now_.fetched = now.fetched - start_.fetched;
  now_.stored = now.stored - start_.stored;
  const std::uint64_t done = executed - now_.executed;
  now_.executed = executed;
  const bool was_known = now_.steps != 0;
  now_.steps = steps;
  if (std::exchange(going_, false)) {
    Stretch& s = stretch_;
    switch (s.doing) {
    case Doing::advance:
      now_.advanced += done;
      break;
    case Doing::tape:
      now_.taped += done;
      if (was_known) now_.retaped += done;
      work_.to = position;
      break;
    case Doing::sweep:
      sweeps_ += of_records_;
      now_.swept += s.steps;
      break;
    }
    if (s.doing != Doing::sweep) {
      s.steps = done;
      s.to = s.from + done;
    }
    s.end = time(now);
    s.peak = now.peak;
    s.level = now.level;
    s.tapes = now.tapes;
    s.states = now.states;
    if (detailed_) timeline_.add(s);
  }
  last_time_ = time(now);
  last_ = now;
  now_.encoding = now.encoding - start_.encoding;
  if (was_known || steps == 0) return;
  now_.first_run = last_time_;
  now_.encoding_of_first_run = now_.encoding;
  now_.operations_of_first_run = now.operations - start_.operations;
}

void Recorder::act(const schedule::Action& action, std::uint64_t position, std::uint64_t of_records, std::uint64_t bytes) {
  using Kind = schedule::Action::Kind;
  auto start = [&](Doing doing) {
    stretch_ = {};
    stretch_.doing = doing;
    stretch_.from = stretch_.to = position;
    stretch_.begin = last_time_;
    going_ = true;
  };
  switch (action.kind) {
  case Kind::advance:
    start(Doing::advance);
    break;
  case Kind::tape:
    start(Doing::tape);
    // One that was there when the gradient was first seen goes on with a beginning that nobody knows.
    if (!std::exchange(has_work_, true)) work_ = {position, position, true};
    break;
  case Kind::reverse: {
    start(Doing::sweep);
    const Range range = std::exchange(work_, {});
    stretch_.placed = std::exchange(has_work_, false) && range.known;
    stretch_.from = range.from;
    stretch_.to = range.to;
    stretch_.steps = range.to - range.from;
    of_records_ = of_records;
    break;
  }
  case Kind::put_aside:
    aside_.push_back(std::exchange(work_, {}));
    has_work_ = false;
    break;
  case Kind::take_back:
    work_ = aside_.empty() ? Range{} : aside_.back();
    has_work_ = !aside_.empty();
    if (has_work_) aside_.pop_back();
    break;
  case Kind::abandon:
    if (action.slot < aside_.size()) aside_.erase(aside_.begin() + action.slot);
    break;
  case Kind::snapshot:
    ++now_.states_kept;
    if (detailed_) timeline_.keep(action.slot, {position, last_time_, last_time_, bytes});
    break;
  case Kind::discard:
    if (detailed_) timeline_.let_go(action.slot, last_time_);
    break;
  case Kind::restore:
  case Kind::thin:
  case Kind::weigh:
  case Kind::spill:
  case Kind::fetch:
  case Kind::done:
    break;
  }
}

// Of the first run that part was done in vain which is done once more. When the run stood where it goes on is not kept, so its
// time is shared out by steps; steps of what was cut off count nowhere, but their time does. Of a sweep that goes on behind this,
// the time of its records is added, and that of its operations is in no prediction.
void Recorder::ran_out(const Moment& now, std::uint64_t executed, const schedule::Schedule& schedule,
                       const schedule::Schedule::Relief& relief) {
  Spent& spent = now_.spent;
  spent.peak = std::max({spent.peak, now_.measured.peak.value_or(0), now.peak});
  const bool sweeps = going_ && stretch_.doing == Doing::sweep;
  work_ = {}; // a tape that is not being swept is given up
  has_work_ = false;
  if (relief.all) aside_.clear();
  if (relief.goes_on_from) {
    const std::uint64_t run = executed - spent.executed, in_vain = run - std::min(run, *relief.goes_on_from);
    const auto until_last = static_cast<double>(before_ + last_time_ - spent.time);
    std::uint64_t time_in_vain = time(now) - last_time_;
    if (run != 0)
      time_in_vain += static_cast<std::uint64_t>(until_last * static_cast<double>(in_vain) / static_cast<double>(run));
    spent.executed += in_vain;
    spent.time += time_in_vain;
    spent.time_of_first_run += time_in_vain;
    return;
  }
  spent.executed = executed;
  spent.time = before_ + time(now) + (sweeps ? of_records_ : 0);
  rest_is(executed, schedule);
}

void Recorder::rest_is(std::uint64_t executed, const schedule::Schedule& schedule) {
  if (!detailed_) return;
  now_.spent.before_rest = executed;
  now_.spent.rest = schedule.clone();
}

void Recorder::holders(Holders holders) {
  asked_ = holders.level;
  now_.held = std::move(holders);
}

bool Recorder::take_others_of_same(const schedule::Schedule::Foreseen& plan, bool known) {
  const auto last = looked_.find(now_.place);
  if (last == looked_.end()) return false;
  const Looked& at = last->second;
  if (at.known != known || at.executed != plan.executed || at.budget != plan.budget || at.one_tape != plan.one_tape ||
      at.time != plan.time)
    return false;
  now_.others = at.others;
  return true;
}

void Recorder::note_others(const schedule::Schedule::Foreseen& plan, bool known) {
  if (looked_.size() < kMostPlaces || looked_.contains(now_.place))
    looked_[now_.place] = {plan.executed, plan.budget, plan.one_tape, plan.time, known, now_.others};
}

void Recorder::stop_watches(Gradient& of) const {
  of.measured.seconds = watch.seconds() - watched_;
  of.planning_seconds = planning.seconds() - planned_;
}

const Gradient& Recorder::finish() {
  open_ = false;
  now_.complete = true;
  now_.time = last_time_;
  stop_watches(now_);
  if (now_.steps != 0) now_.measured.replay = static_cast<double>(now_.executed) / static_cast<double>(now_.steps);
  if (detailed_) timeline_.write(now_, last_time_);
  Calls& calls = calls_from(now_.place);
  ++calls.number;
  add(calls.all, now_);
  if (full_)
    calls.told = calls.number;
  else
    add(calls.untold, now_);
  if (wishes.keep && full_ && kept_.size() < kMostKept) kept_.push_back(now_);
  return now_;
}

std::optional<Calls> Recorder::due_line() {
  Calls& calls = calls_from(now_.place);
  if (full_ || !is_round(calls.number)) return {};
  Calls line = calls;
  calls.told = calls.number;
  calls.untold = {};
  return line;
}

std::vector<Calls> Recorder::rest() {
  std::vector<Calls> lines;
  for (auto& [place, calls] : calls_) {
    if (calls.told == calls.number) continue;
    lines.push_back(calls);
    calls.told = calls.number;
    calls.untold = {};
  }
  return lines;
}

std::optional<Gradient> Recorder::unfinished(const Moment& now) const {
  if (!detailed()) return broken_off_;
  Recorder left = *this;
  const bool sweeps = left.going_ && left.stretch_.doing == Doing::sweep;
  left.of_records_ = 0; // nobody knows of how many
  const std::uint64_t done = left.going_ && !sweeps ? now.clock - last_.clock : 0;
  Moment end = now;
  end.tapes = last_.tapes;
  end.states = last_.states;
  left.arrive(end, left.stretch_.from + done, now_.executed + done, now_.steps);
  left.now_.time = left.last_time_;
  stop_watches(left.now_);
  if (now_.steps != 0) left.now_.measured.replay = static_cast<double>(left.now_.executed) / static_cast<double>(now_.steps);
  left.timeline_.write(left.now_, left.last_time_);
  return left.now_;
}

void Recorder::break_off(const Moment& now) {
  if (auto gradient = unfinished(now)) broken_off_ = std::move(gradient);
  open_ = false;
}

} // namespace cairn::explain
