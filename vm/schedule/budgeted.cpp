// The first run of a heavy program under a budget: what is kept of it while it goes on, and what is let go of.
#include "vm/schedule/budgeted.h"

#include "vm/schedule/binomials.h"
#include "vm/schedule/keeping.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace cairn::schedule {

namespace {

// Of the budget, what is not planned with: what a program's own data grow by, code, what operators borrow while they run, and
// what it takes to walk over a state that is saved. Little of it grows with the budget.
constexpr std::uint64_t kReserve = 16;
constexpr std::uint64_t kEnoughReserve = std::uint64_t{512} << 10; // bytes, from which on such a part does:
constexpr std::uint64_t kLargeReserve = 32;
// Where most of it is what is older than the run, with its cotangents, little of it is in motion; but such a part is left in any
// case.
constexpr std::uint64_t kLeastReserve = 64;
// At most such a part is for what rules of an update hold while they run.
constexpr std::uint64_t kMostForRule = 32;
// However much the program holds already, plans are made for at least so much of the budget.
constexpr std::uint64_t kLeastRoom = 16;
// An interval should need no more than such a part of the room for its tape alone.
constexpr std::uint64_t kGoodInterval = 6;
// Where the rest of a run is for somebody else, such a part of that room stays with the states that are kept of it.
constexpr std::uint64_t kShareOfFront = 8;

} // namespace

Budgeted::Budgeted(std::uint64_t budget, std::uint64_t steps, std::uint64_t piece, std::uint64_t records)
    : budget_(budget), room_(budget / kLeastRoom), piece_(piece), most_steps_(kFirstSteps), steps_(steps), records_(records) {
  states_.push_back({0, slots_.take()});
}

std::optional<Action> Budgeted::next() {
  for (;;) {
    if (stage_ == Stage::asking) {
      stage_ = Stage::asked;
      return Action{Action::Kind::weigh};
    }
    misled_ = misled_ || (known_ && done_ == forward_ && !end_seen_);
    if (misled_) return std::nullopt;
    if (done_ < todo_.size()) return todo_[done_++];
    if (known_) return std::nullopt;
    todo_.clear();
    done_ = 0;
    switch (stage_) {
    case Stage::weighing:
      stage_ = Stage::going;
      return Action{Action::Kind::weigh};
    case Stage::going:
      if (handed_over_) return std::nullopt;
      stage_ = Stage::running;
      steps_ = most_steps_;
      return Action{Action::Kind::tape, steps_, 0, piece_};
    case Stage::running:
      stage_ = Stage::weighing;
      break;
    case Stage::ending:
    case Stage::reversing:
    case Stage::asking:
    case Stage::asked:
      return std::nullopt;
    }
  }
}

void Budgeted::stopped(std::uint64_t steps_left) { steps_ -= std::min(steps_left, steps_); }

void Budgeted::weighed(const Weights& weights) {
  step_cost_ = weights.step;
  fresh_cost_ = bounded(weights.fresh);
  if (stage_ == Stage::ending) return weighed_last(weights);
  if (stage_ == Stage::asked) return plan_known(weights.older, true);
  if (stage_ != Stage::going || handed_over_) return;
  if (profile_.size() == 0) {
    older_ = bounded(weights.older);
    set_room();
  }
  push(Action::Kind::put_aside);
  if (survey_) {
    push(Action::Kind::abandon);
    add_interval(weights);
    nested_ = weights.nested;
    if (nested_) return hand_over();
    return survey_interval();
  }
  tapes_.push_back(positions_.back());
  add_interval(weights);
  nested_ = weights.nested;
  if (nested_) return hand_over();
  states_.push_back({static_cast<std::uint32_t>(profile_.size()), slots_.take()});
  push(Action::Kind::snapshot, 0, states_.back().slot);
  peak_ = std::max(peak_, bounded(held() + bounded(weights.taping)));
  spare_fresh_memory();
  if (profile_.size() >= kMost) {
    coarsen(kPlanned, largest_tape());
    // Handed over, nearly all of it will be run once more.
    while (profile_.size() >= kMost && can_grow() && takes_too_long(static_cast<double>(cost_of_one_tape()) / 3)) {
      grow();
      coarsen(kPlanned, largest_tape());
    }
    if (profile_.size() >= kMost) return hand_over();
  } else if (const std::size_t good = good_number(); profile_.size() >= good) {
    coarsen(good - good / 4, room_for_one() / kGoodInterval);
  }
  left_for_next_ = bytes_of_next();
  make_room_that_pays(left_for_next_);
}

