// The building blocks of plans from one base, as tables go through them. Private to this room.
#pragma once

#include "vm/schedule/plan.h"
#include "vm/schedule/plan_parts.h"

#include <span>

namespace cairn::schedule {

// Whether a block is of the family in a part that ends at boundary `to`. What has no tape only advances, and holds a state.
inline bool in_family(Family family, std::size_t base, std::size_t first, std::size_t last, std::size_t to) {
  if (first == last) return first != base && first != to;
  return family != Family::simple || first == base || last == to;
}

class Blocks {
public:
  // Intervals on tapes from `first` to `last`.
  struct Block {
    std::uint32_t first = 0, last = 0;
    float cost = 0;
    std::uint64_t running = 0; // the most bytes while its intervals are run, the cotangents behind them not counted,
    std::uint64_t sweep = 0;   // and while its tapes are swept, with them
    std::uint64_t keep = 0;    // meanwhile
    std::uint64_t least = 0;   // no block from this one on needs less
    // The other one needs less of nothing and costs as much at least.
    bool dominates(const Block& other) const {
      return cost <= other.cost && running <= other.running && sweep <= other.sweep && keep <= other.keep;
    }
  };
  // Intervals on tapes from `first` to where a part ends.
  struct End {
    std::uint32_t first = 0;
    float cost = 0;
    std::uint64_t need = 0;  // the most bytes, with the cotangents behind the part
    std::uint64_t least = 0; // none from this one on needs less
    bool dominates(const End& other) const { return cost <= other.cost && need <= other.need; }
  };
  // States that are held while what lies behind them is reversed, from the boundary behind the base on. A few numbers follow, so
  // that vectors can be loaded.
  struct Holds {
    std::vector<float> cost;
    std::vector<std::uint64_t> running, keep;
  };
  explicit Blocks(Family family) : family_(family) {}
  // Forms of the same parts, all of whose tapes are weighed; `cotangents` lie behind each boundary.
  void assign(const std::vector<Parts>& forms, std::span<const std::uint64_t> cotangents);

  // What those of one form take at most.
  static std::uint64_t bytes(std::size_t intervals) {
    const std::uint64_t count = intervals;
    return count * (count + 1) / 2 * (sizeof(Block) + sizeof(End)) + count * (sizeof(float) + 4 * sizeof(std::uint64_t));
  }

  std::size_t base() const { return base_; }
  // Those of a part that ends at boundary `to`: behind which something is left, and which end there, the latest first.
  std::span<const Block> within(std::size_t to) const { return {within_.data(), of_within_[to - base_]}; }
  std::span<const End> up_to(std::size_t to) const {
    const std::size_t from = of_up_to_[to - base_ - 1];
    return std::span(up_to_).subspan(from, of_up_to_[to - base_] - from);
  }
  const Holds& holds() const { return holds_; }

private:
  Family family_;
  std::size_t base_ = 0;
  std::vector<Block> within_;                     // by `last`
  std::vector<End> up_to_;                        // by where they end
  std::vector<std::size_t> of_within_, of_up_to_; // how many have a smaller `last` than each boundary; no larger one
  Holds holds_;
};

} // namespace cairn::schedule
