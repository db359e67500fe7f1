// The tape of reverse mode: flat records of 32 bytes in chunks of bounded size. A taped number is a Value that names its record;
// the primal is kept in the record until the sweep, which uses the same eight bytes for the cotangent.
//
//   record: [ primal, then cotangent | argument a, argument b | partial wrt a | partial wrt b ]
//
// An absent cotangent is the bit pattern of -0.0: a sum that starts at +0.0 can never become -0.0, so presence costs nothing
// (docs/design.md 5.6). Chunks are shared between copies of a tape and copied before writing.
#pragma once

#include "ops/denormals.h"
#include "vm/tape/draws.h"
#include "vm/tape/effect_values.h"
#include "vm/tape/places.h"
#include "vm/tape/tensor_record.h"
#include "vm/value/charged.h"
#include "vm/value/heap.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <vector>

namespace cairn::tape {

using value::Heap;
using value::Value;

inline constexpr std::uint32_t kNone = 0xFFFFFFFF;
inline constexpr std::uint64_t kAbsent = 0x8000000000000000; // bits of -0.0

inline bool is_absent(double d) { return std::bit_cast<std::uint64_t>(d) == kAbsent; }

struct Record {
  double value;
  std::uint32_t a, b;
  double da, db;
};
static_assert(sizeof(Record) == 32);

struct Chunk {
  static constexpr std::uint32_t kRecords = 1024;
  std::uint32_t owners;
  bool cleared;       // the values are cotangents now
  bool ready;         // cleared, and owned by one tape
  std::uint16_t few;  // 0, or it has memory for so many records only (Tape::shorten)
  double* cotangents; // kRecords of them where the primals are still needed in the sweep; else null: they are in the records
  Record records[kRecords];
  double& cotangent(std::uint32_t i) { return cotangents != nullptr ? cotangents[i] : records[i].value; }
};

static_assert(sizeof(Chunk) <= Heap::kChunkBytes);

// What the tape knows of a place of an older object that was read while it records.
struct Input {
  std::uint32_t node = kNone;
  Value original{}; // what the slot holds: a flonum, or a number of an outer tape; never counted
};

// A derivative operator that ran while this tape recorded: to the tape one operation (docs/design.md 5.5).
struct Composite {
  std::uint32_t node;    // its position among the records
  std::uint64_t serial;  // of its operator's frame: names its result
  Value f, x, cotangent; // owned
  // Of a procedure with rules, f is its reverse rule, and there is no cotangent.
  bool is_ruled() const { return cotangent == value::kUnspecified; }
};
inline constexpr std::uint64_t kOfComposite = 256; // bytes of one, of its result and of a short list of arguments, as a rule

// The result of a composite. Its leaves, counted in preorder, are the places (serial, kLeaf + leaf), lifted like those of older
// objects; the slots of the operator's own frame have the same serial and smaller numbers.
inline constexpr std::uint32_t kLeaf = 0x80000000;
// What a run that is over had of the world; charged to the account of tapes. Its replay has it again.
struct PastEffects {
  PastEffects(Heap& heap, EffectValues read, Draws drawn)
      : inputs(std::move(read)), draws(std::move(drawn)),
        charged_(heap, heap.tape, EffectValues::bytes_of(inputs.size()) + draws.bytes()) {}
  EffectValues inputs;
  Draws draws;

private:
  value::Charged charged_;
};
std::shared_ptr<const PastEffects> past_effects(Heap& heap, EffectValues inputs, Draws draws); // null if there are none

struct Output {
  std::uint64_t serial = 0;
  Value skeleton = value::kUnspecified;       // owned; the result, leaves as primal flonums, tensors as descriptions (of a
                                              // procedure with rules: as they are)
  std::shared_ptr<const PastEffects> effects; // of the run; null: none
  // What its operations on tensors took, in ticks; the most bytes that it held for itself meanwhile; and what its reverse pass
  // is expected to hold, 0 where nobody knows. Of a procedure with rules no tape has the operations, and both numbers of bytes
  // are those of operands and results of the largest.
  std::uint64_t cost = 0, largest = 0, sweeping = 0;
};

// Before the record `node` the elements of a tensor were read for the first time in its run; that was after `steps` of it.
struct FirstRead {
  std::uint32_t node;
  std::uint64_t serial, steps;
};

class Tape {
public:
  Tape(Heap& heap, std::uint16_t id, std::uint64_t low, std::uint64_t start);
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;
  // A copy that shares full chunks, under the same id, since ids name tapes in values: two copies of one tape are never on the
  // stack of runs together.
  std::unique_ptr<Tape> clone(Heap& heap) const;
  // Gives up the values it owns.
  void release(Heap& heap);

