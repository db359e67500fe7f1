// The abstract machine: a position, slots with positions, a tape in work and a stack of tapes put aside.
#include "vm/schedule/checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace cairn::schedule {
namespace {

std::string_view name_of(Action::Kind kind) {
  switch (kind) {
  case Action::Kind::advance:
    return "advance";
  case Action::Kind::snapshot:
    return "snapshot";
  case Action::Kind::restore:
    return "restore";
  case Action::Kind::discard:
    return "discard";
  case Action::Kind::tape:
    return "tape";
  case Action::Kind::reverse:
    return "reverse";
  case Action::Kind::put_aside:
    return "put_aside";
  case Action::Kind::take_back:
    return "take_back";
  case Action::Kind::abandon:
    return "abandon";
  case Action::Kind::thin:
    return "thin";
  case Action::Kind::weigh:
    return "weigh";
  case Action::Kind::spill:
    return "spill";
  case Action::Kind::fetch:
    return "fetch";
  case Action::Kind::done:
    break;
  }
  return "done";
}

} // namespace

Checker::Checker(const Program& program, const Limits& limits) : program_(program), limits_(limits), unreversed_(program.total) {}

bool Checker::fail(const Action& action, std::string_view why) {
  report_.fault = fmt::format("action {} ({}, {} steps, slot {}) at {}: {}", report_.actions, name_of(action.kind), action.steps,
                              action.slot, here_ ? fmt::format("step {}", at_) : "no state", why);
  return false;
}

std::uint64_t Checker::records(const TapeRange& tape) const {
  return tape.there ? (tape.to - tape.from) * program_.records_per_1024_steps / 1024 : 0;
}

// Where a tape that begins at `from` comes to hold more records than that.
std::uint64_t Checker::steps_for(std::uint64_t records, std::uint64_t from) const {
  if (program_.records_per_1024_steps == 0 || records > UINT64_MAX / 1024 - 1) return UINT64_MAX;
  const std::uint64_t steps = (records + 1) * 1024 / program_.records_per_1024_steps + 1;
  return steps > UINT64_MAX - from ? UINT64_MAX : from + steps;
}

std::uint64_t Checker::bytes_of_snapshot() const {
  if (program_.sizes.empty()) return program_.snapshot_bytes;
  const auto behind = bytes_.upper_bound(at_);
  return program_.sizes.mean(behind == bytes_.begin() ? SnapshotSizes::kFirst : at_ - std::prev(behind)->first);
}

void Checker::note_tapes() {
  const std::uint64_t in_work = work_.there ? work_.to - work_.from : 0;
  std::uint64_t aside = 0, aside_records = 0;
  for (const TapeRange& tape : aside_) {
    aside += tape.to - tape.from;
    if (!tape.spilled) aside_records += records(tape);
  }
  report_.longest_tape = std::max(report_.longest_tape, in_work);
  report_.peak_tape_steps = std::max(report_.peak_tape_steps, in_work + aside);
  report_.peak_tape_records = std::max(report_.peak_tape_records, records(work_) + aside_records);
}

// Moves the current state on, at most to the end of the run.
bool Checker::run(const Action& action, std::uint64_t& reached) {
  if (!here_) return fail(action, "there is no current state to run from");
  const std::uint64_t left = program_.total - at_;
  if (end_told_ && action.steps != kToEnd && action.steps > left) return fail(action, "runs past an end that is known");
  reached = at_ + std::min(left, action.steps);
  if (reached == program_.total) end_seen_ = true;
  return true;
}

