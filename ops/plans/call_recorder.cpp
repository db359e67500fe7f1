// See call_recorder.h.
#include "ops/plans/call_recorder.h"

#include <algorithm>
#include <new>
#include <utility>

namespace cairn::ops::plans {

std::uint32_t CallRecorder::add(Name name, std::uint64_t bytes, bool made) {
  const auto block = static_cast<std::uint32_t>(parts_.blocks.size());
  const auto [at, fresh] = latest_.try_emplace(name, block);
  before_.push_back(fresh ? block : at->second);
  parts_.blocks.push_back({bytes, name, made, true});
  if (!fresh) parts_.blocks[std::exchange(at->second, block)].named = false;
  return block;
}

void CallRecorder::give_up(Parts::Lost why) noexcept {
  parts_.blocks.clear();
  parts_.durations.clear();
  parts_.first_use.resize(1);
  parts_.uses.clear();
  latest_.clear();
  before_.clear();
  parts_.lost = why;
}

void CallRecorder::made(Name name, std::uint64_t bytes) {
  if (parts_.lost != Parts::Lost::nothing) return;
  try {
    add(name, bytes, true);
  } catch (const std::bad_alloc&) {
    give_up(Parts::Lost::no_memory);
  }
}

void CallRecorder::launch(Picoseconds duration, std::span<const Access> accesses) {
  if (parts_.lost != Parts::Lost::nothing) return;
  try {
    note(duration, accesses);
  } catch (const std::bad_alloc&) {
    give_up(Parts::Lost::no_memory);
  }
}

void CallRecorder::note(Picoseconds duration, std::span<const Access> accesses) {
  const std::size_t most = 2 * accesses.size();
  if (parts_.durations.size() == AccessPlan::kMostLaunches || parts_.uses.size() + most > AccessPlan::kMostUses ||
      parts_.blocks.size() + most > AccessPlan::kMostUses)
    return give_up(Parts::Lost::too_long);
  for (const Access& access : accesses) {
    const auto known = latest_.find(access.name);
    const std::uint32_t block = known != latest_.end() ? known->second : add(access.name, access.bytes, false);
    parts_.uses.push_back({block, access.use == Use::overwrite ? Use::read : access.use});
  }
  for (const Access& access : accesses)
    if (access.use == Use::overwrite) parts_.uses.push_back({add(access.name, access.bytes, true), Use::write_whole});
  parts_.durations.push_back(duration);
  parts_.first_use.push_back(static_cast<std::uint32_t>(parts_.uses.size()));
}

void CallRecorder::take_back(const Mark& mark) {
  if (parts_.lost != Parts::Lost::nothing) return;
  while (parts_.blocks.size() > mark.blocks) {
    const auto block = static_cast<std::uint32_t>(parts_.blocks.size() - 1);
    const std::uint32_t before = before_.back();
    if (const auto at = latest_.find(parts_.blocks.back().name); at != latest_.end() && at->second == block) {
      if (before == block)
        latest_.erase(at);
      else
        at->second = before;
    }
    if (before != block) parts_.blocks[before].named = true;
    parts_.blocks.pop_back();
    before_.pop_back();
  }
  if (parts_.durations.size() <= mark.launches) return;
  parts_.durations.resize(mark.launches);
  parts_.first_use.resize(mark.launches + 1);
  parts_.uses.resize(parts_.first_use.back());
}

std::optional<AccessPlan> CallRecorder::finish(std::span<const Name> kept, std::string& fault) const {
  if (parts_.lost == Parts::Lost::no_memory) throw std::bad_alloc();
  if (parts_.lost == Parts::Lost::too_long) {
    fault = "it is longer than a plan can be";
    return std::nullopt;
  }
  if (parts_.lost == Parts::Lost::too_deep) {
    fault = "too many recordings and calls along plans lie within each other in it";
    return std::nullopt;
  }
  constexpr std::uint32_t kNone = UINT32_MAX;
  const std::size_t launches = parts_.durations.size();
  std::vector<std::uint32_t> number(parts_.blocks.size(), kNone); // in the plan
  std::vector<std::size_t> last(parts_.blocks.size(), 0);         // use
  for (std::size_t i = 0; i < launches; ++i)
    for (std::uint32_t u = parts_.first_use[i]; u < parts_.first_use[i + 1]; ++u) last[parts_.uses[u].block] = i;
  std::vector<bool> stays(parts_.blocks.size(), false);
  for (const Name name : kept)
    if (const auto at = latest_.find(name); at != latest_.end()) stays[at->second] = true;

  AccessPlan::Parts plan;
  plan.program = parts_.program;
  plan.durations = parts_.durations;
  plan.first_change = {0};
  std::uint64_t births = 0;
  std::vector<std::uint32_t> going; // used last by the launch before
  for (std::size_t i = 0; i <= launches; ++i) {
    for (const std::uint32_t block : going) plan.changes.push_back({block, false});
    going.clear();
    if (i == launches) break;
    const auto uses = std::span(parts_.uses).subspan(parts_.first_use[i], parts_.first_use[i + 1] - parts_.first_use[i]);
    const auto meet = [&](std::uint32_t known) {
      const Parts::Block& block = parts_.blocks[known];
      number[known] = static_cast<std::uint32_t>(plan.blocks.size());
      plan.blocks.push_back({block.made || is_born(block.name) ? born_name(births++) : block.name, block.bytes});
      if (block.made) plan.changes.push_back({number[known], true});
    };
    for (const PlannedUse& use : uses) // blocks are made in front of the launch
      if (number[use.block] == kNone && parts_.blocks[use.block].made) meet(use.block);
    plan.first_change.push_back(static_cast<std::uint32_t>(plan.changes.size()));
    for (const PlannedUse& use : uses) {
      if (number[use.block] == kNone) meet(use.block);
      plan.uses.push_back({number[use.block], use.use});
      if (last[use.block] == i && parts_.blocks[use.block].made && !stays[use.block]) going.push_back(number[use.block]);
    }
    plan.first_use.push_back(static_cast<std::uint32_t>(plan.uses.size()));
  }
  plan.first_change.push_back(static_cast<std::uint32_t>(plan.changes.size()));
  return AccessPlan::made_of(std::move(plan), fault);
}

std::size_t CallRecorder::bytes() const {
  constexpr std::size_t kBesideName = 48; // of an entry of latest_
  return parts_.blocks.size() * (sizeof(Parts::Block) + sizeof(std::uint32_t)) + latest_.size() * kBesideName +
         parts_.durations.size() * (sizeof(Picoseconds) + sizeof(std::uint32_t)) + parts_.uses.size() * sizeof(PlannedUse);
}

std::optional<CallRecorder> CallRecorder::going_on(Parts parts, const std::unordered_map<Name, Name>& renamed,
                                                   std::string& fault) {
  const bool offsets = parts.first_use.size() == parts.durations.size() + 1 && parts.first_use.front() == 0 &&
                       parts.first_use.back() == parts.uses.size() && std::ranges::is_sorted(parts.first_use);
  const bool uses = std::ranges::all_of(
      parts.uses, [&](const PlannedUse& use) { return use.block < parts.blocks.size() && use.use <= Use::write_part; });
  if (!offsets || !uses || parts.durations.size() > AccessPlan::kMostLaunches || parts.uses.size() > AccessPlan::kMostUses) {
    fault = "a recording of launches that do not fit their accesses";
    return std::nullopt;
  }
  CallRecorder recorder(parts.program);
  recorder.parts_ = std::move(parts);
  for (std::uint32_t i = 0; i < recorder.parts_.blocks.size(); ++i) {
    recorder.before_.push_back(i);
    Parts::Block& block = recorder.parts_.blocks[i];
    if (!block.named) continue;
    if (is_born(block.name)) {
      const auto now = renamed.find(block.name);
      block.named = now != renamed.end();
      if (!block.named) continue;
      block.name = now->second;
    }
    if (!recorder.latest_.try_emplace(block.name, i).second) {
      fault = "a recording with two blocks of one name";
      return std::nullopt;
    }
  }
  return recorder;
}

} // namespace cairn::ops::plans
