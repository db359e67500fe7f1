// See layered_machine.h.
#include "test/schedule/layered_machine.h"

#include "vm/schedule/cost_table.h"

#include <algorithm>
#include <iterator>

namespace cairn::schedule::test {

std::set<std::size_t> Layers::state(std::size_t at) const {
  std::set<std::size_t> alive = {at};
  for (std::size_t i = at; i < size(); ++i)
    if (skip[i] <= at) alive.insert(skip[i]);
  alive.erase(0);
  return alive;
}

std::set<std::size_t> Layers::tape(std::size_t from, std::size_t to, std::uint64_t lean) const {
  std::set<std::size_t> kept;
  for (std::size_t i = from; i < to; ++i) kept.insert({i, i + 1, skip[i]});
  kept.erase(0);
  std::erase_if(kept, [&](std::size_t i) { return i > from && level[i] != 0 && level[i] <= lean; });
  return kept;
}

std::uint64_t Layers::bytes(const std::set<std::size_t>& activations) const {
  std::uint64_t sum = 0;
  for (const std::size_t i : activations) sum += activation[i];
  return sum;
}

std::uint64_t Layers::own_bytes(std::size_t from, std::size_t to) const {
  std::uint64_t sum = 0;
  for (std::size_t i = from; i < to; ++i) sum += own[i];
  return sum;
}

Layers random_layers(Random& random, std::size_t steps) {
  Layers layers;
  layers.activation.push_back(0);
  layers.level.push_back(0);
  const std::uint64_t cheap = random.below(4); // of four
  for (std::size_t i = 0; i < steps; ++i) {
    layers.activation.push_back((1 + random.below(16)) << 10);
    layers.own.push_back((1 + random.below(random.below(8) == 0 ? 64 : 8)) << 10);
    layers.skip.push_back(random.below(4) == 0 ? i - std::min<std::size_t>(i, random.below(6)) : i);
    layers.weight.push_back(random.below(4) == 0 ? random.below(16) << 10 : 0);
    layers.level.push_back(layers.level.back() == 0 && random.below(4) < cheap ? 1 + random.below(kTapeForms - 1) : 0);
  }
  return layers;
}

Machine& Machine::within(std::uint64_t bytes) {
  limit_ = bytes;
  return *this;
}

Machine& Machine::with_fresh(std::uint64_t ticks, std::uint64_t older) {
  fresh_ = ticks;
  older_ = older;
  return *this;
}

Outcome Machine::run() {
  for (int actions = 0; actions < 100000; ++actions) {
    const Action a = schedule_->next();
    outcome_.misled = schedule_->misled();
    if (outcome_.misled) return outcome_;
    if (a.kind == Action::Kind::done) {
      if (schedule_->surveyed()) return outcome_;
      CHECK((slots_.empty() && aside_.empty() && !work_ && unreversed_ == 0));
      outcome_.reversed = unreversed_ == 0;
      return outcome_;
    }
    perform(a);
    if (outcome_.refused) return outcome_;
    note();
    if (actions % 16 == 0) { // what a capsule of it would have goes on as it does
      std::vector<std::uint64_t> words;
      schedule_->save(words);
      schedule_ = restore(words);
      REQUIRE(schedule_ != nullptr);
    }
  }
  return outcome_;
}

void Machine::perform(const Action& a) {
  switch (a.kind) {
  case Action::Kind::advance:
  case Action::Kind::tape: {
    REQUIRE(here_);
    REQUIRE((a.kind == Action::Kind::tape || !work_));
    if (a.kind == Action::Kind::tape && !work_) work_ = Range{at_, at_};
    const std::size_t before = at_;
    while (at_ < layers_.size() && at_ - before < a.steps && (!work_ || at_ == before || records() <= a.records)) {
      ++at_;
      if (work_) work_->to = at_;
      if (runs_out()) {
        outcome_.executed += at_ - before;
        return relieve(Schedule::During::run);
      }
      note();
    }
    outcome_.executed += at_ - before;
    const bool ends = !ended_ && at_ == layers_.size();
    ended_ = ended_ || ends;
    if (work_ && !ends && at_ - before < a.steps) schedule_->stopped(a.steps - (at_ - before));
    if (work_) schedule_->taped(records());
    if (ends) schedule_->ended(at_);
    break;
  }
  case Action::Kind::snapshot:
    REQUIRE((here_ && !work_ && !slots_.contains(a.slot)));
    slots_[a.slot] = at_;
    schedule_->kept(layers_.bytes(layers_.state(at_)));
    break;
  case Action::Kind::restore:
    REQUIRE((slots_.contains(a.slot) && !work_));
    at_ = slots_[a.slot];
    here_ = true;
    break;
  case Action::Kind::discard:
    REQUIRE(slots_.erase(a.slot) == 1);
    break;
  case Action::Kind::reverse: {
    REQUIRE((work_ && ended_ && work_->to == (unreversed_ == kNotYet ? layers_.size() : unreversed_)));
    if (std::exchange(work_->lean, 0) != 0) // computed again, all of it at once as if each operation needed the others
      unreversed_ = work_->from;
    else
      unreversed_ = work_->to;
    for (; work_->to > work_->from; --work_->to) { // what is swept is gone, one after the other
      unreversed_ = std::min(unreversed_, work_->to - 1);
      if (runs_out()) relieve(Schedule::During::sweep);
      if (outcome_.refused) return;
      note(); // the cotangents at both its ends
    }
    work_.reset();
    here_ = false;
    break;
  }
  case Action::Kind::put_aside:
    REQUIRE(work_);
    aside_.push_back(*work_);
    work_.reset();
    break;
  case Action::Kind::take_back:
    REQUIRE((!work_ && !aside_.empty()));
    work_ = aside_.back();
    work_->spilled = work_->fetched = false;
    aside_.pop_back();
    break;
  case Action::Kind::abandon:
    REQUIRE(a.slot < aside_.size());
    aside_.erase(aside_.begin() + a.slot);
    break;
  case Action::Kind::thin:
    REQUIRE((a.slot < aside_.size() && a.steps > aside_[a.slot].lean && a.steps < kTapeForms));
    aside_[a.slot].lean = a.steps;
    ++outcome_.thinned;
    break;
  case Action::Kind::spill: {
    REQUIRE((a.slot < aside_.size() && !aside_[a.slot].spilled));
    aside_[a.slot].spilled = true;
    ++outcome_.spilled;
    std::set<std::size_t> there;
    for (const Range& tape : aside_)
      if (tape.spilled) there.merge(kept_by(tape));
    outcome_.in_file = std::max(outcome_.in_file, layers_.bytes(there));
    break;
  }
  case Action::Kind::fetch: {
    REQUIRE((!aside_.empty() && !work_));
    std::uint64_t bytes = 0;
    for (std::size_t i = aside_.size(); i-- > 0 && aside_[i].spilled;) {
      bytes += layers_.bytes(kept_by(aside_[i]));
      if (bytes > a.records) break;
      aside_[i].fetched = true;
    }
    break;
  }
  case Action::Kind::weigh:
    tell_weights();
    break;
  case Action::Kind::done:
    break;
  }
}

std::uint64_t Machine::records() const {
  std::uint64_t bytes = layers_.own_bytes(work_->from, work_->to);
  for (std::size_t i = work_->from; i < work_->to; ++i) bytes += layers_.activation[i + 1];
  return bytes / 32;
}

void Machine::tell_weights() {
  ++outcome_.weighed;
  if (!work_) {
    REQUIRE(births_.empty());
    return schedule_->weighed({});
  }
  REQUIRE((here_ && at_ == work_->to));
  if (births_.empty()) births_.push_back(0);
  auto by_birth = [&](const std::set<std::size_t>& activations) {
    std::vector<std::uint64_t> bytes(births_.size(), 0);
    for (const std::size_t i : activations) { // activation i is made by step i - 1
      const auto behind = std::upper_bound(births_.begin(), births_.end(), i - 1);
      bytes[static_cast<std::size_t>(behind - births_.begin()) - 1] += layers_.activation[i];
    }
    return bytes;
  };
  const std::set<std::size_t> state = layers_.state(at_), tape = layers_.tape(work_->from, work_->to);
  std::set<std::size_t> both = state;
  both.insert(tape.begin(), tape.end());
  const std::vector<std::uint64_t> of_state = by_birth(state), of_tape = by_birth(tape), of_both = by_birth(both);
  std::vector<OldTensor> read;
  for (std::size_t i = work_->from; i < work_->to; ++i)
    if (layers_.weight[i] != 0) read.push_back({i, layers_.weight[i]});
  Weights weights;
  weights.state = of_state;
  weights.forms[0].together = of_both.back();
  auto common = [](const std::set<std::size_t>& a, const std::set<std::size_t>& b) {
    std::set<std::size_t> both;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::inserter(both, both.end()));
    return both;
  };
  std::set<std::size_t> gone = tape;
  for (const std::size_t i : state) gone.erase(i);
  weights.gone = by_birth(gone);
  // The cotangent of each activation, and of what is read of x.
  std::uint64_t sweeping = layers_.bytes(tape) + layers_.bytes(layers_.state(work_->from));
  for (const OldTensor& tensor : read) sweeping += tensor.bytes;
  for (std::size_t level = 0; level < kTapeForms; ++level) {
    const std::set<std::size_t> kept = layers_.tape(work_->from, work_->to, level);
    TapeForm& form = weights.forms[level];
    form.tape = by_birth(kept);
    form.after = by_birth(common(kept, state));
    for (std::size_t before = 0; weighed_ && before < kTapeForms; ++before)
      form.before[before] = by_birth(common(kept, layers_.tape(weighed_->from, weighed_->to, before)));
    form.again = 10 * level * (tape.size() - kept.size());
    form.sweeping = sweeping + layers_.bytes(tape) - layers_.bytes(kept);
  }
  weighed_ = work_;
  weights.own = weights.stays = layers_.own_bytes(work_->from, work_->to);
  weights.largest = layers_.largest();
  weights.read = read;
  weights.cost = 1000 * (work_->to - work_->from);
  weights.sweep = 2 * weights.cost;
  weights.step = CostTable().ticks_of_step();
  weights.fresh = fresh_;
  weights.older = older_;
  births_.push_back(at_);
  schedule_->weighed(weights);
}

