// The tables of one octave: the least modelled cost of reversing each part of a run in each amount of memory, counted in cells of
// 2^q bytes. Private to this room.
#pragma once

#include "vm/schedule/plan.h"
#include "vm/schedule/plan_blocks.h"
#include "vm/schedule/plan_parts.h"
#include "vm/schedule/plan_rows.h"

namespace cairn::schedule {

// A row has the costs for 0 to `cells` cells, which do not rise; infinity where there is no plan.
using Row = std::vector<float>;

class Tables {
public:
  // All of them outlive the tables. `finer` has cells of half the size, and is filled before; none for the first octave, and in
  // the free family.
  Tables(const Profile& profile, const std::vector<Profile>& forms, Family family, unsigned octave, std::uint32_t cells,
         const Tables* finer);
  // Everything that starts from their base; bases come from the last to the first. The second of the free family.
  void fill(std::span<const Blocks> bases);
  void fill_free(const Parts& parts);

  // What tables of so many intervals take.
  static std::uint64_t bytes(std::size_t intervals, Family family, std::uint32_t cells);
  std::size_t cells_of(std::uint64_t budget) const { return std::min<std::uint64_t>(budget >> octave_, cells_); }
  std::uint64_t budget_of(std::size_t cells) const { return std::uint64_t{cells} << octave_; }
  // Whether it counts up to that budget; coarser tables are for larger ones.
  bool counts(std::uint64_t budget) const { return budget >> octave_ <= cells_; }
  // Of the whole run.
  float cost(std::size_t cells) const { return whole_of(0, profile_.size())[cells]; }
  std::vector<Move> moves(std::size_t cells) const;

  // Of reversing everything in front of `to` when states are held: a row for each of them, in which it is the oldest.
  std::vector<Row> entry(const std::vector<std::uint32_t>& held, std::size_t to) const;
  std::vector<Move> moves(const std::vector<std::uint32_t>& held, const std::vector<Row>& entry, std::size_t to,
                          std::size_t cells) const;

private:
  friend class Extraction;
  struct Group { // a part of a plan, in cells
    std::size_t need = 0, keep = 0;
    float cost = 0;
  };
  // For one base: the least cost of reversing [base, to) when `at` is the current state and may be held until it is of no use.
  struct Passing {
    std::vector<Row> rows; // by pair(at, to)
  };
  std::size_t width() const { return std::size_t{cells_} + 1; }
  static std::size_t pair(std::size_t from, std::size_t to) { return to * (to - 1) / 2 + from; }
  // The same with what starts at the same boundary together.
  std::size_t pair_by_start(std::size_t from, std::size_t to) const {
    return from * (2 * profile_.size() - from + 1) / 2 + to - from - 1;
  }
  static std::size_t triple(std::size_t base, std::size_t first, std::size_t to) {
    return (to - 1) * to * (to + 1) / 6 + first * (first + 1) / 2 + base;
  }
  std::size_t round_up(std::uint64_t bytes) const {
    return static_cast<std::size_t>((bytes + (std::uint64_t{1} << octave_) - 1) >> octave_);
  }

  // How many sizes are those of every second one of the finer table, where plans are rounded less.
  std::size_t of_finer() const { return finer_ == nullptr ? 0 : cells_ / 2 + std::size_t{1}; }
  // Of reversing [from, to) from the held state at `from`: where its row lies. That of nothing lies in front of all others.
  std::size_t place(std::size_t from, std::size_t to) const {
    return kInFrontOfRow + (from == to ? 0 : (pair(from, to) + 1) * row_storage(width()));
  }
  const float* nothing() const { return &whole_[kInFrontOfRow]; }
  const float* whole_of(std::size_t from, std::size_t to) const { return &whole_[place(from, to)]; }
  float* whole(std::size_t from, std::size_t to) { return &whole_[place(from, to)]; }
  // Of reversing only [first, to) in one go from the held state at `base`.
  const float* parting(std::size_t base, std::size_t first, std::size_t to) const {
    return &parting_[triple(base, first, to) * width()];
  }
  float* parting(std::size_t base, std::size_t first, std::size_t to) { return &parting_[triple(base, first, to) * width()]; }

  // f(first, last) of all in the family.
  template <class F> void for_each_pair(std::size_t base, std::size_t to, F&& f) const {
    if (family_ == Family::simple) { // the same as below, without looking at the others
      for (std::size_t last = base + 1; last <= to; ++last) f(base, last);
      for (std::size_t first = base + 1; first < to; ++first) {
        f(first, first);
        f(first, to);
      }
      return;
    }
    for (std::size_t first = base; first <= to; ++first)
      for (std::size_t last = first; last <= to; ++last)
        if (in_family(family_, base, first, last, to)) f(first, last);
  }
  // `there`: the current state is at `first` already.
  Group group(const Parts& parts, std::size_t first, std::size_t last, std::size_t to, bool there) const; // weighed

  std::size_t weight(std::size_t state, std::size_t beside) const;      // in cells, of a state beside an older one
  Group step(const Parts& parts, std::size_t at, std::size_t to) const; // over interval `at`
  // out = min(out, group + later with what the group leaves of the memory + earlier), wherever the group has what it needs.
  void relax(float* out, const Group& group, const float* later, const float* earlier) const;
  // The same of a row of `whole_`, which is a plan's: what it is made from is noted, and then gone through at once.
  void add_holds(const Blocks& blocks, std::size_t to);
  void add_option(const Group& group, std::size_t base, std::size_t first, std::size_t last, std::size_t to, const float* row);
  void fill(const Blocks& blocks, std::size_t to);
  void note_range(std::size_t from, std::size_t to);
  void fill_free(const Parts& parts, Passing& passing, std::size_t to);
  void pass(const Parts& parts, Passing& passing, std::size_t to) const;
  void give_up(const Parts& parts, Passing& passing, std::size_t to) const;

  const Profile& profile_;
  const std::vector<Profile>& forms_;
  Family family_;
  unsigned octave_;
  std::uint32_t cells_;
  const Tables* finer_;
  std::unique_ptr<float[]> whole_;
  Row parting_;
  RowOptions options_;
  // Of the rows of whole_, by where they end and by where they start. There are none of the row of nothing.
  Ranges by_end_, by_start_;
  std::vector<std::int32_t> ends_; // where the row of [0, to) lies
};

} // namespace cairn::schedule
