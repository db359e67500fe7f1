// What a planned run knows of itself while it goes on: a profile of as many intervals as planning is worth, and which of them
// read what is older than the run.
#include "vm/schedule/binomials.h"
#include "vm/schedule/budgeted.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace cairn::schedule {

namespace {

// As many intervals as planning should cost little beside the run: tables grow with the third power of their number, so planning
// with n of them is taken to take n * n * n times so long (in ticks). When
// there are as many, a quarter of their boundaries goes, unless intervals were then too large to be taped.
constexpr std::uint64_t kTicksForOne = 5000;
// However short the run is, as fewer tell too little apart: with 12, of 120 random runs 53 are slower and 29 faster, by half a
// percent on average, and calls that come again are slower too. With 48 they take half a percent less, and tables eight times as
// long.
constexpr std::size_t kFew = 24;
// However long it is: with tapes in every form, tables for 64 intervals take 20 ms, for 128 ten times as much.
constexpr std::size_t kMany = 64;
// Where there is no other way, an interval may need such a part of the room for its tape alone.
constexpr std::uint64_t kLargestInterval = 2;

} // namespace

// What the facts of one weighing can break of a profile is put on the safe side: what seems to have come back, or not to have
// been alive, counts as new.
void Budgeted::add_interval(const Weights& weights) {
  const std::size_t n = profile_.size();
  birth_of_.push_back(static_cast<std::uint32_t>(n));
  auto by_birth = [&](const std::vector<std::uint64_t>& told) {
    std::vector<std::uint64_t> bytes(n + 1, 0);
    for (std::size_t k = 0; k < std::min(told.size(), birth_of_.size()); ++k)
      bytes[birth_of_[k]] = bounded(bytes[birth_of_[k]] + told[k]);
    return bytes;
  };
  std::vector<std::uint64_t> state = by_birth(weights.state);
  std::array<TapeForm, kTapeForms> forms = weights.forms;
  for (TapeForm& form : forms) {
    form.tape = form.tape.empty() ? forms[0].tape : by_birth(form.tape);
    form.tape.resize(n + 1, 0);
    form.after = by_birth(form.after);
    for (std::vector<std::uint64_t>& bytes : form.before) bytes = by_birth(bytes);
  }
  const std::vector<std::uint64_t>& tape = forms[0].tape;
  const std::vector<std::uint64_t> gone = by_birth(weights.gone);
  auto share_of = [&](std::size_t k, std::uint64_t most) {
    TapeShare share;
    share.birth = static_cast<std::uint32_t>(k);
    for (std::size_t f = 0; f < kTapeForms; ++f) {
      TapeShare::Form& form = share.forms[f];
      form.bytes = std::min(forms[f].tape[k], most);
      form.after = std::min(forms[f].after[k], form.bytes);
      for (std::size_t b = 0; b < kTapeForms; ++b) form.before[b] = k == n ? 0 : std::min(forms[f].before[b][k], form.bytes);
    }
    // What neither the state before it nor that behind it has is not gone from one to the other.
    if (k < n && tape[k] <= profile_.reach[n][k]) share.gone = std::min({gone[k], most, profile_.reach[n][k] - state[k]});
    return share;
  };
  std::uint64_t born = forms[0].together;
  Interval interval;
  interval.tape = bounded(weights.own);
  for (std::size_t k = 0; k < n; ++k) {
    const std::uint64_t alive = profile_.reach[n][k];
    const std::uint64_t came_back = state[k] - std::min(state[k], alive);
    state[k] -= came_back;
    state[n] = bounded(state[n] + came_back);
    born += came_back;
    interval.tape = bounded(interval.tape + tape[k] - std::min(tape[k], alive));
    if (const std::uint64_t shared = std::min(tape[k], alive); shared != 0) interval.shares.push_back(share_of(k, shared));
  }
  if (tape[n] != 0) interval.shares.push_back(share_of(n, tape[n]));
  const std::uint64_t cotangents = bounded(std::accumulate(state.begin(), state.end(), bounded(weights.beside_cotangents)));
  largest_ = std::max(largest_, bounded(weights.largest));
  interval.forward = bounded(bounded(weights.cost) + cost_of_steps(steps_));
  interval.taped = bounded(interval.forward + bounded(weights.encoding));
  interval.sweep = bounded(weights.sweep);
  interval.stays = bounded(weights.stays);
  interval.padding = bounded(weights.padding);
  interval.advancing = bounded(weights.advancing);
  interval.taping = bounded(weights.taping);
  interval.more_reads = bounded(weights.more_reads);
  for (std::size_t f = 0; f < kTapeForms; ++f) {
    interval.again_of[f] = bounded(forms[f].again);
    interval.sweeping_of[f] = bounded(forms[f].sweeping);
    interval.more_if_parts_of[f] = bounded(forms[f].more_if_parts);
    const std::uint64_t beside_state = forms[f].tape[n] - std::min(forms[f].tape[n], forms[f].after[n]);
    if (f != 0) interval.born_of[f] = bounded(forms[f].together != 0 ? forms[f].together : state[n] + beside_state);
  }
  const std::uint64_t whole = whole_tape(interval);
  interval.piece = weights.piece == 0 ? whole : bounded(weights.piece);
  interval.swept =
      weights.piece == 0 ? bounded(whole + std::max(interval.sweeping(), interval.taping) + cotangents) : bounded(weights.swept);
  profile_.intervals.push_back(std::move(interval));
  profile_.born.push_back(bounded(std::max({born, state[n], tape[n]})));
  profile_.reach.push_back(std::move(state));
  profile_.cotangents.push_back(cotangents);
  Interval& added = profile_.intervals.back();
  added.advancing_alone = weights.advancing_alone.value_or(lost(profile_, n, n, false) + added.advancing);
  added.taping_alone = weights.taping_alone.value_or(lost(profile_, n, n, true) + added.taping);
  added.advancing_alone = bounded(added.advancing_alone);
  added.taping_alone = bounded(added.taping_alone);
  positions_.push_back(positions_.back() + std::max<std::uint64_t>(1, steps_));
  all_records_ = bounded(all_records_ + records_);
  const std::uint64_t sums = note_reads(weights.read, n);
  profile_.intervals[n].sweep = bounded(profile_.intervals[n].sweep + sums);
  note_joined(weights.joined, n);
}

