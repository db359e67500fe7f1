// See the header.
#include "vm/explain/timeline.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace cairn::explain {

namespace {

std::uint64_t length(const Stretch& s) { return s.end - s.begin; }

void join(Stretch& to, const Stretch& s) {
  to.from = std::min(to.from, s.from);
  to.to = std::max(to.to, s.to);
  to.placed = to.placed && s.placed;
  to.steps += s.steps;
  to.end += length(s);
  to.peak = std::max(to.peak, s.peak);
  to.level = s.level;
  to.tapes = s.tapes;
  to.states = s.states;
  to.actions += s.actions;
}

} // namespace

void Timeline::add(const Stretch& stretch) {
  stretches_.push_back(stretch);
  if (stretches_.size() <= kMostStretches) return;
  if (window_ == 0) window_ = std::max<std::uint64_t>(1, stretches_.back().end / kMostStretches);
  merge(); // what was added since the last time
  while (stretches_.size() > kMostStretches / 2 && window_ <= UINT64_MAX / 2) {
    window_ *= 2;
    merge();
  }
}

void Timeline::merge() {
  std::vector<Stretch> merged;
  std::size_t first = 0; // of the window at hand
  std::uint64_t window = 0;
  auto lay_out = [&] {
    for (std::size_t i = first + 1; i < merged.size(); ++i) {
      const std::uint64_t lasts = length(merged[i]);
      merged[i].begin = merged[i - 1].end;
      merged[i].end = merged[i].begin + lasts;
    }
  };
  for (const Stretch& s : stretches_) {
    if (merged.empty() || s.begin / window_ != window) {
      lay_out();
      first = merged.size();
      window = s.begin / window_;
    }
    const auto same = std::find_if(merged.begin() + static_cast<std::ptrdiff_t>(first), merged.end(),
                                   [&](const Stretch& m) { return m.doing == s.doing; });
    if (same == merged.end())
      merged.push_back(s);
    else
      join(*same, s);
  }
  lay_out();
  stretches_ = std::move(merged);
}

void Timeline::keep(std::uint32_t slot, const KeptState& state) {
  held_[slot] = states_.size();
  states_.push_back(state);
  if (states_.size() > kMostStates) thin();
}

void Timeline::let_go(std::uint32_t slot, std::uint64_t time) {
  const auto at = held_.find(slot);
  if (at == held_.end()) return; // kept before anybody looked
  KeptState& state = states_[at->second];
  if (--state.open == 0) state.end = time;
  held_.erase(at);
}

void Timeline::thin() {
  const std::size_t none = states_.size();
  std::vector<std::size_t> to(none); // where each one goes
  std::iota(to.begin(), to.end(), std::size_t{0});
  std::vector<std::size_t> closed, open;
  for (std::size_t i = 0; i < none; ++i) (states_[i].open == 0 ? closed : open).push_back(i);
  if (closed.size() >= none / 2) {
    auto lived = [&](std::size_t i) { return states_[i].end - states_[i].begin; };
    std::stable_sort(closed.begin(), closed.end(), [&](std::size_t a, std::size_t b) { return lived(a) < lived(b); });
    closed.resize(closed.size() / 2);
    for (const std::size_t i : closed) {
      left_out_ += states_[i].number;
      to[i] = none;
    }
  } else {
    std::stable_sort(open.begin(), open.end(), [&](std::size_t a, std::size_t b) { return states_[a].step < states_[b].step; });
    for (std::size_t i = 0; i + 1 < open.size(); i += 2) {
      KeptState& a = states_[open[i]];
      const KeptState& b = states_[open[i + 1]];
      a.begin = std::min(a.begin, b.begin);
      a.bytes += b.bytes;
      a.number += b.number;
      a.open += b.open;
      to[open[i + 1]] = open[i];
    }
  }
  std::vector<KeptState> left;
  std::vector<std::size_t> place(none);
  for (std::size_t i = 0; i < none; ++i) {
    if (to[i] != i) continue;
    place[i] = left.size();
    left.push_back(states_[i]);
  }
  for (auto& [slot, at] : held_) at = place[to[at]];
  states_ = std::move(left);
}

void Timeline::write(Gradient& gradient, std::uint64_t time) const {
  gradient.timeline = stretches_;
  gradient.states = states_;
  for (KeptState& state : gradient.states)
    if (state.open != 0) state.end = time;
  gradient.states_left_out = left_out_;
}

} // namespace cairn::explain
