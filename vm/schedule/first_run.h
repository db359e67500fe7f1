// Schedules that never run the program only to measure it: the states kept along the first run are where the reversal starts.
// `auto` tapes the first stretch of it, so that a short run costs what a plain tape costs. What it does is in first_run.cpp, what
// it is told and tells in first_run_facts.cpp.
#pragma once

#include "vm/schedule/budgeted.h"
#include "vm/schedule/placement.h"
#include "vm/schedule/reversal.h"
#include "vm/schedule/schedule.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cairn::schedule {

class FirstRun final : public Schedule {
public:
  FirstRun() = default;
  FirstRun(const Spec& spec, const Resources& resources);
  Action next() override;
  void ended(std::uint64_t total) override;
  bool weighs_stack() const override { return kind_ == Spec::Kind::automatic && stage_ == Stage::prefix; }
  bool weighs_tapes() const override {
    return (stage_ == Stage::prefix && start_kept_) || (stage_ == Stage::budgeted && budgeted_.weighs_tapes());
  }
  bool plans() const override { return schedule::plans(kind_); }
  void stack(std::uint64_t bytes) override;
  void stopped(std::uint64_t steps_left) override;
  void taped(std::uint64_t records) override;
  void kept(std::uint64_t bytes) override;
  bool walks_next() const override {
    return stage_ == Stage::budgeted || stage_ == Stage::rest ? budgeted_.walks_next() : looks_next();
  }
  void weighed(const Weights& weights) override;
  std::optional<Foreseen> foreseen() const override { return few_states_ ? std::nullopt : budgeted_.foreseen(total_); }
  std::optional<Prospect> prospect(std::uint64_t budget) const override;
  std::optional<std::uint64_t> foreseen_steps() const override {
    return all_steps_ == 0 ? std::nullopt : std::optional(all_steps_);
  }
  void note_updates(const std::vector<UpdatedLeaf>& leaves) override { budgeted_.note_updates(leaves); }
  bool fits(std::uint64_t budget) const override { return budgeted_.fits(budget); }
  std::vector<KnownInterval> intervals() const override { return budgeted_.intervals(); }
  bool surveyed() const override;
  std::unique_ptr<Schedule> planned(std::uint64_t budget) const override;
  std::uint64_t least_of_any() const override { return budgeted_.least_of_any(); }
  std::optional<Relief> relieve(During during, bool at_last) override;
  std::optional<Relief> relieve_ahead() override;
  Sweep next_sweep() const override;
  std::uint64_t relieved() const override { return relieved_; }
  std::unique_ptr<Schedule> again(std::uint64_t failures) const override;
  bool misled() const override { return budgeted_.misled(); }
  std::uint64_t closer_look() const override;
  std::string explanation() const override;
  std::unique_ptr<Schedule> clone() const override { return std::make_unique<FirstRun>(*this); }
  void save(std::vector<std::uint64_t>& words) const override;
  bool sound() const;
  template <class Self, class Archive> static void fields(Self& self, Archive& archive) {
    archive(self.kind_);
    archive(self.stage_);
    archive(self.prefix_);
    archive(self.total_);
    archive(self.tape_bytes_);
    archive(self.sparse_bytes_);
    archive(self.records_);
    archive(self.share_bytes_);
    archive(self.stack_bytes_);
    archive(self.budget_);
    archive(self.frugal_);
    archive(self.spill_bytes_);
    archive(self.spill_ticks_);
    archive(self.steps_of_record_);
    archive(self.survey_);
    archive(self.survey_piece_);
    archive(self.counted_);
    archive(self.start_kept_);
    archive(self.relieved_);
    archive(self.ahead_);
    archive(self.resumes_);
    archive(self.few_states_);
    archive(self.all_steps_);
    archive(self.budgeted_);
    archive(self.placement_);
    archive(self.reversal_);
  }

private:
  enum class Stage : std::uint8_t {
    begin,
    start,
    unplanned,
    prefix,
    budgeted,
    running,
    reversing,
    last_reverse,
    rest,
    counting,
    done
  };

  std::uint64_t more_to_tape() const;
  std::uint64_t look() const; // records
  // Whether the first tape is about to be found heavy.
  bool looks_next() const;
  void take_over();
  std::string chosen() const; // the schedule, for people
  Action discard_start();
  void reverse_with_few_states(std::uint64_t left);
  std::unique_ptr<Schedule> as_known(const std::optional<Budgeted>& known) const;

  Spec::Kind kind_ = Spec::Kind::automatic;
  Stage stage_ = Stage::begin;
  std::uint64_t prefix_ = 0;                        // steps taped before the first snapshot
  std::uint64_t total_ = kToEnd;                    // known once the end was seen
  std::uint64_t tape_bytes_ = 0;                    // how large a tape may grow
  std::uint64_t sparse_bytes_ = 0;                  // how large the first may grow while it has few records for its steps
  std::uint64_t records_ = 0;                       // on the first tape
  std::uint64_t share_bytes_ = 0;                   // of the budget, for the tape in work, and for the one put aside
  std::uint64_t stack_bytes_ = 0;                   // the most seen while the first tape grew
  std::uint64_t budget_ = 0;                        // where it is for this run alone, else 0
  bool frugal_ = false;                             // nobody said how much memory there is
  std::uint64_t spill_bytes_ = 0, spill_ticks_ = 0; // of a file, where the run may use one
  std::uint64_t steps_of_record_ = 1;               // as Resources has it
  bool survey_ = false;                             // nothing is reversed
  std::uint64_t survey_piece_ = 0;                  // records of an interval, where somebody knows
  std::uint64_t counted_ = 0;                       // actions of a survey of what is not planned
  bool start_kept_ = false;                         // in slot 0, while it may still turn out that the run is to be planned
  std::uint64_t relieved_ = 0;                      // how often memory ran out on the way
  std::uint64_t ahead_ = 0;                         // how often of these it was seen before it happened
  bool resumes_ = false;                            // from the latest state that was left then
  bool few_states_ = false;                         // what was left then is reversed by reversal_, and nothing else
  std::uint64_t all_steps_ = 0;                     // that are executed, where planning had ended; 0: nobody knows
  Budgeted budgeted_;
  Placement placement_;
  Reversal reversal_;
};

} // namespace cairn::schedule