// While parts of it are held, so is the rest. So what a reverse rule makes of a part has memory of its own: the sweep of the
// interval that made what it is of was told as if it were alone.
void Budgeted::note_joined(const std::vector<JoinedCotangent>& joined, std::size_t interval) {
  for (const JoinedCotangent& whole : joined) {
    for (std::size_t boundary = interval; boundary > 0; --boundary) {
      std::uint64_t alive = 0;
      for (const auto& [birth, bytes] : whole.parts)
        if (birth < birth_of_.size() && birth_of_[birth] < boundary) alive += bytes;
      if (alive == 0) break;
      std::uint64_t& cotangents = profile_.cotangents[boundary];
      cotangents = bounded(cotangents + whole.bytes - std::min(whole.bytes, alive));
    }
    for (const auto& [birth, bytes] : whole.parts) {
      if (birth >= birth_of_.size() || birth_of_[birth] >= profile_.size()) continue;
      Interval& made_in = profile_.intervals[birth_of_[birth]];
      for (std::size_t f = 0; f < kTapeForms; ++f) {
        const std::uint64_t added = std::min(bytes, made_in.more_if_parts_of[f]);
        made_in.sweeping_of[f] = bounded(made_in.sweeping_of[f] + added);
        made_in.more_if_parts_of[f] -= added;
      }
    }
  }
}

std::size_t Budgeted::good_number() const {
  std::uint64_t cost = 0;
  for (const Interval& interval : profile_.intervals) cost += interval.forward;
  std::size_t n = kFew;
  while (n < kMany && (n + 1) * (n + 1) * (n + 1) <= cost / kTicksForOne) ++n;
  return n;
}

// Cotangents of what is older than the run come to all of it in the end, unless rules take them as they come.
std::uint64_t Budgeted::room_for_one() const {
  const std::uint64_t taken = std::ranges::max(read_from()) + 2 * largest_;
  return room_ - std::min(room_, taken);
}

