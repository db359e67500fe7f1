// See follower.h.
#include "ops/plans/follower.h"

#include "ops/plans/hashing.h"

#include <algorithm>

namespace cairn::ops::plans {
namespace {

// What an access looks like without the names of what was made.
void add(Digest& digest, Name name, std::uint64_t bytes, Use use) {
  digest.add(is_born(name) ? kBorn : name);
  digest.add(bytes << 2 | static_cast<std::uint64_t>(use));
}

std::uint64_t window_of(std::span<const std::uint64_t> signatures) {
  Digest digest;
  for (const std::uint64_t signature : signatures) digest.add(signature);
  return digest.value();
}

using Index = std::vector<std::pair<std::uint64_t, std::uint32_t>>;

std::span<const std::pair<std::uint64_t, std::uint32_t>> like(const Index& index, std::uint64_t hash) {
  const auto begin = std::lower_bound(index.begin(), index.end(), std::pair(hash, std::uint32_t{0}));
  return {begin, std::upper_bound(begin, index.end(), std::pair(hash, UINT32_MAX))};
}

} // namespace

Follower::Follower(const AccessPlan& plan, Ending ending) : plan_(plan), ending_(ending), owners_(plan.blocks().size()) {}

void Follower::index() {
  const std::size_t size = plan_.size();
  if (by_signature_.size() == size) return;
  std::vector<std::uint64_t> signatures;
  Index one, several;
  signatures.reserve(size);
  one.reserve(size);
  several.reserve(size);
  for (std::size_t i = 0; i < size; ++i) {
    signatures.push_back(signature_at(i));
    one.emplace_back(signatures[i], static_cast<std::uint32_t>(i));
    if (i + 1 >= kAlike)
      several.emplace_back(window_of(std::span(signatures).subspan(i + 1 - kAlike, kAlike)), static_cast<std::uint32_t>(i));
  }
  std::ranges::sort(one);
  std::ranges::sort(several);
  by_window_ = std::move(several);
  by_signature_ = std::move(one);
}

std::uint64_t Follower::signature_at(std::size_t position) const {
  Digest digest;
  for (const PlannedUse& use : plan_.uses(position)) {
    const PlannedBlock& block = plan_.blocks()[use.block];
    add(digest, block.name, block.bytes, use.use);
  }
  return digest.value();
}

std::uint64_t Follower::signature(std::span<const Access> accesses) const {
  Digest digest;
  for (const Access& access : accesses) add(digest, access.name, access.bytes, access.use);
  return digest.value();
}

// As plans have them: each block once.
void Follower::merge(std::span<const Access> accesses) {
  merged_.clear();
  for (const Access& access : accesses) {
    const auto before = std::ranges::find(merged_, access.name, &Access::name);
    if (before == merged_.end())
      merged_.push_back(access);
    else
      before->use = plans::planned(both(before->use, access.use));
  }
  launch_ = merged_;
}

// Whether the launch that is looked at can be the one at that position.
bool Follower::fits(std::size_t position) {
  const auto uses = plan_.uses(position);
  const auto accesses = launch_;
  if (uses.size() != accesses.size()) return false;
  const Owner* const owners = owners_.data();
  const std::uint64_t stretch = stretch_;
  unbound_.clear();
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const Owner& owner = owners[uses[i].block];
    const Access& access = accesses[i];
    if (access.use != uses[i].use) return false;
    const bool is_seen = owner.stretch == stretch || owner.stretch == kEver;
    if (is_seen && owner.name == access.name) continue;
    // What was seen in this stretch of the plan stays what it is; what was seen before may have been mistaken for something else.
    if (is_seen || !may_be(access, uses[i].block)) return false;
    unbound_.push_back(static_cast<std::uint32_t>(i));
  }
  return true;
}

