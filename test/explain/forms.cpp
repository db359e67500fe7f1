// Recorders and the forms of reports, without a machine.
#include "vm/explain/forms.h"
#include "vm/explain/labels.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace cairn::explain;
using cairn::schedule::Action;

namespace {

constexpr std::uint64_t kStep = 40;

// One gradient of so many steps from that place: taped, swept.
void record(Recorder& recorder, const std::string& place, std::uint64_t steps) {
  Recorder::Opening opening;
  opening.serial = 7;
  opening.place = place;
  opening.schedule = "tape";
  opening.budget = 1 << 20;
  recorder.begin(opening, {100, 100 * kStep, 1000, 1000, 0, 0});
  recorder.arrive({101, 101 * kStep, 1000, 1000, 0, 0}, 0, 0, 0);
  recorder.act({Action::Kind::tape, steps}, 0, 0, 0);
  recorder.arrive({101 + steps, (101 + steps) * kStep + 50, 4000, 5000, 3000, 0}, steps, steps, steps);
  recorder.act({Action::Kind::reverse}, steps, 10 * kStep, 0);
  recorder.arrive({105 + steps, (105 + steps) * kStep + 80, 1000, 4500, 0, 0}, steps, steps, steps);
  recorder.finish();
}

} // namespace

TEST_CASE("a recorder notes what was done, from where to where, and when") {
  Recorder recorder;
  recorder.wishes.keep = true;
  record(recorder, "a.scm:1:2", 30);
  REQUIRE(recorder.kept().size() == 1);
  const Gradient& g = recorder.kept()[0];
  CHECK(g.steps == 30);
  CHECK(g.executed == 30);
  CHECK(g.taped == 30);
  CHECK(g.retaped == 0);
  CHECK(g.swept == 30);
  CHECK(g.measured.peak == 5000);
  CHECK(g.measured.replay == 1.0);
  REQUIRE(g.timeline.size() == 2);
  CHECK(g.timeline[0].doing == Doing::tape);
  CHECK(g.timeline[0].begin == kStep);
  CHECK(g.timeline[0].end == 31 * kStep + 50);
  CHECK(g.timeline[0].level == 4000);
  CHECK(g.first_run == g.timeline[0].end);
  CHECK(g.timeline[1].doing == Doing::sweep);
  CHECK(g.timeline[1].from == 0);
  CHECK(g.timeline[1].to == 30);
  CHECK(g.timeline[1].end == (35 + 10) * kStep + 80); // four steps, ten records
  CHECK(g.time == g.timeline[1].end);
}

TEST_CASE("seconds are those while the machine ran, from the first beginning to the end") {
  static double now = 0;
  Recorder recorder;
  recorder.wishes.keep = true;
  recorder.watch = Stopwatch([] { return now; });
  const auto run = [&](double seconds) {
    const Stopwatch::Going going(&recorder.watch);
    now += seconds;
  };
  run(5);
  Recorder::Opening opening;
  opening.serial = 7;
  recorder.begin(opening, {});
  run(1);
  now += 100; // it stands still
  {
    const Stopwatch::Going going(&recorder.watch);
    const Stopwatch::Halted halted(recorder.watch), once_more(recorder.watch);
    now += 10; // of a report
  }
  const Stopwatch::Halted in_vain(recorder.watch);
  recorder.begin(opening, {}); // again, with less memory
  run(0.5);
  CHECK(recorder.unfinished({})->measured.seconds == 1.5);
  run(0.25);
  CHECK(recorder.finish().measured.seconds == 1.75);
  const Stopwatch::Going nobody(nullptr);
}

