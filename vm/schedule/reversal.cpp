// The walk back over kept states. The stretch in hand always runs from the latest kept state to the end; it is taped if it is
// short enough, otherwise cut, with a new kept state at the cut.
#include "vm/schedule/reversal.h"

#include "vm/schedule/binomials.h"

#include <algorithm>
#include <utility>

namespace cairn::schedule {

std::uint32_t Slots::take() {
  if (free_.empty()) return fresh_++;
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  return slot;
}

bool Slots::sound(std::vector<std::uint32_t> held) const {
  held.insert(held.end(), free_.begin(), free_.end());
  if (fresh_ < first_ || held.size() != fresh_ - first_) return false;
  std::sort(held.begin(), held.end());
  for (std::uint32_t i = 0; i < held.size(); ++i)
    if (held[i] != first_ + i) return false;
  return true;
}

Reversal::Reversal(Cut cut, std::uint64_t base, std::uint64_t limit, std::vector<KeptState> kept, Slots slots, std::uint64_t end)
    : cut_(cut), base_(base), limit_(std::min(limit, kNoLimit)), end_(end), kept_(std::move(kept)), slots_(std::move(slots)) {}

std::uint64_t Reversal::cut_after(std::uint64_t steps) const {
  if (cut_ == Cut::halves) return steps / 2;
  const std::uint64_t units = (steps - 1) / base_ + 1;
  const std::uint64_t held_below = kept_.size() - 1;
  return split(limit_ > held_below ? limit_ - held_below : 1, units) * base_;
}

Action Reversal::tape() {
  const std::uint64_t steps = end_ - at_;
  taped_to_ = end_;
  end_ = at_;
  at_ = kNowhere;
  stage_ = Stage::reverse;
  return {Action::Kind::tape, steps, 0};
}

std::optional<Action> Reversal::next() {
  switch (stage_) {
  case Stage::tape:
    return tape();
  case Stage::reverse:
    stage_ = Stage::choose;
    return Action{Action::Kind::reverse, 0, 0};
  case Stage::choose:
    break;
  }
  if (kept_.empty()) return std::nullopt;
  const KeptState top = kept_.back();
  if (at_ == kNowhere) {
    at_ = top.position;
    return Action{Action::Kind::restore, 0, top.slot};
  }
  const bool short_enough = cut_ == Cut::never || end_ - at_ <= base_;
  if (at_ == top.position && short_enough) {
    // The last use of this state: giving it up before the tape lets the machine update its frames in place.
    kept_.pop_back();
    slots_.give(top.slot);
    stage_ = Stage::tape;
    return Action{Action::Kind::discard, 0, top.slot};
  }
  if (short_enough) return tape();
  if (at_ != top.position) {
    kept_.push_back({at_, slots_.take()});
    return Action{Action::Kind::snapshot, 0, kept_.back().slot};
  }
  const std::uint64_t steps = cut_after(end_ - at_);
  at_ += steps;
  return Action{Action::Kind::advance, steps, 0};
}

std::optional<Schedule::Relief> Reversal::relieve(bool sweeping, bool at_last) {
  const std::size_t fewest = at_last ? 1 : 4; // with fewer states it is cheaper to begin again, where that is possible
  const bool taping = !sweeping && stage_ == Stage::reverse;
  const bool fewer = kept_.size() > fewest;
  const bool shorter = taping && base_ / 2 >= (at_last && !fewer ? 1 : kLeastBase);
  if (cut_ == Cut::never || (!fewer && !shorter)) return std::nullopt;
  Schedule::Relief relief;
  if (kept_.empty()) { // the tape began at the last state that there was
    if (!at_last) return std::nullopt;
    Slots slots;
    const std::uint32_t start = slots.take();
    *this = Reversal(Cut::revolve, base_ / 2, 1, {{0, start}}, slots, taped_to_);
    relief.all = true;
    return relief;
  }
  if (fewer) { // the nearest one, since the least is run again for it
    relief.slots.push_back(kept_.back().slot);
    slots_.give(kept_.back().slot);
    kept_.pop_back();
  }
  limit_ = std::max(fewest, std::min<std::size_t>(limit_, kept_.size()));
  if (at_last) cut_ = Cut::revolve; // which keeps to the limit
  if (sweeping) return relief;
  if (shorter) base_ /= 2;
  if (taping) end_ = taped_to_;
  at_ = kNowhere;
  stage_ = Stage::choose;
  return relief;
}

bool Reversal::sound() const {
  if (taped_to_ < end_ && stage_ == Stage::reverse) return false;
  if (cut_ > Cut::revolve || stage_ > Stage::reverse || (cut_ != Cut::never && base_ == 0) || limit_ > kNoLimit) return false;
  std::vector<std::uint32_t> held;
  std::uint64_t least = 0;
  for (const KeptState& state : kept_) {
    if (state.position < least || state.position > end_) return false;
    least = state.position + 1;
    held.push_back(state.slot);
  }
  if (!slots_.sound(std::move(held))) return false;
  if (at_ == kNowhere) return stage_ != Stage::tape;
  const std::uint64_t bottom = kept_.empty() ? 0 : kept_.back().position;
  return stage_ != Stage::reverse && at_ >= bottom && at_ <= end_ && (stage_ == Stage::tape || !kept_.empty());
}

} // namespace cairn::schedule
