// Allocation and reference counts of one machine. Small objects come from size-class free lists over slabs; large ones from
// the system. Freeing is iterative: no native recursion, whatever the depth of the data. It can be stopped: the objects that are
// left are set aside then, and freed before the machine does anything else.
#pragma once

#include "ops/forbidden.h"
#include "vm/value/block_pool.h"
#include "vm/value/object.h"
#include "vm/value/tensor_object.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cairn::value {

// A request went over a budget.
struct BudgetExceeded : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// The same, where nothing may begin again for it: something has happened that would then happen a second time, or it is another
// budget than that of memory (`memory` is false), about which there is nothing to say that would help with memory.
struct FinalBudgetExceeded : BudgetExceeded {
  FinalBudgetExceeded(const std::string& message, bool of_memory) : BudgetExceeded(message), memory(of_memory) {}
  bool memory;
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
  // Releases what it owns in the heap; called once, before destruction. It may be half-made: what made it has failed.
  virtual void release(Heap& heap) = 0;
};
// One that no object owns yet.
struct ReleaseNative {
  Heap* heap = nullptr;
  void operator()(Native* native) const {
    native->release(*heap);
    delete native;
  }
};
template <class T> using OwnedNative = std::unique_ptr<T, ReleaseNative>;
struct NativeObject : Object {
  Native* native;
};

class Heap {
public:
  static constexpr std::int64_t kGranularity = 4096;

  explicit Heap(MemorySource source = {}) : tape_chunks(kChunkBytes, source), source_(source), slabs_(kSlabBytes, source) {}
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

  // --- releasing that takes long. This is asked after every few thousand objects that were freed. If it says true, those that
  // are still to be freed are set aside, and so is whatever is released from then on. They stay charged to their accounts, and
  // what they refer to keeps its references, until release_set_aside() frees them.
  std::function<bool()> stops_releasing;
  bool has_set_aside() const { return set_aside_; }
  // Frees the objects that were set aside. False if it was stopped again before all were gone.
  bool release_set_aside();
  // The same, and does not stop.
  void release_all_set_aside() {
    while (!release_set_aside()) {
    }
  }
  // Releases a vector that was being filled: it has one reference, and only its first `set` items have values.
  void release_begun(Vector* v, std::uint64_t set);

  // --- allocation; every object starts with count 1 and a fresh serial. Value arguments are taken over, also where there is no
  // memory.
  Value cons(Value car, Value cdr) {
    Pair* p = quick_pair();
    if (p == nullptr) [[unlikely]]
      return cons_slowly(car, cdr);
    p->car = car;
    p->cdr = cdr;
    return of_pair(p);
  }
  Vector* make_vector(std::uint64_t length); // items are uninitialised: fill before anything else
  Value make_string(std::string_view utf8);
  Text* make_text(std::uint64_t bytes);                              // a string whose bytes and length are still to be set
  Value make_symbol(std::string_view utf8);                          // interned: the same text gives the same object
  Value make_bundle(std::uint64_t tag, Value primal, Value tangent); // BudgetExceeded beyond kMostLevels
  ClosureBlock* make_closure_block(std::uint32_t procedures,
                                   std::uint32_t captures);         // entries' offsets are set; code and captures are not
  NativeObject* make_native(Kind kind, OwnedNative<Native> native); // capsule or state
  template <class T, class... Arguments> OwnedNative<T> own(Arguments&&... arguments) {
    return OwnedNative<T>(new T(std::forward<Arguments>(arguments)...), ReleaseNative{this});
  }
  Value make_tensor(ops::Tensor tensor);
  // Another object with the elements of this one, put aside and kept if it is.
  Value make_tensor_like(Value tensor);
  // A frame that stands at its first instruction, without parent; slots are not set.
  Frame* make_frame(const Code* code) {
    auto* f = static_cast<Frame*>(code->frame_class != 0 ? allocate_class(code->frame_class, Kind::frame)
                                                         : allocate_large(code->frame_bytes(), Kind::frame));
    f->code = code;
    f->parent = nullptr;
    f->rest_at(code->words());
    return f;
  }
  // The same in the few instructions that handlers have room for inline: null if there is no free cell, or the budget must be
  // looked at. Of a frame only header and code are set then, of a pair only the header.
  Frame* quick_frame(const Code* code) {
    auto* f = static_cast<Frame*>(quick_cell(code->frame_class, code->frame_cell));
    if (f == nullptr) [[unlikely]]
      return nullptr;
    set_header(f, code->frame_header);
    f->code = code;
    return f;
  }
  Pair* quick_pair() {
    constexpr std::uint16_t size_class = sizeof(Pair) / 16;
    auto* p = static_cast<Pair*>(quick_cell(size_class, sizeof(Pair)));
    if (p != nullptr) [[likely]]
      set_header(p, header(Kind::pair, size_class));
    return p;
  }
  ClosureBlock* quick_closure_block(std::uint32_t procedures, std::uint32_t captures) {
    std::size_t size_class = (sizeof(ClosureBlock) + sizeof(Procedure) * procedures + 8 * std::size_t{captures} + 15) / 16;
    if (size_class > kClasses) return nullptr;
    auto c = static_cast<std::uint16_t>(size_class);
    auto* b = static_cast<ClosureBlock*>(quick_cell(c, std::int64_t{c} * 16));
    if (b != nullptr) [[likely]] {
      set_header(b, header(Kind::closure_block, c));
      b->procedures = procedures;
      b->captures = captures;
    }
    return b;
  }
  // The first eight bytes of an object with one reference.
  static constexpr std::uint64_t header(Kind kind, std::uint16_t size_class) {
    return 1 | static_cast<std::uint64_t>(kind) << 32 | std::uint64_t{size_class} << 48;
  }