TEST_CASE("time is told by a clock and as modelled") {
  Gradient g;
  g.steps = 10;
  g.measured.seconds = 0.75;
  const auto told = [&] {
    for (const Row& row : rows(g))
      if (row.name == "time") return row.words;
    return std::string();
  };
  const auto value = [&](const char* key) { return nlohmann::json::parse(json(g))[key]; };
  CHECK(told() == "0.75 s measured");
  CHECK(value("seconds")["predicted"].is_null());
  CHECK(value("seconds_of_one_tape").is_null());
  g.time_beside_one_tape = 1.2;
  g.seconds_of_one_tape = 0.05;
  CHECK(told() ==
        "0.75 s measured; the plan alone takes 1.20 of the 50 ms that one tape of the whole run would take, as modelled");
  g.predicted = Outcome();
  g.predicted->seconds = 0.06;
  CHECK(told() == "0.75 s measured, 60 ms predicted: 1.20 of the 50 ms that one tape of the whole run would take, as modelled");
  CHECK(value("seconds")["predicted"] == 0.06);
  CHECK(value("seconds")["measured"] == 0.75);
  CHECK(value("seconds_of_one_tape") == 0.05);
  g.whole = false;
  g.others.push_back({3 << 20, 1.5, true});
  CHECK(told() ==
        "0.75 s measured of what was seen, 60 ms predicted: 1.20 of the 50 ms that one tape of the whole run would take, as "
        "modelled; within 3.0 MiB it would be 1.50");
}

TEST_CASE("other budgets are looked at once for a plan in a place") {
  Recorder recorder;
  recorder.wishes.keep = true;
  const cairn::schedule::Schedule::Foreseen plan = {1000, 1 << 20, 0, 1 << 20, 1.25, 5000};
  const auto begin = [&](const char* place) {
    Recorder::Opening opening;
    opening.place = place;
    recorder.begin(opening, {});
  };
  begin("a.scm:1:2");
  CHECK_FALSE(recorder.take_others_of_same(plan, false));
  recorder.gradient().others.push_back({3 << 20, 1.5, true});
  recorder.note_others(plan, false);
  begin("a.scm:1:2");
  CHECK(recorder.gradient().others.empty());
  auto other = plan;
  other.peak += 100; // what is older than a gradient may be a little more from call to call
  CHECK(recorder.take_others_of_same(other, false));
  REQUIRE(recorder.gradient().others.size() == 1);
  CHECK(recorder.gradient().others[0].time == 1.5);
  begin("a.scm:1:2");
  CHECK_FALSE(recorder.take_others_of_same(plan, true));
  other.time = 1.26;
  CHECK_FALSE(recorder.take_others_of_same(other, false));
  begin("a.scm:3:4");
  CHECK_FALSE(recorder.take_others_of_same(plan, false));
}

TEST_CASE("a gradient that nobody saw begin is told as far as it was seen") {
  Recorder recorder;
  recorder.wishes.keep = true;
  Recorder::Opening opening;
  opening.whole = false;
  opening.executed = 500;
  opening.steps = 100;
  opening.taping = true;
  opening.aside = 1;
  recorder.begin(opening, {});
  recorder.arrive({}, 90, 500, 100);
  recorder.act({Action::Kind::reverse}, 100, 10, 0); // the tape in work
  recorder.arrive({5}, 100, 500, 100);
  recorder.act({Action::Kind::take_back}, 100, 0, 0);
  recorder.act({Action::Kind::reverse}, 100, 10, 0); // the other
  recorder.arrive({9}, 100, 500, 100);
  const Gradient& g = recorder.finish();
  REQUIRE(g.timeline.size() == 2);
  CHECK_FALSE(g.timeline[0].placed);
  CHECK_FALSE(g.timeline[1].placed);
  CHECK(nlohmann::json::parse(json(g))["timeline"][1]["from"].is_null());
  CHECK(in_short(g).find("resumed") != std::string::npos);
}

TEST_CASE("calls from one place are told in full three times, then summed up") {
  Recorder recorder;
  recorder.wishes.text = recorder.wishes.keep = true;
  std::string lines;
  int full = 0;
  for (std::uint64_t i = 1; i <= 130; ++i) {
    record(recorder, "a.scm:1:2", i);
    full += recorder.due_in_full();
    if (const auto line = recorder.due_line()) lines += in_a_line(*line);
  }
  CHECK(full == 3);
  CHECK(lines == "gradients at a.scm:1:2, calls 4 to 10: 4 to 10 steps, replay 1.0000, 4.9 KiB at the peak\n"
                 "gradients at a.scm:1:2, calls 11 to 20: 11 to 20 steps, replay 1.0000, 4.9 KiB at the peak\n"
                 "gradients at a.scm:1:2, calls 21 to 50: 21 to 50 steps, replay 1.0000, 4.9 KiB at the peak\n"
                 "gradients at a.scm:1:2, calls 51 to 100: 51 to 100 steps, replay 1.0000, 4.9 KiB at the peak\n");
  const auto rest = recorder.rest();
  REQUIRE(rest.size() == 1);
  CHECK(in_a_line(rest[0]) == "gradients at a.scm:1:2, calls 101 to 130: 101 to 130 steps, replay 1.0000, 4.9 KiB at the peak\n");
  CHECK(recorder.rest().empty());
  record(recorder, "a.scm:1:2", 131);
  CHECK(in_a_line(recorder.rest().at(0)) == "gradient at a.scm:1:2, call 131: 131 steps, replay 1.0000, 4.9 KiB at the peak\n");
  CHECK(recorder.kept().size() == 3);
}

