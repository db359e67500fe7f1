// What to keep of a first run when not everything fits: states at boundaries, tapes of intervals. Intervals without a tape are
// run again, those next to each other as one, a gap, from the state at its start.
//
// A tape that is in a file holds little memory until it is swept, and then all of it.
//
// This is a heuristic of our own, as a first run has to decide before anybody knows its length: whatever costs the least for what
// it frees is let go of first. That is a tape which is heavy for what its interval takes to
// run, wherever it lies, and a state between two gaps that can be on tape together. Between two tapes a state has no other use
// than that the second of them may be let go of later.
#pragma once

#include "vm/schedule/profile.h"

#include <vector>

namespace cairn::schedule {

// A file where what tapes hold of tensors may be instead. A thread of its own writes while the run goes on, and reads while it is
// reversed: only what takes longer than that costs time.
struct File {
  std::vector<bool> tapes; // that are there, by interval; empty: none
  std::uint64_t most = 0;  // bytes that it holds
  std::uint64_t ticks = 0; // for a MiB that is written and read, half of them for either
  std::uint64_t moved = 0; // bytes that were to be written so far
  bool has(std::size_t interval) const { return interval < tapes.size() && tapes[interval]; }
};

// What a gradient whose run takes `forward`, and its reversal `reversal`, takes longer when so many bytes go to the file and come
// back: until the thread is done, and for what it takes of processors and of the way to memory meanwhile.
std::uint64_t waiting_for(const File& file, std::uint64_t moved, std::uint64_t forward, std::uint64_t reversal);

class Keeping {
public:
  // A profile whose cotangents include those of what is older than the run. Of the room for everything, `next` bytes are left to
  // the interval behind those of the profile, beside the cotangents at its start. It comes while all this is held; or the run
  // has ended in it, and states that nothing will run from are gone already.
  Keeping(const Profile& profile, std::uint64_t room, std::uint64_t next, bool ended, std::vector<bool> states,
          std::vector<bool> tapes, File file = {});

  // The most bytes if the run goes on, or if it ends and is reversed, but for what is run again.
  std::uint64_t peak() const;
  std::uint64_t peak_of_sweep(std::size_t interval) const { return before_[interval] + swept(interval); } // of one on tape

  bool fits() const { return tight().empty(); }
  double cost() const; // about, of running once more what has no tape

  enum class What : std::uint8_t { state, tape, spill }; // the last one: a tape that goes to the file
  struct Drop {
    What what = What::state;
    std::size_t at = 0; // interval or boundary
  };
  // What to let go of next, which counts as done: a state, or tapes of neighbours with the states between them, since what they
  // share is only free without all of them. None if everything fits, or nothing would help. What an interval takes by itself
  // nobody can make less by letting go of others: beside it a little may be held in any case.
  std::vector<Drop> drop();

private:
  std::size_t gap_begin(std::size_t interval) const; // of the gap that ends in front of it
  std::size_t gap_end(std::size_t interval) const;   // of the gap that begins there
  // Of the gap that there is once its tape has gone, as far as it has tapes now: there is a state, or a gap in front of it.
  std::size_t start_of_gap_with(std::size_t interval) const;
  void note_before();
  bool here(std::size_t interval) const { return tapes_[interval] && !file_.has(interval); }
  std::vector<bool> tapes_here() const;
  // Of so many bytes more that go there.
  std::uint64_t cost_of_file(std::uint64_t bytes) const;
  struct TooMuch {
    std::size_t at = 0;               // the interval that is swept, or the end of all
    std::uint64_t over = 0, held = 0; // bytes that are too many, and that are held
  };
  struct Tight : TooMuch {
    Tight(const TooMuch& place, const Profile& profile, std::vector<bool> states_then, std::vector<bool> tapes_then);
    // Of what is held then, where flags from `first` to `last` may have been set otherwise.
    std::uint64_t bytes_of_changed(std::size_t first, std::size_t last);
    std::vector<bool> states, tapes;       // that are held then
    std::vector<std::uint64_t> from_state; // by boundary that has a state: bytes of what is held behind it
    HeldInOrder nothing, before, now;
    std::size_t noted = 0; // boundaries that are in `before`
  };
  std::vector<Tight> tight() const;
  double freed(const std::vector<Drop>& candidate, std::vector<Tight>& tight) const;
  double most_freed(const std::vector<Drop>& candidate, const std::vector<Tight>& tight) const;
  double cost_without(std::size_t i, std::size_t end);
  std::uint64_t cost_without_state(std::size_t i);
  double use_of_state(std::size_t interval, double going_rate) const;
  // Bytes beside what is held in front of it: while it is taped, if it is not yet, and swept.
  std::uint64_t alone(std::size_t interval) const;
  std::uint64_t swept(std::size_t interval) const; // of one whose tape is there
  double cost_of_gap(std::size_t from, std::size_t to) const;
  // What lies in a gap between two states: of running it once, of its tape, and the room that there is for that.
  struct Part {
    std::size_t from = 0;
    double once = 0, tape = 0, room = 0;
    double cost(double more_room = 0) const;
  };
  Part part(std::size_t from, std::size_t to) const;
  std::vector<Part> parts_that_lack_room() const;
  std::uint64_t at_end() const { return ended_ ? before_.back() : held_bytes(profile_, states_, tapes_here()) + stays_.back(); }

  const Profile& profile_;
  std::uint64_t room_, next_;
  bool ended_;
  std::vector<bool> states_, tapes_;
  File file_;
  std::uint64_t forward_ = 0, reversal_ = 0; // of the profile on one tape
  // Once everything behind a boundary is reversed: bytes of what is held, the state there included, and what its interval's tape
  // comes to on top of it. States that nothing will run from are gone by then.
  std::vector<std::uint64_t> before_, tape_;
  std::vector<std::uint64_t> tape_alone_, state_alone_; // bytes of each by itself
  std::vector<std::uint64_t> stays_;                    // of the tapes in the file in front of each boundary
};

} // namespace cairn::schedule
