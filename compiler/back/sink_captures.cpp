// Captures are read at the entry of a procedure as it is built. Where only one arm of a branch needs one, reading it there
// saves the others the instruction.

#include "compiler/back/loads.h"

#include <algorithm>

namespace cairn::compiler::back {
namespace {

bool mentions(const Statement& s, std::uint32_t v);

bool mentions(const Block& b, std::uint32_t v) {
  return (!b.ended && b.result.is(v)) ||
         std::any_of(b.statements.begin(), b.statements.end(), [&](const Statement& s) { return mentions(s, v); });
}

bool mentions(const Statement& s, std::uint32_t v) {
  return std::any_of(s.operands.begin(), s.operands.end(), [&](const Atom& a) { return a.is(v); }) ||
         std::any_of(s.blocks.begin(), s.blocks.end(), [&](const Block& b) { return mentions(b, v); }) ||
         std::any_of(s.labels.begin(), s.labels.end(), [&](const Label& l) { return mentions(l.body, v); });
}

struct Place {
  Block* block = nullptr;
  std::size_t index = 0;
};

// As late as v can be read: before the one statement of a block that needs it, or inside the one arm. No block: nobody needs it.
Place place_for(std::uint32_t v, Block& start) {
  Block* b = &start;
  for (;;) {
    std::size_t i = 0;
    while (i < b->statements.size() && !mentions(b->statements[i], v)) ++i;
    bool result = !b->ended && b->result.is(v);
    if (i == b->statements.size()) return {result ? b : nullptr, i};
    Statement& s = b->statements[i];
    bool later = result || std::any_of(b->statements.begin() + static_cast<std::ptrdiff_t>(i) + 1, b->statements.end(),
                                       [&](const Statement& t) { return mentions(t, v); });
    bool direct = std::any_of(s.operands.begin(), s.operands.end(), [&](const Atom& a) { return a.is(v); }) ||
                  std::any_of(s.labels.begin(), s.labels.end(), [&](const Label& l) { return mentions(l.body, v); });
    Block* only = nullptr;
    unsigned arms = 0;
    for (Block& arm : s.blocks)
      if (mentions(arm, v)) {
        only = &arm;
        ++arms;
      }
    if (later || direct || arms != 1) return {b, i};
    b = only;
  }
}

} // namespace

void sink_captures(AnfFunction& function) {
  Block& body = function.body;
  std::size_t count = 0;
  while (count < body.statements.size() &&
         (body.statements[count].op == Opcode::capture || body.statements[count].op == Opcode::sibling) &&
         body.statements[count].kind == Statement::Kind::operation)
    ++count;
  std::vector<Statement> reads(std::make_move_iterator(body.statements.begin()),
                               std::make_move_iterator(body.statements.begin() + static_cast<std::ptrdiff_t>(count)));
  body.statements.erase(body.statements.begin(), body.statements.begin() + static_cast<std::ptrdiff_t>(count));
  std::vector<Place> places;
  for (const Statement& read : reads) places.push_back(place_for(read.dest, body));
  // Reads of one block come together, so that the closure dies as early as it can.
  for (std::size_t i = 0; i < reads.size(); ++i) {
    Block* b = places[i].block;
    if (!b) continue;
    std::size_t first = places[i].index;
    std::vector<Statement> together;
    for (std::size_t j = i; j < reads.size(); ++j) {
      if (places[j].block != b) continue;
      first = std::min(first, places[j].index);
      together.push_back(std::move(reads[j]));
      places[j].block = nullptr;
    }
    b->statements.insert(b->statements.begin() + static_cast<std::ptrdiff_t>(first), std::make_move_iterator(together.begin()),
                         std::make_move_iterator(together.end()));
  }
}

} // namespace cairn::compiler::back
