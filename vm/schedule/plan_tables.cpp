// Fills the tables. Parts of a run are [from, to); those that start later come first, then those that end sooner, and memory runs
// innermost, so that the loop over it is one of plain arrays.
#include "vm/schedule/plan_tables.h"

#include "vm/schedule/asking.h"

#include <limits>
#include <new>

namespace cairn::schedule {
namespace {

constexpr float kNoPlan = std::numeric_limits<float>::infinity();
constexpr std::size_t kBetweenQuestions = 16; // parts of a run, each of some hundred rows

// A row is never made from itself, and parts are gone through so that the others are complete. Within its caller it is not known
// that rows are apart, and there are no vectors.
[[gnu::noinline]] void lower_each(float* __restrict out, const float* __restrict later, const float* __restrict earlier,
                                  float cost, std::size_t count) {
  for (std::size_t s = 0; s < count; ++s) out[s] = std::min(out[s], cost + later[s] + earlier[s]);
}

} // namespace

Tables::Tables(const Profile& profile, const std::vector<Profile>& forms, Family family, unsigned octave, std::uint32_t cells,
               const Tables* finer)
    : profile_(profile), forms_(forms), family_(family), octave_(octave), cells_(cells), finer_(finer) {
  const std::size_t count = profile.size();
  if (place(0, count) + count * row_storage(width()) > INT32_MAX) throw std::bad_alloc(); // rows are told by 32 bits
  whole_ = std::make_unique_for_overwrite<float[]>(kInFrontOfRow + (count * (count + 1) / 2 + 1) * row_storage(width()));
  std::fill_n(whole_.get(), kInFrontOfRow, kNoPlan);
  std::fill_n(whole(0, 0), row_storage(width()), 0.0F);
  by_end_.resize(count * (count + 1) / 2);
  by_start_.resize(count * (count + 1) / 2);
  ends_.resize(count + 1 + kRowGroup);
  for (std::size_t to = 1; to <= count; ++to) ends_[to] = static_cast<std::int32_t>(place(0, to));
  if (family == Family::free) parting_.assign(count * (count + 1) * (count + 2) / 6 * width(), kNoPlan);
}

std::uint64_t Tables::bytes(std::size_t intervals, Family family, std::uint32_t cells) {
  const std::uint64_t count = intervals;
  // The free family also holds the rows of the base in hand.
  const std::uint64_t rows = count * (count + 1) / 2 * (family == Family::free ? 2 : 1) +
                             (family == Family::free ? count * (count + 1) * (count + 2) / 6 : 0);
  return rows * row_storage(cells + std::size_t{1}) * sizeof(float);
}

Tables::Group Tables::group(const Parts& parts, std::size_t first, std::size_t last, std::size_t to, bool there) const {
  const Parts::Tapes& tapes = parts.tapes(first, last);
  const std::uint64_t behind = profile_.cotangents[to];
  std::uint64_t need = tapes.sweep_peak;
  if (first != last) need = std::max(need, tapes.tape_peak + behind);
  if (!there && first != parts.base()) need = std::max(need, parts.advance_peak(first) + behind);
  Group out;
  out.need = round_up(need);
  out.cost = there ? parts.cost_there(first, last) : parts.cost(first, last);
  if (last != to) {
    out.keep = round_up(tapes.keep);
    out.need = std::max(out.need, out.keep);
  }
  return out;
}

Tables::Group Tables::step(const Parts& parts, std::size_t at, std::size_t to) const {
  Group out;
  out.need = round_up(parts.step_peak(at) + profile_.cotangents[to]);
  out.cost = static_cast<float>(profile_.intervals[at].forward);
  return out;
}

void Tables::relax(float* out, const Group& group, const float* later, const float* earlier) const {
  if (group.need >= width()) return;
  lower_each(out + group.need, later + (group.need - group.keep), earlier + group.need, group.cost, width() - group.need);
}

void Tables::add_holds(const Blocks& blocks, std::size_t to) {
  const std::size_t base = blocks.base();
  if (base + 1 == to) return;
  const Blocks::Holds& holds = blocks.holds();
  options_.add({.count = to - base - 1,
                .running = holds.running.data(),
                .keep = holds.keep.data(),
                .cost = holds.cost.data(),
                .later = RangesFrom(by_end_, pair(base + 1, to)),
                .earlier = RangesFrom(by_start_, pair_by_start(base, base + 1)),
                .later_row = static_cast<std::int32_t>(place(base + 1, to)),
                .later_step = static_cast<std::int32_t>(row_storage(width())),
                .earlier_rows = &ends_[base + 1],
                .earlier_base = static_cast<std::int32_t>(base * row_storage(width())),
                .behind = profile_.cotangents[to],
                .octave = octave_,
                .from = static_cast<std::int32_t>(of_finer())},
               static_cast<std::int32_t>(row_storage(width())));
}

inline void Tables::add_option(const Group& group, std::size_t base, std::size_t first, std::size_t last, std::size_t to,
                               const float* row) {
  std::size_t start = std::max(of_finer(), group.need), stop = 0;
  float least = group.cost;
  if (last != to) {
    const std::size_t later = pair(last, to);
    start = std::max(start, static_cast<std::size_t>(by_end_.least[later]) + group.keep);
    stop = static_cast<std::size_t>(by_end_.enough[later]) + group.keep;
    least += by_end_.cost[later];
  }
  if (first != base) {
    const std::size_t earlier = pair_by_start(base, first);
    start = std::max(start, static_cast<std::size_t>(by_start_.least[earlier]));
    stop = std::max(stop, static_cast<std::size_t>(by_start_.enough[earlier]));
    least += by_start_.cost[earlier];
  }
  start = std::min(start, width());
  // Rows need not even be looked at if it is no better anywhere.
  const int of_use = static_cast<int>(start < width()) & static_cast<int>(least < row[std::min<std::size_t>(start, cells_)]);
  options_.add(of_use != 0, static_cast<std::int32_t>(start), static_cast<std::int32_t>(std::clamp(stop, start, width())), least,
               static_cast<std::int32_t>(place(last, to) - std::min(group.keep, start)),
               static_cast<std::int32_t>(place(base, first)), group.cost);
}

void Tables::note_range(std::size_t from, std::size_t to) {
  const float* row = whole_of(from, to);
  const auto behind = [&](auto&& is_more) {
    return static_cast<std::int32_t>(std::partition_point(row, row + width(), is_more) - row);
  };
  const std::int32_t least = behind([](float cost) { return cost == kNoPlan; }),
                     enough = behind([&](float cost) { return cost > row[cells_]; });
  const auto note = [&](Ranges& ranges, std::size_t at) {
    ranges.least[at] = least;
    ranges.enough[at] = enough;
    ranges.cost[at] = row[cells_];
  };
  note(by_end_, pair(from, to));
  note(by_start_, pair_by_start(from, to));
}

void Tables::fill(std::span<const Blocks> bases) {
  for (std::size_t to = bases.back().base() + 1; to <= profile_.size(); ++to) {
    Asking::now();
    for (const Blocks& blocks : bases)
      if (blocks.base() < to) fill(blocks, to);
  }
}

// The row is the same in each order of what it is made from. In this one most of what comes later is no better anywhere, which
// takes no look at rows: the whole tape, states that are held, other tapes.
void Tables::fill(const Blocks& blocks, std::size_t to) {
  const std::size_t base = blocks.base();
  float* const row = whole(base, to);
  if (finer_ != nullptr) {
    const float* const finer = finer_->whole_of(base, to);
    for (std::size_t s = 0; s < of_finer(); ++s) row[s] = finer[2 * s];
  }
  std::fill(row + of_finer(), row + row_storage(width()), finer_ == nullptr ? kNoPlan : row[of_finer() - 1]);
  const std::uint64_t behind = profile_.cotangents[to];
  const auto need_of = [&](const Blocks::Block& block) { return round_up(std::max(block.sweep, block.running + behind)); };
  const std::span<const Blocks::End> up_to = blocks.up_to(to);
  for (std::size_t i = up_to.size(); i-- > 0 && up_to[i].first == base;)
    for (std::size_t s = std::max(of_finer(), round_up(up_to[i].need)); s < row_storage(width()); ++s)
      row[s] = std::min(row[s], up_to[i].cost);
  options_.clear(std::max(to - base, blocks.within(to).size() + up_to.size()) + 1);
  add_holds(blocks, to);
  options_.lower(whole_.get(), place(base, to), row_storage(width()));
  for (const Blocks::Block& block : blocks.within(to)) {
    if (round_up(block.least) >= width()) break;
    const std::size_t keep = round_up(block.keep);
    add_option({std::max(need_of(block), keep), keep, block.cost}, base, block.first, block.last, to, row);
  }
  for (const Blocks::End& end : up_to) {
    if (end.first == base || round_up(end.least) >= width()) break;
    add_option({round_up(end.need), 0, end.cost}, base, end.first, to, to, row);
  }
  options_.lower(whole_.get(), place(base, to), row_storage(width()));
  note_range(base, to);
}

void Tables::fill_free(const Parts& parts) {
  Passing passing;
  passing.rows.resize(pair(0, profile_.size() + 1));
  for (std::size_t to = parts.base() + 1; to <= profile_.size(); ++to) {
    if ((to - parts.base()) % kBetweenQuestions == 1) Asking::now();
    fill_free(parts, passing, to);
  }
}

void Tables::fill_free(const Parts& parts, Passing& passing, std::size_t to) {
  const std::size_t base = parts.base();
  float* out = whole(base, to);
  std::fill_n(out, row_storage(width()), kNoPlan);
  for (std::size_t first = base; first < to; ++first) {
    float* part = parting(base, first, to);
    for (std::size_t last = first; last <= to; ++last)
      if (in_family(family_, base, first, last, to))
        relax(part, group(parts, first, last, to, false), whole_of(last, to), nothing());
    relax(out, {}, part, whole_of(base, first));
  }
  pass(parts, passing, to);
  if (base + 1 < to) relax(out, step(parts, base, to), passing.rows[pair(base + 1, to)].data(), nothing());
  give_up(parts, passing, to);
}

// From the current state at `at`, in the order below: tape from here, which lets go of the state; hold it, reverse what lies
// behind a later boundary in one go, and come back to it for the rest; or advance past it.
void Tables::pass(const Parts& parts, Passing& passing, std::size_t to) const {
  const std::size_t base = parts.base();
  for (std::size_t at = to - 1; at > base; --at) {
    Row& row = passing.rows[pair(at, to)];
    row.assign(width(), kNoPlan);
    for (std::size_t last = at + 1; last <= to; ++last)
      relax(row.data(), group(parts, at, last, to, true), whole_of(last, to), whole_of(base, at));
    Group held;
    held.keep = held.need = round_up(parts.newer(at));
    relax(row.data(), held, parting(at, at, to), whole_of(base, at));
    for (std::size_t first = at + 1; first < to; ++first)
      relax(row.data(), held, parting(at, first, to), passing.rows[pair(at, first)].data());
    if (at + 1 < to) relax(row.data(), step(parts, at, to), passing.rows[pair(at + 1, to)].data(), nothing());
  }
}

std::size_t Tables::weight(std::size_t state, std::size_t beside) const {
  std::uint64_t newer = 0;
  for (std::size_t k = beside; k < state; ++k) newer += profile_.reach[state][k];
  return round_up(newer);
}

// With the state held[i] and those in front of it given: it alone is used, or what lies behind a later one is reversed first,
// from there.
std::vector<Row> Tables::entry(const std::vector<std::uint32_t>& held, std::size_t to) const {
  std::vector<Row> rows(held.size());
  for (std::size_t i = held.size(); i-- > 0;) {
    const float* alone = whole_of(held[i], to);
    rows[i].assign(alone, alone + width());
    for (std::size_t j = i + 1; j < held.size(); ++j) {
      Group beside;
      beside.keep = beside.need = weight(held[j], held[i]);
      relax(rows[i].data(), beside, rows[j].data(), whole_of(held[i], held[j]));
    }
  }
  return rows;
}

// Whatever is current, the rest can be reversed from the base alone.
void Tables::give_up(const Parts& parts, Passing& passing, std::size_t to) const {
  for (std::size_t at = parts.base() + 1; at < to; ++at)
    relax(passing.rows[pair(at, to)].data(), {}, whole_of(parts.base(), to), nothing());
}

} // namespace cairn::schedule
