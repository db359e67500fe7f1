// The state of a machine as bytes (capsule files; the format is in docs/file-formats.md). An object is numbered where it is first
// referred to, and read or written after what is referred to later: the pairs of a list follow one another. Iterative, sharing is
// kept.
#pragma once

#include "vm/bytecode/bytes.h"
#include "vm/image/bytes.h"
#include "vm/image/header.h"
#include "vm/machine/engine.h"
#include "vm/value/charged.h"
#include "vm/value/object_numbers.h"

#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

namespace cairn::runs {
struct StreamedState;
}

namespace cairn::image {

using bytecode::Malformed;
using bytecode::Opcode;
using machine::Capsule;
using machine::EffectLog;
using machine::Engine;
using machine::HostProcedure;
using machine::kInherit;
using machine::kNever;
using machine::LoadedModule;
using machine::OwnedState;
using machine::ProgramError;
using machine::Run;
using machine::RunKind;
using machine::RunState;
using machine::Statistics;
using tape::Tape;
using value::ClosureBlock;
using value::Code;
using value::Frame;
using value::Heap;
using value::Kind;
using value::NativeObject;
using value::Object;
using value::ObjectNumbers;
using value::Procedure;
using value::Value;

// Writes values and objects; what it meets for the first time waits on a stack and is written by drain().
class ImageWriter {
public:
  // `sink` may be null, and `checksum` too.
  ImageWriter(const Engine& engine, ImageSink* sink, ImageChecksum* checksum);
  void value(Value v);
  void object(const Object* o); // may be null
  void runs(const std::vector<Run>& list);
  void run(const Run& r);
  void tape(const Tape* tape); // may be null
  void log(const EffectLog& log);
  void draws(const tape::Draws& d);
  void output(const tape::Output& o);
  void tensor(const ops::Tensor& t);
  std::uint64_t copies(const std::shared_ptr<const int>& of_update) {
    return updates_.try_emplace(of_update.get(), updates_.size()).first->second;
  }
  void streamed(const runs::StreamedState& state);
  void place(tape::Place p) {
    out.varint(p.serial);
    out.varint(p.slot);
  }
  void number(std::uint64_t n) { out.varint(n); }
  void flag(bool b) { out.u8(b ? 1 : 0); }
  void drain();
  std::uint32_t objects() const { return count_; }
  ImageBytes out;

private:
  std::uint64_t distance(const Object* o);
  void reference(Value v, unsigned tag);
  void code(const Code* c);
  void block(ClosureBlock* b);
  void serial(const Object* o);
  void pairs(const value::Pair* p);
  void body(const Object* o);
  void attribute(const ops::Attribute& a);
  void tensor_records(const Tape& t);
  void name(const ops::Device* device); // may be null
  void name(std::string_view text);
  std::uint32_t group_of(ClosureBlock* b) const;
  const Engine& engine_;
  ObjectNumbers numbers_;
  ObjectNumbers constants_;
  value::ChargedVector<std::uint32_t> first_group_, groups_; // that begin with a function: groups_[first_group_[f]] and on
  value::ChargedVector<const Object*> stack_;
  value::ChargedMap<const ops::Storage*, std::uint32_t> storages_; // by number, in the order of being met
  std::unordered_map<const int*, std::uint64_t> updates_;          // the same of what tells copies of updates
  std::uint32_t count_ = 0;
  std::uint64_t serial_ = 0; // of the object written last
};

// Storage that a reader may meet again. Nothing is read by this reference, so what else has the storage decides whether it can go
// to a file meanwhile.
class Known {
public:
  explicit Known(ops::StorageRef storage) : storage_(std::move(storage)) {}
  Known(Known&& other) noexcept : storage_(std::move(other.storage_)), idle_(std::exchange(other.idle_, false)) {}
  Known& operator=(Known&&) = delete;
  ~Known() {
    if (idle_) storage_->device->end_idle(*storage_.get());
  }
  const ops::StorageRef& storage() const { return storage_; }
  // Once somebody else has it.
  void rest() {
    idle_ = true;
    storage_->device->set_idle(*storage_.get());
  }
  // Once everybody has it. What somebody may read is in memory then, as it is in the machine that was saved: or how much can make
  // way would depend on how fast the disk is.
  void wake() {
    if (!std::exchange(idle_, false)) return;
    storage_->device->end_idle(*storage_.get());
    if (storage_->count - 1 > storage_->idle) storage_->block();
  }

private:
  ops::StorageRef storage_;
  bool idle_ = false;
};

// Reads what ImageWriter wrote and checks everything; throws Malformed. The first reference to an object goes into its slot at
// once, and the slot owns the object from then on. Later references to it are noted, and finish() stores them when it is known
// that they close no cycle. So a slot that was given to value() or object() must not move before finish(); and whoever releases,
// after an exception, what the slots hold releases all that was read.
class ImageReader {
public:
  ImageReader(Engine& engine, bytecode::ByteReader& in);
  void value(Value& slot);
  template <class T> void object(T*& slot, value::Kind kind) {
    slot = nullptr;
    object_at(reinterpret_cast<Object**>(&slot), kind);
  }
  enum class Stack : std::uint8_t { machine, capsule, snapshot };
  void runs(std::vector<Run>& list, Stack stack); // the list must not be resized afterwards
  void tape(Tape*& slot, bool may_be_swept);      // the slot is null before and owns the tape at once
  void log(EffectLog& log);
  void draws(tape::Draws& d);
  void output(tape::Output& o);
  void tensor(ops::Tensor& t);
  tape::Place place() {
    tape::Place p;
    p.serial = in.varint();
    p.slot = number32();
    return p;
  }
  bool flag();
  Value plain(); // a value that is no reference
  std::uint64_t count(std::uint64_t most = kMostCount);
  std::uint32_t number32();
  std::uint32_t size(std::size_t least_bytes); // of a list whose elements take at least so many
  static void check_probes(std::uint64_t probes, std::uint64_t places);
  void expect(std::uint64_t objects); // before anything else
  std::shared_ptr<const int> copies();
  void streamed(runs::StreamedState& state);
  void read_objects(); // all that is referred to
  std::uint64_t objects() const { return made_.size(); }
  void finish(); // fills in all slots and adds the references they hold
  void wake_storages() {
    for (Known& known : storages_) known.wake();
  }
  Engine& engine;
  bytecode::ByteReader& in;

private:
  enum class Into : std::uint8_t { pair, procedure, other, object, run_state };
  struct Reference {
    void* to; // a Value, or an Object*
    std::uint32_t number;
    std::uint16_t entry; // of a procedure in its block
    Into into;
    value::Kind kind; // of what an Object* points to
  };
  // An object that was read. The objects it is the first to refer to are numbered in a row, up to those of the next one that was
  // read.
  struct Read {
    std::uint32_t number;
    std::uint32_t first_child;
  };
  struct Other {
    Reference reference;
    std::uint32_t reader; // which object it stands in, in the order of reading
  };
  struct RunList {
    const std::vector<Run>* runs;
    Stack stack;
  };
  // --- read.cpp
  std::uint32_t next_number() {
    if (made_.size() == expected_) throw Malformed("more objects than it says it holds");
    made_.push_back(nullptr);
    return static_cast<std::uint32_t>(made_.size() - 1);
  }
  void refer(Reference r, std::uint64_t distance);
  void object_at(Object** slot, value::Kind kind, Into into = Into::object);
  void fill(const Reference& r, Object* o); // takes over a reference to o
  void constant(const Reference& r, std::uint64_t index);
  Value plain_of(std::uint64_t word);
  void value_of(std::uint64_t word, Value& slot);
  Value effect();
  std::string text();
  const Code* code(std::uint32_t& pc);
  void body(Reference& r, std::size_t& first_child);
  void own(const Reference& r, Object* o);
  void pairs(Reference& r, std::size_t& first_child);
  void vector(const Reference& r);
  void block(const Reference& r);
  void bundle(const Reference& r);
  void frame(const Reference& r);
  void capsule(const Reference& r);
  void state(const Reference& r);
  ops::Attribute attribute();
  void tensor_records(Tape& t); // tensors.cpp
  ops::Device* device();
  // --- check.cpp
  void check_acyclic() const;
  void check_frames() const;
  void check_runs(const RunList& list) const;
  void check_bundles() const;
  void check_taped() const;

