// See access_plan.h.
#include "ops/plans/access_plan.h"

#include "ops/plans/hashing.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

namespace cairn::ops::plans {
namespace {

std::string_view verb(Use use) {
  switch (use) {
  case Use::read:
    return "reads";
  case Use::write_whole:
    return "writes";
  default:
    return "changes";
  }
}

std::string of_bytes(std::uint64_t bytes) {
  constexpr std::string_view units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  double shown = static_cast<double>(bytes);
  for (; shown >= 1024 && unit + 1 < std::size(units); ++unit) shown /= 1024;
  return unit == 0 ? fmt::format("{} bytes", bytes) : fmt::format("{:.1f} {}", shown, units[unit]);
}

// Offsets begin at 0, do not fall, and end where the list does.
bool are_offsets(const std::vector<std::uint32_t>& offsets, std::size_t parts, std::size_t end) {
  return offsets.size() == parts + 1 && offsets.front() == 0 && offsets.back() == end && std::ranges::is_sorted(offsets);
}

// A block's life as the plan tells it.
struct Life {
  bool known = false, dropped = false;
  std::uint64_t used_at = UINT64_MAX; // the launch that named it last
};

std::string fault_in_blocks(const AccessPlan::Parts& parts) {
  std::vector<Name> names;
  for (const PlannedBlock& block : parts.blocks) {
    if (block.bytes > AccessPlan::kMostBytes)
      return fmt::format("block {} of {} bytes is too large", shown(block.name), block.bytes);
    names.push_back(block.name);
  }
  std::ranges::sort(names);
  if (const auto twice = std::ranges::adjacent_find(names); twice != names.end())
    return fmt::format("block {} is there twice", shown(*twice));
  return {};
}

// Blocks come in the order in which they are first used or made, live from there until they are dropped, and are named once a
// launch.
std::string fault_in_order(const AccessPlan::Parts& parts) {
  std::vector<Life> lives(parts.blocks.size());
  std::uint32_t known = 0;
  const auto at = [&](std::uint32_t block) {
    return fmt::format("block {}", block < lives.size() ? shown(parts.blocks[block].name) : "?");
  };
  const auto meet = [&](std::uint32_t block) {
    if (block == known && block < lives.size()) {
      lives[block].known = true;
      ++known;
    }
    return block < lives.size() && lives[block].known && !lives[block].dropped;
  };
  for (std::size_t i = 0; i <= parts.durations.size(); ++i) {
    for (std::uint32_t c = parts.first_change[i]; c < parts.first_change[i + 1]; ++c) {
      const Change& change = parts.changes[c];
      const bool fresh = change.block == known;
      if (!meet(change.block))
        return fmt::format("{} changes in front of launch {} where it does not exist", at(change.block), i);
      if (change.made && (!fresh || !is_born(parts.blocks[change.block].name)))
        return fmt::format("{} is made where it is there already", at(change.block));
      lives[change.block].dropped = !change.made;
    }
    if (i == parts.durations.size()) break;
    for (std::uint32_t u = parts.first_use[i]; u < parts.first_use[i + 1]; ++u) {
      const PlannedUse& use = parts.uses[u];
      if (use.use > Use::write_part) return fmt::format("launch {} uses a block in a way that there is not", i);
      if (!meet(use.block)) return fmt::format("launch {} uses {} where it does not exist", i, at(use.block));
      if (std::exchange(lives[use.block].used_at, i) == i) return fmt::format("launch {} names {} twice", i, at(use.block));
    }
  }
  return known == lives.size() ? std::string() : fmt::format("{} is used nowhere", at(known));
}

std::string fault_of(const AccessPlan::Parts& parts) {
  const std::size_t launches = parts.durations.size();
  if (launches > AccessPlan::kMostLaunches || parts.uses.size() > AccessPlan::kMostUses ||
      parts.changes.size() > AccessPlan::kMostUses)
    return "it is longer than a plan can be";
  if (!are_offsets(parts.first_use, launches, parts.uses.size()) ||
      !are_offsets(parts.first_change, launches + 1, parts.changes.size()))
    return "its launches do not fit its accesses";
  Picoseconds sum = 0;
  for (const Picoseconds duration : parts.durations) {
    if (duration > AccessPlan::kMostDuration - sum) return "its launches take longer than a plan can be";
    sum += duration;
  }
  std::string fault = fault_in_blocks(parts);
  return fault.empty() ? fault_in_order(parts) : fault;
}

std::uint64_t digest_of(const AccessPlan::Parts& parts) {
  Digest digest;
  const auto add_all = [&](const auto& list, auto&& of) {
    digest.add(list.size());
    for (const auto& element : list) of(element);
  };
  digest.add(parts.program);
  add_all(parts.blocks, [&](const PlannedBlock& block) {
    digest.add(block.name);
    digest.add(block.bytes);
  });
  add_all(parts.durations, [&](Picoseconds duration) { digest.add(duration); });
  for (const auto* const offsets : {&parts.first_use, &parts.first_change})
    add_all(*offsets, [&](std::uint32_t offset) { digest.add(offset); });
  add_all(parts.uses,
          [&](const PlannedUse& use) { digest.add(std::uint64_t{use.block} << 2 | static_cast<std::uint64_t>(use.use)); });
  add_all(parts.changes, [&](const Change& change) { digest.add(std::uint64_t{change.block} << 1 | (change.made ? 1 : 0)); });
  return digest.value();
}

} // namespace

std::string shown(Name name) { return fmt::format("{}{}", is_born(name) ? 'b' : 'x', name & ~kBorn); }

AccessPlan::AccessPlan(Parts parts) : parts_(std::move(parts)), digest_(digest_of(parts_)) {
  const std::size_t blocks = parts_.blocks.size();
  by_name_.resize(blocks);
  std::iota(by_name_.begin(), by_name_.end(), 0u);
  std::ranges::sort(by_name_, {}, [this](std::uint32_t block) { return parts_.blocks[block].name; });
  first_position_.assign(blocks + 1, 0);
  for (const PlannedUse& use : parts_.uses) ++first_position_[use.block + 1];
  std::partial_sum(first_position_.begin(), first_position_.end(), first_position_.begin());
  positions_.resize(parts_.uses.size());
  uses_at_.resize(parts_.uses.size());
  dropped_.assign(blocks, size() + 1);
  std::vector<std::uint32_t> next(first_position_.begin(), first_position_.end() - 1);
  std::vector<bool> made(blocks, false);
  std::uint64_t now = 0, most = 0; // bytes of what was made in it
  for (std::size_t i = 0; i <= size(); ++i) {
    for (const Change& change : changes(i)) {
      if (!change.made) dropped_[change.block] = i;
      const std::uint64_t bytes = parts_.blocks[change.block].bytes;
      if (change.made) made[change.block] = true;
      if (made[change.block]) change.made ? now += bytes : now -= bytes;
      most = std::max(most, now);
    }
    if (i == size()) break;
    for (const PlannedUse& use : uses(i)) {
      const std::uint32_t at = next[use.block]++;
      positions_[at] = static_cast<std::uint32_t>(i);
      uses_at_[at] = use.use;
    }
    begins_.push_back(begins_.back() + parts_.durations[i]);
  }
  bytes_at_once_ = most;
  for (std::size_t i = 0; i < blocks; ++i)
    if (!made[i]) bytes_at_once_ += parts_.blocks[i].bytes;
}

std::optional<AccessPlan> AccessPlan::made_of(Parts parts, std::string& fault) {
  fault = fault_of(parts);
  if (!fault.empty()) return std::nullopt;
  return AccessPlan(std::move(parts));
}

std::size_t AccessPlan::bytes_of_memory() const {
  constexpr std::size_t kLaunch = 2 * sizeof(Picoseconds) + 2 * sizeof(std::uint32_t);
  constexpr std::size_t kUse = sizeof(PlannedUse) + sizeof(std::uint32_t) + sizeof(Use);
  constexpr std::size_t kBlock = sizeof(PlannedBlock) + 2 * sizeof(std::uint32_t) + sizeof(std::size_t);
  return size() * kLaunch + parts_.uses.size() * kUse + parts_.changes.size() * sizeof(Change) + blocks().size() * kBlock;
}

std::optional<std::uint32_t> AccessPlan::find(Name name) const {
  const auto name_of = [this](std::uint32_t block) { return parts_.blocks[block].name; };
  const auto at = std::ranges::lower_bound(by_name_, name, {}, name_of);
  if (at == by_name_.end() || name_of(*at) != name) return std::nullopt;
  return *at;
}

std::string AccessPlan::summary() const {
  std::uint64_t leaves = 0, leaf_bytes = 0, born_bytes = 0;
  for (const PlannedBlock& block : blocks()) {
    leaves += is_born(block.name) ? 0 : 1;
    (is_born(block.name) ? born_bytes : leaf_bytes) += block.bytes;
  }
  return fmt::format("{} launches of {} us, {} leaves of {}, {} blocks of {} made on the way", size(), duration() / 1'000'000,
                     leaves, of_bytes(leaf_bytes), blocks().size() - leaves, of_bytes(born_bytes));
}

std::string AccessPlan::listing(std::size_t most) const {
  std::string text;
  auto out = std::back_inserter(text);
  for (std::size_t i = 0; i < std::min(most, size()); ++i) {
    fmt::format_to(out, "{}: {} ns", i, duration(i) / 1000);
    for (const PlannedUse& use : uses(i)) fmt::format_to(out, ", {} {}", verb(use.use), shown(blocks()[use.block].name));
    for (const Change& change : changes(i + 1))
      if (!change.made) fmt::format_to(out, ", then drops {}", shown(blocks()[change.block].name));
    text += '\n';
  }
  if (most < size()) fmt::format_to(out, "... and {} more\n", size() - most);
  return text;
}

std::string AccessPlan::why_not_of(std::uint64_t program) const {
  return program == parts_.program ? "" : "the plan was recorded of another procedure";
}

std::string AccessPlan::why_not(std::uint64_t program, std::span<const std::uint64_t> bytes_of_leaves) const {
  if (std::string why = why_not_of(program); !why.empty()) return why;
  for (const PlannedBlock& block : blocks()) {
    if (is_born(block.name)) continue;
    if (block.name >= bytes_of_leaves.size())
      return fmt::format("the plan uses leaf {}; what was given has {}", block.name, bytes_of_leaves.size());
    if (block.bytes != bytes_of_leaves[block.name])
      return fmt::format("leaf {} has {} bytes in the plan and {} here", block.name, block.bytes, bytes_of_leaves[block.name]);
  }
  return {};
}

// --- recording

std::uint32_t Recorder::block(Name name, std::uint64_t bytes) {
  const auto [at, fresh] = blocks_.try_emplace(name, static_cast<std::uint32_t>(parts_.blocks.size()));
  if (fresh) parts_.blocks.push_back({name, bytes});
  return *at;
}

void Recorder::launch(Picoseconds duration, std::span<const Access> accesses) {
  if (parts_.durations.size() == AccessPlan::kMostLaunches || parts_.uses.size() + accesses.size() > AccessPlan::kMostUses)
    too_much_ = true;
  if (too_much_) return;
  const std::uint32_t first = parts_.first_use.back();
  for (const Access& access : accesses) {
    const std::uint32_t used = block(access.name, access.bytes);
    const auto before =
        std::find_if(parts_.uses.begin() + first, parts_.uses.end(), [&](const PlannedUse& use) { return use.block == used; });
    if (before == parts_.uses.end())
      parts_.uses.push_back({used, planned(access.use)});
    else
      before->use = planned(both(before->use, access.use));
  }
  parts_.durations.push_back(duration);
  parts_.first_use.push_back(static_cast<std::uint32_t>(parts_.uses.size()));
  parts_.first_change.push_back(parts_.first_change.back());
}

void Recorder::made(Name name, std::uint64_t bytes) {
  if (parts_.changes.size() == AccessPlan::kMostUses) too_much_ = true;
  if (too_much_) return;
  parts_.changes.push_back({block(name, bytes), true});
  ++parts_.first_change.back();
}

// What nobody used is none of the plan's business.
void Recorder::dropped(Name name) {
  const std::uint32_t* const known = blocks_.find(name);
  if (known == nullptr) return;
  if (parts_.changes.size() == AccessPlan::kMostUses) too_much_ = true;
  if (too_much_) return;
  parts_.changes.push_back({*known, false});
  ++parts_.first_change.back();
}

std::optional<AccessPlan> Recorder::finish(std::string& fault) {
  blocks_.clear();
  AccessPlan::Parts parts;
  std::swap(parts, parts_);
  parts_.program = parts.program;
  if (std::exchange(too_much_, false)) {
    fault = "it is longer than a plan can be";
    return std::nullopt;
  }
  return AccessPlan::made_of(std::move(parts), fault);
}

} // namespace cairn::ops::plans
