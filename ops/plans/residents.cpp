// See residents.h.
#include "ops/plans/residents.h"

#include <algorithm>
#include <utility>

namespace cairn::ops::plans {

Residents::Residents(const Follower* follower, const Foresight* foresight)
    : follower_(follower), foresight_(foresight),
      missing_at_(follower == nullptr ? 0 : follower->plan().blocks().size(), NextUse::kNever) {
  replan();
}

Residents::Class Residents::class_of(const Resident& resident) {
  if (!resident.next.known()) return resident.dirty ? kOldDirty : kOldClean;
  const int copies =
      (resident.dirty && !resident.must_out ? 1 : 0) + (!resident.next.never() && resident.next.needs_elements ? 1 : 0);
  return copies == 0 ? kFree : copies == 1 ? kOnce : kTwice;
}

// The farthest next use first; where none is known, the oldest use.
Residents::Key Residents::key_of(Name name, const Resident& resident) {
  return {resident.next.known() ? UINT64_MAX - resident.next.position : resident.used, name};
}

void Residents::insert(Name name, Resident& resident) const {
  if (!ordered_) return;
  resident.next = follower_ == nullptr ? NextUse{} : follower_->next_use(name);
  resident.must_out = resident.dirty && must_out(name);
  orders_[class_of(resident)].insert(key_of(name, resident));
}

void Residents::erase(Name name, const Resident& resident) const {
  if (ordered_) orders_[class_of(resident)].erase(key_of(name, resident));
}

void Residents::order() const {
  for (auto& order : orders_) order.clear();
  for (auto& [name, resident] : residents_) insert(name, resident);
}

void Residents::add_missing(std::uint32_t block) {
  const NextUse next = follower_->next_use_of(block);
  if (!next.known() || next.never() || !next.needs_elements) return;
  missing_at_[block] = next.position;
  missing_.emplace(next.position, block);
}

void Residents::remove_missing(std::uint32_t block) {
  const std::uint64_t at = std::exchange(missing_at_[block], NextUse::kNever);
  if (at != NextUse::kNever) missing_.erase({at, block});
}

bool Residents::must_out(Name name) const {
  if (foresight_ == nullptr || foresight_->copied_out.empty()) return false;
  const auto use = follower_->last_write(name);
  return use && foresight_->copied_out[*use];
}

void Residents::put(Name name, std::uint64_t bytes, bool dirty, Picoseconds free_at) {
  const auto [at, fresh] = residents_.try_emplace(name);
  Resident& resident = at->second;
  if (fresh)
    bytes_ += resident.bytes = bytes;
  else
    erase(name, resident);
  resident.dirty = dirty;
  resident.used = now_;
  resident.free_at = free_at;
  insert(name, resident);
  if (missing_.empty()) return;
  if (const auto block = follower_->planned(name)) remove_missing(*block);
}

void Residents::cleaned(Name name, Picoseconds free_at) {
  Resident& resident = residents_.at(name);
  erase(name, resident);
  resident.dirty = false;
  resident.free_at = std::max(resident.free_at, free_at);
  insert(name, resident);
}

void Residents::remove(Name name) {
  const auto at = residents_.find(name);
  if (at == residents_.end()) return;
  erase(name, at->second);
  bytes_ -= at->second.bytes;
  residents_.erase(at);
  if (follower_ == nullptr) return;
  if (const auto block = follower_->planned(name)) add_missing(*block);
}

void Residents::dropped(Name name) {
  remove(name);
  if (missing_.empty()) return;
  if (const auto block = follower_->planned(name)) remove_missing(*block);
}

void Residents::pin(Name name) { ++residents_.at(name).pins; }
void Residents::unpin(Name name) { --residents_.at(name).pins; }

void Residents::replan() {
  if (follower_ == nullptr) return;
  order();
  missing_.clear();
  std::ranges::fill(missing_at_, NextUse::kNever);
  if (!follower_->on_plan()) return;
  for (std::uint32_t block = 0; block < missing_at_.size(); ++block)
    if (const auto name = follower_->name_of(block); name && !residents_.contains(*name)) add_missing(block);
}

const Residents::Resident* Residents::find(Name name) const {
  const auto at = residents_.find(name);
  return at == residents_.end() ? nullptr : &at->second;
}

// What is worth least per byte, of those that may go, until there are enough. Where times are limits, what is free in time goes
// before what is not.
std::vector<Name> Residents::choose(const Want& want) const {
  if (!std::exchange(ordered_, true)) order();
  std::vector<std::pair<Name, std::uint64_t>> chosen;
  std::uint64_t freed = 0;
  const std::uint64_t twice = foresight_ == nullptr ? 2 : foresight_->twice;
  const std::uint64_t here = follower_ == nullptr || !follower_->on_plan() ? 0 : follower_->position();
  for (const bool in_time : {true, false}) {
    if (freed >= want.bytes) break;
    if (!in_time && want.free_by == UINT64_MAX) break;
    std::set<Key>::const_iterator at[kClasses];
    for (unsigned c = 0; c < kClasses; ++c) at[c] = orders_[c].begin();
    const auto may_go = [&](const Key& key) {
      const Resident& resident = residents_.find(key.name)->second;
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
      if (has(kFree))
        best = kFree;
      else if (has(kOnce) && has(kTwice))
        best = ahead(kOnce) >= ahead(kTwice) / twice ? kOnce : kTwice;
      else if (has(kOnce) || has(kTwice))
        best = has(kOnce) ? kOnce : kTwice;
      else if (has(kOldClean) || has(kOldDirty))
        best = has(kOldClean) ? kOldClean : kOldDirty;
      if (best == kClasses) break;
      const Name name = at[best]->name;
      ++at[best];
      const std::uint64_t bytes = residents_.find(name)->second.bytes;
      if (bytes == 0) continue;
      chosen.emplace_back(name, bytes);
      freed += bytes;
    }
  }
  if (freed < want.bytes) return {};
  // From the one that is worth most: whoever is not needed stays.
  std::vector<Name> names;
  for (auto one = chosen.rbegin(); one != chosen.rend(); ++one) {
    if (freed - one->second >= want.bytes)
      freed -= one->second;
    else
      names.push_back(one->first);
  }
  std::ranges::reverse(names);
  return names;
}

} // namespace cairn::ops::plans
