// What states and tapes hold together, told by sizes alone: never less than what is really there, in intervals that were joined
// as well. Here every element has a name, so that what is there can be counted.
#include "test/schedule/helpers.h"
#include "test/schedule/random_profiles.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>
#include <set>

using namespace cairn::schedule;
using namespace cairn::schedule::test;

namespace {

using Elements = std::set<std::size_t>;

Elements common(const Elements& a, const Elements& b) {
  Elements both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::inserter(both, both.end()));
  return both;
}

// Each interval makes some elements, of which some are alive for a while; tapes hold some of what is alive at their start and of
// what they make, and less in each form.
struct Named {
  std::vector<std::uint64_t> bytes;                    // by element
  std::vector<std::uint32_t> birth;                    // interval
  std::vector<Elements> alive;                         // at each boundary
  std::vector<std::array<Elements, kTapeForms>> tapes; // of each interval, by form

  Named(Draws& random, std::size_t count) : alive(count + 1), tapes(count) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t made = random.between(0, 4);
      Elements fresh;
      for (std::uint64_t k = 0; k < made; ++k) {
        fresh.insert(bytes.size());
        bytes.push_back(random.between(1, 9));
        birth.push_back(static_cast<std::uint32_t>(i));
      }
      const std::uint64_t stays = random.between(1, 4), kept = random.between(0, 4);
      Elements around = alive[i];
      around.insert(fresh.begin(), fresh.end());
      for (const std::size_t element : around) {
        if (random.between(0, 4) < stays) alive[i + 1].insert(element);
        for (std::size_t form = 0; form < kTapeForms && random.between(0, 4) < kept + form; ++form)
          tapes[i][form].insert(element);
      }
    }
  }

  std::uint64_t sum(const Elements& elements) const {
    std::uint64_t all = 0;
    for (const std::size_t element : elements) all += bytes[element];
    return all;
  }
  std::uint64_t sum(const Elements& elements, std::size_t born) const {
    std::uint64_t all = 0;
    for (const std::size_t element : elements) all += birth[element] == born ? bytes[element] : 0;
    return all;
  }

  Profile profile() const {
    Profile profile;
    const std::size_t count = tapes.size();
    for (std::size_t i = 0; i <= count; ++i) {
      profile.reach.emplace_back();
      for (std::size_t k = 0; k < i; ++k) profile.reach[i].push_back(sum(alive[i], k));
      profile.cotangents.push_back(0);
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      Interval interval;
      for (std::uint32_t k = 0; k <= i; ++k) {
        TapeShare share;
        share.birth = k;
        for (std::size_t f = 0; f < kTapeForms; ++f) {
          TapeShare::Form& form = share.forms[f];
          form.bytes = sum(tapes[i][f], k);
          form.after = sum(common(tapes[i][f], alive[i + 1]), k);
          for (std::size_t before = 0; i > 0 && k < i && before < kTapeForms; ++before)
            form.before[before] = sum(common(tapes[i][f], tapes[i - 1][before]), k);
        }
        if (k < i) share.gone = share.forms[0].bytes - share.forms[0].after;
        if (share.forms[0].bytes != 0) interval.shares.push_back(share);
      }
      for (std::size_t f = 0; f < kTapeForms; ++f) {
        Elements either = tapes[i][f];
        either.insert(alive[i + 1].begin(), alive[i + 1].end());
        interval.born_of[f] = sum(either, i);
      }
      profile.born.push_back(interval.born_of[0]);
      profile.intervals.push_back(std::move(interval));
    }
    for (std::size_t i = 0; i < count; ++i) { // nothing is held for a while but these
      Interval& interval = profile.intervals[i];
      interval.advancing_alone = lost(profile, i, i, false);
      interval.taping_alone = lost(profile, i, i, true);
    }
    return profile;
  }
};

} // namespace

