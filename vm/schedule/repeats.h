// What a machine remembers of the gradients that it planned, for calls that come again, as the steps of a training do: their
// profiles and plans. It is a part of the machine's state, so that a run which is resumed plans as one that was never stopped.
#pragma once

#include "vm/schedule/schedule.h"
#include "vm/schedule/words.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace cairn::schedule {

class Repeats {
public:
  // Of how many kinds of calls at once; the one that was not made for the longest time goes.
  static constexpr std::size_t kMost = 16;

  // A schedule for another call of that kind; null: none is known, or the last ones took different runs.
  std::unique_ptr<Schedule> next(std::uint64_t kind) const;
  // A call of that kind has ended after so many steps, reversed by this schedule. Of what is remembered all takes at most so many
  // words, or the oldest is forgotten.
  void learn(std::uint64_t kind, const Schedule& schedule, std::uint64_t steps, std::size_t most_words);
  // One that was thought to be known took another run, or more memory than its plan said.
  void misled(std::uint64_t kind);

  // As words of a file.
  std::size_t words() const;
  template <class F> void each_word(F&& f) const {
    f(calls_.size());
    for (const Call& call : calls_) {
      for (const std::uint64_t word : {call.kind, call.steps, call.misled, call.waits}) f(word);
      f(call.known.size());
      for (const std::uint64_t word : call.known) f(word);
    }
  }
  static std::optional<Repeats> restore(const std::vector<std::uint64_t>& words);

private:
  static constexpr std::uint64_t kMostMisled = 10;
  struct Call {
    std::uint64_t kind = 0;
    std::uint64_t steps = 0;          // of the last run
    std::uint64_t misled = 0;         // how often, at most kMostMisled
    std::uint64_t waits = 0;          // for so many runs of as many steps as the last one
    std::vector<std::uint64_t> known; // the schedule for the next one, packed
    template <class Self, class Archive> static void fields(Self& self, Archive& archive) {
      archive(self.kind);
      archive(self.steps);
      archive(self.misled);
      archive(self.waits);
      archive(self.known);
    }
  };
  std::vector<Call> calls_; // the latest last
};

} // namespace cairn::schedule