  std::uint16_t id() const { return id_; }
  // A number of this tape (of any copy of it) that is on this copy.
  bool has(Value v) const { return v.bits - (name_ << 32) < count_; }
  std::uint32_t size() const { return count_; }
  double primal(std::uint32_t node) const { return chunks_[node / Chunk::kRecords]->records[node % Chunk::kRecords].value; }

  // Objects with a serial in [low, start) existed before this tape began: their numbers become inputs when first read.
  bool is_old(std::uint64_t serial) const { return serial - low_ < span_; }
  std::uint64_t low() const { return low_; }
  std::uint64_t start() const { return low_ + span_; }

  // The current chunk is full: append makes a new one, for which there may be no memory.
  bool is_full() const { return next_ == end_; }
  // The current chunk has space for so many records: append does not throw for them.
  bool has_space(std::ptrdiff_t records) const { return end_ - next_ >= records; }
  Value append(double value, std::uint32_t a, double da, std::uint32_t b, double db) {
    if (is_full()) [[unlikely]]
      grow();
    return append_quickly(value, a, da, b, db);
  }
  // Only if it is not full.
  Value append_quickly(double value, std::uint32_t a, double da, std::uint32_t b, double db) {
    *next_++ = {value, a, b, da, db};
    return {name_ << 32 | count_++};
  }
  void grow();
  Value leaf(double value) { return append(value, kNone, 0, kNone, 0); }
  // A second place for the same number (docs/design.md 5.1).
  Value identity(Value v) { return append(primal(v.tape_node()), v.tape_node(), 1.0, kNone, 0); }
  // The node of an older place; `original` is what the slot holds, `number` its primal.
  Value lift(Place place, Value original, double number);
  // Before it records: places of numbers, ascending, that depend on nothing that is varied. One tape of a whole run has no such
  // number; a tape that begins in the middle of a run lifts it like any other, as nothing in a state tells.
  void set_constant_places(std::vector<Place> places);
  std::span<const Place> constant_places() const { return constant_places_; }
  // Whether it is known of that number that it depends on none but these: nobody needs its cotangent.
  bool is_constant(std::uint32_t node) const { return !constant_inputs_.empty() && follows_from_constants(node); }
  // Whether an operand that has that node has a cotangent. kNone is none.
  bool varies(std::uint32_t node) const { return node != kNone && !is_constant(node); }
  // Nodes of those that were lifted, ascending; for files.
  std::span<const std::uint32_t> constant_inputs() const { return constant_inputs_; }
  // From a file: false if these are not on it, or out of order.
  bool restore_constants(std::vector<Place> places, std::vector<std::uint32_t> inputs);

