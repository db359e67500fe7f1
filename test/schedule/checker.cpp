// The checker must catch what no executor could do: schedules written by hand, each wrong in one way.
#include "test/schedule/helpers.h"

#include <vector>

using namespace cairn::schedule;
using namespace cairn::schedule::test;

namespace {

using Kind = Action::Kind;

class Scripted final : public Schedule {
public:
  explicit Scripted(std::vector<Action> actions) : actions_(std::move(actions)) {}
  Action next() override { return at_ < actions_.size() ? actions_[at_++] : Action{}; }
  void ended(std::uint64_t total) override {
    ended_at = total;
    ++times_ended;
  }
  void taped(std::uint64_t records) override { last_records = records; }
  void kept(std::uint64_t bytes) override { last_bytes = bytes; }
  std::string explanation() const override { return "scripted"; }
  std::unique_ptr<Schedule> clone() const override { return std::make_unique<Scripted>(*this); }
  void save(std::vector<std::uint64_t>&) const override {}

  std::uint64_t ended_at = 0, last_records = 0, last_bytes = 0;
  int times_ended = 0;

private:
  std::vector<Action> actions_;
  std::size_t at_ = 0;
};

std::string fault_of(std::vector<Action> actions, const Limits& limits = {}) {
  Scripted schedule(std::move(actions));
  return check(schedule, {100}, limits).fault;
}

} // namespace

TEST_CASE("a right schedule passes and its figures are counted") {
  Scripted schedule({{Kind::weigh, 0, 0}, // of what is older than the run
                     {Kind::snapshot, 0, 3},
                     {Kind::advance, 60, 0},
                     {Kind::snapshot, 0, 4},
                     {Kind::advance, kToEnd, 0},
                     {Kind::restore, 0, 4},
                     {Kind::tape, 40, 0},
                     {Kind::reverse, 0, 0},
                     {Kind::discard, 0, 4},
                     {Kind::restore, 0, 3},
                     {Kind::tape, 60, 0},
                     {Kind::reverse, 0, 0},
                     {Kind::discard, 0, 3}});
  const Report report = check(schedule, {100, 1024, 10});
  CHECK(report.fault == "");
  CHECK(report.advanced == 100);
  CHECK(report.taped == 100);
  CHECK(report.repetitions == 1);
  CHECK(report.snapshots == 2);
  CHECK(report.peak_snapshots == 2);
  CHECK(report.peak_snapshot_bytes == 20);
  CHECK(report.longest_tape == 60);
  CHECK(report.peak_tape_records == 60);
  CHECK(report.replay_factor == 2.0);
  CHECK(schedule.ended_at == 100);
  CHECK(schedule.times_ended == 1);
  CHECK(schedule.last_records == 60);
  CHECK(schedule.last_bytes == 10);
}

TEST_CASE("snapshots weigh what those of such a distance did") {
  Program program{100, 1024, 10};
  program.sizes.add(SnapshotSizes::kFirst, 1000);
  program.sizes.add(8, 3);
  program.sizes.add(15, 5);
  program.sizes.add(64, 70);
  CHECK(program.sizes.mean(10) == 4);
  CHECK(program.sizes.mean(1) == 4);
  CHECK(program.sizes.mean(31) == 4); // as near as 64: those that are closer
  CHECK(program.sizes.mean(32) == 70);
  CHECK(program.sizes.mean(1 << 20) == 70);
  Scripted schedule({{Kind::snapshot, 0, 3},
                     {Kind::advance, 70, 0},
                     {Kind::snapshot, 0, 4},
                     {Kind::advance, 10, 0},
                     {Kind::snapshot, 0, 5},
                     {Kind::discard, 0, 4},
                     {Kind::advance, 10, 0},
                     {Kind::snapshot, 0, 4}});
  CHECK(check(schedule, program).peak_snapshot_bytes == 1000 + 70 + 4);
  CHECK(schedule.last_bytes == 4);
}

TEST_CASE("a tape may be made in pieces") {
  Scripted schedule({{Kind::tape, 30, 0}, {Kind::tape, 50, 0}, {Kind::tape, 90, 0}, {Kind::reverse, 0, 0}});
  const Report report = check(schedule, {100, 1024, 10});
  CHECK(report.fault == "");
  CHECK(report.taped == 100);
  CHECK(report.longest_tape == 100);
  CHECK(schedule.last_records == 100);
}

