// Timelines stay bounded, and what they add up to stays exact.
#include "vm/explain/timeline.h"

#include <doctest/doctest.h>

#include <map>

using namespace cairn::explain;

namespace {

// So many stretches of all kinds, with gaps, of lengths that vary.
Gradient long_timeline(std::uint64_t number, std::uint64_t gap, std::map<Doing, std::uint64_t>& steps, std::uint64_t& end) {
  Timeline timeline;
  std::uint64_t time = 0;
  std::uint32_t random = 1;
  for (std::uint64_t i = 0; i < number; ++i) {
    random = random * 1103515245 + 12345;
    Stretch s;
    s.doing = static_cast<Doing>((random >> 16) % 3);
    s.from = i;
    s.to = i + 1;
    s.steps = random >> 24;
    s.begin = time;
    s.end = time += (random >> 20) % 5000;
    s.peak = static_cast<std::int64_t>(i);
    time += gap * ((random >> 8) % 3);
    steps[s.doing] += s.steps;
    timeline.add(s);
  }
  end = time;
  Gradient g;
  timeline.write(g, time);
  return g;
}

} // namespace

TEST_CASE("a timeline that is short enough is as it was noted") {
  std::map<Doing, std::uint64_t> steps;
  std::uint64_t end = 0;
  const Gradient g = long_timeline(Timeline::kMostStretches, 40, steps, end);
  REQUIRE(g.timeline.size() == Timeline::kMostStretches);
  for (std::size_t i = 0; i < g.timeline.size(); ++i) {
    CHECK(g.timeline[i].from == i);
    CHECK(g.timeline[i].actions == 1);
  }
}

TEST_CASE("a long timeline is merged: nothing is counted twice or lost, and time goes on") {
  for (const std::uint64_t number : {2049u, 5000u, 100'000u, 1'000'000u})
    for (const std::uint64_t gap : {0u, 40u}) {
      CAPTURE(number);
      std::map<Doing, std::uint64_t> steps, merged;
      std::uint64_t end = 0, last = 0, actions = 0;
      std::int64_t peak = 0;
      const Gradient g = long_timeline(number, gap, steps, end);
      CHECK(g.timeline.size() <= Timeline::kMostStretches);
      CHECK(g.timeline.size() >= Timeline::kMostStretches / 6);
      bool in_order = true;
      for (const Stretch& s : g.timeline) {
        in_order = in_order && s.begin >= last && s.end >= s.begin && s.to > s.from;
        last = s.end;
        merged[s.doing] += s.steps;
        actions += s.actions;
        peak = std::max(peak, s.peak);
      }
      CHECK(in_order);
      CHECK(last <= end);
      CHECK(merged == steps);
      CHECK(actions == number);
      CHECK(peak == static_cast<std::int64_t>(number - 1));
    }
}

TEST_CASE("times near the end of their range do no harm") {
  Timeline timeline;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    Stretch s;
    s.begin = UINT64_MAX - 10'000 + i;
    s.end = s.begin + 1;
    timeline.add(s);
  }
  Gradient g;
  timeline.write(g, UINT64_MAX);
  std::uint64_t actions = 0;
  for (const Stretch& s : g.timeline) actions += s.actions;
  CHECK(actions == 5000);
}

TEST_CASE("kept states that all last become fewer, and end when the last of them is let go of") {
  Timeline timeline;
  constexpr std::uint32_t kStates = 10'000;
  for (std::uint32_t i = 0; i < kStates; ++i) timeline.keep(i, {i, i, i, 8});
  for (std::uint32_t i = kStates; i-- > 0;) timeline.let_go(i, 2 * kStates - i);
  timeline.let_go(kStates, 1); // nobody saw that it was kept
  Gradient g;
  timeline.write(g, 3 * kStates);
  CHECK(g.states.size() <= Timeline::kMostStates);
  CHECK(g.states_left_out == 0);
  std::uint64_t number = 0, bytes = 0;
  for (const KeptState& s : g.states) {
    CHECK(s.open == 0);
    CHECK(s.end == 2 * kStates - s.step); // its first one is let go of last
    CHECK(s.begin == s.step);
    number += s.number;
    bytes += s.bytes;
  }
  CHECK(number == kStates);
  CHECK(bytes == 8 * kStates);
}

TEST_CASE("of kept states that are gone the shortest-lived are left out, and are counted") {
  Timeline timeline;
  constexpr std::uint32_t kStates = 10'000;
  timeline.keep(1, {0, 0, 0, 8});
  for (std::uint32_t i = 1; i < kStates; ++i) {
    timeline.keep(0, {i, 10 * i, 10 * i, 8});
    timeline.let_go(0, 10 * i + (i % 100 == 0 ? 9 : 1));
  }
  Gradient g;
  timeline.write(g, 10 * kStates);
  CHECK(g.states.size() <= Timeline::kMostStates);
  CHECK(g.states.size() + g.states_left_out == kStates);
  CHECK(g.states.front().end == 10 * kStates); // held still
  std::uint64_t long_lived = 0;
  for (const KeptState& s : g.states) long_lived += s.end - s.begin == 9;
  CHECK(long_lived == kStates / 100 - 1);
}