std::uint64_t Budgeted::largest_tape() const { return room_for_one() / kLargestInterval; }

// What one of these intervals holds for a while beside its tape.
std::uint64_t Budgeted::most_beside(std::size_t from, std::size_t to) const {
  std::uint64_t most = 0;
  for (std::size_t i = from; i < to; ++i)
    most = std::max({most, profile_.intervals[i].sweeping(), taping_beside(profile_.intervals[i])});
  return most;
}

// Leaves about so many intervals, none of which has more bytes on its tape unless it has them already, and from now on intervals
// are larger. What goes first are boundaries with heavy states between short intervals, on tapes both or neither.
void Budgeted::coarsen(std::size_t wanted, std::uint64_t most) {
  const std::size_t n = profile_.size();
  const bool too_many = n >= kMost;
  const std::vector<bool> taped = kept_tapes(), states = kept_states(), spilled = spilled_tapes();
  std::vector<bool> whole = taped;   // on tape and not joined with what is not
  std::vector<bool> filed = spilled; // in the file then
  std::vector<std::uint32_t> kept(n + 1);
  std::iota(kept.begin(), kept.end(), 0);
  for (bool mixed = false; kept.size() > wanted + 1;) {
    std::size_t best = 0;
    Wide best_weight = 0, best_gap = 0;
    for (std::size_t i = 1; i + 1 < kept.size(); ++i) {
      const std::uint64_t together = tape_bytes(profile_, kept[i - 1], kept[i + 1]);
      const bool in_pieces = filed[kept[i] - 1] && filed[kept[i]]; // comes back so
      if (!in_pieces && together + (too_many ? most_beside(kept[i - 1], kept[i + 1]) : 0) > most) continue;
      if (filed[kept[i] - 1] != filed[kept[i]]) {
        if (!mixed || !whole[kept[i] - 1] || !whole[kept[i]]) continue;
        std::vector<bool> then = filed;
        std::fill(then.begin() + kept[i - 1], then.begin() + kept[i + 1], true);
        if (in_file(profile_, then) > spill_bytes_) continue;
      }
      if (const bool front = whole[kept[i] - 1]; front != whole[kept[i]]) {
        // Both lose their tape, and the state at the start of what is then a gap has to be there.
        const std::uint32_t begin = kept[i - 1];
        if (!mixed || (front && begin > 0 && whole[begin - 1] && !states[begin])) continue;
      }
      const auto& state = profile_.reach[kept[i]];
      const Wide weight = std::accumulate(state.begin(), state.end(), std::uint64_t{1});
      if (best != 0 && best_weight * (together + 1) >= weight * best_gap) continue;
      best = i;
      best_weight = weight;
      best_gap = together + 1;
    }
    if (best == 0 && (mixed || !too_many)) break;
    if (best == 0) {
      mixed = true;
      continue;
    }
    if (filed[kept[best] - 1] != filed[kept[best]])
      std::fill(filed.begin() + kept[best - 1], filed.begin() + kept[best + 1], true);
    if (whole[kept[best] - 1] != whole[kept[best]])
      std::fill(whole.begin() + kept[best - 1], whole.begin() + kept[best + 1], false);
    kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(best));
  }
  const bool reached = kept.size() <= wanted + 1;
  if (!reached && !too_many) return;       // another time
  std::vector<std::uint32_t> coarse(n, 0); // of each interval
  for (std::uint32_t c = 0; c + 1 < kept.size(); ++c) {
    std::uint32_t form = 0; // the leanest that any of them has
    for (std::uint32_t i = kept[c]; i < kept[c + 1]; ++i) {
      coarse[i] = c;
      if (taped[i] && !whole[i]) drop_tape(i);
      form = std::max(form, profile_.intervals[i].form);
    }
    if (std::find(spilled.begin() + kept[c], spilled.begin() + kept[c + 1], true) != spilled.begin() + kept[c + 1])
      for (std::uint32_t i = kept[c]; i < kept[c + 1]; ++i)
        if (whole[i] && !spilled[i]) spill_tape(i);
    for (std::uint32_t i = kept[c]; i < kept[c + 1]; ++i)
      if (profile_.intervals[i].form != form) make_lean(i, form);
  }
  std::vector<std::uint64_t> reads(n + 1, 0);
  for (const Read& read : reads_)
    if (read.serial < kMade) reads[read.last] = bounded(reads[read.last] + read.bytes);
  profile_ = coarsened(profile_, kept, reads);
  std::vector<std::uint64_t> positions;
  for (const std::uint32_t i : kept) positions.push_back(positions_[i]);
  positions_ = std::move(positions);
  for (std::uint32_t& birth : birth_of_) birth = coarse[birth];
  for (Read& read : reads_) read.last = coarse[read.last];
  for (std::size_t i = states_.size(); i-- > 0;) {
    const auto at = std::lower_bound(kept.begin(), kept.end(), states_[i].boundary);
    if (at == kept.end() || *at != states_[i].boundary)
      drop_state(states_[i].boundary);
    else
      states_[i].boundary = static_cast<std::uint32_t>(at - kept.begin());
  }
  if (!reached) return;
  piece_ = std::max(piece_, std::min(piece_ + piece_ / 3, most / kRecordBytes));
  most_steps_ = std::min(2 * most_steps_, kMostOfOne);
}

