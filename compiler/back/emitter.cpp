// Code is laid out so that control falls through as often as it can: a label's body stands where it is first jumped to, and a
// jump back to a loop whose body starts with its test repeats the test instead of jumping to it.

#include "compiler/back/emitter.h"

#include "compiler/back/assembler.h"
#include "compiler/back/moves.h"
#include "compiler/back/registers.h"
#include "compiler/back/selection.h"

#include <algorithm>
#include <optional>

namespace cairn::compiler::back {
namespace {

using bytecode::kLastUse;
using bytecode::kNoRegister;

class Emitter {
public:
  Emitter(const AnfFunction& f, const Unit& unit, ConstantPool& constants, bool far)
      : f_(f), unit_(unit), constants_(constants), a_(far), registers_(f), labels_(f.labels) {}

  bool run(bytecode::Function& out) {
    drop(f_.body.drops);
    block(f_.body, Context{});
    if (f_.parameters.size() > bytecode::kMostRegisters) throw Failure{{f_.span, "too many parameters"}, {}};
    out.name = f_.name;
    out.parameters = static_cast<std::uint16_t>(f_.parameters.size() - f_.rest - f_.needs_closure);
    out.rest = f_.rest;
    out.needs_closure = f_.needs_closure;
    out.slots = static_cast<std::uint16_t>(registers_.slots());
    out.span = f_.span;
    out.library = f_.library;
    return a_.finish(out);
  }

private:
  // Where a block's value goes: out of the function, or into a variable (kNone: nowhere) and on to `end`.
  struct Context {
    bool tail = true;
    std::uint32_t dest = kNone;
    Assembler::Label end = 0;
  };
  struct LabelState {
    const Label* label = nullptr;
    Context context;
    Assembler::Label start = 0;
    bool bound = false;
    bool wanted = false;  // somebody branches to it
    bool rotates = false; // starts with a test: `then_start` and `else_start` are its arms
    Assembler::Label then_start = 0, else_start = 0;
    unsigned inside_else = 0; // how many times the walk is inside the else arm of its test
  };

  // --- drops are collected until something else is emitted

  void drop(const Vector<std::uint32_t>& variables) {
    for (std::uint32_t v : variables) pending_.push_back(registers_.of(v));
  }

  void flush() {
    for (std::size_t i = 0; i < pending_.size(); i += 3) {
      auto at = [&](std::size_t j) { return j < pending_.size() ? pending_[j] | kLastUse : kNoRegister; };
      a_.emit(Opcode::drop, at(i), at(i + 1), at(i + 2));
    }
    for (std::uint16_t r : pending_) registers_.release(r);
    pending_.clear();
  }

  // --- operands

  std::uint16_t load(const Atom& literal, std::uint16_t r) {
    const Literal& l = unit_.literals[literal.index];
    if (auto small = small_integer(l))
      a_.emit(Opcode::integer, r, static_cast<std::uint16_t>(*small));
    else
      a_.emit(Opcode::constant, r, constant(literal) & 0xFFFF, constant(literal) >> 16);
    return r;
  }

  std::uint32_t constant(const Atom& literal) { return constants_.of(unit_.literals[literal.index]); }
  // Instructions other than `constant` name constants by 16 bits.
  bool is_near(const Atom& literal) { return constant(literal) <= 0xFFFF; }

  // The source field of an operand; literals are loaded into temporaries, which die in the instruction.
  std::uint16_t source(const Atom& atom) {
    if (atom.kind == Atom::Kind::literal) return static_cast<std::uint16_t>(load(atom, registers_.temporary()) | kLastUse);
    return static_cast<std::uint16_t>(registers_.of(atom.index) | (atom.last ? kLastUse : 0));
  }
  Vector<std::uint16_t> sources(const Vector<Atom>& atoms, std::size_t from) {
    Vector<std::uint16_t> fields;
    if (atoms.size() > bytecode::kMostRegisters) throw Failure{{f_.span, "a call has too many operands"}, {}};
    for (std::size_t i = from; i < atoms.size(); ++i) fields.push_back(source(atoms[i]));
    return fields;
  }
  void consume(std::uint16_t field) {
    if (field & kLastUse) registers_.release(field & bytecode::kRegister);
  }
  void consume(const Vector<std::uint16_t>& fields) {
    for (std::uint16_t f : fields) consume(f);
  }

