// See foresight.h.
#include "ops/plans/foresight.h"

#include "ops/plans/keeping.h"
#include "ops/plans/simulator.h"

#include <algorithm>
#include <string>
#include <utility>

namespace cairn::ops::plans {
namespace {

// What is tried: without a choice of who leaves, what costs two copies stays for so long; with one, there is room for what is
// under way for so long.
constexpr std::uint64_t kTwice[] = {2, 16, 4};
constexpr unsigned kAhead[] = {0, 1, 4};
constexpr std::uint64_t kEarly = 3;                 // the part of the memory that may come early, where that is tried as well
constexpr int kTimes = 3;                           // each with what the time before copied out
constexpr std::size_t kPassesToChoose = 4;          // through the plan, what that takes
constexpr std::size_t kMost = std::size_t{1} << 20; // launches and uses that are gone through in all
// The uses of a launch are looked for among each other.
std::size_t length(const AccessPlan& plan) {
  constexpr std::size_t kCompared = 64; // for which there is time in that of a use
  std::size_t length = plan.size();
  for (std::size_t at = 0; at < plan.size(); ++at) {
    const std::size_t uses = plan.uses(at).size();
    length += uses + uses / kCompared * uses;
  }
  return length;
}

// The plan twice, one behind the other; what is made is another block each time.
constexpr Name kSecond = Name{1} << 62;
AccessPlan doubled(const AccessPlan& plan) {
  Recorder recorder(plan.program());
  std::vector<Access> accesses;
  for (const Name second : {Name{0}, kSecond}) {
    const auto name_of = [&](std::uint32_t block) {
      const Name name = plan.blocks()[block].name;
      return is_born(name) ? name ^ second : name;
    };
    for (std::size_t at = 0; at <= plan.size(); ++at) {
      for (const Change& change : plan.changes(at))
        if (change.made)
          recorder.made(name_of(change.block), plan.blocks()[change.block].bytes);
        else
          recorder.dropped(name_of(change.block));
      if (at == plan.size()) break;
      accesses.clear();
      for (const PlannedUse& use : plan.uses(at))
        accesses.push_back({name_of(use.block), plan.blocks()[use.block].bytes, use.use});
      recorder.launch(plan.duration(at), accesses);
    }
  }
  std::string fault;
  return recorder.finish(fault).value_or(AccessPlan());
}

// Which use of the plan wrote what leaves the memory in that move, and so has been copied out.
void note(const AccessPlan& run, const Move& move, const AccessPlan& plan, std::vector<bool>& copied_out) {
  const auto positions = run.positions(move.block);
  const auto uses = run.uses_of(move.block);
  auto use = static_cast<std::size_t>(std::ranges::upper_bound(positions, move.launch) - positions.begin());
  while (use > 0 && !writes(uses[use - 1])) --use;
  const Name name = run.blocks()[move.block].name;
  const auto block = plan.find(is_born(name) ? name & ~kSecond : name);
  if (use == 0 || !block) return;
  const auto planned = std::ranges::lower_bound(plan.positions(*block), positions[use - 1] % plan.size());
  copied_out[plan.first_use(*block) + static_cast<std::size_t>(planned - plan.positions(*block).begin())] = true;
}

// Whether nothing ever has to give way, even if all leaves are there from the beginning.
bool fits(const AccessPlan& run, const Memory& memory) {
  std::uint64_t here = 0, most = 0;
  std::vector<bool> is_here(run.blocks().size());
  const auto come = [&](std::uint32_t block) {
    if (is_here[block]) return;
    is_here[block] = true;
    here += run.blocks()[block].bytes;
    most = std::max(most, here);
  };
  for (std::uint32_t block = 0; block < is_here.size(); ++block)
    if (!is_born(run.blocks()[block].name)) come(block);
  for (std::size_t at = 0; at < run.size(); ++at) {
    for (const Change& change : run.changes(at))
      if (!change.made && is_here[change.block]) here -= run.blocks()[change.block].bytes;
    for (const PlannedUse& use : run.uses(at)) come(use.block);
  }
  return most <= memory.capacity;
}

// How often there is time to go through it, twice. Where it is too long, never.
std::size_t passes_of(const AccessPlan& plan) {
  constexpr std::size_t all = std::size(kTwice) * (4 * kTimes + kPassesToChoose) + 2 * kTimes;
  const std::size_t once = 2 * length(plan);
  return plan.size() == 0 || once > kMost / 2 ? 0 : std::min(kMost / once, all);
}

struct Tried {
  Foresight with;
  Picoseconds time = 0;
  std::uint64_t bytes = 0;
  std::vector<Picoseconds> begins; // of launches that waited for room alone, as Foresight has it
};

class Search {
public:
  Search(const AccessPlan& plan, const Memory& memory, Ending ending, const std::function<void()>& poll)
      : plan_(plan), memory_(memory), ending_(ending), poll_(poll), run_(ending == Ending::again ? doubled(plan) : plan),
        begin_(run_.size() - plan.size()), left_(passes_of(plan)) {}