  // Makes a new object in the cell of an old one of the same size, which had one reference and whose children have been moved
  // out.
  void renew(Object* o, std::uint64_t header) { set_header(o, header); }
  // Gives back the cell of an object with count 1 whose children have been moved out of it (a frame at its return, a pair taken
  // apart).
  void discard(Object* o) { give_back(o); }
  // Frees an immortal object when its machine ends, if it is large: cells go with their slabs.
  void end_immortal(Object* o);
  static bool is_large(const Object* o) { return o->size_class == kLarge; }
  // discard(), for an object that is not large.
  void discard_cell(Object* o) {
#ifndef NDEBUG
    --live_objects_;
#endif
    give_back_cell(o);
  }

  // Throws BudgetExceeded when `live` bytes of all accounts together go over it. 0: no budget.
  void set_budget(std::int64_t bytes);
  std::int64_t budget() const { return budget_; }
  // Asked before a request is refused for so many bytes: whoever can gives memory back, and says whether there was any.
  std::function<bool(std::int64_t bytes)> makes_way;
  // Bytes that could still be charged.
  std::int64_t headroom() {
    if (set_aside_) [[unlikely]]
      release_all_set_aside();
    return budget_ == 0 ? INT64_MAX : std::max<std::int64_t>(0, budget_ - live_bytes());
  }
  // Throws BudgetExceeded for a request that goes to no account. `what` says what it was for; the message has it behind the
  // number of bytes.
  [[noreturn]] void over_budget(std::int64_t request, std::string_view what);
  // For reports alone. The most bytes of all accounts together, to kGranularity bytes, since they were asked to begin anew; and
  // who is told of the level that a request will make, whenever it is the highest since then. (Its account may have it already.)
  // It throws nothing and charges nothing.
  std::int64_t highest() const { return std::max(highest_, live_bytes()); }
  void begin_highest();
  std::function<void(std::int64_t)> grows;
  // Charge memory that is held outside the slabs (tape chunks, executor state). Negative gives back.
  // `beside`: bytes that count towards the budget and the sum of all accounts, but to no single account.
  void charge(Account& account, std::int64_t bytes, std::int64_t beside = 0);

  std::uint64_t next_serial = 1;   // part of the machine state
  Account tape, capsules, tensors; // tensors: their elements, on all devices
  Account scratch;                 // memory beside the heap that an instruction, a reader or the table of symbols takes
  std::int64_t scratch_peak = 0;   // what kernels took while they ran, at most; it is lent, not charged
  static constexpr std::size_t kChunkBytes = 32 * 1024 + 64;
  BlockPool tape_chunks; // so that all tapes of a machine share what is free
  std::int64_t capsule_count = 0, capsule_count_peak = 0;
  // Makes an object, of which the caller has the only reference, part of the program's text: it never dies, is not counted among
  // live objects, and its serial is 0, so that it is a constant to every tape.
  void make_immortal(Object* o);
  std::int64_t heap_live() const { return live_bytes() - tape.live - capsules.live - tensors.live - scratch.live; }
  std::int64_t heap_peak() const { return heap_peak_; }
  std::int64_t live_bytes() const { return watermark_ - headroom_; }
  std::int64_t live_objects() const { return live_objects_; } // without immortal ones; counted in debug builds
#ifndef NDEBUG
  // For tests: the n-th request from now on, of whatever size, is refused as if the budget had no room for it; 0: none is.
  // Returns how many there were since the last call of this.
  std::uint64_t refuse_request(std::uint64_t n) {
    refused_ = n;
    refusing_ = false;
    return std::exchange(requests_, 0);
  }
#endif

