// What a planner knows about a run: intervals of steps, what it takes to run, tape and sweep each of them, and what states and
// tapes weigh.
//
// Boundary 0 is the start of the run; interval i leads from boundary i to boundary i + 1. Values are immutable, so what is alive
// at a boundary and was made before an earlier one was alive there too. That is why sharing between states needs no sets but only
// sizes by birth: a state beside one at an earlier boundary weighs what was made in between.
#pragma once

#include "vm/schedule/schedule.h"

#include <array>
#include <cstdint>
#include <set>
#include <vector>

namespace cairn::schedule {

inline constexpr std::size_t kMostIntervals = 1 << 12;
inline constexpr std::uint64_t kMostOfOne = std::uint64_t{1} << 48; // of a size or a cost
inline std::uint64_t bounded(std::uint64_t value) { return value < kMostOfOne ? value : kMostOfOne; }

// Bytes that a tape holds and that states, or tapes of other intervals, may hold as well: made in interval `birth`. What was made
// before the tape's own interval is a part of what the state at its start reaches.
struct TapeShare {
  // In one form of the tape. None holds more than the first.
  struct Form {
    std::uint64_t bytes = 0;
    std::uint64_t after = 0;                           // of these, what the state at the interval's end holds as well, at least,
    std::array<std::uint64_t, kTapeForms> before = {}; // and the tape of the interval before it, in each of its forms
    template <class Self, class Archive> static void fields(Self& self, Archive& archive) {
      archive(self.bytes);
      archive(self.after);
      for (auto& bytes : self.before) archive(bytes);
    }
  };
  std::uint32_t birth = 0;
  std::uint64_t gone = 0; // of what it holds as recorded and older intervals made, what that state no longer has, at least
  std::array<Form, kTapeForms> forms;
  template <class Self, class Archive> static void fields(Self& self, Archive& archive) {
    archive(self.birth);
    archive(self.gone);
    for (auto& form : self.forms) archive(form);
  }
};

inline constexpr std::array<std::uint64_t, kTapeForms> kBornUnknown = {kMostOfOne, kMostOfOne, kMostOfOne, kMostOfOne};

struct Interval {
  std::uint64_t forward = 0; // modelled cost of running it without tape,
  std::uint64_t taped = 0;   // of running it on a tape,
  std::uint64_t sweep = 0;   // and of sweeping that tape
  std::uint64_t tape = 0;    // bytes of its tape that nothing else holds
  std::vector<TapeShare> shares;
  // Scratch of each of the three, held only while it is done, on top of states, tapes and the cotangents at the interval's end.
  std::uint64_t advancing = 0;
  std::uint64_t taping = 0;
  // The first two where nothing else holds the state at the interval's start, so that it goes as the interval is run: on top of
  // the state at the interval's end alone, and what is held in front of it.
  std::uint64_t advancing_alone = kMostOfOne;
  std::uint64_t taping_alone = kMostOfOne;
  // Its tapes are made lean at that level once they have been made, if it is not 0.
  std::uint32_t form = 0;
  // In each form: what is held while its tape is swept, which includes the cotangents at its start; the cost of what the sweep
  // computes again; and of what was made in the interval, the most that states and its tape can hold together.
  std::array<std::uint64_t, kTapeForms> sweeping_of = {}, again_of = {}, born_of = kBornUnknown;
  std::uint64_t sweeping() const { return sweeping_of[form]; }
  std::uint64_t again() const { return again_of[form]; }
  // What the first of them would be more if cotangents at its end were parts of others, as only later intervals can tell.
  std::array<std::uint64_t, kTapeForms> more_if_parts_of = {};
  // Where it was made of several, each of which counts the cotangents that it makes of what is older than the run: what is held
  // beyond that at the worst moment, as those of parts that were swept before are still there.
  std::uint64_t more_reads = 0;
  // Its tape may be in a file: of all that it holds, at most what stays in memory then, and what the file takes at most beside
  // the bytes of the rest. It comes back in the pieces that it was made of: the largest of these, and the most bytes while one of
  // them is swept, cotangents at its end included. All of this is of tapes as they were recorded.
  std::uint64_t stays = 0, padding = 0, piece = 0, swept = 0;
  template <class Self, class Archive> static void fields(Self& self, Archive& archive) {
    archive(self.forward);
    archive(self.taped);
    archive(self.sweep);
    archive(self.tape);
    archive(self.shares);
    archive(self.stays);
    archive(self.padding);
    archive(self.piece);
    archive(self.swept);
    archive(self.advancing);
    archive(self.taping);
    archive(self.advancing_alone);
    archive(self.taping_alone);
    archive(self.more_reads);
    archive(self.form);
    for (auto* const by_form : {&self.sweeping_of, &self.again_of, &self.born_of, &self.more_if_parts_of})
      for (auto& of_form : *by_form) archive(of_form);
  }
};

struct Profile {
  std::vector<Interval> intervals;
  // reach[i][k]: bytes that the state at boundary i reaches and that were made in interval k < i. They do not grow with i. What
  // is older than the run weighs nothing, so reach[0] is empty.
  std::vector<std::vector<std::uint64_t>> reach;
  // Of what was made in each interval, the most bytes that states and shared parts of tapes can hold together.
  std::vector<std::uint64_t> born;
  std::vector<std::uint64_t> cotangents; // bytes at each boundary while everything behind it is reversed

