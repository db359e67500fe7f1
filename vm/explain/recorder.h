// Notes what outermost gradients do, while they do it: told of each action of a schedule and of the accounts, in numbers. A
// machine has one only if somebody asked for explanations.
#pragma once

#include "vm/explain/stopwatch.h"
#include "vm/explain/tiled.h"
#include "vm/explain/timeline.h"
#include "vm/schedule/schedule.h"

#include <map>
#include <optional>
#include <string>

namespace cairn::explain {

// What is asked for.
struct Wishes {
  bool text = false;    // a text of each gradient, those of one place summed up
  bool every = false;   // each gradient in full
  bool profile = false; // in the text, the intervals that a plan was made of
  bool keep = false;    // gradients are kept, so many as a file may have
};

class Recorder {
public:
  // Of one place so many calls are told in full, and of all together so many are kept. Places beyond the most count as one.
  static constexpr std::uint64_t kFullCalls = 3;
  static constexpr std::size_t kMostKept = 32;
  static constexpr std::size_t kMostPlaces = 1000;

  Wishes wishes;
  Stopwatch watch;    // goes while the machine runs,
  Stopwatch planning; // and this one of that while it weighs what a plan is made of and makes it

  struct Opening {
    std::uint64_t serial = 0;   // of the operator's frame
    std::uint64_t executed = 0; // steps, if it is not seen from its beginning
    std::uint64_t steps = 0;    // of the run, if known
    bool whole = true;
    bool taping = false;   // there is a tape in work,
    std::size_t aside = 0; // and there are so many put aside
    std::string place, schedule;
    std::int64_t budget = 0;
  };
  // Counters of the machine and its accounts, between two actions.
  struct Moment {
    std::uint64_t clock = 0;          // steps
    std::uint64_t time = 0;           // modelled, in ticks
    std::int64_t level = 0, peak = 0; // bytes of all accounts: now, and the most since the last moment
    std::uint64_t tapes = 0, states = 0;
    std::uint64_t in_file = 0, spilled = 0, fetched = 0; // bytes: in a file at the most, all that went there and came back
    std::uint64_t stored = 0;                            // and what that was there
    std::uint64_t encoding = 0;                          // of `time`, encoding with an error and decoding
    std::uint64_t operations = 0;                        // on tensors
  };
  void begin(Opening opening, const Moment& now);
  // Whether the gradient at hand is that one, and stands where it was left.
  bool follows(std::uint64_t serial, std::uint64_t executed) const {
    return open_ && serial_ == serial && now_.executed <= executed;
  }
  bool open() const { return open_; }
  void lose() { open_ = false; }                       // what was noted of it is not to be relied on
  void forget();                                       // all that was noted so far, as if nothing had run
  bool detailed() const { return open_ && detailed_; } // else only sums are kept of it

  // What was begun last is over: the run stands at that step of its own, so many have been executed; its length, 0 if it is not
  // known yet.
  void arrive(const Moment& now, std::uint64_t position, std::uint64_t executed, std::uint64_t steps);
  // An action was begun, or done, from that step. Of a sweep: the ticks that its records take, which no meter counts. Of a
  // snapshot: its bytes.
  void act(const schedule::Action& action, std::uint64_t position, std::uint64_t of_records, std::uint64_t bytes);
  // Memory has run out, after so many steps in all, and the schedule goes on with less.
  void ran_out(const Moment& now, std::uint64_t executed, const schedule::Schedule& schedule,
               const schedule::Schedule::Relief& relief);
  // The end of a run that began again is known, and what the schedule will do.
  void rest_is(std::uint64_t executed, const schedule::Schedule& schedule);
  // Who holds memory is asked again when the accounts have grown by so much.
  bool wants_holders(std::int64_t level) const {
    return detailed_ && level > asked_ && level - asked_ > std::max(asked_ / 64, kHoldersBytes);
  }
  void holders(Holders holders);
  Gradient& gradient() { return now_; }
  // What was found of other budgets for the last gradient from the same place, if that was planned alike: known from an earlier
  // one or not. And what to remember of this one.
  bool take_others_of_same(const schedule::Schedule::Foreseen& plan, bool known);
  void note_others(const schedule::Schedule::Foreseen& plan, bool known);
  // It has ended: its timeline is in it, it is kept if that was asked for, and counted among the calls from its place.
  const Gradient& finish();
  bool due_in_full() const { return full_; }
  // Where the gradient that ended last was not due in full: the sums of the calls since the last of these lines, at every 10th,
  // 20th, 50th, 100th call and so on.
  std::optional<Calls> due_line();
  // At the end of the program: those lines that were not due yet.
  std::vector<Calls> rest();
  // A gradient that is in progress, as far as it came, or the last one that was broken off. Nothing if there is none, or nobody
  // follows it in detail.
  std::optional<Gradient> unfinished(const Moment& now) const;
  // The program ended within it.
  void break_off(const Moment& now);

  // A call of `tiled` begins. True: it is done otherwise than the one before it in that place, or is the first one there. Places
  // beyond the most are not noted.
  bool note(Tiled tiled);

  const std::vector<Gradient>& kept() const { return kept_; }
  const std::map<std::string, Tiled>& tiled() const { return tiled_; } // the last of each place
  const std::map<std::string, Calls>& calls() const { return calls_; }

private:
  static constexpr std::int64_t kHoldersBytes = 4096;
  struct Range {
    std::uint64_t from = 0, to = 0;
    bool known = false;
  };
  Calls& calls_from(const std::string& place);
  std::uint64_t time(const Moment& moment) const { return moment.time - start_.time + sweeps_; }

  bool open_ = false, detailed_ = false, full_ = false;
  std::uint64_t serial_ = 0;
  Moment start_;
  std::uint64_t before_ = 0; // time until it began again, the last time
  std::uint64_t sweeps_ = 0; // time of records swept, which are no steps of the machine
  std::uint64_t last_time_ = 0;
  void stop_watches(Gradient& of) const;
  double watched_ = 0, planned_ = 0; // seconds, when it was begun for the first time
  Moment last_;
  Gradient now_;
  Timeline timeline_;
  bool going_ = false; // a stretch is
  Stretch stretch_;
  std::uint64_t of_records_ = 0; // ticks of what it sweeps
  Range work_;                   // of the tape in work
  bool has_work_ = false;
  std::vector<Range> aside_;
  std::int64_t asked_ = 0; // level at which the holders were asked for last
  std::uint64_t gradients_ = 0;
  std::map<std::string, Calls> calls_;
  std::map<std::string, Tiled> tiled_;
  struct Looked { // at other budgets
    std::uint64_t executed = 0, budget = 0, one_tape = 0;
    double time = 1;
    bool known = false;
    std::vector<OtherBudget> others;
  };
  std::map<std::string, Looked> looked_; // by place
  std::vector<Gradient> kept_;
  std::optional<Gradient> broken_off_;
};

} // namespace cairn::explain
