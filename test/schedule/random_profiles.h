// Random profiles of runs, the same for the same seed.
#pragma once

#include "vm/schedule/profile.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <utility>

namespace cairn::schedule::test {

// What a tape shares that never becomes lean.
inline TapeShare shared(std::size_t birth, std::uint64_t bytes, std::uint64_t before = 0, std::uint64_t after = 0) {
  TapeShare share;
  share.birth = static_cast<std::uint32_t>(birth);
  for (TapeShare::Form& form : share.forms) {
    form.bytes = bytes;
    form.after = after;
    form.before.fill(before);
  }
  return share;
}

struct Draws {
  std::mt19937_64 bits;
  std::uint64_t between(std::uint64_t least, std::uint64_t most) { return least + bits() % (most - least + 1); }
};

// Chains, growing lists, skips: of what an interval makes, more or less stays alive. With `shares`, tapes hold some of it as
// well, and less where they are lean.
inline Profile random_profile(Draws& random, std::size_t count, bool shares) {
  Profile profile;
  const std::uint64_t kind = random.between(0, 3);
  profile.reach.resize(count + 1);
  for (std::size_t i = 0; i <= count; ++i) profile.reach[i].assign(i, 0);
  for (std::size_t k = 0; k < count; ++k) {
    std::uint64_t size = random.between(1, 6);
    for (std::size_t i = k + 1; i <= count; ++i) {
      profile.reach[i][k] = size;
      if (kind == 0 || (kind == 1 && random.between(0, 9) >= 3)) size = 0;
      if (kind == 2) size = random.between(0, size);
    }
  }
  for (std::size_t i = 0; i <= count; ++i) profile.cotangents.push_back(random.between(0, 3));
  for (std::size_t i = 0; i < count; ++i) {
    Interval interval;
    interval.forward = random.between(1, 9);
    interval.taped = interval.forward + 1;
    interval.sweep = random.between(1, 9);
    interval.tape = random.between(2, 12);
    interval.advancing = random.between(0, 2);
    interval.taping = random.between(0, 2);
    interval.sweeping_of[0] = random.between(0, 2) + profile.cotangents[i];
    for (std::size_t k = 0; shares && k <= i; ++k)
      if (random.between(0, 3) == 0) interval.shares.push_back(shared(k, random.between(0, k == i ? 6 : profile.reach[i][k])));
    std::mt19937_64 of_forms(random.bits); // so that what is drawn else is the same
    for (std::size_t f = 1; f < kTapeForms; ++f) {
      for (TapeShare& share : interval.shares) share.forms[f].bytes = of_forms() % (share.forms[f - 1].bytes + 1);
      interval.again_of[f] = interval.again_of[f - 1] + of_forms() % 3;
      interval.sweeping_of[f] = interval.sweeping_of[0] + shared_bytes(interval, 0) - shared_bytes(interval, f);
    }
    profile.intervals.push_back(std::move(interval));
  }
  profile.born = least_born(profile);
  REQUIRE(profile.sound());
  return profile;
}

} // namespace cairn::schedule::test
