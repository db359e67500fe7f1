// What operations on a tape and their reverse rules are modelled to take.
#pragma once

#include "vm/machine/engine.h"
#include "vm/tape/tape.h"
#include "vm/value/charged.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace cairn::runs {

// In ticks (vm/schedule/cost_table.h), beside their steps; where nobody models it, what moving operands and results takes, and
// twice that. Most programs use an operator for a few shapes again and again, so each is asked about those that it had last only
// once.
class OperationCosts {
public:
  static constexpr std::size_t kGiven = 8;
  struct Cost {
    std::uint64_t ticks = 0, swept = 0;
    std::uint64_t encoding = 0; // of the record's, when it is made; in `swept`, when it is read
  };
  OperationCosts(machine::Engine& engine, const tape::Tape& tape);
  // `given`: a bit for each result that has a cotangent, of the first eight.
  Cost of(const tape::TensorRecord& record, std::uint8_t given);
  // Of adding a part of so many bytes to a cotangent that is there.
  std::uint64_t of_sum(std::uint64_t bytes) const { return engine_.costs.ticks(0, 0, 0, 3 * static_cast<double>(bytes)); }

private:
  bool same(const tape::TensorRecord& a, const tape::TensorRecord& b) const;
  Cost modelled(const tape::TensorRecord& record, std::uint8_t given) const;
  std::optional<std::uint64_t> of_rule(const tape::TensorRecord& record, const ops::Call& call,
                                       std::span<const ops::Tensor> outputs, std::uint8_t given) const;
  struct One {
    const tape::TensorRecord* record = nullptr;
    std::uint8_t given = 0;
    Cost cost;
  };
  struct Known {
    std::array<One, 4> last; // found to be enough for the layers of a block of a network
    std::size_t next = 0;
  };
  machine::Engine& engine_;
  const tape::Tape& tape_;
  value::ChargedVector<Known> known_; // by operator
};

// What numbers and operations on that tape take beside their steps and their rules, from their making to the end of their sweep.
std::uint64_t ticks_of_records(const schedule::CostTable& costs, const tape::Tape& tape);

} // namespace cairn::runs