  // --- tensors. An object is a place by its serial; what is on the tape was made there or lifted.
  // The node of the tensor with that serial; kNone: a constant to this tape.
  std::uint32_t tensor_node(std::uint64_t serial);
  // The same, where an older tensor becomes an input when it is met.
  std::uint32_t lift_tensor(std::uint64_t serial) {
    if (!is_old(serial)) return tensor_node(serial);
    return lift_tensor_at({serial, 0});
  }
  std::uint32_t lift_tensor_at(Place place);
  // A lean tape does without what the sweep can compute again at little cost, as most tapes do; any other keeps all that rules
  // ask for, since somebody plans what it will do without (thinning).
  bool is_lean() const { return lean_; }
  void set_lean(bool lean) { lean_ = lean; }
  // Whether it has let go of that tensor.
  bool does_without(std::uint32_t node) const {
    const TensorRecord* const maker = lean_ && node != kNone ? maker_of(node) : nullptr;
    return maker != nullptr && maker->level != 0;
  }
  // Whether it keeps that tensor whole, as far as the next operations behind the one that made it tell.
  bool keeps(std::uint32_t node) const;
  // On a lean tape: modelled cost of an operation, with its sweep, that is recorded now.
  void note_cost(std::uint64_t all) { costs_.all = std::min(costs_.all + std::min(all, kMostCost), kMostCost); }
  // Lets go of results that have a cost, the oldest first, while all that is computed again remains a small part of what the
  // operations on the tape and their sweeps cost.
  void let_go();
  // Gives the record its nodes. Serials of results ascend from record to record.
  const TensorRecord& add_tensor(std::shared_ptr<TensorRecord> record);
  // From a file: its nodes are there already. Ascending. False: more would be computed again one behind the other than may be.
  bool restore_tensor(std::shared_ptr<TensorRecord> record);
  // The last record that is still to be swept, or null; and what says that it has been. It goes, but for leaves, whose node stays
  // known.
  const TensorRecord* last_tensor() const {
    return unswept_tensors_ > leaf_tensors_ ? tensors_[unswept_tensors_ - 1].get() : nullptr;
  }
  void tensor_swept() {
    computed_last.clear();
    if (!computed_again.empty()) computed_again.erase(computed_again.lower_bound(last_tensor()->node), computed_again.end());
    tensors_[--unswept_tensors_].reset();
  }
  std::span<const std::shared_ptr<const TensorRecord>> tensors() const { return {tensors_.data(), unswept_tensors_}; }
  // Whether a copy of the tape has the same records.
  bool shares_records() const { return !tensors().empty() && tensors().front().use_count() > 1; }
  // Calls f(Storage&) for each tensor that a record keeps.
  template <class F> void each_storage(F&& f) const {
    for (const auto& record : tensors())
      for (const KeptTensors* list : record->kept()) list->each_storage(f);
  }
  // The same, the last record first, while f says to go on. False: it did not.
  template <class F> bool each_storage_backwards(F&& f) const {
    bool on = true;
    for (std::size_t i = tensors().size(); on && i-- > 0;)
      for (const KeptTensors* list : tensors()[i]->kept()) list->each_storage([&](ops::Storage& s) { on = on && f(s); });
    return on;
  }
  // The record in that place keeps these lists of its tensors instead: the same, some without their elements; and `smaller` if
  // there is any.
  void keep_less(std::size_t at, std::span<const ops::Tensor> inputs, std::span<const ops::Tensor> outputs,
                 std::span<const ops::Tensor> smaller = {});
  // The record among whose results is that node, or null.
  const TensorRecord* maker_of(std::uint32_t node) const;
  // Its place among them; their end if there is none.
  std::span<const std::shared_ptr<const TensorRecord>>::iterator place_of(std::uint32_t node) const;
  // While nobody records on it, its last chunk need not be longer than it is. Where there is no memory for a shorter one, or it
  // would hardly be shorter, nothing happens.
  void shorten() noexcept;
  void lengthen(); // as it was; to be called before anything else than copying it, or giving it up, is done with its records
  // What it holds, in records: an operation on tensors counts by its bytes and by those of what it made, kept or not.
  std::uint64_t weight() const { return count_ + (tensor_bytes_ + composites.size() * kOfComposite) / sizeof(Record); }
  // The same without what was made and is not kept, and without what was there when it began.
  std::uint64_t kept_weight() const { return count_ + (kept_bytes_ + composites.size() * kOfComposite) / sizeof(Record); }
  // That it takes itself: records and tables, without elements. Logical, not what its tables happen to have reserved.
  std::uint64_t own_bytes() const;
  std::uint64_t saved_by_shortening() const;
  // The run that records on it should stop where it holds more than `most_weight`, but not everywhere: whoever has the run looks
  // for a place where little is alive and no result is cheap (RunState::may_end). He is asked where something large was made,
  // too.
  bool is_heavy() const { return weight() > most_weight; }
  bool may_end() const { return made_much || is_heavy(); }
  bool keeps_more_than(std::uint64_t times) const { return kept_weight() / times > most_weight; }
  std::uint64_t most_weight = UINT64_MAX;
  // While it has such a limit: bytes of tensors in the state, and whether much was made since these were looked up.
  std::uint64_t alive_at_start = 0, most_alive = 0;
  bool made_much = false;
  std::map<std::uint32_t, ops::Tensor> tensor_cotangents; // by node; what is not there is absent
  std::map<std::uint32_t, ops::Tensor> computed_again;    // by node: results that a lean tape did not keep, until their own sweep
  std::vector<std::uint32_t> computed_last;               // of them, for the record that is being swept
  std::vector<FirstRead> first_reads;                     // ascending
  void note_first_read(std::uint64_t serial, std::uint64_t steps);

