// A machine of layers for tests of planned runs: it holds tensors by name, tells what they weigh, and knows the most it has held.
#pragma once

#include "test/schedule/helpers.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace cairn::schedule::test {

// Step i makes activation i + 1 from activation i, and from an older one where `skip` says so. A tape holds both, and `own` bytes
// of its own. The state behind a step holds its activation, and those that a later step skips to.
struct Layers {
  std::vector<std::uint64_t> activation, own; // activation 0 is older than the run
  std::vector<std::size_t> skip;              // what step i reads beside activation i
  std::vector<std::uint64_t> weight;          // bytes of what step i reads of x
  std::vector<std::uint64_t>
      level; // activation i can be computed again from activation i - 1 on the same tape, from that level on
  std::size_t size() const { return own.size(); }

  std::set<std::size_t> state(std::size_t at) const;
  std::set<std::size_t> tape(std::size_t from, std::size_t to, std::uint64_t lean = 0) const;
  std::uint64_t bytes(const std::set<std::size_t>& activations) const;
  std::uint64_t own_bytes(std::size_t from, std::size_t to) const;
  std::uint64_t largest() const { return 3 * *std::max_element(activation.begin(), activation.end()); }
};

Layers random_layers(Random& random, std::size_t steps);

struct Outcome {
  std::uint64_t executed = 0, peak = 0, thinned = 0, weighed = 0;
  std::uint64_t spilled = 0, in_file = 0; // tapes, and the most bytes at once
  std::uint64_t relieved = 0;             // how often memory had run out
  bool reversed = false, misled = false, refused = false;
};

class Machine {
public:
  Machine(const Layers& layers, const Spec& spec, const Resources& resources = {}) : Machine(layers, make(spec, resources)) {}
  Machine(const Layers& layers, std::unique_ptr<Schedule> schedule) : layers_(layers), schedule_(std::move(schedule)) {}
  const Schedule& schedule() const { return *schedule_; }
  // From now on no more bytes are given than that: the schedule is asked what to do without.
  Machine& within(std::uint64_t bytes);
  // A KiB of memory that nobody has used yet costs so much, beside so many bytes that are older than the run.
  Machine& with_fresh(std::uint64_t ticks, std::uint64_t older = 0);

  Outcome run();

private:
  struct Range {
    std::size_t from = 0, to = 0;
    std::uint64_t lean = 0;                // level
    bool spilled = false, fetched = false; // in the file, and back from it
  };

  void perform(const Action& a);
  std::set<std::size_t> kept_by(const Range& tape) const { return layers_.tape(tape.from, tape.to, tape.lean); }
  std::uint64_t records() const;
  void tell_weights();
  bool runs_out() const { return limit_ != 0 && level() > limit_; }
  void relieve(Schedule::During during);
  void note() { outcome_.peak = std::max(outcome_.peak, level()); }
  std::uint64_t level() const; // bytes that are held now

  static constexpr std::size_t kNotYet = SIZE_MAX;
  const Layers& layers_;
  std::uint64_t limit_ = 0; // bytes; 0: none
  std::uint64_t fresh_ = 0, older_ = 0;
  std::unique_ptr<Schedule> schedule_;
  std::map<std::uint32_t, std::size_t> slots_;
  std::vector<Range> aside_;
  std::optional<Range> work_, weighed_; // the second: the last one that was
  std::vector<std::uint64_t> births_;
  std::size_t at_ = 0, unreversed_ = kNotYet;
  bool here_ = true, ended_ = false;
  Outcome outcome_;
};

// Within so many bytes by the schedule `budget`,
Machine machine_for(const Layers& layers, std::uint64_t memory);
// and with no more than that.
Outcome planned(const Layers& layers, std::uint64_t memory, std::uint64_t fresh = 0);

} // namespace cairn::schedule::test
