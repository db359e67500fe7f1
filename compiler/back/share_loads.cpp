// A walk in dominance order with a scoped table of what has been read. Values never change, so what has been read stays right;
// a read after a successful read of the same pair cannot fail, so it may come earlier.

#include "compiler/back/loads.h"

namespace cairn::compiler::back {
namespace {

// How far a walk looks ahead for the other field of a pair.
constexpr unsigned kLookAhead = 500;

class LoadSharing {
public:
  LoadSharing(AnfFunction& f, const Globals& globals)
      : f_(f), globals_(globals), same_(f.variables.size(), kNone), loop_of_(f.variables.size()) {}
  void run() { block(f_.body); }

private:
  using Key = std::pair<Opcode, std::uint32_t>;

  void atom(Atom& a) const {
    if (a.kind == Atom::Kind::variable && same_[a.index] != kNone) a.index = same_[a.index];
  }

  void block(BasicBlock& b) {
    poll();
    std::size_t before = undo_.size();
    Vector<Statement> kept;
    for (std::size_t i = 0; i < b.statements.size(); ++i) {
      Statement& s = b.statements[i];
      for (Atom& a : s.operands) atom(a);
      if (s.kind == Statement::Kind::operation && replaced(s)) continue;
      if (s.dest != kNone) loop_of_[s.dest] = loop_;
      nested(s);
      bool field = s.op == Opcode::car || s.op == Opcode::cdr;
      kept.push_back(std::move(s));
      if (field && kept.back().operands[0].kind == Atom::Kind::variable) pair_up(kept, b, i + 1);
    }
    b.statements = std::move(kept);
    atom(b.result);
    while (undo_.size() > before) {
      known_.erase(undo_.back());
      undo_.pop_back();
    }
  }

  void nested(Statement& s) {
    for (Label& l : s.labels) {
      std::uint32_t outer = loop_;
      if (l.loop) loop_ = ++loops_;
      for (std::uint32_t p : l.parameters) loop_of_[p] = loop_;
      block(l.body);
      loop_ = outer;
    }
    for (BasicBlock& b : s.blocks) block(b);
  }

  // True if the value of s is known already; else it is from now on.
  bool replaced(const Statement& s) {
    bool field = (s.op == Opcode::car || s.op == Opcode::cdr) && s.operands[0].kind == Atom::Kind::variable;
    bool global = s.op == Opcode::global && globals_[s.index].once;
    if (!field && !global) return false;
    Key key{s.op, field ? s.operands[0].index : s.index};
    auto [found, inserted] = known_.emplace(key, s.dest);
    if (inserted) {
      undo_.push_back(key);
      return false;
    }
    same_[s.dest] = found->second;
    return true;
  }

  // The other field of the pair just read is read at once if the rest of the block reads it and has no other use for the pair.
  void pair_up(Vector<Statement>& kept, BasicBlock& b, std::size_t next) {
    const Statement& first = kept.back();
    std::uint32_t p = first.operands[0].index;
    Opcode other = first.op == Opcode::car ? Opcode::cdr : Opcode::car;
    if (known_.contains({other, p}) || loop_of_[p] != loop_) return;
    looked_ = 0;
    name_ = {};
    Uses uses;
    for (std::size_t i = next; i < b.statements.size() && looked_ < kLookAhead; ++i) look(b.statements[i], p, other, uses);
    if (b.result.is(p)) ++uses.otherwise;
    if (uses.wanted == 0 || uses.otherwise > 0 || looked_ >= kLookAhead) return;
    Statement s = first;
    s.op = other;
    f_.variables.push_back(name_);
    s.dest = static_cast<std::uint32_t>(f_.variables.size() - 1);
    same_.push_back(kNone);
    loop_of_.push_back(loop_);
    replaced(s);
    kept.push_back(std::move(s));
  }

  struct Uses {
    unsigned wanted = 0, otherwise = 0;
  };
  void look(const Statement& s, std::uint32_t p, Opcode other, Uses& uses) {
    poll();
    if (++looked_ >= kLookAhead) return;
    bool field = s.kind == Statement::Kind::operation && (s.op == Opcode::car || s.op == Opcode::cdr);
    for (const Atom& a : s.operands) {
      if (!a.is(p)) continue;
      if (!field) ++uses.otherwise;
      if (field && s.op == other && uses.wanted++ == 0) name_ = f_.variables[s.dest];
    }
    auto inside = [&](const BasicBlock& b) {
      for (const Statement& t : b.statements) look(t, p, other, uses);
      if (b.result.is(p) && !b.ended) ++uses.otherwise;
    };
    for (const Label& l : s.labels) inside(l.body);
    for (const BasicBlock& b : s.blocks) inside(b);
  }

  AnfFunction& f_;
  const Globals& globals_;
  OrderedMap<Key, std::uint32_t> known_;
  Vector<Key> undo_;
  Vector<std::uint32_t> same_;    // replaced variable -> the one that stays
  Vector<std::uint32_t> loop_of_; // of each variable: the loop it is defined in
  std::uint32_t loop_ = 0, loops_ = 0;
  unsigned looked_ = 0;
  std::string_view name_;
};

} // namespace

void share_loads(AnfFunction& function, const Globals& globals) { LoadSharing(function, globals).run(); }

} // namespace cairn::compiler::back
