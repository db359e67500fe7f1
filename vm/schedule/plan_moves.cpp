// Reads a plan's moves off filled tables: at each part of the run the choice that gave the least cost, found by looking at all of
// them again.
#include "vm/schedule/plan_tables.h"

#include "vm/schedule/asking.h"

#include <limits>

namespace cairn::schedule {

namespace {

constexpr float kNever = std::numeric_limits<float>::infinity();

} // namespace

class Extraction {
public:
  Extraction(const Tables& tables, std::vector<Move>& moves) : t_(tables), moves_(moves) {}

  // Reverses [base, to), whose start is the current state, and held if `held`; lets go of it.
  void reverse(std::size_t base, std::size_t to, std::size_t cells, bool held) {
    if (base == to) {
      if (held) add(Move::Kind::drop, base);
      return;
    }
    if (t_.finer_ != nullptr) {
      // What the finer table does may be better than all that this one does with more.
      const float* const row = t_.whole_of(base, to);
      const std::size_t most = std::min(cells, t_.of_finer() - 1);
      if (row[most] == row[cells]) return Extraction(*t_.finer_, moves_).reverse(base, to, 2 * most, held);
    }
    Asking::now();
    std::vector<Parts> forms = parts_of(t_.profile_, t_.forms_, base, to, base);
    const Choice best = choice(forms, to, cells);
    if (t_.family_ == Family::free && base + 1 < to) {
      Parts& parts = forms.front();
      for (std::size_t first = base; first <= to; ++first) parts.weigh(first);
      const Tables::Passing passing = passed(parts, to);
      if (passed_by(parts, passing, base, to, cells) < best.cost) {
        if (!held) add(Move::Kind::keep, base);
        add(Move::Kind::advance, base);
        pass(parts, passing, base + 1, to, cells);
        return;
      }
    }
    if (best.first != base && !held) add(Move::Kind::keep, base);
    if (best.first == base && held) add(Move::Kind::drop, base);
    advance(base, best.first);
    go(best.first, best.last, to, cells - best.group.keep, best.form);
    finish(base, best.first, cells);
  }

  // What is held is in order; states that are of no use go first.
  void enter(const std::vector<std::uint32_t>& held, const std::vector<Row>& entry, std::size_t to, std::size_t cells) {
    struct Use {
      std::size_t state, cells;
    };
    std::vector<Use> uses;
    for (std::size_t i = 0; i < held.size();) {
      uses.push_back({held[i], cells});
      std::size_t next = held.size(), left = 0;
      float least = t_.whole_of(held[i], to)[cells];
      for (std::size_t j = i + 1; j < held.size(); ++j) {
        const std::size_t weight = t_.weight(held[j], held[i]);
        if (weight > cells) continue;
        const float cost = entry[j][cells - weight] + t_.whole_of(held[i], held[j])[cells];
        if (cost >= least) continue;
        least = cost;
        next = j;
        left = cells - weight;
      }
      for (std::size_t j = i + 1; j < next; ++j) add(Move::Kind::drop, held[j]);
      i = next;
      cells = left;
    }
    for (std::size_t n = uses.size(); n-- > 0; to = uses[n].state) {
      add(Move::Kind::restore, uses[n].state);
      reverse(uses[n].state, to, uses[n].cells, true);
    }
  }

private:
  struct Choice {
    std::size_t first = 0, last = 0;
    Tables::Group group;
    std::uint32_t form = 0;
    float cost = kNever;
  };

  // The first of those that cost what the table says, unless passing by the base costs that.
  Choice choice(std::vector<Parts>& forms, std::size_t to, std::size_t cells) const {
    const std::size_t base = forms.front().base();
    const float least = t_.whole_of(base, to)[cells];
    Choice best;
    t_.for_each_pair(base, to, [&](std::size_t first, std::size_t last) {
      const float others = t_.whole_of(last, to)[cells], earlier = t_.whole_of(base, first)[cells];
      for (std::uint32_t form = 0; form < (first == last ? 1 : forms.size()); ++form) {
        // With more memory behind it than there is; what costs too much even so need not be weighed.
        if (forms[form].cost(first, last) + others + earlier > least) continue;
        forms[form].weigh(first);
        consider(best, {first, last, t_.group(forms[form], first, last, to, false), form}, cells, base, to);
      }
    });
    return best;
  }
  void add(Move::Kind kind, std::size_t at) { moves_.push_back({kind, static_cast<std::uint32_t>(at), 0}); }
  void advance(std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) add(Move::Kind::advance, i);
  }
  void consider(Choice& best, Choice choice, std::size_t cells, std::size_t base, std::size_t to) const {
    if (choice.group.need > cells) return;
    choice.cost =
        choice.group.cost + t_.whole_of(choice.last, to)[cells - choice.group.keep] + t_.whole_of(base, choice.first)[cells];
    if (choice.cost < best.cost) best = choice;
  }
  // From the current state: tapes, what lies behind them, sweeps.
  void go(std::size_t first, std::size_t last, std::size_t to, std::size_t left, std::uint32_t form = 0) {
    for (std::size_t i = first; i < last; ++i) moves_.push_back({Move::Kind::tape, static_cast<std::uint32_t>(i), form});
    if (last < to) reverse(last, to, left, false);
    for (std::size_t i = last; i-- > first;) moves_.push_back({Move::Kind::sweep, static_cast<std::uint32_t>(i), form});
  }
  // What is left in front, from the base, which is held unless nothing is left.
  void finish(std::size_t base, std::size_t first, std::size_t cells) {
    if (first == base) return;
    add(Move::Kind::restore, base);
    reverse(base, first, cells, true);
  }
  Tables::Passing passed(const Parts& parts, std::size_t to) const {
    Tables::Passing passing;
    passing.rows.resize(Tables::pair(0, to + 1));
    for (std::size_t end = parts.base() + 1; end <= to; ++end) {
      t_.pass(parts, passing, end);
      t_.give_up(parts, passing, end);
    }
    return passing;
  }