  void* allocate(std::size_t bytes, Kind kind) {
    std::size_t size_class = (bytes + 15) / 16;
    return size_class > kClasses ? allocate_large(bytes, kind) : allocate_class(static_cast<std::uint16_t>(size_class), kind);
  }
  static constexpr std::uint16_t kClasses = 64; // size classes 1..64: up to 1024 bytes

private:
  struct Free {
    Free* next;
  };
  void set_header(Object* o, std::uint64_t header) {
    std::memcpy(static_cast<void*>(o), &header, sizeof header);
    o->serial = next_serial++;
  }
  Object* quick_cell(std::uint16_t size_class, std::int64_t size) {
#ifndef NDEBUG
    if (refuses()) return nullptr;
#endif
    Free* cell = free_[size_class]; // class 0 never has one
    if (cell == nullptr) [[unlikely]]
      return nullptr;
    std::int64_t headroom = headroom_ - size;
    if (headroom < 0) [[unlikely]]
      return nullptr;
    headroom_ = headroom;
    ops::permit(cell, static_cast<std::int64_t>(size));
    free_[size_class] = cell->next;
#ifndef NDEBUG
    ++live_objects_;
#endif
    return reinterpret_cast<Object*>(cell);
  }
  Object* allocate_class(std::uint16_t size_class, Kind kind) {
    Object* o = quick_cell(size_class, std::int64_t{size_class} * 16);
    while (o == nullptr) [[unlikely]] {
        refill(size_class);
        o = quick_cell(size_class, std::int64_t{size_class} * 16);
      }
    set_header(o, header(kind, size_class));
    return o;
  }
  Value cons_slowly(Value car, Value cdr);
  void* allocate_large(std::size_t bytes, Kind kind);
  void free_large(Object* o);
  // Provides a free cell of that class and the headroom for it, so that the next quick_cell succeeds; or throws BudgetExceeded.
  void refill(std::uint16_t size_class);
  // Provides headroom for a request, of which so many bytes may be in an account already, or throws BudgetExceeded.
  void raise_watermark(std::int64_t request, const Account* charged = nullptr, std::int64_t bytes = 0);
#ifndef NDEBUG
  bool refuses() {
    if (refusing_ || ++requests_ == refused_) refusing_ = true;
    return refusing_;
  }
  void look(); // throws if the last request is refused
#endif
  [[noreturn]] void refuse(std::int64_t request, std::string_view what, std::int64_t heap, const Account* charged,
                           std::int64_t bytes) const;
  void release_slow(Object* o);
  void release_from(Object* o);
  void give_back(Object* o);
  void give_back(Object* o, std::int64_t& left);
  void give_back_cell(Object* o) {
    std::uint16_t size_class = o->size_class;
    headroom_ += std::int64_t{size_class} * 16;
    auto* cell = reinterpret_cast<Free*>(o);
    cell->next = free_[size_class];
    free_[size_class] = cell;
    ops::forbid(cell, std::int64_t{size_class} * 16);
  }
  bool release_children(Object* o, std::int64_t& left);
  bool release_stretch(Vector* v, std::int64_t& left);
  void link(Object* o) {
    o->serial = reinterpret_cast<std::uint64_t>(pending_);
    pending_ = o;
  }
  static std::size_t size_of(const Object* o);

  // Bytes that may be taken before budget and peaks are looked at again: so an allocation changes one number. All live bytes
  // together are watermark_ - headroom_.
  std::int64_t headroom_ = 0;
  std::int64_t watermark_ = 0;
  Free* free_[kClasses + 1] = {};
  std::int64_t budget_ = 0;
  std::int64_t heap_peak_ = 0;
  std::int64_t highest_ = 0; // see highest()
  std::int64_t live_objects_ = 0;
#ifndef NDEBUG
  std::uint64_t requests_ = 0, refused_ = 0;
  bool refusing_ = false;
#endif
  Object* pending_ = nullptr; // objects without references that are still to be freed, linked through their serials
  bool draining_ = false;     // a loop is freeing them: what is released meanwhile is put on that list
  bool set_aside_ = false;    // the list is not empty and no loop is at work on it, because it was stopped
  static constexpr std::size_t kSlabBytes = 64 * 1024;
  MemorySource source_;
  BlockPool slabs_; // given back all at once
  // Symbols by their texts. In many tables, since one of millions would take tenths of a second to grow.
  using Symbols = std::unordered_map<std::string_view, Text*>;
  static constexpr std::size_t kSymbolTables = 256;
  Symbols& symbols_like(std::string_view utf8) { return symbols_[std::hash<std::string_view>{}(utf8) >> 56]; }
  std::unique_ptr<Symbols[]> symbols_ = std::make_unique<Symbols[]>(kSymbolTables);
};

} // namespace cairn::value
