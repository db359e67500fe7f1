// Recorded runs as tests want them: made up, but of the kinds that there are.
#pragma once

#include "ops/plans/access_plan.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace cairn::ops::plans::test {

inline AccessPlan finished(Recorder& recorder) {
  std::string fault;
  std::optional<AccessPlan> plan = recorder.finish(fault);
  REQUIRE_MESSAGE(plan, fault);
  return std::move(*plan);
}

inline Access read(Name name, std::uint64_t bytes) { return {name, bytes, Use::read}; }
inline Access write(Name name, std::uint64_t bytes) { return {name, bytes, Use::write_whole}; }
inline Access change(Name name, std::uint64_t bytes) { return {name, bytes, Use::write_part}; }

struct Network {
  std::size_t layers = 24;
  std::size_t steps = 1;
  std::uint64_t weight = 1 << 20, activation = 1 << 18; // bytes of each layer
  Picoseconds forward = 100'000'000, backward = 200'000'000, update = 10'000'000;
  bool states = false;      // the optimiser's, as large as the weights
  bool streamed = false;    // activations stream too
  std::uint64_t births = 0; // of the first block that is made
  std::uint64_t uneven = 0; // sizes and durations differ by up to that many eighths
};

// A training: forward through all layers, then back, each layer's weight updated as soon as its gradient is there. Without
// `streamed`, activations and gradients are on the device and no business of the plan.
inline AccessPlan training(const Network& network) {
  Recorder recorder(1);
  std::mt19937_64 random(network.layers);
  std::vector<std::uint64_t> eighths(network.layers, 8);
  for (std::uint64_t& e : eighths) e += network.uneven == 0 ? 0 : random() % (2 * network.uneven + 1) - network.uneven;
  const auto part = [&](std::uint64_t whole, std::size_t layer) { return whole * eighths[layer] / 8; };
  std::uint64_t births = network.births;
  for (std::size_t step = 0; step < network.steps; ++step) {
    std::vector<Name> activations;
    std::vector<Access> accesses;
    for (std::size_t i = 0; i < network.layers; ++i) {
      accesses = {read(leaf_name(i), part(network.weight, i))};
      if (network.streamed) {
        if (i > 0) accesses.push_back(read(activations.back(), network.activation));
        activations.push_back(born_name(births++));
        recorder.made(activations.back(), network.activation);
        accesses.push_back(write(activations.back(), network.activation));
      }
      recorder.launch(part(network.forward, i), accesses);
    }
    for (std::size_t i = network.layers; i-- > 0;) {
      accesses = {read(leaf_name(i), part(network.weight, i))};
      if (network.streamed && i > 0) accesses.push_back(read(activations[i - 1], network.activation));
      recorder.launch(part(network.backward, i), accesses);
      accesses = {change(leaf_name(i), part(network.weight, i))};
      if (network.states) accesses.push_back(change(leaf_name(network.layers + i), part(network.weight, i)));
      recorder.launch(part(network.update, i), accesses);
      if (network.streamed) recorder.dropped(activations[i]);
    }
  }
  return finished(recorder);
}

struct Chance {
  std::size_t launches = 200, leaves = 12;
  std::uint64_t least = 1, most = 1; // bytes of blocks
  std::uint64_t written = 4;         // one launch of so many changes a leaf; 0: none
  std::uint64_t born = 3;            // and one of so many makes a block, which lives for some time; 0: none
  std::uint64_t repeats = 0;         // every so many launches the same leaves come again: 0: never
  Picoseconds longest = 1000;
};

// Launches of a few operands each, for whoever wants to be surprised.
inline AccessPlan chance_run(std::uint64_t seed, const Chance& chance) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  const auto one_of = [&](std::uint64_t n) { return n != 0 && below(n) == 0; };
  std::vector<std::uint64_t> sizes(chance.leaves);
  const auto size = [&] { return chance.least + below(chance.most - chance.least + 1); };
  for (std::uint64_t& s : sizes) s = size();
  std::vector<std::uint64_t> order(chance.repeats);
  for (std::uint64_t& o : order) o = below(chance.leaves);
  Recorder recorder(seed);
  std::vector<std::pair<Name, std::uint64_t>> live;
  std::uint64_t births = 0;
  for (std::size_t i = 0; i < chance.launches; ++i) {
    std::vector<Access> accesses;
    const std::uint64_t first = chance.repeats == 0 ? below(chance.leaves) : order[i % chance.repeats];
    accesses.push_back({leaf_name(first), sizes[first], one_of(chance.written) ? Use::write_part : Use::read});
    if (!live.empty() && one_of(2)) {
      const auto& [name, bytes] = live[below(live.size())];
      accesses.push_back({name, bytes, one_of(4) ? Use::write_part : Use::read});
    }
    if (one_of(chance.born)) {
      live.emplace_back(born_name(births++), size());
      recorder.made(live.back().first, live.back().second);
      accesses.push_back(write(live.back().first, live.back().second));
    }
    recorder.launch(1 + below(chance.longest), accesses);
    while (live.size() > 4 || (!live.empty() && one_of(6))) {
      const std::size_t gone = below(live.size());
      recorder.dropped(live[gone].first);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(gone));
    }
  }
  return finished(recorder);
}

} // namespace cairn::ops::plans::test