  // The destination; a result nobody needs is dropped after the instruction.
  std::uint16_t hold(const Statement& s) {
    std::uint16_t r = registers_.define(s.dest);
    if (s.result_dead) pending_.push_back(r);
    return r;
  }

  // --- straight-line instructions

  void operation(const Statement& s) {
    poll();
    if (s.op == Opcode::fail) pending_.clear();
    flush();
    const Atom* left = s.operands.empty() ? nullptr : &s.operands[0];
    switch (s.op) {
    case Opcode::global:
      a_.locate(s.origin);
      a_.emit(s.op, hold(s), s.index);
      return;
    case Opcode::check_global:
      a_.locate(s.origin);
      a_.emit(s.op, s.index);
      return;
    case Opcode::set_global: {
      std::uint16_t from = source(*left);
      consume(from);
      a_.emit(s.op, from, s.index);
      return;
    }
    case Opcode::capture:
    case Opcode::sibling: {
      std::uint16_t from = source(*left);
      consume(from);
      a_.emit(s.op, hold(s), from, s.index);
      return;
    }
    case Opcode::call_value: {
      std::uint16_t callee = source(*left);
      Vector<std::uint16_t> fields = sources(s.operands, 1);
      consume(callee);
      consume(fields);
      a_.locate(s.origin);
      if (fields.size() == 1)
        a_.emit(Opcode::call_value_1, hold(s), callee, fields[0]);
      else
        a_.emit_operands(s.op, hold(s), callee, fields);
      return;
    }
    case Opcode::call:
    case Opcode::group:
    case Opcode::primitive:
    case Opcode::host:
    case Opcode::tensor:
    case Opcode::vector:
    case Opcode::vector_update:
    case Opcode::fail: {
      Vector<std::uint16_t> fields = sources(s.operands, 0);
      consume(fields);
      a_.locate(s.origin);
      if (s.op == Opcode::call && fields.size() == 1)
        a_.emit(Opcode::call_1, hold(s), s.index, fields[0]);
      else if (s.op == Opcode::fail)
        a_.emit_operands(s.op, s.index, 0, fields);
      else
        a_.emit_operands(s.op, hold(s), s.op == Opcode::vector || s.op == Opcode::vector_update ? 0 : s.index, fields);
      return;
    }
    default:
      arithmetic(s);
      return;
    }
  }

  void arithmetic(const Statement& s) {
    std::optional<Selected> k = select(s, unit_);
    if (k && (k->immediate || is_near(s.operands[1 - k->variable]))) {
      std::uint16_t from = source(s.operands[k->variable]);
      consume(from);
      unsigned last = k->immediate ? static_cast<std::uint16_t>(k->value) : constant(s.operands[1 - k->variable]);
      a_.locate(s.origin);
      a_.emit(k->op, hold(s), from, last);
      return;
    }
    Vector<std::uint16_t> fields = sources(s.operands, 0);
    consume(fields);
    a_.locate(s.origin);
    a_.emit(s.op, hold(s), fields[0], fields.size() > 1 ? fields[1] : 0);
  }