  // What it costs to pass by the state at `at`.
  float passed_by(const Parts& parts, const Tables::Passing& passing, std::size_t at, std::size_t to, std::size_t cells) const {
    const Tables::Group step = t_.step(parts, at, to);
    if (at + 1 >= to || step.need > cells) return kNever;
    return step.cost + passing.rows[Tables::pair(at + 1, to)][cells];
  }

  // Reverses [base, to) with the current state at `at`, behind the base, which is held.
  void pass(const Parts& parts, const Tables::Passing& passing, std::size_t at, std::size_t to, std::size_t cells) {
    const std::size_t base = parts.base();
    bool held = false, current = true;
    for (;;) {
      // Tapes that begin here and let go of the state.
      Choice now;
      for (std::size_t last = at + 1; last <= to; ++last)
        consider(now, {at, last, t_.group(parts, at, last, to, true)}, cells, base, to);
      // One go from the state while it is held.
      const std::size_t weight = t_.round_up(parts.newer(at));
      Choice part;
      if (weight <= cells) {
        for (std::size_t first = at; first < to; ++first) {
          const float earlier = first == at ? t_.whole_of(base, at)[cells] : passing.rows[Tables::pair(at, first)][cells];
          const float cost = t_.parting(at, first, to)[cells - weight] + earlier;
          if (cost < part.cost) part = {first, first, {}, 0, cost};
        }
      }
      const float by = passed_by(parts, passing, at, to, cells);
      const float alone = current ? kNever : t_.whole_of(base, to)[cells];
      if (alone <= std::min({now.cost, part.cost, by})) {
        if (held) add(Move::Kind::drop, at);
        add(Move::Kind::restore, base);
        reverse(base, to, cells, true);
        return;
      }
      if (!current) add(Move::Kind::restore, at);
      current = true;
      const bool passes = by < std::min(now.cost, part.cost), tapes = !passes && now.cost <= part.cost;
      const bool last_use = passes || tapes || part.first == at;
      if (held && last_use) add(Move::Kind::drop, at);
      if (!held && !last_use) add(Move::Kind::keep, at);
      held = !last_use;
      if (passes) {
        add(Move::Kind::advance, at++);
        continue;
      }
      if (tapes) {
        go(at, now.last, to, cells - now.group.keep);
      } else {
        Parts from_here(t_.profile_, at, to);
        from_here.weigh(part.first);
        Choice best;
        // What lies in front of part.first costs nothing here, so it is its own base.
        for (std::size_t last = part.first; last <= to; ++last)
          if (in_family(t_.family_, at, part.first, last, to))
            consider(best, {part.first, last, t_.group(from_here, part.first, last, to, false)}, cells - weight, part.first, to);
        advance(at, best.first);
        go(best.first, best.last, to, cells - weight - best.group.keep);
      }
      if (last_use) {
        finish(base, at, cells);
        return;
      }
      to = part.first;
      current = false;
    }
  }

  const Tables& t_;
  std::vector<Move>& moves_;
};

std::vector<Move> Tables::moves(std::size_t cells) const {
  std::vector<Move> moves;
  if (profile_.size() != 0) Extraction(*this, moves).reverse(0, profile_.size(), cells, true);
  return moves;
}

std::vector<Move> Tables::moves(const std::vector<std::uint32_t>& held, const std::vector<Row>& entry, std::size_t to,
                                std::size_t cells) const {
  std::vector<Move> moves;
  Extraction(*this, moves).enter(held, entry, to, cells);
  return moves;
}

std::vector<Move> refined(const std::vector<Move>& moves, const std::vector<std::uint32_t>& boundaries) {
  std::vector<Move> fine;
  for (const Move& move : moves) {
    const std::uint32_t from = boundaries[move.at];
    switch (move.kind) {
    case Move::Kind::advance:
    case Move::Kind::tape:
      for (std::uint32_t i = from; i < boundaries[move.at + 1]; ++i) fine.push_back({move.kind, i, move.form});
      break;
    case Move::Kind::sweep:
      for (std::uint32_t i = boundaries[move.at + 1]; i-- > from;) fine.push_back({move.kind, i, move.form});
      break;
    case Move::Kind::keep:
    case Move::Kind::drop:
    case Move::Kind::restore:
      fine.push_back({move.kind, from, 0});
      break;
    }
  }
  return fine;
}

} // namespace cairn::schedule