void Machine::relieve(Schedule::During during) {
  const std::optional<Schedule::Relief> relief = schedule_->relieve(during, false);
  outcome_.refused = !relief;
  if (!relief) return;
  ++outcome_.relieved;
  for (const std::uint32_t slot : relief->slots) REQUIRE(slots_.erase(slot) == 1);
  if (relief->all) {
    aside_.clear();
    slots_ = {{0, 0}};
  }
  if (during == Schedule::During::sweep) return;
  work_.reset();
  here_ = false;
}

std::uint64_t Machine::level() const {
  std::set<std::size_t> held;
  std::uint64_t own = 0;
  auto hold = [&](const std::set<std::size_t>& more) { held.insert(more.begin(), more.end()); };
  for (const auto& [slot, at] : slots_) hold(layers_.state(at));
  if (here_) hold(layers_.state(at_));
  auto hold_tape = [&](const Range& tape) {
    if (!tape.spilled || tape.fetched) hold(kept_by(tape));
    own += layers_.own_bytes(tape.from, tape.to);
  };
  for (const Range& tape : aside_) hold_tape(tape);
  if (work_) hold_tape(*work_);
  std::uint64_t cotangents = 0;
  if (unreversed_ != kNotYet) {
    cotangents = layers_.bytes(layers_.state(unreversed_));
    for (std::size_t i = unreversed_; i < layers_.size(); ++i) cotangents += layers_.weight[i];
  }
  return layers_.bytes(held) + own + cotangents;
}

Machine machine_for(const Layers& layers, std::uint64_t memory) {
  Spec spec = spec_of("budget");
  spec.memory = memory;
  return {layers, spec};
}

Outcome planned(const Layers& layers, std::uint64_t memory, std::uint64_t fresh) {
  return machine_for(layers, memory).within(memory).with_fresh(fresh).run();
}

} // namespace cairn::schedule::test