  // car and cdr of a pair that dies are one instruction.
  bool take_apart(const Statement& s, const Statement& next) {
    bool pair = (s.op == Opcode::car && next.op == Opcode::cdr) || (s.op == Opcode::cdr && next.op == Opcode::car);
    if (s.kind != Statement::Kind::operation || next.kind != Statement::Kind::operation || !pair) return false;
    const Atom& p = s.operands[0];
    if (p.kind != Atom::Kind::variable || p.last || !next.operands[0].is(p.index) || !next.operands[0].last) return false;
    flush();
    std::uint16_t from = source(next.operands[0]);
    consume(from);
    a_.locate(s.origin);
    const Statement& first = s.op == Opcode::car ? s : next;
    const Statement& second = s.op == Opcode::car ? next : s;
    // The one that knows where it should go chooses first.
    if (registers_.hint(second.dest) != Registers::kNowhere) registers_.define(second.dest);
    std::uint16_t car = registers_.define(first.dest);
    std::uint16_t cdr = registers_.has(second.dest) ? registers_.of(second.dest) : registers_.define(second.dest);
    a_.emit(Opcode::uncons, car, cdr, from);
    if (first.result_dead) pending_.push_back(car);
    if (second.result_dead) pending_.push_back(cdr);
    return true;
  }

  // --- blocks

  void block(const BasicBlock& b, const Context& c) {
    poll();
    for (std::size_t i = 0; i < b.statements.size(); ++i) {
      const Statement& s = b.statements[i];
      bool last = i + 1 == b.statements.size();
      if (s.removed) continue;
      switch (s.kind) {
      case Statement::Kind::operation:
        if (last && c.tail && !b.ended && b.result.is(s.dest) && tail_call(s)) return;
        if (!last && take_apart(s, b.statements[i + 1]))
          ++i;
        else
          operation(s);
        break;
      case Statement::Kind::jump:
        jump(s);
        break;
      case Statement::Kind::if_:
      case Statement::Kind::labels: {
        Context inner = c;
        if (!s.terminal) inner = join(s);
        if (s.kind == Statement::Kind::if_)
          branch(s, inner);
        else
          labels(s, inner);
        if (!s.terminal) arrive(s, inner);
        break;
      }
      }
    }
    if (!b.ended) yield(b.result, c);
  }

  // A register for the result of a branch that is not in tail position.
  Context join(const Statement& s) {
    Context c;
    c.tail = false;
    c.end = a_.label();
    if (s.result_dead) return c;
    c.dest = s.dest;
    registers_.reserve(s.dest, registers_.choose(s.dest, s.live_after, {}));
    return c;
  }
  void arrive(const Statement& s, const Context& c) {
    a_.bind(c.end);
    registers_.set_live(s.live_after);
    if (c.dest != kNone) registers_.put(c.dest, registers_.of(c.dest));
  }

  void yield(const Atom& result, const Context& c) {
    bool literal = result.kind == Atom::Kind::literal;
    if (c.tail) {
      std::uint16_t r = literal ? load(result, registers_.temporary()) : registers_.of(result.index);
      auto also = [&](std::size_t i) { return i < pending_.size() ? pending_[i] | kLastUse : kNoRegister; };
      if (pending_.empty())
        a_.emit(Opcode::ret, r | kLastUse);
      else if (pending_.size() <= 2)
        a_.emit(Opcode::ret_drop_2, r | kLastUse, also(0), also(1));
      else
        a_.emit(Opcode::ret_drop, r | kLastUse);
      pending_.clear();
      return;
    }
    flush();
    if (c.dest != kNone) {
      std::uint16_t to = registers_.of(c.dest);
      if (literal)
        load(result, to);
      else if (registers_.of(result.index) != to)
        a_.emit(Opcode::move, to, source(result));
    }
    a_.jump(c.end);
  }

