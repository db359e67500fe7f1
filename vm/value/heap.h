// Allocation and reference counts of one machine. Small objects come from size-class free lists over slabs; large ones from
// mimalloc. Freeing is iterative: no native recursion, whatever the depth of the data.
#pragma once

#include "vm/value/object.h"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cairn::value {

// A request went over a budget.
struct BudgetExceeded : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Bytes of one kind of use. `peak` is exact to kGranularity bytes.
struct Account {
  std::int64_t live = 0;
  std::int64_t peak = 0;
};

// State of run operators and capsules: C++ objects owned by a heap object of kind `state` or `capsule`.
class Heap;
struct Native {
  virtual ~Native() = default;
  // Releases what it owns in the heap; called once, before destruction.
  virtual void release(Heap& heap) = 0;
};
struct NativeObject : Object {
  Native* native;
};

class Heap {
public:
  static constexpr std::int64_t kGranularity = 4096;

  Heap();
  ~Heap();
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  // --- counts. `retain` adds a reference and returns the value; `release` gives one up.
  static void retain(Object* o) {
    if (static_cast<std::int32_t>(++o->count) < 0) o->count = kImmortal;
  }
  static Value retain(Value v) {
    if (v.is_object()) retain(object_of(v));
    return v;
  }
  void release(Object* o) {
    if (static_cast<std::int32_t>(--o->count) <= 0) release_slow(o);
  }
  void release(Value v) {
    if (v.is_object()) release(object_of(v));
  }
  static bool unique(const Object* o) { return o->count == 1; }

  // --- allocation; every object starts with count 1 and a fresh serial. Value arguments are taken over.
  Value cons(Value car, Value cdr) {
    auto* p = static_cast<Pair*>(allocate(sizeof(Pair), Kind::pair));
    p->car = car;
    p->cdr = cdr;
    return of_pair(p);
  }
  Vector* make_vector(std::uint64_t length);                 // items are uninitialised: fill before anything else
  Value make_string(std::string_view utf8);
  Value make_symbol(std::string_view utf8);                  // interned: the same text gives the same object
  Value make_bundle(std::uint64_t tag, Value primal, Value tangent);
  Block* make_block(std::uint32_t procedures, std::uint32_t captures);  // entries' offsets are set; code and captures are not
  NativeObject* make_native(Kind kind, Native* native);      // capsule or state; takes over `native`
  Frame* make_frame(const Code* code) {                      // slots, parent, pc are not set
    auto* f = static_cast<Frame*>(allocate_class(code->frame_class, code->frame_bytes, Kind::frame));
    f->code = code;
    return f;
  }

  // Gives back the cell of an object with count 1 whose children have been moved out of it (a frame at its return, a pair taken apart).
  void discard(Object* o) {
    if (o->size_class == kLarge) [[unlikely]] {
      give_back(o);
      return;
    }
#ifndef NDEBUG
    --live_objects_;
#endif
    give_back_cell(o);
  }

  // Throws BudgetExceeded when `live` bytes of all accounts together go over it. 0: no budget.
  void set_budget(std::int64_t bytes);
  std::int64_t budget() const { return budget_; }
  // Charge memory that is held outside the slabs (tape chunks, executor state). Negative gives back.
  void charge(Account& account, std::int64_t bytes);

  std::uint64_t next_serial = 1;  // part of the machine state
  Account tape, capsules;
  std::int64_t capsule_count = 0, capsule_count_peak = 0;
  // Forgets counts and serials so far: what is allocated now is part of the program, not of its run.
  void reset_counts() {
    next_serial = 1;
    live_objects_ = 0;
  }
  std::int64_t heap_live() const { return live_ - tape.live - capsules.live; }
  std::int64_t heap_peak() const { return heap_peak_; }
  std::int64_t live_bytes() const { return live_; }
  std::int64_t live_objects() const { return live_objects_; }  // without immortal ones; counted in debug builds

  void* allocate(std::size_t bytes, Kind kind) {
    return allocate_class(static_cast<std::uint16_t>((bytes + 15) / 16), bytes, kind);
  }
  static constexpr std::uint16_t kClasses = 64;  // size classes 1..64: up to 1024 bytes

private:
  struct Free {
    Free* next;
  };
  void* allocate_class(std::uint16_t size_class, std::size_t bytes, Kind kind) {
    if (size_class > kClasses) [[unlikely]]
      return allocate_large(bytes, kind);
    std::int64_t size = std::int64_t{size_class} * 16;
    Free* cell = free_[size_class];
    live_ += size;
    if (cell == nullptr || live_ > watermark_) [[unlikely]]
      cell = refill(size_class);
    free_[size_class] = cell->next;
    auto* o = reinterpret_cast<Object*>(cell);
    o->count = 1;
    o->kind = kind;
    o->flags = 0;
    o->size_class = size_class;
    o->serial = next_serial++;
#ifndef NDEBUG
    ++live_objects_;
#endif
    return o;
  }
  void* allocate_large(std::size_t bytes, Kind kind);
  Free* refill(std::uint16_t size_class);
  void pass_watermark(std::int64_t request);
  void release_slow(Object* o);
  void give_back(Object* o);
  void give_back_cell(Object* o) {
    live_ -= std::int64_t{o->size_class} * 16;
    auto* cell = reinterpret_cast<Free*>(o);
    std::uint16_t size_class = o->size_class;
    cell->next = free_[size_class];
    free_[size_class] = cell;
  }
  void release_children(Object* o);
  static std::size_t size_of(const Object* o);

  std::int64_t live_ = 0;
  std::int64_t watermark_ = 0;
  Free* free_[kClasses + 1] = {};
  std::int64_t budget_ = 0;
  std::int64_t heap_peak_ = 0;
  std::int64_t live_objects_ = 0;
  Object* pending_ = nullptr;  // to be released, linked
  bool draining_ = false;
  std::vector<void*> slabs_;
  std::unordered_map<std::string_view, Text*> symbols_;
};

} // namespace cairn::value