bool Checker::perform(const Action& action, Schedule& schedule) {
  if (finished_ || !report_.fault.empty()) return false;
  ++report_.actions;
  std::uint64_t reached = 0;
  switch (action.kind) {
  case Action::Kind::advance:
    if (work_.there) return fail(action, "there is a tape in work");
    if (action.steps == 0) return fail(action, "an advance of no steps");
    if (!run(action, reached)) return false;
    report_.advanced += reached - at_;
    ++starts_[at_];
    --starts_[reached];
    at_ = reached;
    break;
  case Action::Kind::snapshot:
    if (!here_) return fail(action, "there is no current state to keep");
    if (work_.there) return fail(action, "the current state is on the tape in work");
    if (!slots_.emplace(action.slot, at_).second) return fail(action, "the slot is full");
    if (slots_.size() > limits_.snapshots) return fail(action, "more snapshots than allowed");
    ++report_.snapshots;
    report_.peak_snapshots = std::max<std::uint64_t>(report_.peak_snapshots, slots_.size());
    held_bytes_ += bytes_.emplace(at_, bytes_of_snapshot())->second;
    report_.peak_snapshot_bytes = std::max(report_.peak_snapshot_bytes, held_bytes_);
    break;
  case Action::Kind::restore: {
    const auto slot = slots_.find(action.slot);
    if (slot == slots_.end()) return fail(action, "the slot is empty");
    here_ = true;
    at_ = slot->second;
    break;
  }
  case Action::Kind::discard: {
    const auto slot = slots_.find(action.slot);
    if (slot == slots_.end()) return fail(action, "the slot is empty");
    const auto bytes = bytes_.find(slot->second);
    held_bytes_ -= bytes->second;
    bytes_.erase(bytes);
    slots_.erase(slot);
    break;
  }
  case Action::Kind::tape:
    if (work_.there && work_.to != at_) return fail(action, "the tape in work ends elsewhere");
    if (!run(action, reached)) return false;
    if (const std::uint64_t most = steps_for(action.records, work_.there ? work_.from : at_); reached > most) {
      reached = std::max(most, at_ + 1);
      stopped_ = action.steps - (reached - at_);
      end_seen_ = end_told_;
    }
    work_ = {true, work_.there ? work_.from : at_, reached};
    report_.taped += reached - at_;
    at_ = reached;
    note_tapes();
    if (report_.longest_tape > limits_.tape_steps) return fail(action, "a longer tape than allowed");
    break;
  case Action::Kind::reverse:
    if (!work_.there) return fail(action, "there is no tape in work");
    if (!end_seen_ || work_.to != unreversed_) return fail(action, "the tape is not of the latest part not yet reversed");
    unreversed_ = work_.from;
    work_ = {};
    here_ = false; // no schedule may count on a state after a sweep
    break;
  case Action::Kind::put_aside:
    if (!work_.there) return fail(action, "there is no tape in work");
    aside_.push_back(std::exchange(work_, {}));
    break;
  case Action::Kind::take_back:
    if (work_.there) return fail(action, "there is a tape in work");
    if (aside_.empty()) return fail(action, "there is no tape aside");
    work_ = aside_.back();
    work_.spilled = false;
    aside_.pop_back();
    break;
  case Action::Kind::abandon:
    if (action.slot >= aside_.size()) return fail(action, "there is no such tape aside");
    aside_.erase(aside_.begin() + action.slot);
    break;
  case Action::Kind::thin:
    if (action.slot >= aside_.size()) return fail(action, "there is no such tape aside");
    break;
  case Action::Kind::weigh:
    if (!work_.there && report_.taped != 0) return fail(action, "there is no tape in work");
    break;
  case Action::Kind::spill:
    if (action.slot >= aside_.size()) return fail(action, "there is no such tape aside");
    if (std::exchange(aside_[action.slot].spilled, true)) return fail(action, "the tape is in the file already");
    ++report_.spilled;
    note_tapes();
    break;
  case Action::Kind::fetch:
    if (aside_.empty()) return fail(action, "there is no tape aside");
    break;
  case Action::Kind::done:
    if (!end_seen_ || unreversed_ != 0) return fail(action, "not everything is reversed");
    if (report_.taped < program_.total) return fail(action, "not every step was taped");
    if (work_.there || !aside_.empty()) return fail(action, "a tape is left over");
    if (!slots_.empty()) return fail(action, "a snapshot is left over");
    finished_ = true;
    return false;
  }
  tell(action, schedule);
  return true;
}

void Checker::tell(const Action& action, Schedule& schedule) {
  if (action.kind == Action::Kind::tape) {
    if (stopped_ != 0) schedule.stopped(std::exchange(stopped_, 0));
    if (schedule.weighs_stack()) schedule.stack(program_.stack_bytes);
    schedule.taped(records(work_));
  }
  if (end_seen_ && !end_told_) { // the last of all, as the executor tells it
    end_told_ = true;
    schedule.ended(program_.total);
  }
  if (action.kind == Action::Kind::snapshot) schedule.kept(bytes_.find(slots_.at(action.slot))->second);
  if (action.kind == Action::Kind::weigh) {
    // Each state is all its own, and so is each tape.
    Weights weights;
    weights.state.assign(++weighed_, 0);
    weights.forms[0].tape.assign(weighed_, 0);
    weights.state.back() = weights.forms[0].together = program_.snapshot_bytes;
    weights.own = records(work_) * kRecordBytes;
    schedule.weighed(weights);
  }
}

std::uint64_t Checker::most_repetitions() const {
  std::int64_t running = 0;
  std::int64_t most = 0;
  for (const auto& [position, change] : starts_) {
    running += change;
    most = std::max(most, running);
  }
  return static_cast<std::uint64_t>(most);
}

Report Checker::report() const {
  Report result = report_;
  if (result.fault.empty() && !finished_) result.fault = "the schedule is not done";
  result.repetitions = most_repetitions();
  const auto executed = static_cast<double>(result.advanced) + static_cast<double>(result.taped);
  result.replay_factor = program_.total == 0 ? 1.0 : executed / static_cast<double>(program_.total);
  return result;
}

Report check(Schedule& schedule, const Program& program, const Limits& limits) {
  Checker checker(program, limits);
  while (checker.perform(schedule.next(), schedule)) {
  }
  return checker.report();
}

std::optional<Report> predict(const Spec& spec, const Program& program, const Resources& resources) {
  const auto schedule = make(spec, resources);
  Checker checker(program, {});
  for (std::uint64_t actions = 0; checker.perform(schedule->next(), *schedule); ++actions)
    if (actions == kMostPredicted) return std::nullopt;
  return checker.report();
}

} // namespace cairn::schedule
