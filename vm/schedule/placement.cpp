// Placement by price: when there is no room, the states at hand, those with one dropped and the newest kept, and those with the
// newest alone replaced are compared by what the optimal reversal would cost if the run ended one unit later. On the 32 examples
// of test/data/online.json this stays within a few per cent of knowing the length, and never above what placement takes by the
// rules of Stumm and Walther, "New algorithms for optimal online checkpointing", SIAM Journal on Scientific Computing 32 (2010),
// and, in longer runs, of Wang, Moin and Iaccarino, "Minimal repetition dynamic checkpointing algorithm for unsteady adjoint
// calculation", the same journal 31 (2009).
#include "vm/schedule/placement.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace cairn::schedule {
namespace {

constexpr std::uint64_t kMorePerDoubling = 4;
constexpr std::uint64_t kLeastBySize = 8;
// Positions stay far from the end of 64 bits.
constexpr std::uint64_t kLongestLeapSteps = std::uint64_t{1} << 60;
constexpr std::uint64_t kLongestStride = std::uint64_t{1} << 32;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 60;
// With many slots a sixteenth of them is dropped at once, so that weighing all gaps is rare; the loss is below a hundredth.
constexpr std::uint64_t kBatch = 16;

} // namespace

Placement::Placement(Allowance allowance, std::uint64_t base, std::uint64_t origin)
    : allowance_(allowance), base_(base), origin_(origin) {}

std::uint64_t Placement::allowed() const {
  const std::uint64_t held = kept_.size();
  switch (allowance_.kind) {
  case Allowance::Kind::strided:
    return kNoLimit;
  case Allowance::Kind::fixed:
    return allowance_.most;
  case Allowance::Kind::logarithmic:
    return kMorePerDoubling * static_cast<std::uint64_t>(std::bit_width(at_ | 1));
  case Allowance::Kind::bytes:
    break;
  }
  const std::uint64_t latest = std::max<std::uint64_t>(1, held == 0 ? 1 : kept_.back().bytes);
  const std::uint64_t least = std::clamp<std::uint64_t>(allowance_.ceiling / latest, 2, kLeastBySize);
  std::uint64_t number = held;
  if (held_bytes_ + latest <= allowance_.bytes)
    number = held + 1;
  else if (held_bytes_ > allowance_.bytes && held > 0)
    number = held - 1;
  return std::clamp(number, least, allowance_.most);
}

void Placement::weigh() {
  weights_.fresh = true;
  weights_.slots = std::max(allowed(), static_cast<std::uint64_t>(kept_.size()));
  weights_.middle.clear();
  const std::size_t gaps = kept_.size() - 1;
  // Gap i is reversed when i states below its own are still held; a state dropped before it frees one more slot for it.
  const std::uint64_t slots = weights_.slots;
  const auto gap = [&](std::size_t i) { return kept_[i + 1].unit - kept_[i].unit; };
  std::vector<Wide> after(gaps + 1, 0); // of the gaps from i on, once freed
  for (std::size_t i = gaps; i-- > 1;) after[i] = after[i + 1] + advances(slots - i + 1, gap(i));
  Wide before = 0;
  for (std::size_t j = 1; j < gaps; ++j) {
    weights_.middle.emplace_back(before + advances(slots - j + 1, gap(j - 1) + gap(j)) + after[j + 1], j);
    before += advances(slots - j + 1, gap(j - 1));
  }
  weights_.head = before;
  weights_.all = before + (gaps > 0 ? advances(slots - gaps + 1, gap(gaps - 1)) : Wide{0});
  std::sort(weights_.middle.begin(), weights_.middle.end());
}

Placement::Verdict Placement::judge(std::uint64_t unit) {
  const std::uint64_t held = kept_.size();
  if (held < allowed()) return Verdict::keep;
  if (held == 1) return Verdict::pass;
  if (!weights_.fresh) weigh();
  const std::uint64_t open = unit - kept_.back().unit;
  const std::uint64_t spare = weights_.slots - held; // slots beyond those of the states held
  const Wide pass = weights_.all + advances(spare + 1, open + 1);
  const Wide last = weights_.head + advances(spare + 2, unit - kept_[held - 2].unit);
  if (!weights_.middle.empty()) {
    const Wide middle = weights_.middle.front().first + advances(spare + 2, open);
    if (middle <= pass && middle <= last) return Verdict::replace_middle;
  }
  return pass <= last ? Verdict::pass : Verdict::replace_last;
}