// A block of the plan that was not seen in this stretch.
bool Follower::may_be(const Access& access, std::uint32_t planned) const {
  const PlannedBlock& block = plan_.blocks()[planned];
  if (access.bytes != block.bytes) return false;
  if (!is_born(block.name)) return access.name == block.name;
  if (!is_born(access.name)) return false;
  const std::uint32_t* const bound = access.name > newest_ ? nullptr : bindings_.find(access.name);
  return bound == nullptr || *bound == planned || owners_[*bound].stretch != stretch_;
}

// The launch that fits there.
void Follower::bind(std::size_t position) {
  const auto uses = plan_.uses(position);
  for (const std::uint32_t i : unbound_) {
    const Name name = launch_[i].name;
    const std::uint32_t block = uses[i].block;
    Owner& owner = owners_[block];
    if (!is_born(name)) {
      owner = {name, kEver, false};
      continue;
    }
    const auto [binding, fresh] = bindings_.try_emplace(name, block);
    if (!fresh) {
      if (*binding != block) owners_[*binding].stretch = kUnseen;
      *binding = block;
    }
    newest_ = std::max(newest_, name);
    if (owner.stretch != kUnseen && owner.name != name) bindings_.erase(owner.name);
    owner = {name, stretch_, false};
  }
}

// The next place behind the one where the plan was left that looks like the last launches, else the first one.
std::optional<std::size_t> Follower::find(std::uint64_t signature) {
  auto places = like(by_signature_, signature);
  if (places.size() != 1) {
    if (seen_count_ < kAlike) return std::nullopt;
    places = like(by_window_, window_of(seen_));
  }
  const auto behind = std::ranges::lower_bound(places, place_, {}, [](const auto& place) { return place.second; });
  for (const auto part : {std::span(behind, places.end()), std::span(places.begin(), behind)})
    for (const auto& place : part)
      if (fits(place.second)) return place.second;
  return std::nullopt;
}

Follower::Step Follower::launch(std::span<const Access> accesses) {
  launch_ = accesses;
  const std::uint64_t size = plan_.size();
  if (on_plan_) {
    // What was made in the call is gone where the next one begins.
    if (size != 0 && next_ != 0 && place_ == 0 && ending_ == Ending::again) ++stretch_;
    const bool is_there = size != 0 && (next_ < size || ending_ == Ending::again);
    // A block that is named twice cannot be two of the plan, unless neither was seen before: nearly always it fits as it is, and
    // then names that were seen before are compared and no more.
    bool is_the_one = is_there && fits(place_) && unbound_.size() < 2;
    if (!is_the_one) {
      merge(accesses);
      is_the_one = is_there && fits(place_);
    }
    if (is_the_one) {
      bind(place_);
      go_on(next_);
      ++followed_;
      return Step::follows;
    }
    on_plan_ = false;
    ++divergences_;
    ++stretch_;
    seen_count_ = 0;
    return turn(Step::diverges);
  }
  merge(accesses);
  return turn(Step::lost);
}

void Follower::go_on(std::uint64_t position) {
  position_ = position;
  next_ = position + 1;
  if (++place_ == plan_.size()) place_ = 0;
}

// Off the plan: back to it where that can be. (A launch that was left out is seen at once where the one behind it is like no
// other.)
Follower::Step Follower::turn(Step otherwise) {
  index();
  const std::uint64_t own = signature(launch_);
  std::shift_left(seen_.begin(), seen_.end(), 1);
  seen_.back() = own;
  seen_count_ = std::min(seen_count_ + 1, kAlike);
  const std::optional<std::size_t> place = find(own);
  if (!place) {
    ++strayed_;
    return otherwise;
  }
  std::uint64_t position = *place;
  if (ending_ == Ending::again) position += next_ - place_ + (*place < place_ ? plan_.size() : 0);
  bind(*place);
  place_ = *place;
  go_on(position);
  on_plan_ = true;
  ++followed_;
  return Step::returns;
}

void Follower::renamed(Name from, Name to) {
  dropped(to);
  const std::uint32_t* const bound = bindings_.find(from);
  if (bound == nullptr) return;
  const std::uint32_t block = *bound;
  bindings_.erase(from);
  bindings_.insert_or_assign(to, block);
  owners_[block].name = to;
  overwrites_leaves_ = overwrites_leaves_ || !is_born(to);
}