// What a tape lets go of now, the next interval uses, which else would take memory that nobody has used yet. So results that are
// computed again for less than that costs are not kept however much memory there is, the cheapest first, as far as it is little
// beside the run so far; tapes that nobody plans do the same. Some memory will be used in any case, while the run is reversed:
// for what is older than the run, by its cotangents, or by what an optimiser's first step makes of it.
void Budgeted::spare_fresh_memory() {
  constexpr std::uint64_t kPartsDoneAgain = 12, kMadeOfOlder = 3;
  std::uint64_t again = 0;
  for (const Interval& interval : profile_.intervals) again = bounded(again + interval.again());
  const std::vector<bool> tapes = kept_tapes(), spilled = spilled_tapes();
  for (const std::uint64_t most = cost_of_one_tape() / kPartsDoneAgain; held() > kMadeOfOlder * older_;) {
    std::size_t best = kNoInterval;
    PriceOfByte least{fresh_cost_, 1024};
    for (std::size_t i = 0; i < profile_.size(); ++i) {
      if (!tapes[i] || spilled[i] || next_form(profile_, i, 1) == 0) continue;
      const PriceOfByte price = price_of(profile_.intervals[i], 1);
      if (!(price < least) || again + price.cost > most) continue;
      best = i;
      least = price;
    }
    if (best == kNoInterval) return;
    again += least.cost;
    make_lean(best, 1);
  }
}

// Of the interval that comes next, as far as the last ones tell. Where it takes more, it begins again (budgeted_relief.cpp): to
// leave room for the largest that may come would cost more, as that room would never be used.
std::uint64_t Budgeted::bytes_of_next() const {
  constexpr std::size_t kLast = 2;
  const std::size_t n = profile_.size();
  std::uint64_t bytes = 0;
  for (std::size_t i = n - std::min(n, kLast); i < n; ++i) {
    const Interval& interval = profile_.intervals[i];
    bytes = std::max(bytes, bounded(2 * interval.tape + profile_.born[i] + interval.taping));
  }
  return bytes;
}

std::uint64_t Budgeted::left_alone() const {
  const std::uint64_t moving = budget_ - std::min(budget_, 2 * older_);
  return std::max(budget_ / kLeastReserve, std::min(moving / kReserve, std::max(moving / kLargeReserve, kEnoughReserve)));
}

std::uint64_t Budgeted::left_for_rule() const { return std::min(for_rule_, budget_ / kMostForRule); }

// Of what is left alone a gap may use a part.
std::uint64_t Budgeted::most_of_plan() const { return room_ + left_alone() / 4; }

void Budgeted::set_room() {
  if (most_budget_ != 0) budget_ = std::min(most_budget_, bounded((spare_ + older_) / (kReserve - 1) * kReserve));
  const std::uint64_t fixed = left_alone() + older_ + short_ + left_for_rule();
  const std::uint64_t most = most_budget_ != 0 ? spare_ : budget_;
  room_ = std::max(budget_ / kLeastRoom, std::min(most, budget_ - std::min(budget_, fixed)));
}

// As many intervals as plans can be made of, so that small budgets can be told from each other.
void Budgeted::survey_interval() {
  if (profile_.size() < kMost) return;
  coarsen(kPlanned, largest_tape());
  if (profile_.size() >= kMost) hand_over();
}

std::vector<bool> Budgeted::kept_states() const {
  std::vector<bool> states(profile_.size() + 1, false);
  for (const State& state : states_) states[state.boundary] = true;
  return states;
}

