// The abstract machine of plans: sets of held states and tapes, a current state, a boundary behind which everything is reversed.
#include "vm/schedule/plan_checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace cairn::schedule {
namespace {

class PlanChecker {
public:
  PlanChecker(const Profile& profile, PartHeld held, bool current)
      : profile_(profile), from_(held.from), states_(std::move(held.states)), tapes_(std::move(held.tapes)),
        current_(current ? held.from : kNone), unreversed_(held.to) {
    report_.runs.assign(held.to - held.from, 0);
  }

  PlanReport run(const std::vector<Move>& moves) {
    for (const Move& move : moves) {
      if (const std::string_view wrong = perform(move); !wrong.empty()) return failed(wrong);
      ++performed_;
    }
    if (unreversed_ != from_) return failed("something is not reversed");
    if (!states_.empty() && *states_.rbegin() >= from_) return failed("a state is still held");
    return std::move(report_);
  }

private:
  static constexpr std::size_t kNone = kNoInterval;

  PlanReport failed(std::string_view wrong) {
    report_.fault = fmt::format("move {}: {}", performed_, wrong);
    return std::move(report_);
  }

  std::string_view run_one(std::size_t i, bool on_tape) {
    if (current_ != i || i >= unreversed_) return "the current state is not at its start, or it is reversed already";
    const Interval& interval = profile_.intervals[i];
    std::set<std::size_t> states = states_;
    if (on_tape) tapes_.insert(i);
    const auto held = [&] { return held_bytes(profile_, states, tapes_, on_tape ? i : kNone); };
    states.insert(i + 1);
    const std::uint64_t beside_end = held();
    states.insert(i);
    note(running_bytes(interval, on_tape, held(), beside_end));
    report_.cost += on_tape ? interval.taped : interval.forward;
    ++report_.runs[i - from_];
    current_ = i + 1;
    work_ = on_tape ? i : kNone;
    return {};
  }

  std::string_view perform(const Move& move) {
    const std::size_t at = move.at + from_;
    if (at > profile_.size()) return "no such boundary in the run";
    const std::size_t work = std::exchange(work_, kNone);
    switch (move.kind) {
    case Move::Kind::advance:
      return run_one(at, false);
    case Move::Kind::tape:
      return tapes_.contains(at) ? "that tape is held already" : run_one(at, true);
    case Move::Kind::keep:
      if (current_ != at) return "the state to keep is not current";
      return states_.insert(at).second ? "" : "it is held already";
    case Move::Kind::drop:
      return states_.erase(at) == 1 ? "" : "no such state is held";
    case Move::Kind::restore:
      if (!states_.contains(at)) return "no such state is held";
      current_ = at;
      return {};
    case Move::Kind::sweep: {
      if (at + 1 != unreversed_ || !tapes_.contains(at))
        return "not the last interval that is not reversed, or it is not on tape";
      current_ = kNone;
      // What has not been put aside is not lean.
      const Interval& interval = profile_.intervals[at];
      const bool whole = work == at && interval.form != 0;
      note(held_bytes(profile_, states_, tapes_, whole ? at : kNone) + (whole ? interval.sweeping_of[0] : interval.sweeping()));
      report_.cost += interval.sweep;
      report_.sweeps.push_back(std::exchange(since_sweep_, 0));
      tapes_.erase(at);
      unreversed_ = at;
      return {};
    }
    }
    return "no such move";
  }

  void note(std::uint64_t bytes) {
    bytes += profile_.cotangents[unreversed_];
    report_.peak = std::max(report_.peak, bytes);
    since_sweep_ = std::max(since_sweep_, bytes);
  }

  const Profile& profile_;
  std::size_t from_ = 0;
  std::set<std::size_t> states_, tapes_;
  std::size_t current_ = kNone;
  std::size_t work_ = kNone; // the interval of the tape in work
  std::size_t unreversed_ = 0;
  std::size_t performed_ = 0;
  std::uint64_t since_sweep_ = 0; // the most bytes since the last one
  PlanReport report_;
};

} // namespace

PlanReport check(const Profile& profile, const std::vector<Move>& moves) {
  return PlanChecker(profile, {0, profile.size(), {0}, {}}, true).run(moves);
}

PlanReport check(const Profile& profile, const std::vector<Move>& moves, const std::vector<std::uint32_t>& held, std::size_t to) {
  return check_part(profile, moves, {0, to, {held.begin(), held.end()}, {}});
}

PlanReport check_part(const Profile& profile, const std::vector<Move>& moves, const PartHeld& held) {
  return PlanChecker(profile, held, false).run(moves);
}

} // namespace cairn::schedule
