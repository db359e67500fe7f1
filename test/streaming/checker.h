// Judges what a policy did: an abstract memory on which the same moves are made, written without knowing who decided them.
#pragma once

#include "test/streaming/runs.h"

#include "ops/plans/simulator.h"

#include <string>
#include <vector>

namespace cairn::ops::plans::test {

class Checker {
public:
  Checker(const AccessPlan& run, std::uint64_t capacity) : run_(run), capacity_(capacity), blocks_(run.blocks().size()) {
    for (std::size_t i = 0; i < blocks_.size(); ++i) blocks_[i].below = blocks_[i].filled = !is_born(run.blocks()[i].name);
    for (std::size_t i = 0; i <= run.size(); ++i)
      for (const Change& change : run.changes(i)) // by the host, where the first who uses it reads it
        if (change.made && !run.uses_of(change.block).empty() && needs_elements(run.uses_of(change.block).front()))
          blocks_[change.block].below = blocks_[change.block].filled = true;
  }

  void operator()(const Move& move) {
    Block& block = blocks_[move.block];
    const std::uint64_t bytes = run_.blocks()[move.block].bytes;
    if (move.launch < launch_) refuse(move, "goes back in time");
    if (move.launch != launch_ && used_ != run_.uses(launch_).size() && !run_.uses(launch_).empty())
      refuse(move, "comes before its launch is complete");
    if (move.launch != launch_) used_ = 0;
    launch_ = move.launch;
    switch (move.kind) {
    case Move::Kind::fetch:
      if (block.here || !block.below || !block.filled) refuse(move, "cannot be fetched");
      block.here = block.current = true;
      here_ += bytes;
      break;
    case Move::Kind::take:
      if (block.here) refuse(move, "is there already");
      block.here = true;
      block.current = false;
      here_ += bytes;
      break;
    case Move::Kind::write_back:
      if (!block.here || !block.current || block.below) refuse(move, "need not be written back, or cannot");
      block.below = true;
      break;
    case Move::Kind::evict:
      if (!block.here) refuse(move, "is not there");
      if (block.filled && !block.below) refuse(move, "would be lost");
      block.here = false;
      here_ -= bytes;
      break;
    case Move::Kind::launch: {
      const PlannedUse& use = run_.uses(launch_)[used_];
      if (use.block != move.block) refuse(move, "is not what the launch uses");
      if (used_++ == 0)
        for (const PlannedUse& other : run_.uses(launch_))
          if (!blocks_[other.block].here) refuse({Move::Kind::launch, other.block, launch_}, "is not there for its launch");
      if (needs_elements(use.use) && block.filled && !block.current) refuse(move, "has no elements for its launch");
      if (writes(use.use)) {
        block.filled = block.current = true;
        block.below = false;
      }
      break;
    }
    case Move::Kind::drop:
      if (block.here) here_ -= bytes;
      block = {};
      break;
    }
    if (here_ > capacity_) refuse(move, "goes beyond the memory");
    peak_ = std::max(peak_, here_);
  }

  const std::string& fault() const { return fault_; }
  std::uint64_t peak() const { return peak_; }

private:
  struct Block {
    bool here = false, current = false; // in the memory, with its elements
    bool below = false;                 // as they are now
    bool filled = false;                // it has elements at all
  };
  void refuse(const Move& move, const std::string& why) {
    if (fault_.empty())
      fault_ = "launch " + std::to_string(move.launch) + ": block " + shown(run_.blocks()[move.block].name) + " " + why;
  }
  const AccessPlan& run_;
  std::uint64_t capacity_, here_ = 0, peak_ = 0;
  std::vector<Block> blocks_;
  std::size_t launch_ = 0, used_ = 0;
  std::string fault_;
};

} // namespace cairn::ops::plans::test