std::vector<bool> Budgeted::intervals_with(const std::vector<std::uint64_t>& tapes) const {
  std::vector<bool> with(profile_.size(), false);
  for (const std::uint64_t begin : tapes)
    with[static_cast<std::size_t>(std::upper_bound(positions_.begin(), positions_.end(), begin) - positions_.begin()) - 1] = true;
  return with;
}

// By a quarter.
void Budgeted::grow() {
  spare_ = bounded(spare_ + spare_ / 4);
  set_room();
}

double Budgeted::cost_again(std::uint64_t room) const {
  const Profile profile = with_reads();
  double again = Keeping(profile, room, 0, false, kept_states(), kept_tapes(), file()).cost();
  for (const Interval& interval : profile.intervals) again += static_cast<double>(interval.again());
  return again;
}

double Budgeted::cost_of_gaps() const {
  const double again = cost_again(room_);
  return again + static_cast<double>(waiting_for_file(bounded(static_cast<std::uint64_t>(again))));
}

// The best there is: one tape of everything, for which memory is used that nobody has touched before.
bool Budgeted::takes_too_long(double again) const {
  constexpr double kPatience = 1.25;
  const auto of_memory = [&](std::uint64_t bytes) {
    return static_cast<double>(bytes) * static_cast<double>(fresh_cost_) / 1024;
  };
  const std::uint64_t whole = bounded(tape_bytes(profile_, 0, profile_.size()) + last_.bytes);
  const auto tape = static_cast<double>(cost_of_one_tape());
  return tape + again + of_memory(std::min(spare_, whole)) > kPatience * (tape + of_memory(std::min(most_budget_, whole)));
}

void Budgeted::make_room_that_pays(std::uint64_t next) {
  while (can_grow()) {
    Budgeted trial = *this;
    trial.make_room(next);
    if (!trial.takes_too_long(trial.cost_of_gaps())) {
      *this = std::move(trial);
      return;
    }
    grow();
  }
  make_room(next);
}

// Tapes that are as lean as can be leave little to gain by letting go of any of them later. So both are tried where something has
// to go in any case: with results that cost little computed again, and with all of them.
void Budgeted::make_room(std::uint64_t next, std::uint64_t less) {
  const std::uint64_t room = room_ - std::min(room_, less);
  if (has_room(next, room)) return;
  Budgeted leanest = *this;
  if (make_room_with(1, next, room)) return;
  leanest.make_room_with(kTapeForms - 1, next, room);
  if (leanest.cost_again(room) < cost_again(room)) *this = std::move(leanest);
}

Keeping Budgeted::keeping(const Profile& profile, std::uint64_t next, std::uint64_t room) const {
  return {profile, room, next, stage_ == Stage::reversing, kept_states(), kept_tapes(), file()};
}

// As everything is.
bool Budgeted::has_room(std::uint64_t next, std::uint64_t room) {
  const Profile profile = with_reads();
  const Keeping now = keeping(profile, next, room);
  if (!now.fits()) return false;
  if (stage_ == Stage::reversing) peak_ = std::max(peak_, bounded(now.peak()));
  return true;
}

