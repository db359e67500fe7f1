// Fills the tables. Parts of a run are [from, to); those that start later come first, then those that end sooner, and memory runs
// innermost, so that the loop over it is one of plain arrays.
#include "vm/schedule/plan_tables.h"

#include "vm/schedule/asking.h"

#include <limits>
#include <optional>

namespace cairn::schedule {
namespace {

constexpr float kNoPlan = std::numeric_limits<float>::infinity();
constexpr std::size_t kBetweenQuestions = 16; // parts of a run, each of some hundred rows

} // namespace

Tables::Tables(const Profile& profile, const std::vector<Profile>& forms, Family family, unsigned octave, std::uint32_t cells)
    : profile_(profile), forms_(forms), family_(family), octave_(octave), cells_(cells), nothing_(width(), 0.0F) {
  const std::size_t count = profile.size();
  whole_.assign(count * (count + 1) / 2 * width(), kNoPlan);
  if (family == Family::free) parting_.assign(count * (count + 1) * (count + 2) / 6 * width(), kNoPlan);
}

std::uint64_t Tables::bytes(std::size_t intervals, Family family, std::uint32_t cells) {
  const std::uint64_t count = intervals;
  // The free family also holds the rows of the base in hand.
  const std::uint64_t rows = count * (count + 1) / 2 * (family == Family::free ? 2 : 1) +
                             (family == Family::free ? count * (count + 1) * (count + 2) / 6 : 0);
  return rows * (cells + std::uint64_t{1}) * sizeof(float);
}

bool Tables::in_family(std::size_t base, std::size_t first, std::size_t last, std::size_t to) const {
  if (first == last) return first != base && first != to;
  return family_ != Family::simple || first == base || last == to;
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
  // A row is never made from itself, and parts are gone through so that the others are complete.
  float* __restrict to = out + group.need;
  const float* __restrict left = later + (group.need - group.keep);
  const float* __restrict beside = earlier + group.need;
  const std::size_t count = width() - group.need;
  for (std::size_t s = 0; s < count; ++s) to[s] = std::min(to[s], group.cost + left[s] + beside[s]);
}

void Tables::fill(const std::vector<Parts>& forms) {
  const Parts& parts = forms.front();
  Passing passing;
  if (family_ == Family::free) passing.rows.resize(pair(0, profile_.size() + 1));
  for (std::size_t to = parts.base() + 1; to <= profile_.size(); ++to) {
    if ((to - parts.base()) % kBetweenQuestions == 1) Asking::now();
    if (family_ == Family::free)
      fill_free(parts, passing, to);
    else
      fill_simple(forms, to);
  }
}

void Tables::fill_simple(const std::vector<Parts>& forms, std::size_t to) {
  const std::size_t base = forms.front().base();
  float* out = whole(base, to);
  for_each_pair(base, to, [&](std::size_t first, std::size_t last) {
    std::optional<Group> last_one;
    for (const Parts& parts : forms) {
      const Group next = group(parts, first, last, to, false);
      // A form that is no better in this part of the run than the one before gives no better plan.
      const bool of_use = !last_one || next.need < last_one->need || next.keep < last_one->keep || next.cost < last_one->cost;
      if (of_use) relax(out, *(last_one = next), whole_of(last, to), whole_of(base, first));
      if (first == last) break; // no tape
    }
  });
}

void Tables::fill_free(const Parts& parts, Passing& passing, std::size_t to) {
  const std::size_t base = parts.base();
  float* out = whole(base, to);
  for (std::size_t first = base; first < to; ++first) {
    float* part = parting(base, first, to);
    for (std::size_t last = first; last <= to; ++last)
      if (in_family(base, first, last, to))
        relax(part, group(parts, first, last, to, false), whole_of(last, to), nothing_.data());
    relax(out, {}, part, whole_of(base, first));
  }
  pass(parts, passing, to);
  if (base + 1 < to) relax(out, step(parts, base, to), passing.rows[pair(base + 1, to)].data(), nothing_.data());
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
    if (at + 1 < to) relax(row.data(), step(parts, at, to), passing.rows[pair(at + 1, to)].data(), nothing_.data());
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
    relax(passing.rows[pair(at, to)].data(), {}, whole_of(parts.base(), to), nothing_.data());
}

} // namespace cairn::schedule