std::uint64_t Placement::units_to_next_decision() {
  if (allowance_.kind == Allowance::Kind::strided) return stride_ - at_ % stride_;
  std::uint64_t most = std::max<std::uint64_t>(1, kLongestLeapSteps / base_);
  if (allowance_.kind == Allowance::Kind::logarithmic) most = std::bit_ceil(at_ + 1) - at_; // where the allowance grows
  if (lengthens() || judge(at_ + 1) != Verdict::pass) return 1;
  // Passing by only gets dearer, so the first unit worth keeping is found by doubling and halving.
  std::uint64_t passed = 1;
  std::uint64_t ahead = std::min<std::uint64_t>(2, most);
  while (ahead < most && judge(at_ + ahead) == Verdict::pass) {
    passed = ahead;
    ahead = std::min(ahead * 2, most);
  }
  while (ahead - passed > 1 && passed < ahead) {
    const std::uint64_t middle = passed + (ahead - passed) / 2;
    (judge(at_ + middle) == Verdict::pass ? passed : ahead) = middle;
  }
  return ahead;
}

void Placement::drop(std::vector<std::uint64_t> indices) {
  std::sort(indices.begin(), indices.end());
  auto next = indices.begin();
  std::size_t to = 0;
  std::uint64_t carried = 0;
  for (std::size_t from = 0; from < kept_.size(); ++from) {
    Kept state = kept_[from];
    held_bytes_ -= state.bytes;
    if (next != indices.end() && *next == from) {
      ++next;
      carried += state.bytes;
      dropping_.push_back(state.slot);
      continue;
    }
    // What only the dropped state was charged for may live on in the next one, which shares it; but no state is larger than the
    // largest seen.
    if (carried > 0) state.bytes = std::min(state.bytes + carried, largest_bytes_);
    carried = 0;
    held_bytes_ += state.bytes;
    kept_[to++] = state;
  }
  kept_.resize(to);
  weights_.fresh = false;
}

void Placement::arrive_strided() {
  if (kept_.size() >= stride_ * base_) {
    std::vector<std::uint64_t> odd;
    for (std::uint64_t i = 1; i < kept_.size(); i += 2) odd.push_back(i);
    drop(std::move(odd));
    stride_ *= 2;
  }
  store_ = at_ % stride_ == 0;
}

// Every other state goes. Until now each unit was kept.
void Placement::lengthen() {
  std::vector<std::uint64_t> odd;
  for (std::uint64_t i = 0; i < kept_.size(); ++i)
    if (kept_[i].unit % 2 != 0) odd.push_back(i);
  drop(std::move(odd));
  for (Kept& state : kept_) state.unit /= 2;
  at_ /= 2;
  base_ *= 2;
}

void Placement::arrive() {
  if (lengthens()) {
    if (at_ % 2 != 0) return;
    lengthen();
  }
  switch (judge(at_)) {
  case Verdict::pass:
    return;
  case Verdict::keep:
    break;
  case Verdict::replace_last:
    drop({kept_.size() - 1});
    break;
  case Verdict::replace_middle: {
    const std::uint64_t excess = kept_.size() - std::min<std::uint64_t>(allowed(), kept_.size());
    const std::uint64_t number = std::max(weights_.slots / kBatch, excess + 1);
    std::vector<bool> gone(kept_.size() + 1, false);
    std::vector<std::uint64_t> indices;
    for (const auto& [cost, index] : weights_.middle) {
      if (indices.size() >= number) break;
      if (gone[index - 1] || gone[index + 1]) continue; // two neighbours at once would cost more than the two prices say
      gone[index] = true;
      indices.push_back(index);
    }
    drop(std::move(indices));
    break;
  }
  }
  store_ = true;
}

