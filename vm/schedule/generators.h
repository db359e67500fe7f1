// The two kinds of generators behind make(): those that measure the run first and those that keep states of the first run.
// Private to this room.
#pragma once

#include "vm/schedule/placement.h"
#include "vm/schedule/reversal.h"
#include "vm/schedule/schedule.h"

namespace cairn::schedule {

// The first word of a saved state: which class reads the rest.
enum class Saved : std::uint64_t { measured = 1, first_run = 2 };

// tape, bisection and binomial.
class Measured final : public Schedule {
public:
  Measured() = default;
  explicit Measured(const Spec& spec);
  Action next() override;
  void ended(std::uint64_t total) override;
  std::string explanation() const override;
  std::unique_ptr<Schedule> clone() const override { return std::make_unique<Measured>(*this); }
  void save(std::vector<std::uint64_t>& words) const override;
  bool sound() const;
  template <class Self, class Archive> static void fields(Self& self, Archive& archive) {
    archive(self.kind_);
    archive(self.stage_);
    archive(self.base_);
    archive(self.snapshots_);
    archive(self.passes_);
    archive(self.total_);
    archive(self.reversal_);
  }

private:
  enum class Stage : std::uint8_t { begin, measure, known, reversing, tape_reverse, done };
  std::uint64_t slots() const;

  Spec::Kind kind_ = Spec::Kind::tape;
  Stage stage_ = Stage::begin;
  std::uint64_t base_ = kDefaultBase;
  std::uint64_t snapshots_ = 0;
  std::uint64_t passes_ = 0;
  std::uint64_t total_ = 0;
  Reversal reversal_;
};

// sqrt, online and auto.
class FirstRun final : public Schedule {
public:
  FirstRun() = default;
  FirstRun(const Spec& spec, const Resources& resources);
  Action next() override;
  void ended(std::uint64_t total) override;
  bool weighs_stack() const override { return kind_ == Spec::Kind::automatic && stage_ == Stage::prefix; }
  void stack(std::uint64_t bytes) override;
  void stopped(std::uint64_t steps_left) override;
  void taped(std::uint64_t records) override;
  void kept(std::uint64_t bytes) override;
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
    archive(self.placement_);
    archive(self.reversal_);
  }

private:
  enum class Stage : std::uint8_t { begin, prefix, running, reversing, last_reverse, done };

  std::uint64_t more_to_tape() const;

  Spec::Kind kind_ = Spec::Kind::automatic;
  Stage stage_ = Stage::begin;
  std::uint64_t prefix_ = 0;       // steps taped before the first snapshot
  std::uint64_t total_ = kToEnd;   // known once the end was seen
  std::uint64_t tape_bytes_ = 0;   // how large a tape may grow
  std::uint64_t sparse_bytes_ = 0; // how large the first may grow while it has few records for its steps
  std::uint64_t records_ = 0;      // on the first tape
  std::uint64_t share_bytes_ = 0;  // of the budget, for each of tape and snapshots
  std::uint64_t stack_bytes_ = 0;  // the most seen while the first tape grew
  Placement placement_;
  Reversal reversal_;
};

} // namespace cairn::schedule
