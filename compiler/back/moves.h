// Parallel moves between registers, put into an order in which none overwrites what another still needs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace cairn::compiler::back {

struct Move {
  std::uint16_t to = 0;
  std::uint16_t from = 0;
  bool last = false; // the source dies
};

// Moves of a register onto itself vanish. `spare` gives a register nobody uses, for cycles.
template <class Spare> Vector<Move> in_order(Vector<Move> moves, Spare spare) {
  Vector<Move> ordered;
  Vector<std::uint16_t> dying, kept;
  for (const Move& m : moves) {
    if (m.last) dying.push_back(m.from);
    if (m.to == m.from) kept.push_back(m.from);
  }
  std::erase_if(moves, [](const Move& m) { return m.to == m.from; });
  auto read_by_others = [&](std::uint16_t r, std::size_t self) {
    for (std::size_t i = 0; i < moves.size(); ++i)
      if (i != self && moves[i].from == r) return true;
    return false;
  };
  auto contains = [](const Vector<std::uint16_t>& set, std::uint16_t r) {
    return std::find(set.begin(), set.end(), r) != set.end();
  };
  while (!moves.empty()) {
    std::size_t i = 0;
    while (i < moves.size() && read_by_others(moves[i].to, i)) ++i;
    if (i < moves.size()) {
      Move m = moves[i];
      m.last = contains(dying, m.from) && !contains(kept, m.from) && !read_by_others(m.from, i);
      ordered.push_back(m);
      moves.erase(moves.begin() + static_cast<std::ptrdiff_t>(i));
      continue;
    }
    // Only cycles are left: one register moves out of the way.
    std::uint16_t from = moves[0].from, aside = spare();
    ordered.push_back({aside, from, true});
    dying.push_back(aside);
    for (Move& m : moves)
      if (m.from == from) m.from = aside;
  }
  return ordered;
}

} // namespace cairn::compiler::back
