// The state of a machine as bytes (capsule files; the format is in docs/file-formats.md). Objects are numbered in the order in which they are
// first met and written in that order; a reference is the number. Iterative, sharing is kept.
#pragma once

#include "vm/bytecode/bytes.h"
#include "vm/machine/engine.h"

#include <deque>
#include <unordered_map>
#include <vector>

namespace cairn::machine {

using bytecode::Malformed;

// Writes values and objects; what it meets for the first time is queued and written later.
class ImageWriter {
public:
  explicit ImageWriter(const Engine& engine);
  void value(Value v);
  void object(const Object* o);  // may be null
  void run(const Run& r);
  void runs(const std::vector<Run>& list);
  void tape(const Tape* tape);  // may be null
  void log(const EffectLog& log);
  void output(const tape::Output& o);
  void place(tape::Place p) {
    out.u64(p.serial);
    out.u32(p.slot);
  }
  void flag(bool b) { out.u8(b ? 1 : 0); }
  // Writes all that is queued, each object with its number implied.
  void drain();
  std::uint32_t objects() const { return count_; }
  bytecode::ByteWriter out;

private:
  std::uint32_t number(const Object* o);
  void code(const Code* c);
  void body(const Object* o);
  const Engine& engine_;
  std::unordered_map<const Object*, std::uint32_t> numbers_;
  std::unordered_map<const Object*, std::uint32_t> constants_;
  std::deque<const Object*> queue_;
  std::uint32_t count_ = 0;
};

// Reads what ImageWriter wrote, checking everything; throws Malformed. Slots are filled in once all objects exist, so a slot given to value()
// or object() must stay where it is until finish().
class ImageReader {
public:
  ImageReader(Engine& engine, bytecode::ByteReader& in);
  ~ImageReader();  // gives up the objects' own references
  ImageReader(const ImageReader&) = delete;
  ImageReader& operator=(const ImageReader&) = delete;
  void value(Value& slot);
  template <class T> void object(T*& slot, value::Kind kind) {
    objects_.push_back({in.u32(), reinterpret_cast<Object**>(&slot), kind});
    slot = nullptr;
  }
  void run(Run& r);
  void runs(std::vector<Run>& list);  // the list must not be resized afterwards
  Tape* tape();
  void log(EffectLog& log);
  void output(tape::Output& o);
  tape::Place place() {
    tape::Place p;
    p.serial = in.u64();
    p.slot = in.u32();
    return p;
  }
  bool flag();
  void read_objects(std::uint32_t count);
  void finish();  // fills in all slots and adds the references they hold
  Engine& engine;
  bytecode::ByteReader& in;

private:
  struct ObjectSlot {
    std::uint32_t number;
    Object** to;
    value::Kind kind;
  };
  struct ValueSlot {
    std::uint64_t bits;
    Value* to;
  };
  const Code* code();
  Object* body();
  Object* find(std::uint32_t number) const;
  bool starts_instruction(const Code* code, std::uint32_t pc);
  std::vector<Object*> made_;
  std::vector<const std::vector<Run>*> stacks_;
  std::vector<ValueSlot> values_;
  std::vector<ObjectSlot> objects_;
  std::unordered_map<std::uint16_t, std::uint32_t> tape_sizes_;  // by id: the longest copy
  std::vector<Value> taped_;  // numbers on tapes, to be checked once the tapes are there
  std::unordered_map<const Code*, std::vector<bool>> starts_;
};

// Defined in vm/runs, which knows the states.
void write_state(ImageWriter& out, const RunState& state);
RunState* read_state(ImageReader& in);
// Code of the machine's own by number: run operators first, then the rest; null beyond the end.
const Code* own_code_at(std::size_t number);
std::size_t own_code_size(const Code* code);  // in words

std::vector<std::byte> write_image(const Engine& engine);
// True if the bytes begin as a capsule file does and have its checksum; nothing else is looked at.
bool is_whole_image(std::span<const std::byte> bytes, std::string& error);
// True if that file holds the module of this file. What is no capsule file is not refused here: reading it says why.
bool belongs_to(std::span<const std::byte> bytes, std::span<const std::byte> module);
// Into a fresh engine. False with a message if the bytes are damaged or of another build.
bool read_image(Engine& engine, std::span<const std::byte> bytes, std::string& error);

} // namespace cairn::machine