  std::size_t size() const { return intervals.size(); }
  // Sizes fit each other, tapes hold of older births what was alive, nothing that was dead comes back, and no sum over the run
  // can overflow.
  bool sound() const;
  template <class Self, class Archive> static void fields(Self& self, Archive& archive) {
    archive(self.intervals);
    archive(self.reach);
    archive(self.born);
    archive(self.cotangents);
  }
};

// Bytes of all that its tape shares in that form.
std::uint64_t shared_bytes(const Interval& interval, std::size_t form);
// All that its tape holds, and what of a file that takes at most.
std::uint64_t whole_tape(const Interval& interval);
std::uint64_t in_file(const Interval& interval);
// The most bytes while a piece of it that has come back is swept.
std::uint64_t swept_bytes(const Interval& interval);

// The same of several, at most: what neighbours share is there once.
std::uint64_t in_file(const Profile& profile, const std::vector<bool>& tapes);

// What a byte costs that its tape lets go of to get from the form it has into that one: a smaller one costs less.
struct PriceOfByte {
  std::uint64_t cost = 0, bytes = 0;
  bool operator<(const PriceOfByte& other) const;
};
PriceOfByte price_of(const Interval& interval, std::size_t form);
// The form in which it lets go of more for the least, a byte; 0: in none of those up to `most` that is cheaper than running the
// interval again, or than that part of it.
std::uint32_t next_form(const Profile& profile, std::size_t interval, std::size_t most = kTapeForms - 1, std::uint64_t part = 1);

// What its tape holds while it is made and before it is put aside, beside the tape that is put aside and the state at the
// interval's end, with what is held for a while.
std::uint64_t taping_beside(const Interval& interval);
// Of what was made in that interval, the most bytes that states and tapes put aside can hold together.
std::uint64_t born_aside(const Profile& profile, std::size_t interval);
// Of a share of that interval's tape, which has that form, what the tape of the interval before it holds as well.
inline std::uint64_t before_of(const Profile& profile, std::size_t interval, const TapeShare& share, std::size_t form) {
  return share.forms[form].before[interval > 0 ? profile.intervals[interval - 1].form : 0];
}

// Of what the state at the interval's start has and is older than that boundary, what neither the state at its end has nor, if it
// is there, the tape, at most.
std::uint64_t lost(const Profile& profile, std::size_t interval, std::size_t boundary, bool on_tape);

// The least that `born` can be: of each interval, the most that one state or one tape reaches.
std::vector<std::uint64_t> least_born(const Profile& profile);

// What it comes to while an interval is run, with or without a tape, where that much is held if the states at both its ends and
// its whole tape are, or without the state at its start, unless something else holds that. Neither is less than what there is.
inline std::uint64_t running_bytes(const Interval& interval, bool on_tape, std::uint64_t beside_both, std::uint64_t beside_end) {
  const std::uint64_t with = beside_both + (on_tape ? interval.taping : interval.advancing),
                      without = beside_end + (on_tape ? interval.taping_alone : interval.advancing_alone);
  return with < without ? with : without;
}

inline constexpr std::size_t kNoInterval = SIZE_MAX;

// Bytes that these states and the tapes of these intervals hold together, beside the initial state. One of the tapes may be in
// work, and not lean yet.
std::uint64_t held_bytes(const Profile& profile, const std::set<std::size_t>& states, const std::set<std::size_t>& tapes,
                         std::size_t in_work = kNoInterval);

// The same, with a flag for each boundary and for each interval.
std::uint64_t held_bytes(const Profile& profile, const std::vector<bool>& states, const std::vector<bool>& tapes,
                         std::size_t in_work = kNoInterval);

// The same while states and tapes are added from the first boundary on: at each a state, then the tape of the interval behind it.
class HeldInOrder {
public:
  explicit HeldInOrder(const Profile& profile);
  void add_state(std::size_t boundary);
  void add_tape(std::size_t interval, bool in_work = false);
  // Those at the boundaries [from, to), with a flag for each boundary and for each interval.
  void add(const std::vector<bool>& states, const std::vector<bool>& tapes, std::size_t from, std::size_t to,
           std::size_t in_work = kNoInterval);
  std::uint64_t bytes() const { return own_ + shared_; }

private:
  struct OfBirth {
    std::uint64_t tapes = 0;    // whatever of it tapes hold twice
    std::uint64_t most = 0;     // what tapes and later states hold of it at most
    std::uint64_t in_state = 0; // what the first state behind it holds,
    std::uint64_t twice = 0;    // and of that one of the tapes in front of it, at least
    std::uint64_t bytes() const;
  };
  std::size_t form_of(std::size_t tape) const { return tape == in_work_ ? 0 : profile_->intervals[tape].form; }
  const Profile* profile_;
  std::vector<OfBirth> births_;
  std::size_t open_ = 0; // births from this one on have no state behind them yet
  std::size_t in_work_ = kNoInterval;
  std::size_t tape_ = kNoInterval; // the interval of the last tape,
  std::vector<std::size_t> tapes_; // and those of all behind the last state
  std::uint64_t own_ = 0, shared_ = 0;
};

// Bytes of the tapes of intervals [from, to) together, beside what the state at the start of the first one reaches.
std::uint64_t tape_bytes(const Profile& profile, std::size_t from, std::size_t to);

// The same of all intervals, each tape as it was recorded.
std::uint64_t bytes_of_one_tape(const Profile& profile);

// Intervals [from, to) as a run of their own: what is older than the first of them weighs nothing.
Profile part_of(const Profile& profile, std::size_t from, std::size_t to);

// The same run in fewer intervals: those between the given boundaries (the first and the last one among them) become one each.
// Whatever is planned for it fits, move by move, when it is refined: sizes are never below those of the parts.
// `reads`: by interval, bytes of what is older than the run and read by no later one.
Profile coarsened(const Profile& profile, const std::vector<std::uint32_t>& boundaries,
                  const std::vector<std::uint64_t>& reads = {});

} // namespace cairn::schedule
