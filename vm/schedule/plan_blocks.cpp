#include "vm/schedule/plan_blocks.h"

namespace cairn::schedule {
namespace {

// A form that is no better in this part of the run than another gives no better plan.
void add_form(std::vector<Blocks::Block>& blocks, std::size_t from, const Blocks::Block& next) {
  for (std::size_t i = from; i < blocks.size(); ++i)
    if (blocks[i].dominates(next)) return;
  blocks.push_back(next);
}

void note_least(std::span<Blocks::Block> blocks) {
  std::uint64_t least = UINT64_MAX;
  for (std::size_t i = blocks.size(); i-- > 0;)
    blocks[i].least = least = std::min(least, std::max(blocks[i].running, blocks[i].sweep));
}

} // namespace

void Blocks::assign(const std::vector<Parts>& forms) {
  const Parts& parts = forms.front();
  base_ = parts.base();
  within_.clear();
  up_to_.clear();
  holds_.clear();
  of_within_.assign(1, 0);
  of_up_to_.assign(1, 0);
  for (std::size_t last = base_ + 1; last <= parts.end(); ++last) {
    of_within_.push_back(within_.size());
    for (std::size_t first = last; first-- > base_;) {
      const std::size_t from_within = within_.size(), from_up_to = up_to_.size();
      for (const Parts& of_form : forms) {
        const Parts::Tapes& tapes = of_form.tapes(first, last);
        Block next{static_cast<std::uint32_t>(first),
                   static_cast<std::uint32_t>(last),
                   of_form.cost(first, last),
                   std::max(tapes.tape_peak, of_form.advance_peak(first)),
                   tapes.sweep_peak,
                   tapes.keep,
                   0};
        if (family_ != Family::simple || first == base_) add_form(within_, from_within, next);
        next.keep = 0;
        add_form(up_to_, from_up_to, next);
      }
    }
    note_least(std::span(up_to_).subspan(of_up_to_.back()));
    of_up_to_.push_back(up_to_.size());
    holds_.push_back({parts.cost(last, last), parts.advance_peak(last), parts.newer(last)});
  }
  note_least(within_);
}

} // namespace cairn::schedule
