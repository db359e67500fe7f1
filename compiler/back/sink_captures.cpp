// Captures are read at the entry of a procedure as it is built. Where only one arm of a branch needs one, reading it there
// saves the others the instruction.

#include "compiler/back/loads.h"

#include <algorithm>

namespace cairn::compiler::back {
namespace {

struct Point {
  BasicBlock* block = nullptr;
  std::size_t index = 0;
};

// As late as each variable can be read: before the one statement of a block that needs it, or inside the one arm. One walk finds
// the points of all: a point moves outwards when the walk meets the variable outside the arm that it lies in.
class Points {
public:
  Points(std::size_t variables, const Vector<Statement>& reads) : number_(variables, kNone) {
    for (const Statement& read : reads) {
      number_[read.dest] = static_cast<std::uint32_t>(found_.size());
      found_.emplace_back();
    }
  }

  // In the order of the reads; no block: nobody needs it.
  Vector<Point> in(BasicBlock& body) {
    arm(body);
    Vector<Point> points;
    for (const Found& f : found_) points.push_back({f.arm ? f.arm->block : nullptr, f.index});
    return points;
  }

private:
  // A block that reads may move into, and where it stands.
  struct Arm {
    BasicBlock* block;
    Arm* outside;
    std::size_t outside_index; // of the statement of `outside` that it belongs to
    bool open;                 // the walk is inside
  };
  struct Found {
    Arm* arm = nullptr;
    std::size_t index = 0;
  };

  void arm(BasicBlock& b) {
    poll();
    Arm& a = arms_.emplace_back(Arm{&b, inside_, index_, true});
    inside_ = &a;
    for (index_ = 0; index_ < b.statements.size(); ++index_) {
      Statement& s = b.statements[index_];
      for (const Atom& operand : s.operands) mention(operand);
      for (const Label& l : s.labels) scan(l.body);
      for (BasicBlock& inner : s.blocks) arm(inner);
    }
    if (!b.ended) mention(b.result);
    a.open = false;
    inside_ = a.outside;
    index_ = a.outside_index;
  }

  // A label may be entered several times: nothing moves into it.
  void scan(const BasicBlock& b) {
    poll();
    for (const Statement& s : b.statements) {
      for (const Atom& operand : s.operands) mention(operand);
      for (const Label& l : s.labels) scan(l.body);
      for (const BasicBlock& inner : s.blocks) scan(inner);
    }
    if (!b.ended) mention(b.result);
  }

  void mention(const Atom& a) {
    if (a.kind != Atom::Kind::variable || number_[a.index] == kNone) return;
    Found& f = found_[number_[a.index]];
    if (!f.arm) f = {inside_, index_};
    while (!f.arm->open) f = {f.arm->outside, f.arm->outside_index};
  }

  Vector<std::uint32_t> number_; // of each variable: its read, kNone if it is none
  Vector<Found> found_;
  Deque<Arm> arms_;
  Arm* inside_ = nullptr;
  std::size_t index_ = 0;
};

} // namespace

void sink_captures(AnfFunction& function) {
  BasicBlock& body = function.body;
  std::size_t count = 0;
  while (count < body.statements.size() &&
         (body.statements[count].op == Opcode::capture || body.statements[count].op == Opcode::sibling) &&
         body.statements[count].kind == Statement::Kind::operation)
    ++count;
  Vector<Statement> reads(std::make_move_iterator(body.statements.begin()),
                          std::make_move_iterator(body.statements.begin() + static_cast<std::ptrdiff_t>(count)));
  body.statements.erase(body.statements.begin(), body.statements.begin() + static_cast<std::ptrdiff_t>(count));
  if (reads.empty()) return;
  Vector<Point> points = Points(function.variables.size(), reads).in(body);
  // Reads of one block come together, so that the closure dies as early as it can.
  for (std::size_t i = 0; i < reads.size(); ++i) {
    BasicBlock* b = points[i].block;
    if (!b) continue;
    std::size_t first = points[i].index;
    Vector<Statement> together;
    for (std::size_t j = i; j < reads.size(); ++j) {
      if (points[j].block != b) continue;
      first = std::min(first, points[j].index);
      together.push_back(std::move(reads[j]));
      points[j].block = nullptr;
    }
    b->statements.insert(b->statements.begin() + static_cast<std::ptrdiff_t>(first), std::make_move_iterator(together.begin()),
                         std::make_move_iterator(together.end()));
  }
}

} // namespace cairn::compiler::back