TEST_CASE("what is kept of many gradients at many places is bounded") {
  Recorder recorder;
  recorder.wishes.keep = true;
  for (std::uint64_t i = 0; i < 5000; ++i) record(recorder, "a.scm:" + std::to_string(i) + ":1", 30);
  CHECK(recorder.kept().size() == Recorder::kMostKept);
  CHECK(recorder.calls().size() == Recorder::kMostPlaces + 1);
  std::uint64_t calls = 0;
  for (const auto& [place, c] : recorder.calls()) calls += c.number;
  CHECK(calls == 5000);
}

TEST_CASE("names may hold anything") {
  Recorder recorder;
  recorder.wishes.keep = true;
  const std::string name = "a\"b\\<c>&\n\xff.scm";
  record(recorder, name, 30);
  const auto parsed = nlohmann::json::parse(json(recorder, std::nullopt));
  CHECK(parsed["gradients"][0]["place"] == "a\"b\\<c>&\n\xef\xbf\xbd.scm");
  const std::string html = page(recorder, std::nullopt);
  CHECK(html.find("a&quot;b\\&lt;c&gt;&amp;") != std::string::npos);
  CHECK(html.find("<c>") == std::string::npos);
}

TEST_CASE("a gradient that was not finished is told beside those that were") {
  Recorder recorder;
  recorder.wishes.keep = true;
  record(recorder, "a.scm:1:2", 30);
  CHECK_FALSE(recorder.unfinished({}));
  Recorder::Opening opening;
  opening.place = "a.scm:5:1";
  recorder.begin(opening, {1000, 0, 100, 100, 0, 0});
  recorder.arrive({1001, 0, 100, 100, 0, 0}, 0, 0, 0);
  recorder.act({Action::Kind::tape, 1 << 20}, 0, 0, 0);
  const auto left = recorder.unfinished({1501, 0, 900, 990, 0, 0});
  REQUIRE(left);
  CHECK_FALSE(left->complete);
  CHECK(left->executed == 500);
  CHECK(left->measured.peak == 990);
  REQUIRE(left->timeline.size() == 1);
  CHECK(left->timeline[0].to == 500);
  CHECK(nlohmann::json::parse(json(recorder, left))["gradients"].size() == 2);
  CHECK(page(recorder, left).find("The end of its run was not reached") != std::string::npos);
}

TEST_CASE("labels never lie on each other, and stay in their field") {
  Labels labels(0, 0, 200, 100);
  CHECK(labels.put(100, 50, Anchor::middle, "word", "first") != "");
  const std::string second = labels.put(100, 50, Anchor::middle, "word", "second");
  CHECK(second.find("y=\"50.0\"") == std::string::npos);
  CHECK(second != "");
  CHECK(labels.put(199, 90, Anchor::start, "word", "at the edge").find("x=\"127.4\"") != std::string::npos);
  CHECK(labels.put(0, 50, Anchor::start, "word", std::string(100, 'x')) == ""); // too long for the field
}

TEST_CASE("numbers as people read them") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(1234567) == "1,234,567");
  CHECK(grouped(999) == "999");
  CHECK(abbreviated(1641) == "1.64 k");
  CHECK(abbreviated(999.6) == "1 k");
  CHECK(bytes_text(512) == "512 bytes");
  CHECK(bytes_text(12 * 1024 + 300) == "12.3 KiB");
  CHECK(bytes_text(std::int64_t{64} << 20) == "64.0 MiB");
  CHECK(bytes_text(INT64_MAX).ends_with(" TiB"));
}