  // --- sweep; from here on primals are gone, unless a composite will need them
  void seed(std::uint32_t node, double cotangent);       // assigns
  void accumulate(std::uint32_t node, double cotangent); // adds
  double cotangent(std::uint32_t node);
  // Sweeps records [from, to) from the last to the first.
  void sweep(std::uint32_t from, std::uint32_t to);

  // For files: `record(Record)` for each record, `more(data, bytes)` for the header of each chunk and the cotangents beside it.
  template <class R, class M> void write_records(R&& record, M&& more) const {
    std::uint64_t header[] = {count_, keeps_primals_ ? 1u : 0u};
    more(header, sizeof header);
    for (std::uint32_t n = 0; n < count_; ++n) {
      const Chunk* c = chunks_[n / Chunk::kRecords];
      if (n % Chunk::kRecords == 0) {
        std::uint64_t flags[] = {c->cleared ? 1u : 0u, c->cotangents != nullptr ? 1u : 0u};
        more(flags, sizeof flags);
        if (c->cotangents != nullptr) more(c->cotangents, sizeof(double) * Chunk::kRecords);
      }
      record(c->records[n % Chunk::kRecords]);
    }
  }
  // The reverse; `take(bytes)` returns that many bytes or throws, `check(false)` throws. On a tape without records. Only a tape
  // that is being swept has cotangents.
  template <class T, class C> void read_records(bool swept, T&& take, C&& check) {
    auto pair = [&](std::uint64_t& a, std::uint64_t& b) {
      const auto* p = reinterpret_cast<const char*>(take(16));
      std::memcpy(&a, p, 8);
      std::memcpy(&b, p + 8, 8);
    };
    std::uint64_t count = 0, keeps = 0, cleared = 0, beside = 0;
    pair(count, keeps);
    check(count < kNone && keeps <= 1);
    keeps_primals_ = keeps == 1;
    for (std::uint32_t n = 0; n < count; ++n) {
      if (n % Chunk::kRecords == 0) {
        pair(cleared, beside);
        check(cleared <= (swept ? 1 : 0) && beside == (cleared == 1 ? keeps : 0));
      }
      const void* cotangents = n % Chunk::kRecords == 0 && beside == 1 ? take(sizeof(double) * Chunk::kRecords) : nullptr;
      Record r;
      std::memcpy(&r, take(sizeof r), sizeof r);
      check((r.a == kNone || r.a < n) && (r.b == kNone || (r.b < n && r.a != kNone)));
      append(r.value, r.a, r.da, r.b, r.db);
      Chunk* c = chunks_.back();
      c->cleared = cleared == 1;
      if (cotangents != nullptr) {
        make_cotangents(c);
        std::memcpy(c->cotangents, cotangents, sizeof(double) * Chunk::kRecords);
      }
    }
  }