// Tapes become lean in forms up to that one, and what still has to goes; whether no more than that was to be done.
bool Budgeted::make_room_with(std::size_t most_form, std::uint64_t next, std::uint64_t room) {
  Profile profile = with_reads();
  // As few tapes as do, as little lean as does, or all: what lets go of a byte for the least comes first.
  struct Step {
    std::size_t interval;
    std::uint32_t form;
    PriceOfByte price;
  };
  std::vector<Step> steps;
  for (std::size_t i = 0; i < profile.size(); ++i) {
    Interval& interval = profile.intervals[i];
    for (std::uint32_t form = next_form(profile, i, most_form); form != 0; form = next_form(profile, i, most_form)) {
      steps.push_back({i, form, price_of(interval, form)});
      interval.form = form;
    }
  }
  std::stable_sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.price < b.price; });
  const auto fits = [&](std::size_t count) {
    for (std::size_t i = 0; i < profile.size(); ++i) profile.intervals[i].form = profile_.intervals[i].form;
    for (std::size_t i = 0; i < count; ++i) profile.intervals[steps[i].interval].form = steps[i].form;
    return keeping(profile, next, room).fits();
  };
  std::size_t few = 0, enough = steps.size();
  while (enough - few > 1) {
    const std::size_t middle = few + (enough - few) / 2;
    (fits(middle) ? enough : few) = middle;
  }
  for (std::size_t i = 0; i < enough; ++i) make_lean(steps[i].interval, steps[i].form);
  if (has_room(next, room)) return true;
  profile = with_reads();
  Keeping kept = keeping(profile, next, room);
  for (std::vector<Keeping::Drop> drops = kept.drop(); !drops.empty(); drops = kept.drop())
    for (const Keeping::Drop& drop : drops) {
      if (drop.what == Keeping::What::tape)
        drop_tape(drop.at);
      else if (drop.what == Keeping::What::state)
        drop_state(drop.at);
      else
        spill_tape(drop.at);
    }
  if (stage_ == Stage::reversing) peak_ = std::max(peak_, bounded(kept.peak()));
  return false;
}

void Budgeted::drop_state(std::size_t boundary) {
  const auto at = std::find_if(states_.begin(), states_.end(), [&](const State& state) { return state.boundary == boundary; });
  push(Action::Kind::discard, 0, at->slot);
  slots_.give(at->slot);
  states_.erase(at);
}

void Budgeted::make_lean(std::size_t interval, std::uint32_t form) {
  profile_.intervals[interval].form = form;
  const auto begin = std::lower_bound(tapes_.begin(), tapes_.end(), positions_[interval]);
  const auto end = std::lower_bound(begin, tapes_.end(), positions_[interval + 1]);
  for (auto tape = begin; tape != end; ++tape) push(Action::Kind::thin, form, static_cast<std::uint32_t>(tape - tapes_.begin()));
}

void Budgeted::drop_tape(std::size_t interval) {
  const auto begin = std::lower_bound(tapes_.begin(), tapes_.end(), positions_[interval]);
  const auto end = std::lower_bound(begin, tapes_.end(), positions_[interval + 1]);
  for (auto tape = begin; tape != end; ++tape)
    push(Action::Kind::abandon, 0, static_cast<std::uint32_t>(begin - tapes_.begin())); // the next one moves up
  std::erase_if(spilled_, [&](std::uint64_t at) { return at >= positions_[interval] && at < positions_[interval + 1]; });
  tapes_.erase(begin, end);
}

void Budgeted::hand_over() {
  handed_over_ = true;
  const std::vector<bool> tapes = kept_tapes();
  for (std::size_t i = 0; i < tapes.size(); ++i)
    if (tapes[i]) drop_tape(i);
  // What comes behind has states and tapes of its own, that state among them.
  if (states_.back().boundary == profile_.size()) drop_state(profile_.size());
  const Profile profile = with_reads();
  Keeping keeping(profile, room_for_one() / kShareOfFront, 0, false, kept_states(), kept_tapes());
  for (std::vector<Keeping::Drop> drops = keeping.drop(); !drops.empty(); drops = keeping.drop())
    for (const Keeping::Drop& drop : drops) drop_state(drop.at);
}

std::uint64_t Budgeted::room_for_rest() const {
  const std::uint64_t room = room_for_one();
  return room - std::min(room, held());
}

std::string Budgeted::explanation() const {
  return fmt::format("{} intervals {}, then planned within {} bytes beside {} that are older{}", profile_.size(),
                     known_ ? "known from an earlier run" : "of the first run taped and weighed", room_, older_,
                     most_budget_ != 0 ? ", as few as take little more time than all there are" : "");
}