  bool tail_call(const Statement& s) {
    if (s.keeps_frame || (s.op != Opcode::call && s.op != Opcode::call_value && s.op != Opcode::apply)) return false;
    flush();
    Vector<std::uint16_t> fields = sources(s.operands, 0);
    a_.locate(s.origin);
    if (s.op == Opcode::call && fields.size() == 1)
      a_.emit(Opcode::tail_call_1, 0, s.index, fields[0]);
    else if (s.op == Opcode::call)
      a_.emit_operands(Opcode::tail_call, 0, s.index, fields);
    else if (s.op == Opcode::call_value && fields.size() == 2)
      a_.emit(Opcode::tail_call_value_1, 0, fields[0], fields[1]);
    else if (s.op == Opcode::call_value)
      a_.emit_operands(Opcode::tail_call_value, 0, fields[0], std::span(fields).subspan(1));
    else
      a_.emit(Opcode::tail_apply, 0, fields[0], fields[1]);
    return true;
  }

  // --- branches

  void test(const Statement& s, Assembler::Label otherwise) {
    flush();
    SelectedTest t = select_test(s, unit_);
    if (t.constant != kNone && !t.immediate && !is_near(s.operands[t.constant])) {
      test_far(s, otherwise);
      return;
    }
    if (t.constant == kNone) {
      Vector<std::uint16_t> fields = sources(s.operands, 0);
      consume(fields);
      a_.locate(s.origin);
      a_.branch(t.op, fields[0], fields.size() > 1 ? fields[1] : 0, otherwise);
      return;
    }
    std::uint16_t from = source(s.operands[1 - t.constant]);
    consume(from);
    unsigned k = t.immediate ? static_cast<std::uint16_t>(t.value) : constant(s.operands[t.constant]);
    a_.locate(s.origin);
    a_.branch(t.op, from, k, otherwise);
  }

  // A test against a constant beyond the reach of the fused instruction.
  void test_far(const Statement& s, Assembler::Label otherwise) {
    Vector<std::uint16_t> fields = sources(s.operands, 0);
    consume(fields);
    a_.locate(s.origin);
    a_.branch(s.op == Opcode::jump_not_eqv_k ? Opcode::jump_not_eqv : s.op, fields[0], fields[1], otherwise);
  }

  // A block that only goes on to a label, with nothing to move or drop.
  const Statement* plain_jump(const BasicBlock& b) const {
    if (b.statements.size() != 1 || b.statements[0].kind != Statement::Kind::jump || !b.drops.empty()) return nullptr;
    const Statement& s = b.statements[0];
    const Label& l = *labels_[s.index].label;
    for (std::size_t i = 0; i < s.operands.size(); ++i)
      if (l.used[i] && !(s.operands[i].kind == Atom::Kind::variable && s.operands[i].last &&
                         registers_.of(s.operands[i].index) == registers_.of(l.parameters[i])))
        return nullptr;
    return &s;
  }

  void branch(const Statement& s, const Context& c, LabelState* header = nullptr) {
    const Statement* away = plain_jump(s.blocks[1]);
    Assembler::Label otherwise = away ? labels_[away->index].start : a_.label();
    if (away) labels_[away->index].wanted = true;
    test(s, otherwise);
    if (header) {
      header->rotates = !away;
      header->then_start = a_.label();
      header->else_start = otherwise;
      a_.bind(header->then_start);
    }
    Registers::State state = registers_.save();
    drop(s.blocks[0].drops);
    block(s.blocks[0], c);
    if (away) return;
    a_.bind(otherwise);
    registers_.restore(std::move(state));
    drop(s.blocks[1].drops);
    if (header) ++header->inside_else;
    block(s.blocks[1], c);
    if (header) --header->inside_else;
  }

  void labels(const Statement& s, const Context& c) {
    const BasicBlock& entry = s.blocks[0];
    flush();
    for (const Label& l : s.labels) {
      LabelState& state = labels_[l.id];
      state = LabelState{};
      state.label = &l;
      state.context = c;
      state.start = a_.label();
      place_parameters(l, entry);
    }
    block(entry, c);
    for (bool again = true; again;) {
      again = false;
      for (const Label& l : s.labels)
        if (labels_[l.id].wanted && !labels_[l.id].bound) {
          bind(labels_[l.id]);
          again = true;
        }
    }
  }