  PlaceMap<Input> inputs;
  std::vector<Composite> composites; // ascending node; added by add_composite
  // From then on the tape keeps its primals through the sweep: the composite's reverse pass reads them. Its values are borrowed.
  void add_composite(Composite composite) {
    add(composites, composite);
    for (Value v : {composite.f, composite.x, composite.cotangent}) Heap::retain(v);
    keeps_primals_ = true;
  }
  std::vector<Output> outputs; // added by add_output
  // The skeleton is taken over, unless there is no memory.
  void add_output(Output output) { add(outputs, std::move(output)); }

  // Charges the bytes by which the tables of inputs, composites and their results have grown since the last call.
  void account_maps();

  // Of a lean tape: modelled costs of what was recorded, with sweeps, and of what is computed again, in ticks; and how many
  // records have been looked at for whether their results may go.
  struct Costs {
    std::uint64_t all = 0, again = 0;
    std::size_t looked_at = 0;
  };
  static constexpr std::uint64_t kMostCost = std::uint64_t{1} << 48;
  const Costs& costs() const { return costs_; }
  void restore_costs(const Costs& costs) { costs_ = costs; }
  // The lengths of all its tables while it records; cut() removes what was added since, as if it had never been recorded.
  struct Length {
    std::uint32_t records;
    std::size_t chunks, tensors, first_reads, composites, outputs;
    Record *next, *end;
    bool keeps_primals;
    std::uint64_t cost;
  };
  Length length() const {
    return {count_, chunks_.size(), unswept_tensors_, first_reads.size(), composites.size(), outputs.size(),
            next_,  end_,           keeps_primals_,   costs_.all};
  }
  void cut(const Length& to);

private:
  Chunk* ready(std::uint32_t node) {
    Chunk* c = chunks_[node / Chunk::kRecords];
    if (!c->ready) [[unlikely]]
      c = prepare(node / Chunk::kRecords);
    return c;
  }
  template <class T> void add(std::vector<T>& table, T entry) {
    table.push_back(std::move(entry));
    try {
      account_maps();
    } catch (...) {
      table.pop_back();
      throw;
    }
  }
  bool follows_from_constants(std::uint32_t node) const;
  void link(TensorRecord& record) const;
  bool are_short(const TensorRecord& record) const;
  bool can_let_go(TensorRecord& record) const;
  void let_go_of(std::size_t at, std::shared_ptr<TensorRecord> lean);
  std::shared_ptr<TensorRecord> with(const TensorRecord& from, std::span<const ops::Tensor> inputs,
                                     std::span<const ops::Tensor> outputs, std::span<const ops::Tensor> smaller) const;
  void replace(std::size_t at, std::shared_ptr<TensorRecord> record);
  void append_tensor(std::shared_ptr<TensorRecord> record);
  void cut_tensors(std::size_t to);
  Chunk* prepare(std::uint32_t chunk);
  std::uint32_t few() const; // records of its last chunk, where a shorter one is worth making; else 0
  static std::int64_t bytes_of(const Chunk& chunk);
  Chunk* new_chunk();
  Chunk* copy_chunk(const Chunk& from);
  void drop_chunk(Chunk* chunk);
  void make_cotangents(Chunk* chunk);
  template <bool Separate> void sweep_chunk(Chunk* chunk, std::uint32_t from, std::uint32_t to);

  Heap& heap_;
  std::uint16_t id_;
  std::uint64_t name_; // upper half of its numbers
  std::uint64_t low_, span_;
  Record* next_ = nullptr;
  Record* end_ = nullptr;
  std::uint32_t count_ = 0;
  std::int64_t charged_maps_ = 0;
  bool keeps_primals_ = false;
  std::vector<Chunk*> chunks_;
  std::vector<std::shared_ptr<const TensorRecord>> tensors_; // ascending nodes and serials
  std::size_t unswept_tensors_ = 0, leaf_tensors_ = 0;       // leaves come first
  std::uint64_t tensor_bytes_ = 0, kept_bytes_ = 0;
  bool lean_ = true;
  Costs costs_;
  std::vector<Place> constant_places_;
  std::vector<std::uint32_t> constant_inputs_; // has room for all of them
};

} // namespace cairn::tape
