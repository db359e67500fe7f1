// See residents.h.
#include "ops/plans/residents.h"

#include <algorithm>
#include <new>
#include <utility>

namespace cairn::ops::plans {

void Residents::begin(const Follower* follower, const Foresight* foresight) {
  follower_ = nullptr;
  foresight_ = nullptr;
  missing_.clear();
  if (follower == nullptr) return;
  missing_at_.resize(follower->plan().blocks().size());
  follower_ = follower;
  try {
    replan();
  } catch (...) {
    follower_ = nullptr;
    missing_.clear();
    throw;
  }
  foresight_ = foresight;
}

Residents::Class Residents::class_of(const Resident& resident) const {
  if (!resident.next.known()) return resident.dirty ? kOldDirty : kOldClean;
  const int copies =
      (resident.dirty && !resident.must_out ? 1 : 0) + (!resident.next.never() && resident.next.needs_elements ? 1 : 0);
  if (copies != 0 && leaves(resident)) return kLeaves;
  return copies == 0 ? kFree : copies == 1 ? kOnce : kTwice;
}

// The farthest next use first; where none is known, the oldest use.
Residents::Key Residents::key_of(Resident& resident) {
  return {resident.next.known() ? UINT64_MAX - resident.next.position : resident.used, resident.name, &resident};
}

void Residents::insert(Resident& resident) const {
  resident.next = follower_ == nullptr ? NextUse{} : follower_->next_use(resident.name);
  resident.must_out = resident.dirty && must_out(resident);
  orders_[class_of(resident)].insert(key_of(resident));
}

// Without memory to keep the order there is none until it is asked for again.
void Residents::insert_or_forget(Resident& resident) noexcept {
  if (!ordered_) return;
  try {
    insert(resident);
  } catch (const std::bad_alloc&) {
    forget_order();
  }
}

void Residents::erase(Resident& resident) const {
  if (ordered_) orders_[class_of(resident)].erase(key_of(resident));
}

void Residents::forget_order() const noexcept {
  for (auto& order : orders_) order.clear();
  ordered_ = false;
}

void Residents::order() const {
  forget_order();
  try {
    for (Resident* one = first_; one != nullptr; one = one->behind) insert(*one);
  } catch (...) {
    forget_order();
    throw;
  }
  ordered_ = true;
}

void Residents::add_missing(std::uint32_t block) {
  const NextUse next = follower_->next_use_of(block);
  if (!next.known() || next.never() || !next.needs_elements) return;
  missing_.emplace(next.position, block);
  missing_at_[block] = next.position;
}

void Residents::remove_missing(std::uint32_t block) noexcept {
  const std::uint64_t at = std::exchange(missing_at_[block], NextUse::kNever);
  if (at != NextUse::kNever) missing_.erase({at, block});
}

bool Residents::will_be_copied_out(const Resident& block) const {
  const auto use = follower_->last_write(block.name);
  return use && foresight_->copied_out[*use];
}

void Residents::put_in_order(Resident& block, bool dirty, Picoseconds free_at) noexcept {
  if (block.here)
    erase(block);
  else
    add(block);
  note(block, dirty, free_at);
  insert_or_forget(block);
  if (missing_.empty()) return;
  if (const auto planned = follower_->planned(block.name)) remove_missing(*planned);
}

void Residents::put_ahead(Resident& block, Picoseconds free_at) noexcept {
  put(block, false, free_at);
  erase(block);
  block.ahead = true;
  early_ += block.bytes;
  insert_or_forget(block);
}

void Residents::cleaned(Resident& block, Picoseconds free_at) noexcept {
  erase(block);
  block.dirty = false;
  block.free_at = std::max(block.free_at, free_at);
  insert_or_forget(block);
}

void Residents::take_out(Resident& block) noexcept {
  erase(block);
  not_ahead_any_more(block);
  block.here = false;
  block.free_at = 0;
  bytes_ -= block.bytes;
  --count_;
  (block.before != nullptr ? block.before->behind : first_) = block.behind;
  if (block.behind != nullptr) block.behind->before = block.before;
}

void Residents::remove(Resident& block) noexcept {
  if (!block.here) return;
  take_out(block);
  if (follower_ == nullptr) return;
  try {
    if (const auto planned = follower_->planned(block.name)) add_missing(*planned);
  } catch (const std::bad_alloc&) { // that it will be missed remains unknown
  }
}

void Residents::dropped(Name name) noexcept {
  if (missing_.empty()) return;
  if (const auto planned = follower_->planned(name)) remove_missing(*planned);
}

void Residents::replan() {
  if (follower_ == nullptr) return;
  if (ordered_) order();
  missing_.clear();
  std::ranges::fill(missing_at_, NextUse::kNever);
  if (!follower_->on_plan()) return;
  constexpr std::uint64_t is_here = NextUse::kUnknown;
  for (const Resident* one = first_; one != nullptr; one = one->behind)
    if (const auto planned = follower_->planned(one->name)) missing_at_[*planned] = is_here;
  for (std::uint32_t block = 0; block < missing_at_.size(); ++block)
    if (missing_at_[block] == is_here)
      missing_at_[block] = NextUse::kNever;
    else if (follower_->name_of(block))
      add_missing(block);
}

// What is worth least per byte, of those that may go, until there are enough. Where times are limits, what is free in time goes
// before what is not.
std::vector<Resident*> Residents::choose(const Want& want) const {
  if (!ordered_) order();
  std::vector<Resident*> chosen;
  std::uint64_t freed = 0;
  const std::uint64_t twice = foresight_ == nullptr ? 2 : foresight_->twice;
  const std::uint64_t here = follower_ == nullptr || !follower_->on_plan() ? 0 : follower_->position();
  for (const bool in_time : {true, false}) {
    if (freed >= want.bytes) break;
    if (!in_time && want.free_by == UINT64_MAX) break;
    std::set<Key>::const_iterator at[kClasses];
    for (unsigned c = 0; c < kClasses; ++c) at[c] = orders_[c].begin();
    const auto may_go = [&](const Key& key) {
      const Resident& resident = *key.resident;
      if (resident.pins != 0) return false;
      if (want.needed_at && resident.next.known() && resident.next.position <= *want.needed_at) return false;
      if (want.free_by == UINT64_MAX) return true;
      const bool is_written = resident.dirty && want.link != nullptr;
      const Picoseconds free =
          is_written ? std::max(resident.free_at, want.copy_out) + want.link->out(resident.bytes) : resident.free_at;
      return (free <= want.free_by) == in_time;
    };
    while (freed < want.bytes) {
      for (unsigned c = 0; c < kClasses; ++c)
        while (at[c] != orders_[c].end() && !may_go(*at[c])) ++at[c];
      unsigned best = kClasses;
      const auto has = [&](unsigned c) { return at[c] != orders_[c].end(); };
      const auto ahead = [&](unsigned c) { return UINT64_MAX - at[c]->order - here; }; // launches until it is used
      if (has(kFree) || has(kLeaves))
        best = has(kFree) ? kFree : kLeaves;
      else if (has(kOnce) && has(kTwice))
        best = ahead(kOnce) >= ahead(kTwice) / twice ? kOnce : kTwice;
      else if (has(kOnce) || has(kTwice))
        best = has(kOnce) ? kOnce : kTwice;
      else if (has(kOldClean) || has(kOldDirty))
        best = has(kOldClean) ? kOldClean : kOldDirty;
      if (best == kClasses) break;
      Resident* const resident = at[best]->resident;
      ++at[best];
      if (resident->bytes == 0) continue;
      chosen.push_back(resident);
      freed += resident->bytes;
    }
  }
  if (freed < want.bytes) return {};
  // From the one that is worth most: whoever is not needed stays.
  std::vector<Resident*> leaving;
  for (auto one = chosen.rbegin(); one != chosen.rend(); ++one) {
    if (freed - (*one)->bytes >= want.bytes)
      freed -= (*one)->bytes;
    else
      leaving.push_back(*one);
  }
  std::ranges::reverse(leaving);
  return leaving;
}

} // namespace cairn::ops::plans