  // Parameters stay where the values of the first jump are, if those die there.
  void place_parameters(const Label& l, const BasicBlock& entry) {
    const Statement* end = entry.statements.empty() ? nullptr : &entry.statements.back();
    const Statement* first = end && end->kind == Statement::Kind::jump && end->index == l.id ? end : nullptr;
    Vector<std::uint16_t> taken;
    Vector<std::uint32_t> later;
    for (std::size_t i = 0; i < l.parameters.size(); ++i) {
      if (!l.used[i]) continue;
      const Atom* a = first ? &first->operands[i] : nullptr;
      bool stays = a && a->kind == Atom::Kind::variable && a->last && registers_.has(a->index);
      if (!stays) {
        later.push_back(l.parameters[i]);
        continue;
      }
      taken.push_back(registers_.of(a->index));
      registers_.reserve(l.parameters[i], taken.back());
    }
    for (std::uint32_t p : later) {
      std::uint16_t r = registers_.choose(p, l.live_in, taken);
      taken.push_back(r);
      registers_.reserve(p, r);
    }
  }

  void bind(LabelState& state) {
    const Label& l = *state.label;
    state.bound = true;
    a_.bind(state.start);
    registers_.set_live(l.live_in);
    for (std::size_t i = 0; i < l.parameters.size(); ++i)
      if (l.used[i]) registers_.put(l.parameters[i], registers_.of(l.parameters[i]));
    const BasicBlock& b = l.body;
    drop(b.drops);
    if (l.loop && b.drops.empty() && b.statements.size() == 1 && b.statements[0].kind == Statement::Kind::if_ &&
        b.statements[0].terminal)
      branch(b.statements[0], state.context, &state);
    else
      block(b, state.context);
  }

  void jump(const Statement& s) {
    flush();
    LabelState& state = labels_[s.index];
    const Label& l = *state.label;
    // A loop that does nothing else is where it calls itself.
    if (state.bound && !a_.located_since(state.start)) a_.locate(s.origin);
    Vector<Move> moves;
    for (std::size_t i = 0; i < s.operands.size(); ++i)
      if (l.used[i] && s.operands[i].kind == Atom::Kind::variable)
        moves.push_back({registers_.of(l.parameters[i]), registers_.of(s.operands[i].index), s.operands[i].last});
    auto spare = [&] {
      std::uint16_t r = registers_.temporary();
      for (std::uint32_t p : l.parameters)
        while (registers_.has(p) && registers_.of(p) == r) r = registers_.temporary();
      return r;
    };
    for (const Move& m : in_order(std::move(moves), spare)) a_.emit(Opcode::move, m.to, m.from | (m.last ? kLastUse : 0));
    for (std::size_t i = 0; i < s.operands.size(); ++i)
      if (l.used[i] && s.operands[i].kind == Atom::Kind::literal) load(s.operands[i], registers_.of(l.parameters[i]));
    if (!state.bound) {
      bind(state);
      return;
    }
    if (state.rotates && state.inside_else > 0) {
      registers_.set_live(l.live_in);
      for (std::size_t i = 0; i < l.parameters.size(); ++i)
        if (l.used[i]) registers_.put(l.parameters[i], registers_.of(l.parameters[i]));
      test(l.body.statements[0], state.else_start);
      a_.jump(state.then_start);
      return;
    }
    a_.jump(state.start);
  }

  const AnfFunction& f_;
  const Unit& unit_;
  ConstantPool& constants_;
  Assembler a_;
  Registers registers_;
  Vector<LabelState> labels_;
  Vector<std::uint16_t> pending_;
};

} // namespace

bytecode::Function emit_function(const AnfFunction& function, const Unit& unit, ConstantPool& constants) {
  bytecode::Function result;
  if (!Emitter(function, unit, constants, false).run(result)) Emitter(function, unit, constants, true).run(result);
  return result;
}

} // namespace cairn::compiler::back
