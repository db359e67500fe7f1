// Layouts of heap objects. Every object starts with the same 16 bytes: count, kind, size class, serial.
#pragma once

#include "vm/bytecode/word.h"
#include "vm/value/value.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace cairn::value {

enum class Kind : std::uint8_t { pair, vector, closure_block, string, symbol, bundle, capsule, state, frame, tensor };

struct Object {
  std::uint32_t count; // references; kImmortal and above never die
  Kind kind;
  std::uint8_t flags;
  std::uint16_t size_class; // in units of 16 bytes; kLarge: allocated by itself
  std::uint64_t serial;     // allocation serial: part of the machine state, equal in every replay (docs/design.md 5.2)
};
static_assert(sizeof(Object) == 16);

inline constexpr std::uint32_t kImmortal = 0xC0000000;
inline constexpr std::uint16_t kLarge = 0xFFFF;

struct Pair : Object {
  Value car, cdr;
};
static_assert(sizeof(Pair) == 32);

struct Vector : Object {
  std::uint64_t length;
  Value* items() { return reinterpret_cast<Value*>(this + 1); }
  const Value* items() const { return reinterpret_cast<const Value*>(this + 1); }
};

// UTF-8; `length` counts code points. String and symbol share the layout.
struct Text : Object {
  std::uint32_t bytes;
  std::uint32_t length;
  char* data() { return reinterpret_cast<char*>(this + 1); }
  const char* data() const { return reinterpret_cast<const char*>(this + 1); }
  std::string_view view() const { return {data(), bytes}; }
};

// A number of one forward level: primal + tangent * epsilon(tag). Tags are unique per invocation of j*; the largest is outermost.
struct Bundle : Object {
  std::uint64_t tag;
  Value primal, tangent;
  std::uint32_t levels() const { return flags; } // of bundles in each other, this one counted
};
// A number of n levels may have 2^n parts, which one instruction computes with.
inline constexpr std::uint32_t kMostLevels = 16;

// A function ready to run: its words stand right behind this, so that a procedure leads to them without a detour.
struct alignas(64) Code {
  std::uint64_t frame_header = 0; // the first eight bytes of a new frame
  std::int64_t frame_cell = 0;    // bytes of its cell
  std::uint16_t frame_class = 0;  // its size class; 0: large
  std::uint16_t exactly = 0;      // number of arguments it takes; kVariable with a rest list
  std::uint16_t parameters = 0;
  std::uint16_t entry_slots = 0; // parameters, rest list, closure
  std::uint16_t slots = 0;
  bool rest = false;
  bool needs_closure = false;
  std::uint32_t mask_words = 1;
  const std::uint64_t* live =
      nullptr;                  // registers that hold an owned value before a word: live[pc * mask_words + i], from the verifier
  const void* module = nullptr; // machine::LoadedModule; null for run operators
  std::uint32_t index = 0;      // in its module; run operators: their number

  static constexpr std::uint16_t kVariable = 0xFFFF;
  const bytecode::Word* words() const { return reinterpret_cast<const bytecode::Word*>(this + 1); }
  std::size_t frame_bytes() const;
};
static_assert(sizeof(Code) == 64);

struct FreeCode {
  void operator()(const Code* code) const;
};
using OwnedCode = std::unique_ptr<const Code, FreeCode>;
// Like `shape`, with these words behind it. What is said of its frames follows from its slots.
OwnedCode make_code(const Code& shape, std::span<const bytecode::Word> words);

// One procedure of a closure block. A procedure value points here; the block is found by offset, so that the procedures
// of a recursive binding refer to each other without a cycle of counts.
struct Procedure {
  const Code* code;
  std::uint64_t offset; // bytes from the block to this
};

// [ClosureBlock][Procedure x procedures][Value x captures]
struct ClosureBlock : Object {
  std::uint32_t procedures;
  std::uint32_t captures;
  Procedure* procedure(std::uint32_t i) { return reinterpret_cast<Procedure*>(this + 1) + i; }
  Value* captured() { return reinterpret_cast<Value*>(procedure(procedures)); }
};

inline ClosureBlock* closure_block_of(const Procedure* p) {
  return reinterpret_cast<ClosureBlock*>(reinterpret_cast<std::uintptr_t>(p) - p->offset);
}

// A frame owns its parent, and those slots that are live at its pc. A frame at rest waits for a value in `result`;
// the frame on top of an interrupted run does not (`result` is kNoRegister). A frame whose count is above one is never written.
// While the machine runs in a frame its pc and result are those of the last time it was at rest.
struct Frame : Object {
  const Code* code;
  Frame* parent;
  std::uint64_t rest; // low 48 bits: address of the next instruction; above: register that the awaited value goes to

  Value* slots() { return reinterpret_cast<Value*>(this + 1); }
  const Value* slots() const { return reinterpret_cast<const Value*>(this + 1); }
  const bytecode::Word* next() const { return reinterpret_cast<const bytecode::Word*>(rest << 16 >> 16); }
  std::uint16_t result() const { return static_cast<std::uint16_t>(rest >> 48); }
  std::uint32_t pc() const { return static_cast<std::uint32_t>(next() - code->words()); }
  void rest_at(const bytecode::Word* next, std::uint16_t result = bytecode::kNoRegister) {
    rest = std::uint64_t{result} << 48 | reinterpret_cast<std::uint64_t>(next);
  }
  void set_result(std::uint16_t result) { rest = std::uint64_t{result} << 48 | rest << 16 >> 16; }
  // Its live slots have been put on the current tape.
  bool lifted() const { return flags != 0; }
  void set_lifted(bool lifted) { flags = lifted ? 1 : 0; }
};
static_assert(sizeof(Frame) == 40);

inline std::size_t Code::frame_bytes() const { return sizeof(Frame) + 8 * std::size_t{slots}; }

// Calls f(slot index) for every live slot of a frame.
template <class F> void for_each_live(const Frame* frame, F&& f) {
  const std::uint64_t* mask = frame->code->live + std::size_t{frame->pc()} * frame->code->mask_words;
  for (std::uint32_t w = 0; w < frame->code->mask_words; ++w)
    for (std::uint64_t m = mask[w]; m != 0; m &= m - 1) {
      std::uint32_t slot = w * 64 + static_cast<std::uint32_t>(std::countr_zero(m));
      if (slot != frame->result()) f(slot);
    }
}

inline Object* object_of(Value v) {
  return v.is_procedure() ? closure_block_of(v.procedure()) : v.other();
} // any is_object() value
inline bool is_kind(Value v, Kind k) { return v.is_other() && v.other()->kind == k; }
inline bool is_string(Value v) { return is_kind(v, Kind::string); }
inline bool is_symbol(Value v) { return is_kind(v, Kind::symbol); }
inline bool is_vector(Value v) { return is_kind(v, Kind::vector); }
inline bool is_bundle(Value v) { return is_kind(v, Kind::bundle); }
inline bool is_capsule(Value v) { return is_kind(v, Kind::capsule); }
inline Text* as_text(Value v) { return static_cast<Text*>(v.other()); }
inline Vector* as_vector(Value v) { return static_cast<Vector*>(v.other()); }
inline Bundle* as_bundle(Value v) { return static_cast<Bundle*>(v.other()); }
inline std::uint64_t tag_of(Value v) { return is_bundle(v) ? as_bundle(v)->tag : 0; } // 0 of all that is no bundle

} // namespace cairn::value
