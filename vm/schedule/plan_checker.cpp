// The abstract machine of plans: sets of held states and tapes, a current state, a boundary behind which everything is reversed.
#include "vm/schedule/plan_checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace cairn::schedule {
namespace {

class PlanChecker {
public:
  PlanChecker(const Profile& profile, std::set<std::size_t> held, bool current, std::size_t to)
      : profile_(profile), states_(std::move(held)), current_(current ? 0 : kNone), unreversed_(to) {
    report_.runs.assign(profile.size(), 0);
  }

  PlanReport run(const std::vector<Move>& moves) {
    for (const Move& move : moves) {
      if (const std::string_view wrong = perform(move); !wrong.empty()) return failed(wrong);
      ++performed_;
    }
    if (unreversed_ != 0) return failed("something is not reversed");
    if (!states_.empty()) return failed("a state is still held");
    return std::move(report_);
  }

private:
  static constexpr std::size_t kNone = SIZE_MAX;

  PlanReport failed(std::string_view wrong) {
    report_.fault = fmt::format("move {}: {}", performed_, wrong);
    return std::move(report_);
  }

  std::string_view run_one(std::size_t i, bool on_tape) {
    if (current_ != i || i >= unreversed_) return "the current state is not at its start, or it is reversed already";
    const Interval& interval = profile_.intervals[i];
    std::set<std::size_t> states = states_, tapes = tapes_;
    states.insert({i, i + 1});
    if (on_tape) tapes.insert(i);
    note(held_bytes(profile_, states, tapes) + (on_tape ? interval.taping : interval.advancing));
    report_.cost += on_tape ? interval.taped : interval.forward;
    ++report_.runs[i];
    tapes_ = std::move(tapes);
    current_ = i + 1;
    return {};
  }

  std::string_view perform(const Move& move) {
    const std::size_t at = move.at;
    if (at > profile_.size()) return "no such boundary in the run";
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
      note(held_bytes(profile_, states_, tapes_) + profile_.intervals[at].sweeping);
      report_.cost += profile_.intervals[at].sweep;
      tapes_.erase(at);
      unreversed_ = at;
      return {};
    }
    }
    return "no such move";
  }

  void note(std::uint64_t bytes) { report_.peak = std::max(report_.peak, bytes + profile_.cotangents[unreversed_]); }

  const Profile& profile_;
  std::set<std::size_t> states_, tapes_;
  std::size_t current_ = kNone;
  std::size_t unreversed_ = 0;
  std::size_t performed_ = 0;
  PlanReport report_;
};

} // namespace

PlanReport check(const Profile& profile, const std::vector<Move>& moves) {
  return PlanChecker(profile, {0}, true, profile.size()).run(moves);
}

PlanReport check(const Profile& profile, const std::vector<Move>& moves, const std::vector<std::uint32_t>& held, std::size_t to) {
  return PlanChecker(profile, {held.begin(), held.end()}, false, to).run(moves);
}

} // namespace cairn::schedule