  Foresight best() {
    if (run_.size() == 0 || fits(run_, memory_)) return {};
    const std::size_t uses = plan_.parts().uses.size();
    for (std::size_t i = 0; i < std::size(kTwice); ++i) {
      if (!try_with({std::vector<bool>(uses), kTwice[i], {}, false})) return {};
      if (left_ <= kPassesToChoose) continue;
      left_ -= kPassesToChoose;
      Kept kept = worth_keeping(plan_, memory_, ending_, kAhead[i], poll_);
      if (kept.leaves.empty()) continue;
      if (kAhead[i] == 0) least_ = std::max<std::uint64_t>(1, kept.least);
      for (const bool firm : {false, true})
        if (!try_with({kept.copied_out, kTwice[0], kept.leaves, firm})) return {};
      if (!try_with({kept.copied_out, kTwice[0], kept.leaves, false, memory_.capacity / kEarly})) return {};
    }
    // The best is tried once more by one who knows where launches wait for room, however that comes out for who stays.
    const Tried best = best_tried();
    for (const bool firm : {best.with.firm, !best.with.firm}) {
      if (!knows_all(best.begins)) break;
      if (firm != best.with.firm && best.with.leaves.empty()) break;
      Foresight timed = best.with;
      timed.begins = best.begins;
      timed.firm = firm;
      try_with(std::move(timed));
    }
    return std::move(best_tried().with);
  }

private:
  // A plan that says odd things may come to an end of which not every launch is a part.
  bool knows_all(const std::vector<Picoseconds>& begins) const { return begins.size() == plan_.size() + 1; }
  Tried& best_tried() {
    return *std::ranges::min_element(tried_, {}, [&](const Tried& one) { return cost(one); });
  }
  // False: it cannot be done at all.
  bool try_with(Foresight with) {
    for (int i = 0; i < kTimes && left_ > 0; ++i, --left_) {
      Foresight next = with;
      next.copied_out.assign(with.copied_out.size(), false);
      std::vector<Picoseconds> begins(1);
      Picoseconds begun = 0, ended = 0;
      std::uint64_t bytes = 0;
      const Simulated did = simulate(run_, &plan_, Policy::planned, memory_, ending_, &with, [&](const Move& move) {
        if (poll_ && ++moves_ % kMovesBetween == 0) poll_();
        if (move.kind == Move::Kind::evict) note(run_, move, plan_, next.copied_out);
        if (move.kind == Move::Kind::launch) (move.launch < begin_ ? begun : ended) = move.executed;
        if (move.launch < begin_) return;
        if (move.kind == Move::Kind::launch && begins.size() == move.launch - begin_ + 1) {
          begins.back() += move.waited;
          begins.push_back(begins.back() + run_.duration(move.launch));
        }
        const std::uint64_t moved = run_.blocks()[move.block].bytes;
        if (move.kind == Move::Kind::fetch) bytes += memory_.link.counted_in(moved);
        if (move.kind == Move::Kind::write_back) bytes += memory_.link.counted_out(moved);
      });
      if (!did.failed.empty()) return false;
      const bool is_same = next.copied_out == with.copied_out;
      if (!with.begins.empty() && knows_all(begins)) next.begins = begins;
      tried_.push_back({std::move(with), std::max(begun, ended) - begun, bytes, std::move(begins)});
      if (is_same) break;
      with = std::move(next);
    }
    return true;
  }

  // Time beside that of the fastest, and a quarter of the bytes beside the fewest, since others may want the link; but what is
  // more than a tenth above the bytes that must be copied weighs twice as much as time.
  double cost(const Tried& one) const {
    const auto part = [](std::uint64_t a, std::uint64_t b) {
      return static_cast<double>(a) / static_cast<double>(std::max<std::uint64_t>(1, b));
    };
    const double above = least_ == 0 ? 0 : std::max(0.0, part(one.bytes, least_) - 1.1);
    return part(one.time, std::ranges::min_element(tried_, {}, &Tried::time)->time) +
           part(one.bytes, std::ranges::min_element(tried_, {}, &Tried::bytes)->bytes) / 4 + 2 * above;
  }

  const AccessPlan& plan_;
  const Memory& memory_;
  Ending ending_;
  const std::function<void()>& poll_;
  static constexpr std::size_t kMovesBetween = 1024; // two polls
  std::size_t moves_ = 0;
  AccessPlan run_;
  std::size_t begin_;       // launches in front of those that are judged: the first time is begun in another way than the others
  std::size_t left_;        // passes
  std::uint64_t least_ = 0; // bytes that must be copied; 0: it is not known
  std::vector<Tried> tried_;
};

} // namespace

std::uint64_t work_to_foresee(const AccessPlan& plan) {
  constexpr std::uint64_t kWorkOfUse = 16;
  return kWorkOfUse * 2 * length(plan) * passes_of(plan);
}

Foresight foresee(const AccessPlan& plan, const Memory& memory, Ending ending, const std::function<void()>& poll) {
  return passes_of(plan) == 0 ? Foresight{} : Search(plan, memory, ending, poll).best();
}

} // namespace cairn::ops::plans