void Follower::dropped(Name name) {
  if (!is_born(name) && (!overwrites_leaves_ || bindings_.find(name) == nullptr)) {
    if (const auto block = plan_.find(name)) owners_[*block] = {name, kUnseen, true};
    return;
  }
  const std::uint32_t* const bound = bindings_.find(name);
  if (bound == nullptr) return;
  owners_[*bound].stretch = kUnseen;
  bindings_.erase(name);
}

NextUse Follower::use_from(std::uint32_t block, std::uint64_t position) const {
  if (!on_plan_) return {};
  const auto positions = plan_.positions(block);
  const std::uint64_t size = plan_.size();
  constexpr NextUse never{NextUse::kNever, false};
  if (owners_[block].gone || (ending_ == Ending::once && position >= size)) return never;
  const std::uint64_t place = position % size;
  const auto next = static_cast<std::size_t>(std::ranges::lower_bound(positions, place) - positions.begin());
  // Where the plan follows itself, a leaf that was not used yet was last used at its end.
  const bool is_used = next != 0 || (ending_ == Ending::again && !is_born(plan_.blocks()[block].name) && !positions.empty());
  const std::uint32_t before =
      is_used ? plan_.first_use(block) + static_cast<std::uint32_t>((next == 0 ? positions.size() : next) - 1) : NextUse::kNone;
  const auto at = [&](std::size_t use, std::uint64_t from) {
    return NextUse{from + positions[use], needs_elements(plan_.uses_of(block)[use]), before};
  };
  if (next != positions.size()) return at(next, position - place);
  if (plan_.dropped(block) <= size && plan_.dropped(block) >= place)
    return {position - place + plan_.dropped(block), false, before};
  const bool comes_again =
      ending_ == Ending::again && !is_born(plan_.blocks()[block].name) && plan_.dropped(block) > size && !positions.empty();
  return comes_again ? at(0, position - place + size) : never;
}

NextUse Follower::next_use(Name name) const {
  if (!on_plan_) return {};
  const auto block = planned(name);
  return block ? next_use_of(*block) : NextUse{NextUse::kNever, false};
}

std::optional<std::uint32_t> Follower::last_write(Name name) const {
  const auto block = on_plan_ ? planned(name) : std::nullopt;
  if (!block) return std::nullopt;
  const auto positions = plan_.positions(*block);
  const auto uses = plan_.uses_of(*block);
  const auto over =
      next_ == 0 ? 0
                 : static_cast<std::size_t>(std::ranges::upper_bound(positions, position_ % plan_.size()) - positions.begin());
  const auto last_of = [&](std::size_t from, std::size_t to) -> std::optional<std::uint32_t> {
    while (to > from)
      if (writes(uses[--to])) return plan_.first_use(*block) + static_cast<std::uint32_t>(to);
    return std::nullopt;
  };
  if (const auto use = last_of(0, over)) return use;
  // Else at the end of the plan before, if it follows itself: what was made in that is another block.
  const bool was_before = ending_ == Ending::again && !is_born(plan_.blocks()[*block].name);
  return was_before ? last_of(over, uses.size()) : std::nullopt;
}

std::optional<std::uint32_t> Follower::planned(Name name) const {
  if (!is_born(name) && (!overwrites_leaves_ || bindings_.find(name) == nullptr)) return plan_.find(name);
  const std::uint32_t* const bound = bindings_.find(name);
  if (bound == nullptr) return std::nullopt;
  return *bound;
}

std::optional<Name> Follower::name_of(std::uint32_t block) const {
  const Name name = plan_.blocks()[block].name;
  if (!is_born(name)) return owners_[block].gone ? std::nullopt : std::optional(name);
  if (owners_[block].stretch == kUnseen) return std::nullopt;
  return owners_[block].name;
}

} // namespace cairn::ops::plans