TEST_CASE("each illegal action is found") {
  const auto found = [](std::vector<Action> actions, const char* why, const Limits& limits = {}) {
    const std::string fault = fault_of(std::move(actions), limits);
    CHECK_MESSAGE(fault.find(why) != std::string::npos, fault);
  };
  found({{Kind::restore, 0, 0}}, "the slot is empty");
  found({{Kind::discard, 0, 0}}, "the slot is empty");
  found({{Kind::snapshot, 0, 0}, {Kind::snapshot, 0, 0}}, "the slot is full");
  found({{Kind::snapshot, 0, 0}, {Kind::snapshot, 0, 1}}, "more snapshots than allowed", {1});
  found({{Kind::advance, 0, 0}}, "an advance of no steps");
  found({{Kind::advance, 100, 0}, {Kind::advance, 1, 0}}, "runs past an end that is known");
  found({{Kind::reverse, 0, 0}}, "there is no tape in work");
  found({{Kind::put_aside, 0, 0}}, "there is no tape in work");
  found({{Kind::take_back, 0, 0}}, "there is no tape aside");
  found({{Kind::tape, 10, 0}, {Kind::advance, 10, 0}}, "there is a tape in work");
  found({{Kind::tape, 10, 0}, {Kind::snapshot, 0, 0}}, "the current state is on the tape in work");
  found({{Kind::snapshot, 0, 0}, {Kind::tape, 10, 0}, {Kind::restore, 0, 0}, {Kind::tape, 10, 0}},
        "the tape in work ends elsewhere");
  found({{Kind::abandon, 0, 0}}, "no such tape aside");
  found({{Kind::tape, 10, 0}, {Kind::put_aside, 0, 0}, {Kind::abandon, 0, 1}}, "no such tape aside");
  found({{Kind::spill, 0, 0}}, "no such tape aside");
  found({{Kind::tape, 10, 0}, {Kind::put_aside, 0, 0}, {Kind::spill, 0, 0}, {Kind::spill, 0, 0}}, "in the file already");
  found({{Kind::fetch, 0, 0}}, "there is no tape aside");
  found({{Kind::tape, 10, 0}, {Kind::put_aside, 0, 0}, {Kind::weigh, 0, 0}}, "there is no tape in work");
  found({{Kind::tape, 50, 0},
         {Kind::put_aside, 0, 0},
         {Kind::tape, 50, 0},
         {Kind::put_aside, 0, 0},
         {Kind::abandon, 0, 1},
         {Kind::take_back, 0, 0},
         {Kind::reverse, 0, 0}},
        "not of the latest part");
  found({{Kind::tape, 10, 0}, {Kind::put_aside, 0, 0}, {Kind::tape, 10, 0}, {Kind::take_back, 0, 0}}, "there is a tape in work");
  found({{Kind::tape, 60, 0}}, "a longer tape than allowed", {UINT64_MAX, 50});
  found({{Kind::tape, 60, 0}, {Kind::reverse, 0, 0}}, "not of the latest part");
  found({{Kind::snapshot, 0, 0}, {Kind::advance, kToEnd, 0}, {Kind::restore, 0, 0}, {Kind::tape, 60, 0}, {Kind::reverse, 0, 0}},
        "not of the latest part");
  found({{Kind::tape, kToEnd, 0}, {Kind::reverse, 0, 0}, {Kind::snapshot, 0, 0}}, "no current state to keep");
  found({{Kind::tape, kToEnd, 0}, {Kind::reverse, 0, 0}, {Kind::advance, 1, 0}}, "no current state to run from");
  found({{Kind::advance, kToEnd, 0}}, "not everything is reversed");
  found({{Kind::snapshot, 0, 0}, {Kind::tape, kToEnd, 0}, {Kind::reverse, 0, 0}}, "a snapshot is left over");
  found({}, "not everything is reversed");
}

TEST_CASE("no prediction takes for ever") {
  Program program;
  program.total = std::uint64_t{1} << 60;
  for (const char* text : {"binomial,base=16,snapshots=5", "sqrt,base=16", "auto"})
    CHECK_FALSE(predict(spec_of(text), program, {}));
}

TEST_CASE("predictions count each step that is run") {
  struct Case {
    const char* text;
    std::uint64_t advanced, snapshots;
  };
  constexpr std::uint64_t kTotal = 123456;
  for (const Case& c :
       {Case{"tape", 0, 0}, Case{"bisection,base=64", 801856, 11}, Case{"binomial,base=64,snapshots=5", 1042368, 5},
        Case{"sqrt", kTotal, 31}, Case{"online,base=100", 266456, 44}, Case{"auto", 0, 0}}) {
    CAPTURE(c.text);
    const Report predicted = predict(spec_of(c.text), {kTotal, 512, 400}, {}).value();
    CHECK(predicted.fault == "");
    CHECK(predicted.taped == kTotal);
    CHECK(predicted.advanced == c.advanced);
    CHECK(predicted.peak_snapshots == c.snapshots);
    CHECK(predicted.replay_factor == doctest::Approx(static_cast<double>(c.advanced + kTotal) / kTotal));
  }
}
