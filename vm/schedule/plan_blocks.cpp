#include "vm/schedule/plan_blocks.h"

#include "vm/schedule/plan_rows.h"

namespace cairn::schedule {
namespace {

// A form that is no better in this part of the run than another gives no better plan.
template <class Taken> void add_form(std::vector<Taken>& blocks, std::size_t from, const Taken& next) {
  for (std::size_t i = from; i < blocks.size(); ++i)
    if (blocks[i].dominates(next)) return;
  blocks.push_back(next);
}

template <class Taken, class Need> void note_least(std::span<Taken> blocks, Need&& need_of) {
  std::uint64_t least = UINT64_MAX;
  for (std::size_t i = blocks.size(); i-- > 0;) blocks[i].least = least = std::min(least, need_of(blocks[i]));
}

} // namespace

void Blocks::assign(const std::vector<Parts>& forms, std::span<const std::uint64_t> cotangents) {
  const Parts& parts = forms.front();
  base_ = parts.base();
  within_.clear();
  up_to_.clear();
  const std::size_t boundaries = parts.end() - base_;
  holds_.cost.resize(boundaries + kRowGroup);
  holds_.running.resize(boundaries + kRowGroup);
  holds_.keep.resize(boundaries + kRowGroup);
  of_within_.assign(1, 0);
  of_up_to_.assign(1, 0);
  for (std::size_t last = base_ + 1; last <= parts.end(); ++last) {
    of_within_.push_back(within_.size());
    for (std::size_t first = last; first-- > base_;) {
      const std::size_t from_within = within_.size(), from_up_to = up_to_.size();
      for (const Parts& of_form : forms) {
        const Parts::Tapes& tapes = of_form.tapes(first, last);
        const float cost = of_form.cost(first, last);
        const std::uint64_t running = std::max(tapes.tape_peak, of_form.advance_peak(first));
        if (family_ != Family::simple || first == base_)
          add_form(within_, from_within,
                   {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(last), cost, running, tapes.sweep_peak,
                    tapes.keep, 0});
        add_form(up_to_, from_up_to,
                 {static_cast<std::uint32_t>(first), cost, std::max(tapes.sweep_peak, running + cotangents[last]), 0});
      }
    }
    note_least(std::span(up_to_).subspan(of_up_to_.back()), [](const End& end) { return end.need; });
    of_up_to_.push_back(up_to_.size());
    const std::size_t at = last - base_ - 1;
    holds_.cost[at] = parts.cost(last, last);
    holds_.running[at] = parts.advance_peak(last);
    holds_.keep[at] = parts.newer(last);
  }
  note_least(std::span(within_), [](const Block& block) { return std::max(block.running, block.sweep); });
}

} // namespace cairn::schedule