TEST_CASE("what is held is never more than it is said to be, and what neighbours share is counted once") {
  Draws random{std::mt19937_64(21)};
  std::uint64_t said = 0, there = 0;
  for (int round = 0; round < 2000; ++round) {
    const Named named(random, random.between(2, 14));
    const Profile fine = named.profile();
    REQUIRE(fine.sound());
    const auto count = static_cast<std::uint32_t>(fine.size());
    std::vector<std::uint32_t> boundaries{0};
    for (std::uint32_t i = 1; i < count; ++i)
      if (random.between(0, 2) != 0) boundaries.push_back(i);
    boundaries.push_back(count);
    Profile coarse = coarsened(fine, boundaries);
    const std::uint64_t leanest = random.between(0, kTapeForms - 1);
    for (Interval& interval : coarse.intervals) interval.form = static_cast<std::uint32_t>(random.between(0, leanest));
    REQUIRE(coarse.sound());
    std::vector<bool> states(coarse.size() + 1), tapes(coarse.size());
    Elements held;
    const std::uint64_t of_states = random.between(0, 4), of_tapes = random.between(0, 4);
    for (std::size_t c = 0; c < coarse.size(); ++c) {
      states[c + 1] = random.between(1, 4) <= of_states;
      tapes[c] = random.between(1, 4) <= of_tapes;
      if (states[c + 1]) held.insert(named.alive[boundaries[c + 1]].begin(), named.alive[boundaries[c + 1]].end());
      for (std::size_t i = boundaries[c]; tapes[c] && i < boundaries[c + 1]; ++i)
        held.insert(named.tapes[i][coarse.intervals[c].form].begin(), named.tapes[i][coarse.intervals[c].form].end());
    }
    CAPTURE(round);
    CHECK(held_bytes(coarse, states, tapes) >= named.sum(held));
    if (const std::size_t last = coarse.size() - 1; tapes[last]) { // in work, and as it was recorded
      Elements in_work = held;
      for (std::size_t i = boundaries[last]; i < count; ++i) in_work.insert(named.tapes[i][0].begin(), named.tapes[i][0].end());
      CHECK(held_bytes(coarse, states, tapes, last) >= named.sum(in_work));
    }
    said += held_bytes(coarse, states, tapes);
    there += named.sum(held);
  }
  MESSAGE("said to hold ", static_cast<double>(said) / static_cast<double>(there), " times what is there");
  CHECK(said <= there + there / 50);
}

TEST_CASE(
    "while an interval is run, never more is there than is said, and less is said where nothing holds the state at its start") {
  Draws random{std::mt19937_64(22)};
  std::uint64_t said = 0, there = 0, with_start = 0;
  for (int round = 0; round < 4000; ++round) {
    const Named named(random, random.between(2, 14));
    const Profile fine = named.profile();
    const auto count = static_cast<std::uint32_t>(fine.size());
    // Joined twice, as intervals of a long run are.
    const auto some = [&](const std::vector<std::uint32_t>& of) {
      std::vector<std::uint32_t> chosen{of.front()};
      for (std::size_t i = 1; i + 1 < of.size(); ++i)
        if (random.between(0, 2) != 0) chosen.push_back(of[i]);
      chosen.push_back(of.back());
      return chosen;
    };
    std::vector<std::uint32_t> all(count + 1);
    std::iota(all.begin(), all.end(), 0);
    const std::vector<std::uint32_t> once = some(all);
    std::vector<std::uint32_t> numbers(once.size());
    std::iota(numbers.begin(), numbers.end(), 0);
    const std::vector<std::uint32_t> twice = some(numbers);
    Profile coarse = coarsened(coarsened(fine, once), twice);
    const std::uint64_t leanest = random.between(0, kTapeForms - 1);
    for (Interval& interval : coarse.intervals) interval.form = static_cast<std::uint32_t>(random.between(0, leanest));
    REQUIRE(coarse.sound());
    const auto at = [&](std::size_t c) { return once[twice[c]]; };
    const std::size_t c = random.between(0, coarse.size() - 1);
    const bool on_tape = random.between(0, 1) == 0;
    std::set<std::size_t> states, tapes;
    Elements held;
    const auto hold = [&](const Elements& more) { held.insert(more.begin(), more.end()); };
    const std::uint64_t of_states = random.between(0, 4), of_tapes = random.between(0, 4);
    for (std::size_t k = 0; k <= c; ++k) {
      if (random.between(1, 4) <= of_states && (k < c || round % 4 == 0)) {
        states.insert(k);
        hold(named.alive[at(k)]);
      }
      if (k == c || random.between(1, 4) > of_tapes) continue;
      tapes.insert(k);
      for (std::size_t i = at(k); i < at(k + 1); ++i) hold(named.tapes[i][coarse.intervals[k].form]);
    }
    std::uint64_t most = 0;
    for (std::size_t i = at(c); i < at(c + 1); ++i) {
      if (on_tape) hold(named.tapes[i][0]); // as it is recorded
      Elements now = held;
      for (const std::size_t state : {i, i + 1}) now.insert(named.alive[state].begin(), named.alive[state].end());
      most = std::max(most, named.sum(now));
    }
    if (on_tape) tapes.insert(c);
    states.insert(c + 1);
    const std::size_t in_work = on_tape ? c : kNoInterval;
    const std::uint64_t beside_end = held_bytes(coarse, states, tapes, in_work);
    states.insert(c);
    const std::uint64_t beside_both = held_bytes(coarse, states, tapes, in_work);
    const Interval& interval = coarse.intervals[c];
    CAPTURE(round);
    CHECK(running_bytes(interval, on_tape, beside_both, beside_end) >= most);
    said += running_bytes(interval, on_tape, beside_both, beside_end);
    with_start += beside_both + (on_tape ? interval.taping : interval.advancing);
    there += most;
  }
  MESSAGE("said to hold ", static_cast<double>(said) / static_cast<double>(there), " times what is there, ",
          static_cast<double>(with_start) / static_cast<double>(there), " times as if the state at the start stayed");
  CHECK(said < with_start);
}
