// Handlers of moves, globals, pairs and vectors.
#pragma once

#include "vm/machine/handlers/loop.h"

namespace cairn::machine {
namespace {

HANDLER(constant) {
  std::uint32_t i;
  std::memcpy(&i, reinterpret_cast<const char*>(pc) + 4, sizeof i);
  SLOT(A) = e->loop.constants[i]; // immortal: no count
  NEXT(1);
}
HANDLER(integer) {
  SLOT(A) = value::integer_unchecked(IMMEDIATE(B));
  NEXT(1);
}
HANDLER(move) {
  SLOT(A) = TAKE(B);
  NEXT(1);
}

OUTLINE(drop_objects) {
  for (unsigned i = 1; i <= 3; ++i)
    if (std::uint16_t f = field(pc, i) & kRegister; f != bytecode::kNoRegister) e->heap().release(SLOT(f));
  NEXT(1);
}
HANDLER(drop) {
  std::uint16_t a = A & kRegister, b = B & kRegister, c = C & kRegister;
  if (a != bytecode::kNoRegister && SLOT(a).is_object()) CONTINUE(drop_objects);
  if (b != bytecode::kNoRegister && SLOT(b).is_object()) CONTINUE(drop_objects);
  if (c != bytecode::kNoRegister && SLOT(c).is_object()) CONTINUE(drop_objects);
  NEXT(1);
}

[[noreturn]] void undefined_global(const Engine& e, std::uint16_t index) {
  throw ProgramError(e.loaded.module.globals[index].name + " is used before its definition has run");
}
HANDLER(global) {
  Value v = e->globals[B];
  if (v == value::kUndefined) [[unlikely]] {
    SAVE();
    undefined_global(*e, B);
  }
  SLOT(A) = COPY(v);
  NEXT(1);
}
HANDLER(set_global) {
  Value v = TAKE(A);
  e->heap().release(e->globals[B]);
  e->globals[B] = v;
  NEXT(1);
}
HANDLER(check_global) {
  if (e->globals[A] == value::kUndefined) [[unlikely]] {
    SAVE();
    undefined_global(*e, A);
  }
  NEXT(1);
}

// --- pairs

OUTLINE(cons_slow) {
  SAVE();
  SLOT(A) = e->pair_of(frame, B, C);
  NEXT(1);
}
HANDLER(cons) {
  WANT_SPACE(2, cons_slow)
  value::Pair* p = e->heap().quick_pair();
  if (p == nullptr) [[unlikely]]
    CONTINUE(cons_slow);
  p->car = TAKE(B);
  p->cdr = TAKE(C);
  SLOT(A) = value::of_pair(p);
  NEXT(1);
}

template <unsigned Slot> OUTLINE(take_field) {
  SAVE();
  std::uint16_t b = B;
  Value v = SOURCE(b);
  if (!v.is_pair()) expected(*e, Slot == 0 ? "car" : "cdr", "a pair", v);
  value::Pair* p = v.pair();
  Value x = get_field(e, p, Slot, Slot == 0 ? p->car : p->cdr);
  if ((b & kLastUse) != 0) e->heap().release(p);
  SLOT(A) = x;
  NEXT(1);
}
#define PAIR_FIELD(name, slot, other)                                                                                            \
  HANDLER(name) {                                                                                                                \
    std::uint16_t b = B;                                                                                                         \
    Value v = SOURCE(b);                                                                                                         \
    if (!v.is_pair()) [[unlikely]]                                                                                               \
      CONTINUE(take_field<slot>);                                                                                                \
    value::Pair* p = v.pair();                                                                                                   \
    Value x = p->name;                                                                                                           \
    if (!plain_field(x)) CONTINUE(take_field<slot>);                                                                             \
    if ((b & kLastUse) == 0) {                                                                                                   \
      SLOT(A) = Heap::retain(x);                                                                                                 \
    } else if (give_up_shared(p)) {                                                                                              \
      SLOT(A) = Heap::retain(x);                                                                                                 \
    } else if (!p->other.is_object()) {                                                                                          \
      SLOT(A) = x;                                                                                                               \
      e->heap().discard_cell(p);                                                                                                 \
    } else {                                                                                                                     \
      CONTINUE(take_field<slot>);                                                                                                \
    }                                                                                                                            \
    NEXT(1);                                                                                                                     \
  }
PAIR_FIELD(car, 0, cdr)
PAIR_FIELD(cdr, 1, car)

OUTLINE(uncons_slow) {
  SAVE();
  std::uint16_t c = C;
  Value v = SOURCE(c);
  if (!v.is_pair()) expected(*e, "car", "a pair", v);
  value::Pair* p = v.pair();
  e->read_pair(frame, p, A, B);
  if ((c & kLastUse) != 0) e->heap().release(p);
  NEXT(1);
}
HANDLER(uncons) {
  std::uint16_t c = C;
  Value v = SOURCE(c);
  if (!v.is_pair()) [[unlikely]]
    CONTINUE(uncons_slow);
  value::Pair* p = v.pair();
  if constexpr (kTaped) {
    if (!plain_field(p->car) || !plain_field(p->cdr)) CONTINUE(uncons_slow);
  }
  if ((c & kLastUse) != 0 && p->count == 1) {
    SLOT(A) = p->car;
    SLOT(B) = p->cdr;
    e->heap().discard_cell(p);
  } else {
    if ((c & kLastUse) != 0) give_up_shared(p);
    SLOT(A) = Heap::retain(p->car);
    SLOT(B) = Heap::retain(p->cdr);
  }
  NEXT(1);
}

// --- vectors

HANDLER(vector) {
  SAVE();
  unsigned n = C;
  SLOT(A) = e->vector_of(frame, operands(pc, n));
  NEXT(1 + (n + 3) / 4);
}

// A valid index of vector v.
std::uint64_t element(const Engine& e, Value v, Value index, const char* who) {
  if (!value::is_vector(v)) expected(e, who, "a vector", v);
  std::int64_t i = index.is_integer() ? index.integer() : e.to_index(index, "vector-ref: expected an index");
  std::uint64_t length = value::as_vector(v)->length;
  if (i < 0 || static_cast<std::uint64_t>(i) >= length)
    throw ProgramError(length == 0 ? fmt::format("{}: index {} into an empty vector", who, i)
                                   : fmt::format("{}: index {} is outside 0..{}", who, i, length - 1));
  return static_cast<std::uint64_t>(i);
}

OUTLINE(vector_ref_slow) {
  SAVE();
  std::uint16_t b = B, c = C;
  Value v = SOURCE(b), index = SOURCE(c);
  std::uint64_t i = element(*e, v, index, "vector-ref");
  Value x = get_field(e, v.other(), static_cast<std::uint32_t>(i), value::as_vector(v)->items()[i]);
  done_with(e, b, v);
  done_with(e, c, index);
  SLOT(A) = x;
  NEXT(1);
}
HANDLER(vector_ref) {
  std::uint16_t b = B;
  Value v = SOURCE(b), index = SOURCE(C);
  if (!value::is_vector(v) || !index.is_integer()) [[unlikely]]
    CONTINUE(vector_ref_slow);
  auto i = static_cast<std::uint64_t>(index.integer());
  if (i >= value::as_vector(v)->length) [[unlikely]]
    CONTINUE(vector_ref_slow);
  Value x = value::as_vector(v)->items()[i];
  if (!plain_field(x)) CONTINUE(vector_ref_slow);
  if ((b & kLastUse) != 0 && !give_up_shared(v.other())) CONTINUE(vector_ref_slow);
  SLOT(A) = Heap::retain(x);
  NEXT(1);
}
HANDLER(vector_length) {
  std::uint16_t b = B;
  Value v = SOURCE(b);
  if (!value::is_vector(v)) [[unlikely]] {
    SAVE();
    expected(*e, "vector-length", "a vector", v);
  }
  Value n = value::integer(static_cast<std::int64_t>(value::as_vector(v)->length));
  done_with(e, b, v);
  SLOT(A) = n;
  NEXT(1);
}
OUTLINE(vector_update_slow) {
  SAVE();
  std::uint16_t fv = OPERAND(0), fi = OPERAND(1), fx = OPERAND(2);
  Value v = SOURCE(fv), index = SOURCE(fi);
  std::uint64_t i = element(*e, v, index, "vector-update");
  value::Vector* old = value::as_vector(v);
  if (!kTaped && (fv & kLastUse) != 0 && old->count == 1) { // nobody else sees it: in place, under a new name
    old->serial = e->heap().next_serial++;
    Value x = TAKE(fx);
    e->heap().release(old->items()[i]);
    old->items()[i] = x;
    done_with(e, fi, index);
    SLOT(A) = v;
  } else {
    Value made = e->updated_vector(frame, old, i, fx);
    done_with(e, fi, index);
    done_with(e, fv, v);
    SLOT(A) = made;
  }
  NEXT(2);
}
HANDLER(vector_update) {
  std::uint16_t fv = OPERAND(0);
  Value v = SOURCE(fv), index = SOURCE(OPERAND(1));
  if (kTaped || (fv & kLastUse) == 0 || !value::is_vector(v) || !index.is_integer()) CONTINUE(vector_update_slow);
  value::Vector* vector = value::as_vector(v);
  auto i = static_cast<std::uint64_t>(index.integer());
  if (vector->count != 1 || i >= vector->length || vector->items()[i].is_object()) CONTINUE(vector_update_slow);
  vector->serial = e->heap().next_serial++; // in place, under a new name
  vector->items()[i] = TAKE(OPERAND(2));
  SLOT(A) = v;
  NEXT(2);
}
HANDLER(make_vector) {
  SAVE();
  std::uint16_t b = B, c = C;
  Value size = SOURCE(b), x = SOURCE(c);
  std::int64_t n = e->to_index(size, "make-vector: expected a length");
  if (n < 0) throw ProgramError(fmt::format("make-vector: the length {} is negative", n));
  Value v = e->vector_of(static_cast<std::uint64_t>(n), x);
  done_with(e, b, size);
  done_with(e, c, x);
  SLOT(A) = v;
  NEXT(1);
}
HANDLER(list_vector) {
  SAVE();
  std::uint16_t b = B;
  Value list = SOURCE(b);
  Value v = e->vector_of_list(list);
  done_with(e, b, list);
  SLOT(A) = v;
  NEXT(1);
}

} // namespace
} // namespace cairn::machine