Action Placement::next() {
  if (arrived_) {
    arrived_ = false;
    if (allowance_.kind == Allowance::Kind::strided)
      arrive_strided();
    else
      arrive();
  }
  if (!dropping_.empty()) {
    const std::uint32_t slot = dropping_.back();
    dropping_.pop_back();
    slots_.give(slot);
    return {Action::Kind::discard, 0, slot};
  }
  if (store_) {
    store_ = false;
    kept_.push_back({at_, 0, slots_.take()});
    weights_.fresh = false;
    return {Action::Kind::snapshot, 0, kept_.back().slot};
  }
  const std::uint64_t units = units_to_next_decision();
  at_ += units;
  arrived_ = true;
  return {Action::Kind::advance, units * base_, 0};
}

std::vector<std::uint32_t> Placement::relieve() {
  constexpr std::uint64_t kPart = 4;
  if (allowance_.kind != Allowance::Kind::bytes || !arrived_ || kept_.size() < 3) return {};
  weigh();
  const std::uint64_t number = std::max<std::uint64_t>(1, kept_.size() / kPart);
  std::vector<bool> gone(kept_.size() + 1, false);
  std::vector<std::uint64_t> indices;
  for (const auto& [cost, index] : weights_.middle) {
    if (indices.size() >= number) break;
    if (gone[index - 1] || gone[index + 1]) continue;
    gone[index] = true;
    indices.push_back(index);
  }
  drop(std::move(indices));
  allowance_.bytes = held_bytes_;
  allowance_.ceiling = 0;
  at_ = kept_.back().unit;
  arrived_ = store_ = false;
  for (const std::uint32_t slot : dropping_) slots_.give(slot);
  return std::exchange(dropping_, {});
}

void Placement::rebase(std::uint64_t base, std::uint64_t origin, std::uint32_t first_slot) {
  base_ = base;
  origin_ = origin;
  slots_ = Slots(first_slot);
}

void Placement::kept(std::uint64_t bytes) {
  if (kept_.empty()) return;
  kept_.back().bytes = bytes;
  largest_bytes_ = std::max(largest_bytes_, bytes);
  held_bytes_ += bytes;
  weights_.fresh = false;
}

Reversal Placement::reversal(std::uint64_t end) const {
  std::vector<KeptState> kept;
  for (const Kept& state : kept_) kept.push_back({position_of(state), state.slot});
  const auto held = static_cast<std::uint64_t>(kept_.size());
  std::uint64_t limit = std::max(held, allowed());
  if (allowance_.kind == Allowance::Kind::bytes)
    limit = std::clamp(allowance_.bytes / std::max<std::uint64_t>(1, held_bytes_ / std::max<std::uint64_t>(1, held)), limit,
                       allowance_.most);
  const auto cut = allowance_.kind == Allowance::Kind::strided ? Reversal::Cut::never : Reversal::Cut::revolve;
  return Reversal(cut, base_, limit, std::move(kept), slots_, end);
}

bool Placement::sound() const {
  if (allowance_.kind > Allowance::Kind::bytes || allowance_.most == 0 || allowance_.most > kNoLimit) return false;
  if (allowance_.kind == Allowance::Kind::bytes && allowance_.most < kLeastBySize) return false;
  // Far from the end of 64 bits: what is computed from them must not go around.
  if (base_ == 0 || base_ > kLongestLeapSteps || most_base_ > kLongestLeapSteps || stride_ == 0 || stride_ > kLongestStride ||
      origin_ > kLongestLeapSteps)
    return false;
  if (at_ > 4 * kLongestLeapSteps / base_ || held_bytes_ > kMostBytes || allowance_.bytes > kMostBytes ||
      (kept_.empty() && !store_))
    return false;
  std::vector<std::uint32_t> held(dropping_);
  std::uint64_t least = 0;
  std::uint64_t bytes = 0;
  for (const Kept& state : kept_) {
    if (state.unit < least || state.unit > at_) return false;
    least = state.unit + 1;
    bytes += state.bytes;
    held.push_back(state.slot);
  }
  return bytes == held_bytes_ && slots_.sound(std::move(held));
}

} // namespace cairn::schedule