std::uint64_t Budgeted::note_reads(const std::vector<OldTensor>& read, std::size_t interval) {
  std::uint64_t sums = 0;
  const auto now = static_cast<std::uint32_t>(interval);
  std::vector<Read> merged;
  auto old = reads_.begin();
  for (const OldTensor& tensor : read) {
    while (old != reads_.end() && old->serial < tensor.serial) merged.push_back(*old++);
    if (old != reads_.end() && old->serial == tensor.serial) {
      sums = bounded(sums + bounded(tensor.sum));
      ++old;
    } else if (merged.size() + static_cast<std::size_t>(reads_.end() - old) >= kMostReads) {
      more_reads_ = std::min(bounded(more_reads_ + tensor.bytes), older_); // told again by each interval that reads it
      continue;
    }
    merged.push_back({tensor.serial, bounded(tensor.bytes), now});
  }
  merged.insert(merged.end(), old, reads_.end());
  reads_ = std::move(merged);
  return sums;
}

std::vector<std::uint64_t> Budgeted::read_from() const {
  std::vector<std::uint64_t> bytes(profile_.size() + 1, 0);
  std::vector<std::uint64_t> freed = bytes;
  for (const Read& read : reads_) (read.is_freed() ? freed : bytes)[read.last] += read.bytes;
  for (std::size_t i = profile_.size(); i-- > 0;) {
    bytes[i] += bytes[i + 1];
    freed[i] += freed[i + 1];
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = bounded(bytes[i] - std::min(bytes[i], freed[i]) + more_reads_);
  return bytes;
}

// What the sweep of an interval holds includes the cotangents that it makes, those of older tensors too. Where an interval was
// made of several, each counts only its own, and those stay that no rule takes before the next one and no later interval has
// made already. Of what rules make it includes nothing.
std::vector<std::uint64_t> Budgeted::more_reads_within() const {
  std::vector<std::uint64_t> more(profile_.size() + 1, 0);
  const auto behind = std::ranges::find_if(reads_, [](const Read& read) { return read.serial >= kMade; });
  auto freed = std::ranges::find_if(reads_, &Read::is_freed);
  for (auto read = reads_.begin(); read != behind; ++read) {
    while (freed != reads_.end() && freed->serial < (read->serial | kFreed)) ++freed;
    const bool goes = freed != reads_.end() && freed->serial == (read->serial | kFreed) && freed->last == read->last;
    if (!goes) more[read->last] += read->bytes;
  }
  for (std::size_t i = 0; i < profile_.size(); ++i) more[i] = std::min(more[i], profile_.intervals[i].more_reads);
  more.back() = 0; // of the tape that the end is on
  for (auto read = behind; read != reads_.end() && read->is_made(); ++read) more[read->last] += read->bytes;
  return more;
}

// Leaves had other serials where the run is known from an earlier one, but rules let go of the same.
void Budgeted::note_updates(const std::vector<UpdatedLeaf>& leaves) {
  std::erase_if(reads_, [&](const Read& read) { return read.is_made() || (read.is_freed() && !known_); });
  mark_updates(leaves);
}

// Entries are by serial, so those with marks come last.
void Budgeted::mark_updates(const std::vector<UpdatedLeaf>& leaves) {
  const std::vector<Read> reads = reads_;
  std::uint64_t largest = 0;
  for (const UpdatedLeaf& leaf : leaves) {
    const auto behind = std::upper_bound(positions_.begin(), positions_.end() - (stage_ < Stage::reversing ? 1 : 0), leaf.first);
    const auto first = static_cast<std::uint32_t>(std::max<std::ptrdiff_t>(1, behind - positions_.begin()) - 1);
    const auto read = std::ranges::lower_bound(reads, leaf.serial, {}, &Read::serial);
    const bool is_read = read != reads.end() && read->serial == leaf.serial;
    if (is_read) largest = std::max(largest, read->bytes);
    if (reads_.size() + 2 > kMostReads) { // on the safe side: its cotangent stays
      more_reads_ = bounded(more_reads_ + leaf.made);
      continue;
    }
    if (leaf.freed != 0 && is_read)
      reads_.push_back({leaf.serial | kFreed, std::min(leaf.freed, read->bytes), std::min(first, read->last)});
    if (leaf.made != 0) reads_.push_back({leaf.serial | kMade, bounded(leaf.made), first});
  }
  std::ranges::sort(reads_, {}, &Read::serial);
  for_rule_ = std::max(for_rule_, bounded(held_by_rule(largest, leaves.size())));
}

// What rules do of another profile of the same run, in fewer intervals perhaps.
void Budgeted::take_updates(const Budgeted& from, bool made) {
  for_rule_ = from.for_rule_;
  std::vector<UpdatedLeaf> leaves;
  for (const Read& read : from.reads_) {
    if (read.serial < kMade || (read.is_made() && !made)) continue;
    UpdatedLeaf leaf;
    leaf.serial = read.serial & ~(kFreed | kMade);
    leaf.first = from.positions_[read.last];
    (read.is_freed() ? leaf.freed : leaf.made) = read.bytes;
    leaves.push_back(leaf);
  }
  mark_updates(leaves);
}

// The profile, with cotangents of what is older than the run.
Profile Budgeted::with_reads() const {
  Profile profile = profile_;
  const std::vector<std::uint64_t> reads = read_from(), within = more_reads_within();
  for (std::size_t i = 0; i <= profile.size(); ++i) {
    profile.cotangents[i] = bounded(profile.cotangents[i] + reads[i]);
    if (i < profile.size()) {
      for (std::uint64_t& sweeping : profile.intervals[i].sweeping_of) sweeping = bounded(sweeping + within[i]);
      profile.intervals[i].swept = bounded(profile.intervals[i].swept + std::max(reads[i], reads[i + 1]));
    }
  }
  return profile;
}

std::vector<KnownInterval> Budgeted::intervals() const {
  std::vector<KnownInterval> known;
  for (std::size_t i = 0; i < profile_.size(); ++i) {
    const Interval& interval = profile_.intervals[i];
    const std::vector<std::uint64_t>& state = profile_.reach[i + 1];
    KnownInterval k;
    k.steps = positions_[i + 1] - positions_[i];
    k.forward = interval.forward;
    k.sweep = interval.sweep;
    std::size_t leanest = 0;
    for (std::size_t f = 1; f < kTapeForms; ++f)
      if (shared_bytes(interval, f) < shared_bytes(interval, leanest)) leanest = f;
    k.again = interval.again_of[leanest];
    k.tape = interval.tape + shared_bytes(interval, 0);
    k.lean = interval.tape + shared_bytes(interval, leanest);
    k.state = std::accumulate(state.begin(), state.end(), std::uint64_t{0});
    k.made = profile_.born[i];
    k.sweeping = interval.sweeping();
    known.push_back(k);
  }
  return known;
}

} // namespace cairn::schedule