  std::uint64_t expected_ = 0;
  // Charged while the file is read: what a file makes these grow to is its choice.
  value::ChargedVector<Known> storages_;    // by number
  value::ChargedVector<Object*> made_;      // by number; null before it is read
  value::ChargedVector<Read> read_;         // in order
  value::ChargedVector<Reference> waiting_; // a stack: objects met and not read
  value::ChargedVector<Other> others_;      // references to objects met before
  std::size_t others_of_roots_ = 0;         // how many of them, the first, stand in slots of the caller and in no object
  bool back_ = false;                       // an object refers to one that was read before it, or to itself
  std::uint64_t serial_ = 0;                // of the object read last
  // Blocks of the device that streams have other numbers here, so recordings go on when all of them are known.
  std::unordered_map<std::uint64_t, std::uint64_t> renumbered_;
  std::vector<std::function<void()>> recordings_;
  std::vector<std::shared_ptr<const int>> updates_; // by number, what copies of one update have in common
  bool states_as_values_ = false;                   // in registers of the machine's own code only
  value::ChargedVector<const Frame*> frames_;
  value::ChargedVector<const value::Bundle*> bundles_;
  value::ChargedVector<RunList> stacks_;
  value::ChargedVector<std::uint32_t> tape_sizes_; // by id: the longest copy
  value::ChargedVector<Value> taped_;              // numbers on tapes
};

// --- states.cpp
void write_state(ImageWriter& out, const RunState& state);
OwnedState begin_state(ImageReader& in); // of the kind that comes next, empty
void read_state(ImageReader& in, RunState& state);
bool is_streamed_state(const RunState& state);   // then its runs are streamed runs
bool is_checkpoint_state(const RunState& state); // then its runs are interval runs; else they are reverse runs
bool can_run(const RunState& state);             // may have a run: its sweep has not begun

// The state of a machine as a file that can be written any number of times, as long as nothing changes the machine. The bytes are
// made anew each time and are never in memory as a whole; the memory that this takes is charged meanwhile. Throws BudgetExceeded
// and ops::Cancelled.
class Image {
public:
  explicit Image(const Engine& engine); // makes the bytes once, to count them
  std::uint64_t bytes() const { return bytes_; }
  void write(ImageSink& sink) const;

private:
  void write_behind_checksum(ImageWriter& w) const;
  std::uint64_t pass_over(ImageSink* sink) const;
  const Engine& engine_;
  const Statistics statistics_;
  const std::vector<std::byte> module_; // as a file
  const value::Charged charged_;
  std::uint64_t objects_ = 0, bytes_ = 0;
};
// A block of memory as large as the image.
class BlockSink final : public ImageSink {
public:
  explicit BlockSink(std::span<std::byte> block) : block_(block) {}
  void put(std::span<const std::byte> bytes) override {
    patch(at_, bytes);
    at_ += bytes.size();
  }
  bool can_patch() const override { return true; }
  void patch(std::uint64_t at, std::span<const std::byte> bytes) override;

private:
  std::span<std::byte> block_;
  std::uint64_t at_ = 0;
};
std::vector<std::byte> write_image(const Engine& engine);
// True if the bytes begin as a capsule file does and have its checksum; nothing else is looked at.
bool is_whole_image(std::span<const std::byte> bytes, std::string& error);
// True if that file holds the module of this file. What is no capsule file is not refused here: reading it says why.
bool belongs_to(std::span<const std::byte> bytes, std::span<const std::byte> module);
bool belongs_to(Engine& engine, int file, std::span<const std::byte> module);
// Into a fresh engine. False with a message if the bytes are damaged or of another version. Throws BudgetExceeded.
bool read_image(Engine& engine, std::span<const std::byte> bytes, std::string& error);
// The same of an open regular file, of which little is in memory at once (file_bytes.h). It is read twice: nothing is done before
// its checksum is known to fit.
bool read_image(Engine& engine, int file, std::string& error);

} // namespace cairn::image
