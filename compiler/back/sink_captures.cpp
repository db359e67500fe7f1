// Captures are read at the entry of a procedure as it is built. Where only one arm of a branch needs one, reading it there
// saves the others the instruction.

#include "compiler/back/loads.h"

#include <algorithm>

namespace cairn::compiler::back {
namespace {

bool mentions(const Statement& s, std::uint32_t v);

bool mentions(const Block& b, std::uint32_t v) {
  return (!b.ended && b.result.is(v)) || std::any_of(b.statements.begin(), b.statements.end(), [&](const Statement& s) { return mentions(s, v); });
}

bool mentions(const Statement& s, std::uint32_t v) {
  return std::any_of(s.operands.begin(), s.operands.end(), [&](const Atom& a) { return a.is(v); }) ||
         std::any_of(s.blocks.begin(), s.blocks.end(), [&](const Block& b) { return mentions(b, v); }) ||
         std::any_of(s.labels.begin(), s.labels.end(), [&](const Label& l) { return mentions(l.body, v); });
}

// Puts the read into the block, as late as it can be; nowhere if nobody needs it.
void place(Statement read, Block& start, std::size_t from) {
  std::uint32_t v = read.dest;
  Block* b = &start;
  for (;;) {
    std::size_t i = from;
    while (i < b->statements.size() && !mentions(b->statements[i], v)) ++i;
    bool result = !b->ended && b->result.is(v);
    if (i == b->statements.size()) {
      if (result) b->statements.push_back(std::move(read));
      return;
    }
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
    if (later || direct || arms != 1) {
      b->statements.insert(b->statements.begin() + static_cast<std::ptrdiff_t>(i), std::move(read));
      return;
    }
    b = only;
    from = 0;
  }
}

} // namespace

void sink_captures(AnfFunction& function) {
  Block& body = function.body;
  std::size_t count = 0;
  while (count < body.statements.size() && (body.statements[count].op == Opcode::capture || body.statements[count].op == Opcode::sibling) &&
         body.statements[count].kind == Statement::Kind::operation)
    ++count;
  std::vector<Statement> reads(std::make_move_iterator(body.statements.begin()),
                               std::make_move_iterator(body.statements.begin() + static_cast<std::ptrdiff_t>(count)));
  body.statements.erase(body.statements.begin(), body.statements.begin() + static_cast<std::ptrdiff_t>(count));
  // Backward, each in front of those placed before: reads of the same statement keep their order.
  for (auto read = reads.rbegin(); read != reads.rend(); ++read) place(std::move(*read), body, 0);
}

} // namespace cairn::compiler::back