bool Budgeted::sound() const {
  constexpr std::uint64_t kMostOfSum = std::uint64_t{1} << 60;
  const std::size_t n = profile_.size();
  if (!profile_.sound() || n > kMost || positions_.size() != n + 1 || stage_ > Stage::asked) return false;
  if (positions_.front() != 0 || positions_.back() > kMostOfSum || !std::is_sorted(positions_.begin(), positions_.end()))
    return false;
  if (last_.bytes > kMostOfOne || last_.taping > kMostOfOne || last_.next > kMostOfOne || last_.taped > kMostOfOne ||
      last_.sweep > kMostOfOne)
    return false;
  if (older_ > kMostOfOne || planned_beside_ > kMostOfSum || peak_ > kMostOfSum || again_ > kMostOfSum ||
      again_cost_ > kMostOfOne || step_cost_ > kMostOfOne || budget_ > kMostOfSum || room_ > kMostOfSum || piece_ > kMostOfOne ||
      steps_ > kMostOfSum || records_ > kMostOfSum || all_records_ > kMostOfOne || largest_ > kMostOfOne ||
      left_for_next_ > kMostOfOne || done_ > todo_.size() || most_budget_ > kMostOfSum || spare_ > kMostOfOne ||
      short_ > kMostOfOne || relieved_at_ > kMostOfSum || fresh_cost_ > kMostOfOne ||
      (most_budget_ != 0 && budget_ > most_budget_))
    return false;
  if (most_steps_ == 0 || most_steps_ > kMostOfOne || reads_.size() > kMostReads || more_reads_ > kMostOfOne) return false;
  if (!std::ranges::all_of(sweeps_, [&](const Sweep& sweep) { return sweep.from <= kMostOfSum && sweep.peak <= kMostOfOne; }))
    return false;
  const auto sweeps = static_cast<std::size_t>(std::ranges::count(todo_, Action::Kind::reverse, &Action::kind));
  if (stage_ == Stage::reversing && sweeps_.size() < sweeps) return false;
  const bool reversing = stage_ >= Stage::reversing; // with nothing left to decide
  if (known_ ? forward_ > todo_.size() || !reversing : stage_ > Stage::reversing || misled_) return false;
  const std::size_t readers = n + (reversing ? 1 : 0);
  for (std::size_t i = 0; i < reads_.size(); ++i)
    if (reads_[i].last >= readers || reads_[i].bytes > kMostOfOne || (i > 0 && reads_[i].serial <= reads_[i - 1].serial))
      return false;
  if (std::any_of(birth_of_.begin(), birth_of_.end(), [&](std::uint32_t birth) { return birth >= n; })) return false;
  for (std::size_t i = 0; i < tapes_.size(); ++i) { // each begins where the one before it ended, or where an interval does
    if (tapes_[i] >= positions_.back() || (i > 0 && tapes_[i] <= tapes_[i - 1])) return false;
    const auto behind = std::upper_bound(positions_.begin(), positions_.end(), tapes_[i]);
    if (*(behind - 1) != tapes_[i] && (i == 0 || tapes_[i - 1] < *(behind - 1))) return false;
  }
  if (spill_bytes_ > kMostOfOne || spill_ticks_ > kMostOfOne || moved_ > kMostOfSum || most_in_file_ > kMostOfSum ||
      !std::is_sorted(spilled_.begin(), spilled_.end()) ||
      !std::includes(tapes_.begin(), tapes_.end(), spilled_.begin(), spilled_.end()))
    return false;
  std::vector<std::uint32_t> held;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (states_[i].boundary > n || (i == 0 ? states_[i].boundary != 0 : states_[i].boundary <= states_[i - 1].boundary))
      return false;
    held.push_back(states_[i].slot);
  }
  if (!reversing) { // gaps have the state at their start
    const std::vector<bool> states = kept_states(), tapes = kept_tapes();
    for (std::size_t i = 0; i < n; ++i)
      if (!tapes[i] && (i == 0 || tapes[i - 1]) && !states[i]) return false;
  }
  return reversing == states_.empty() && slots_.sound(std::move(held));
}

} // namespace cairn::schedule
