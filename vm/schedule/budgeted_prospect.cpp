// What a planned run takes, and what it would take within another budget.
#include "vm/schedule/binomials.h"
#include "vm/schedule/budgeted.h"

#include <algorithm>
#include <numeric>

namespace cairn::schedule {

namespace {

constexpr std::uint64_t kSurveyed = 64; // intervals of a survey that knows the run
// The same where there is a file. Tapes come back from it one by one, so that the least budget is a matter of how short they are.
constexpr std::uint64_t kSurveyedWithFile = 128;

} // namespace

std::optional<Schedule::Foreseen> Budgeted::foreseen(std::uint64_t total) const {
  if (stage_ != Stage::reversing || handed_over_) return std::nullopt;
  const std::uint64_t peak = older_ + peak_ + (most_in_file_ == 0 ? 0 : under_way());
  const std::uint64_t in_first_run = relieved_at_ != 0 ? 0 : known_ ? length() : total;
  return Schedule::Foreseen{in_first_run + again_,
                            std::min(peak, std::max(budget_, older_ + peak_)),
                            most_in_file_,
                            budget_,
                            time_beside_one_tape(),
                            cost_of_one_tape(),
                            left_for_rule(),
                            older_,
                            bounded(bytes_of_one_tape(profile_) + last_.bytes)};
}

// Of the plan at hand.
double Budgeted::time_beside_one_tape() const {
  const std::uint64_t cost = std::max<std::uint64_t>(1, cost_of_one_tape());
  if (relieved_at_ != 0) return static_cast<double>(again_cost_) / static_cast<double>(cost);
  return static_cast<double>(cost + more_than_one_tape()) / static_cast<double>(cost);
}

std::uint64_t Budgeted::cost_of_one_tape() const {
  std::uint64_t cost = last_.taped + last_.sweep;
  for (const Interval& interval : profile_.intervals) cost += interval.taped + interval.sweep;
  return cost;
}

std::uint64_t Budgeted::more_than_one_tape() const {
  std::uint64_t more = again_cost_;
  for (const Interval& interval : profile_.intervals) more += interval.again();
  return bounded(more + waiting_for_file(more));
}

std::uint64_t Budgeted::cost_of_steps(std::uint64_t steps) const {
  return static_cast<std::uint64_t>(std::min(Wide{steps} * step_cost_, Wide{kMostOfOne}));
}

std::uint64_t Budgeted::good_piece() const {
  std::uint64_t bytes = last_.bytes;
  for (std::size_t i = 0; i < profile_.size() && !handed_over_; ++i) bytes += tape_bytes(profile_, i, i + 1);
  return handed_over_ ? 0 : bytes / (spill_bytes_ == 0 ? kSurveyed : kSurveyedWithFile) / kRecordBytes;
}

// As weighing it told this interval, with births counted from the first one of the profile on.
Weights Budgeted::told_of(std::size_t i) const {
  const Interval& interval = profile_.intervals[i];
  const std::uint64_t steps = positions_[i + 1] - positions_[i];
  Weights weights;
  weights.state = profile_.reach[i + 1];
  for (std::size_t f = 0; f < kTapeForms; ++f) {
    TapeForm& form = weights.forms[f];
    form.tape.assign(i + 1, 0);
    form.after = form.tape;
    form.before.fill(form.tape);
    for (const TapeShare& share : interval.shares) {
      const TapeShare::Form& of = share.forms[f];
      form.tape[share.birth] = of.bytes;
      form.after[share.birth] = of.after;
      for (std::size_t b = 0; b < kTapeForms; ++b) form.before[b][share.birth] = of.before[b];
    }
    form.together = f == 0 ? profile_.born[i] : interval.born_of[f];
    form.again = interval.again_of[f];
    form.sweeping = interval.sweeping_of[f];
    form.more_if_parts = interval.more_if_parts_of[f];
  }
  weights.gone.assign(i + 1, 0);
  for (const TapeShare& share : interval.shares) weights.gone[share.birth] = share.gone;
  weights.own = interval.tape;
  weights.stays = interval.stays;
  weights.padding = interval.padding;
  weights.piece = interval.piece;
  weights.swept = interval.swept;
  weights.largest = largest_;
  weights.advancing = interval.advancing;
  weights.taping = interval.taping;
  weights.advancing_alone = interval.advancing_alone;
  weights.taping_alone = interval.taping_alone;
  weights.more_reads = interval.more_reads;
  weights.cost = interval.forward - std::min(interval.forward, cost_of_steps(steps));
  weights.encoding = interval.taped - std::min(interval.taped, interval.forward);
  weights.sweep = interval.sweep;
  weights.step = step_cost_;
  weights.fresh = fresh_cost_;
  weights.older = older_;
  weights.read = read_last_by(i);
  const std::vector<std::uint64_t>& reach = profile_.reach[i + 1];
  const std::uint64_t of_state = std::accumulate(reach.begin(), reach.end(), std::uint64_t{0});
  weights.beside_cotangents = profile_.cotangents[i + 1] - std::min(profile_.cotangents[i + 1], of_state);
  return weights;
}

std::vector<OldTensor> Budgeted::read_last_by(std::size_t interval) const {
  std::vector<OldTensor> read;
  for (const Read& tensor : reads_)
    if (tensor.last == interval && tensor.serial < kMade) read.push_back({tensor.serial, tensor.bytes});
  return read;
}

// One more interval of a first run. Where memory would run out in it, it begins again with less to keep, as in earnest. False:
// that would be of no use.
bool Budgeted::rehearse(const Weights& weights, std::uint64_t steps) {
  for (Budgeted before = *this;; before = *this) {
    stage_ = Stage::going;
    steps_ = steps;
    weighed(weights);
    todo_.clear();
    if (handed_over_ || peak_ <= most_of_plan()) return true;
    std::swap(*this, before);
    stage_ = Stage::running;
    if (!relieve_first_run(false)) {
      std::swap(*this, before);
      return false;
    }
    todo_.clear();
    again_cost_ = bounded(again_cost_ + before.profile_.intervals.back().forward);
  }
}

// The run once more, as if it came to these intervals under that budget.
std::optional<Schedule::Prospect> Budgeted::prospect(std::uint64_t budget, std::uint64_t piece) const {
  const std::size_t n = profile_.size();
  if (n == 0 || nested_) return std::nullopt;
  if (known_) { // as the next call would be planned
    Budgeted other = *this;
    other.relieved_at_ = 0;
    other.budget_ = bounded(budget);
    other.most_budget_ = 0;
    other.planned_beside_ = 0;
    other.plan_known(older_, budget == budget_); // of many other budgets, as when one that does is looked for, not
    return Schedule::Prospect{older_ + other.peak_, other.time_beside_one_tape(), other.peak_ <= other.most_of_plan()};
  }
  Budgeted other(bounded(budget), 0, piece, 0);
  other.may_spill(spill_bytes_, spill_ticks_);
  for (std::size_t i = 0; i < n && !other.handed_over_; ++i)
    if (!other.rehearse(told_of(i), positions_[i + 1] - positions_[i]))
      return Schedule::Prospect{older_ + other.peak_, other.time_beside_one_tape(), false};
  if (!other.handed_over_) {
    other.more_reads_ = more_reads_;
    other.note_reads(read_last_by(n), other.profile_.size());
    other.last_ = last_;
    other.stage_ = Stage::reversing;
    other.take_updates(*this, true);
    other.peak_ = std::max(other.peak_, bounded(other.held() + last_.bytes + last_.taping));
    other.plan_rest();
  }
  const std::uint64_t peak = older_ + other.peak_;
  return Schedule::Prospect{peak, other.time_beside_one_tape(), !other.handed_over_ && other.peak_ <= other.most_of_plan()};
}

} // namespace cairn::schedule
