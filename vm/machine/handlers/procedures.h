// Handlers of closures, calls and returns.
#pragma once

#include "vm/machine/handlers/loop.h"

namespace cairn::machine {
namespace {

OUTLINE(group_slow) {
  SAVE();
  unsigned n = C;
  SLOT(A) = e->group_of(frame, e->loaded.module.groups[B], operands(pc, n));
  NEXT(1 + (n + 3) / 4);
}
HANDLER(group) {
  const Code* code = e->loaded.lone_code[B];
  unsigned n = C;
  WANT_SPACE(n, group_slow)
  ClosureBlock* block = code == nullptr ? nullptr : e->heap().quick_closure_block(1, n);
  if (block == nullptr) [[unlikely]]
    CONTINUE(group_slow);
  value::Procedure* p = block->procedure(0);
  p->code = code;
  p->offset = sizeof(ClosureBlock);
  auto* captured = reinterpret_cast<Value*>(p + 1);
  for (unsigned i = 0; i < n; ++i) captured[i] = TAKE(OPERAND(i));
  SLOT(A) = value::of_procedure(p);
  NEXT(1 + (n + 3) / 4);
}
HANDLER(sibling) {
  SAVE();
  std::uint16_t b = B;
  Value f = SOURCE(b);
  if (!f.is_procedure()) expected(*e, "sibling", "a procedure", f);
  ClosureBlock* block = value::closure_block_of(f.procedure());
  if (C >= block->procedures) throw ProgramError("invalid bytecode: no such procedure in its group");
  if ((b & kLastUse) == 0) Heap::retain(block);
  SLOT(A) = value::of_procedure(block->procedure(C));
  NEXT(1);
}

OUTLINE(capture_slow) {
  SAVE();
  std::uint16_t b = B;
  Value f = SOURCE(b);
  if (!f.is_procedure()) expected(*e, "capture", "a procedure", f);
  ClosureBlock* block = value::closure_block_of(f.procedure());
  if (C >= block->captures) throw ProgramError("invalid bytecode: no such captured value");
  Value x = get_field(e, block, C, block->captured()[C]);
  if ((b & kLastUse) != 0) e->heap().release(block);
  SLOT(A) = x;
  NEXT(1);
}
HANDLER(capture) {
  std::uint16_t b = B, c = C;
  Value f = SOURCE(b);
  if (!f.is_procedure()) [[unlikely]]
    CONTINUE(capture_slow);
  ClosureBlock* block = value::closure_block_of(f.procedure());
  if (c >= block->captures) [[unlikely]]
    CONTINUE(capture_slow);
  Value x = block->captured()[c];
  if (!plain_field(x)) CONTINUE(capture_slow);
  if ((b & kLastUse) != 0 && !give_up_shared(block)) CONTINUE(capture_slow);
  SLOT(A) = Heap::retain(x);
  NEXT(1);
}

// --- calls. The new frame is filled before the old one gives anything up.

// Arguments 0 to n-1 from the operands.
inline void pass_few_operands(CAIRN_REGISTERS, Value* slots, unsigned n) {
  if (n == 0) return;
  slots[0] = TAKE(OPERAND(0));
  if (n == 1) return;
  slots[1] = TAKE(OPERAND(1));
  if (n == 2) return;
  slots[2] = TAKE(OPERAND(2));
  if (n == 3) return;
  slots[3] = TAKE(OPERAND(3));
}

#define ENTER_CALL(f, length, result)                                                                                            \
  f->parent = frame;                                                                                                             \
  frame->rest_at(pc + (length), result);                                                                                         \
  pc = f->code->words();                                                                                                         \
  frame = f;                                                                                                                     \
  NEXT(0)
// quickly: the frame that the call leaves is known not to be large.
#define ENTER_TAIL_CALL(f, quickly)                                                                                              \
  f->parent = frame->parent;                                                                                                     \
  if (quickly)                                                                                                                   \
    e->heap().discard_cell(frame);                                                                                               \
  else                                                                                                                           \
    e->heap().discard(frame);                                                                                                    \
  pc = f->code->words();                                                                                                         \
  frame = f;                                                                                                                     \
  NEXT(0)

OUTLINE(call_slow) {
  SAVE();
  bool one = bytecode::opcode_of(*pc) == Opcode::call_1;
  unsigned n = C;
  Frame* f = e->call_directly(frame, one ? fields(pc, 3, 1) : operands(pc, n), e->loop.codes[B].get());
  ENTER_CALL(f, one ? 1 : 1 + (n + 3) / 4, A);
}
HANDLER(call_1) {
  const Code* code = e->loop.codes[B].get();
  WANT_SPACE(1, call_slow)
  Frame* f = e->heap().quick_frame(code);
  if (f == nullptr) [[unlikely]]
    CONTINUE(call_slow);
  f->slots()[0] = TAKE(C);
  ENTER_CALL(f, 1, A);
}
HANDLER(call) {
  const Code* code = e->loop.codes[B].get();
  unsigned n = C;
  if (n > 4) [[unlikely]]
    CONTINUE(call_slow);
  WANT_SPACE(4, call_slow)
  Frame* f = e->heap().quick_frame(code);
  if (f == nullptr) [[unlikely]]
    CONTINUE(call_slow);
  pass_few_operands(CAIRN_PASS, f->slots(), n);
  ENTER_CALL(f, n == 0 ? 1 : 2, A);
}
// A tail call may take over the cell of the frame it leaves: to everybody else it is a new frame. Operands are read before slots
// are written.
#define REUSE_FRAME(callee)                                                                                                      \
  e->heap().renew(frame, (callee)->frame_header);                                                                                \
  frame->code = callee;                                                                                                          \
  pc = (callee)->words();                                                                                                        \
  NEXT(0)

inline void replace_slots(CAIRN_REGISTERS, unsigned n) {
  if (n == 0) return;
  Value first = TAKE(OPERAND(0));
  if (n > 1) {
    Value second = TAKE(OPERAND(1));
    if (n > 2) {
      Value third = TAKE(OPERAND(2));
      if (n > 3) {
        Value fourth = TAKE(OPERAND(3));
        SLOT(3) = fourth;
      }
      SLOT(2) = third;
    }
    SLOT(1) = second;
  }
  SLOT(0) = first;
}

OUTLINE(tail_call_slow) {
  SAVE();
  bool one = bytecode::opcode_of(*pc) == Opcode::tail_call_1;
  unsigned n = C;
  Frame* f = e->call_directly(frame, one ? fields(pc, 3, 1) : operands(pc, n), e->loop.codes[B].get());
  ENTER_TAIL_CALL(f, false);
}
HANDLER(tail_call_1) {
  if (Heap::is_large(frame)) [[unlikely]]
    CONTINUE(tail_call_slow);
  WANT_SPACE(1, tail_call_slow)
  const Code* code = e->loop.codes[B].get();
  if (code->frame_class == frame->size_class) [[likely]] {
    SLOT(0) = TAKE(C);
    REUSE_FRAME(code);
  }
  Frame* f = e->heap().quick_frame(code);
  if (f == nullptr) [[unlikely]]
    CONTINUE(tail_call_slow);
  f->slots()[0] = TAKE(C);
  ENTER_TAIL_CALL(f, true);
}
HANDLER(tail_call) {
  if (Heap::is_large(frame)) [[unlikely]]
    CONTINUE(tail_call_slow);
  unsigned n = C;
  if (n > 4) [[unlikely]]
    CONTINUE(tail_call_slow);
  WANT_SPACE(4, tail_call_slow)
  const Code* code = e->loop.codes[B].get();
  if (code->frame_class == frame->size_class) [[likely]] {
    replace_slots(CAIRN_PASS, n);
    REUSE_FRAME(code);
  }
  Frame* f = e->heap().quick_frame(code);
  if (f == nullptr) [[unlikely]]
    CONTINUE(tail_call_slow);
  pass_few_operands(CAIRN_PASS, f->slots(), n);
  ENTER_TAIL_CALL(f, true);
}

// Callees with a rest list, and what is no procedure or takes another number of arguments.
OUTLINE(call_value_slow) {
  SAVE();
  Opcode op = bytecode::opcode_of(*pc);
  bool one = op == Opcode::call_value_1 || op == Opcode::tail_call_value_1;
  bool tail = op == Opcode::tail_call_value || op == Opcode::tail_call_value_1;
  std::uint16_t b = B;
  unsigned n = one ? 1 : C;
  std::size_t words = one ? 1 : 1 + (n + 3) / 4;
  Value callee = SOURCE(b);
  Frame* f = e->call_in_general(frame, one ? fields(pc, 3, 1) : operands(pc, n), callee);
  done_with(e, b, callee);
  if (tail) {
    ENTER_TAIL_CALL(f, false);
  }
  ENTER_CALL(f, words, A);
}

// Sets `callee` to operand b and `code` to its code. What is no procedure, or takes another number of arguments, is left to
// call_value_slow; so is a last use that would free the callee here (the call does not take it over and there is no other
// reference), which is rare.
#define QUICK_CODE(n)                                                                                                            \
  Value callee = SOURCE(B);                                                                                                      \
  if (!callee.is_procedure()) [[unlikely]]                                                                                       \
    CONTINUE(call_value_slow);                                                                                                   \
  const Code* code = callee.procedure()->code;                                                                                   \
  if (code->exactly != (n)) [[unlikely]]                                                                                         \
    CONTINUE(call_value_slow);                                                                                                   \
  if (!code->needs_closure && (B & kLastUse) != 0 && value::closure_block_of(callee.procedure())->count == 1)                    \
    CONTINUE(call_value_slow);
// A frame for it, or the slow way.
#define QUICK_FRAME                                                                                                              \
  Frame* f = e->heap().quick_frame(code);                                                                                        \
  if (f == nullptr) [[unlikely]]                                                                                                 \
    CONTINUE(call_value_slow);
#define QUICK_CALLEE(n)                                                                                                          \
  QUICK_CODE(n)                                                                                                                  \
  QUICK_FRAME
// A procedure that needs its closure gets itself as argument n. References are kept as operand b says: a last use is moved, or
// given up.
#define PASS_CALLEE(n)                                                                                                           \
  Value closure = SOURCE(B);                                                                                                     \
  if (f->code->needs_closure) {                                                                                                  \
    f->slots()[n] = closure;                                                                                                     \
    if ((B & kLastUse) == 0) Heap::retain(value::closure_block_of(closure.procedure()));                                         \
  } else if ((B & kLastUse) != 0) {                                                                                              \
    give_up_shared(value::closure_block_of(closure.procedure()));                                                                \
  }
// The references of PASS_CALLEE alone, for a tail call that reuses its frame: operand b may be overwritten before the callee is
// stored.
#define HOLD_CALLEE                                                                                                              \
  if (code->needs_closure && (B & kLastUse) == 0) Heap::retain(value::closure_block_of(callee.procedure()));                     \
  if (!code->needs_closure && (B & kLastUse) != 0) give_up_shared(value::closure_block_of(callee.procedure()));
HANDLER(call_value_1) {
  WANT_SPACE(1, call_value_slow)
  QUICK_CALLEE(1)
  f->slots()[0] = TAKE(C);
  PASS_CALLEE(1)
  ENTER_CALL(f, 1, A);
}
HANDLER(tail_call_value_1) {
  if (Heap::is_large(frame)) [[unlikely]]
    CONTINUE(call_value_slow);
  WANT_SPACE(1, call_value_slow)
  QUICK_CODE(1)
  if (code->frame_class == frame->size_class) [[likely]] {
    SLOT(0) = TAKE(C);
    HOLD_CALLEE
    if (code->needs_closure) SLOT(1) = callee;
    REUSE_FRAME(code);
  }
  QUICK_FRAME
  f->slots()[0] = TAKE(C);
  PASS_CALLEE(1)
  ENTER_TAIL_CALL(f, true);
}
HANDLER(call_value) {
  if (C > 4) CONTINUE(call_value_slow);
  WANT_SPACE(4, call_value_slow)
  QUICK_CALLEE(C)
  pass_few_operands(CAIRN_PASS, f->slots(), C);
  PASS_CALLEE(C)
  ENTER_CALL(f, C == 0 ? 1 : 2, A);
}
HANDLER(tail_call_value) {
  if (Heap::is_large(frame)) [[unlikely]]
    CONTINUE(call_value_slow);
  unsigned n = C;
  if (n > 4) CONTINUE(call_value_slow);
  WANT_SPACE(4, call_value_slow)
  QUICK_CODE(n)
  if (code->frame_class == frame->size_class) [[likely]] {
    replace_slots(CAIRN_PASS, n);
    HOLD_CALLEE
    if (code->needs_closure) SLOT(n) = callee;
    REUSE_FRAME(code);
  }
  QUICK_FRAME
  pass_few_operands(CAIRN_PASS, f->slots(), C);
  PASS_CALLEE(C)
  ENTER_TAIL_CALL(f, true);
}

HANDLER(apply) {
  SAVE();
  std::uint16_t b = B, c = C;
  Value callee = SOURCE(b), list = SOURCE(c);
  Frame* f = e->apply_to_list(callee, list);
  done_with(e, b, callee);
  done_with(e, c, list);
  ENTER_CALL(f, 1, A);
}
HANDLER(tail_apply) {
  SAVE();
  std::uint16_t b = B, c = C;
  Value callee = SOURCE(b), list = SOURCE(c);
  Frame* f = e->apply_to_list(callee, list);
  done_with(e, b, callee);
  done_with(e, c, list);
  ENTER_TAIL_CALL(f, false);
}

// --- returns

// A return for which there is more to do than to store the value: no frame waits, or the one that does is shared, older than the
// epoch, or not on the tape yet.
OUTLINE(return_slowly) {
  Value v = SOURCE(A);
  Frame* parent = frame->parent;
  e->heap().discard(frame);
  e->loop.run->top = parent;
  e->clock = e->loop.end - static_cast<std::uint64_t>(left);
  if (parent == nullptr) return e->finish_run(v) ? Exit::switched : Exit::done;
  frame = e->return_to(*e->loop.run, v);
  pc = frame->next();
  NEXT(0);
}
HANDLER(ret) {
  Frame* parent = frame->parent;
  if (parent == nullptr) [[unlikely]]
    CONTINUE(return_slowly);
  if (parent->count != 1 || parent->serial < e->loop.epoch || unseen(e, parent)) [[unlikely]]
    CONTINUE(return_slowly);
  if (Heap::is_large(frame)) [[unlikely]]
    CONTINUE(return_slowly);
  Value v = SOURCE(A);
  e->heap().discard_cell(frame);
  frame = parent;
  pc = parent->next();
  SLOT(parent->result()) = v;
  NEXT(0);
}
OUTLINE(return_and_drop) {
  std::uint16_t b = B & kRegister, c = C & kRegister;
  if (b != bytecode::kNoRegister) e->heap().release(SLOT(b));
  if (c != bytecode::kNoRegister) e->heap().release(SLOT(c));
  return op_ret(CAIRN_PASS);
}
HANDLER(ret_drop_2) {
  std::uint16_t b = B & kRegister, c = C & kRegister;
  if (b != bytecode::kNoRegister && SLOT(b).is_object()) CONTINUE(return_and_drop);
  if (c != bytecode::kNoRegister && SLOT(c).is_object()) CONTINUE(return_and_drop);
  return op_ret(CAIRN_PASS);
}
HANDLER(ret_drop) {
  std::uint16_t keep = A & kRegister;
  frame->rest_at(pc);
  value::for_each_live(frame, [e, keep, slots = frame->slots()](std::uint32_t slot) {
    if (slot != keep) e->heap().release(slots[slot]);
  });
  return op_ret(CAIRN_PASS);
}

} // namespace
} // namespace cairn::machine
