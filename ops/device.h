// Devices: memory, streams, copies and kernels. Everything above this file speaks to devices through it alone.
//
// Work is queued on streams: those of one device run beside each other, the work of one stream in order. A ticket names an
// operation in a stream; a block of memory remembers who wrote it last and who has read it since, which orders its uses on
// different streams and its reuse, and is what the race checker of the emulated device looks at. Nothing waits but `wait` and
// what reads memory into the host.
//
// A device belongs to one machine and is called from its thread only.
#pragma once

#include "ops/cost.h"
#include "ops/meter.h"
#include "ops/spill_file.h"
#include "ops/tensor.h"

#include <algorithm>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::ops {

class Backing;
struct Operator;
struct Attributes;

enum class StreamKind : std::uint8_t { execute, copy_in, copy_out, update, count };
inline constexpr unsigned kStreams = static_cast<unsigned>(StreamKind::count);

// Position in a stream: the n-th operation queued on it. 0: none.
using Ticket = std::uint64_t;

struct Block {
  void* data = nullptr; // device address
  std::int64_t bytes = 0;
};

// The accounts of whoever owns a device (a machine): its memory is charged to them. `charge` may throw to refuse; it is called
// before memory is taken.
struct Ledger {
  virtual ~Ledger() = default;
  // Bytes of elements, and what the host holds beside them to know where they are. Negative: given back; never throws then.
  virtual void charge(std::int64_t bytes, std::int64_t beside) = 0;
  // Kernels that run for this owner ask it whether to go on, and take scratch memory from it; null: nobody limits them.
  virtual Meter* meter() { return nullptr; }
  // Bytes that could still be charged: what kernels may take as scratch memory, beside the constant below.
  virtual std::int64_t headroom() { return Meter::kUnlimited; }
  // Scratch memory is short: gives back what is held only to be quicker. False: there is nothing like that.
  virtual bool make_way_for_scratch() { return false; }
  // Called with the bytes of scratch memory that a kernel had at once.
  virtual void note_scratch(std::int64_t /*bytes*/) {}
  // Throws, because a kernel of `op` wanted more scratch memory than the budget allows.
  [[noreturn]] virtual void refuse_scratch(std::string_view /*op*/, std::int64_t bytes) { throw ScratchExceeded(bytes); }

  // So much scratch memory a kernel may take even where the budget is used up: it must not stop what would do with a little.
  static constexpr std::int64_t kScratchAlways = std::int64_t{16} << 20;
  std::int64_t scratch_headroom() { return std::max(headroom(), kScratchAlways); }

  // The most that kernels have wanted beforehand, as they cannot be begun again with more. What is held only to be quicker leaves
  // as much alone, or it would give way to each of them and come back behind it.
  std::int64_t scratch_wanted() const { return scratch_wanted_; }
  void want_scratch(std::int64_t bytes) { scratch_wanted_ = std::max(scratch_wanted_, bytes); }

private:
  std::int64_t scratch_wanted_ = 0;
};

// A tensor as a kernel sees it. A number of the program has no data.
struct View {
  void* data = nullptr; // of the first element
  DType dtype = DType::f32;
  bool weak = false;
  double number = 0;
  Shape shape;
  std::array<std::int64_t, kMostAxes> strides{}; // in elements
  template <class T> T* as() const { return static_cast<T*>(data); }
  std::int64_t elements() const { return shape.elements(); }
};

// What a kernel is called with. Kernels are plain functions that may run on any thread; they allocate nothing on devices. They
// ask the current meter for scratch memory and, every millisecond or so of their work, whether they were cancelled, and throw
// bad_alloc and Cancelled alone.
struct KernelCall {
  std::span<const View> inputs;
  std::span<const View> outputs;
  const Attributes& attributes;
};
using Kernel = void (*)(const KernelCall&);

// An operator put on a stream. Spans are borrowed until launch returns. A device that works on another one puts the addresses
// there into the views, so they are good for one launch.
struct Launch {
  const Operator& op;
  std::span<View> inputs, outputs;
  const Attributes& attributes;
  std::span<Block*const> reads, writes;
  Cost cost = {}; // modelled, where the device models time
  KernelCall call() const { return {inputs, outputs, attributes}; }
};

// Memory is short on this device alone (its own budget); the machine's budget speaks through the ledger.
struct DeviceMemoryExceeded : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What the host's memory holds of each storage beside its elements, at least: storage and block, and what the allocator rounds up
// for a few elements (measured). Queued devices hold more.
inline constexpr std::int64_t kBesideElements = 256;

class Device {
public:
  // `beside`: bytes of the host's memory that each storage takes beside its elements, whatever their number.
  Device(std::string name, Ledger& ledger, std::int64_t beside) : name_(std::move(name)), ledger_(ledger), beside_(beside) {}
  virtual ~Device(); // values that the host never gave back may still be there: adopted memory goes back now
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const std::string& name() const { return name_; } // "cpu", "emulated", "cuda:0"
  Meter* meter() { return ledger_.meter(); }        // of the machine; or null
  // Kernels of the registry run on its memory, in this process: what the host reads after `wait` is at Block::data.
  virtual bool in_host_memory() const = 0;
  // Does the device have a kernel for this operator?
  virtual bool supports(const Operator& op) const = 0;

  // Wants the cost of what it is to launch.
  virtual bool models_time() const { return false; }
  // What a streaming device needs in order to wrap this one; null: it cannot be wrapped.
  virtual Backing* backing() { return nullptr; }
  // The device on which this one works, with its tensors as well as its own; null: itself.
  virtual Device* wrapped() { return nullptr; }

  // Storage of at least so many bytes with count 0, charged to the ledger. Throws what the ledger throws, DeviceMemoryExceeded,
  // bad_alloc, and Cancelled where addresses have to be waited for.
  Storage* make_storage(std::int64_t bytes);
  // Memory of the host's as storage with count 0, where kernels can reach it (the processor): not copied, not charged, never
  // written. `release` is called when the last tensor has gone.
  Storage* adopt_storage(void* memory, std::int64_t bytes, void (*release)(void* context), void* context);
  // The elements of a storage of the device that this one wraps, which is left without any: nothing is copied. Count 0. Null:
  // they cannot be had so.
  Storage* take_over(Storage& from);
  // Called when the last tensor has gone; work that is queued may still use the memory.
  void drop_storage(Storage* storage);

  // Where the work is done at once, Cancelled leaves results undefined, and operands as they were unless results are in their
  // memory. Elsewhere queued work is not cancelled, but waiting for room in a queue is, before anything was queued.
  virtual void launch(StreamKind stream, const Launch& launch) = 0;
  // Copies between blocks of this device and memory of the host, [offset, offset + bytes) of the block. copy_in has taken the
  // bytes when it returns; copy_out waits until they are there. Waiting, and copying itself, ends with Cancelled where the
  // machine was cancelled.
  virtual void copy_in(Block& to, std::int64_t offset, const void* from, std::int64_t bytes) = 0;
  virtual void copy_out(const Block& from, std::int64_t offset, void* to, std::int64_t bytes) = 0;
  // Until everything queued that writes the block has been done.
  virtual void wait(const Block& block) = 0;
  // Until everything queued has been done. Errors of kernels on the device are thrown here and in wait, as std::runtime_error.
  virtual void wait_for_all() = 0;

  // --- elements in a file while nobody needs them (spilling.cpp)
  // Whether that can be done with the memory of this device.
  virtual bool can_spill() const { return false; }
  void spill_to(std::unique_ptr<SpillFile> file) { file_ = std::move(file); }
  SpillFile* spill_file() { return file_.get(); }
  // So much a storage must have, or what stands beside it and the way there would cost more than its elements.
  static constexpr std::int64_t kLeastSpilled = std::int64_t{32} << 10;
  // The same for tensors that a program puts aside itself, as the library does with the many parts of a border.
  static constexpr std::int64_t kLeastAside = std::int64_t{4} << 10;
  // One more, or one less, of its references is idle. Once all are, its elements go to the file if there is one: that is begun
  // at once, and their memory is free, and no longer charged, when it is wanted and they are written.
  void set_idle(Storage& storage) {
    if (++storage.idle == storage.count) spill(storage);
  }
  void end_idle(Storage& storage);
  // Without memory or a file nothing happens, here and in what follows.
  void spill(Storage& storage) noexcept;
  // Until at most so many bytes are still to be written. Cancelled.
  void wait_for_spilled(std::int64_t most_bytes);
  // Begins to bring elements back that will be asked for soon. False: there was no memory for them.
  bool fetch_ahead(Storage& storage);
  // Bytes that are being brought back, or are back and nobody has asked for them yet.
  std::int64_t fetched_ahead() const { return fetched_ahead_; }
  // Of live_bytes(): what make_way() can give back. The rest does not depend on how far the file has come.
  std::int64_t can_make_way() const { return bytes_being_written_ + fetched_ahead_; }
  // Memory is short: gives back what is written, waits for what is being written, at last what was fetched ahead. The bytes.
  virtual std::int64_t make_way(std::int64_t bytes);
  // Elements as bytes, for whoever reads them once and in order: from the file without bringing them back. `from` is a multiple
  // of SpillFile::kPiece, `bytes` is at most that.
  void peek(Storage& storage, std::int64_t from, void* to, std::int64_t bytes);

  // --- what lives here
  std::int64_t live_bytes() const { return live_bytes_; }
  std::int64_t peak_bytes() const { return peak_bytes_; }
  struct Holder {
    const void* code;
    std::uint32_t pc;
    std::int64_t bytes;
    std::uint64_t storages;
  };
  // By who made it, the largest first.
  std::vector<Holder> holders() const;
  // Set by the machine before each instruction that may allocate.
  struct Maker {
    const void* code = nullptr;
    std::uint32_t pc = 0;
  } maker;
  // And with it, on which stream the operators of that instruction are put: execute, or update beside it.
  StreamKind stream = StreamKind::execute;

protected:
  Ledger& ledger() { return ledger_; }
  // For who can spill, before its memory goes: values that the host never gave back may still be written.
  void end_spilling() noexcept;
  virtual Block* take_block(std::int64_t bytes) = 0;
  virtual void give_back_block(Block* block) = 0;
  // A block of this device that has the wrapped device's as its own; null: there are no such blocks here.
  virtual Block* take_over_block(Block* /*block*/) { return nullptr; }
  // Whether its bytes are charged to the owner: not while they are on a disk alone.
  virtual bool is_charged(const Block& /*block*/) const { return true; }

private:
  friend struct Storage;
  void link(Storage* storage);
  void unlink(Storage* storage);
  void give_back_memory(Storage& storage); // it has a copy
  void take_memory(Storage& storage);
  std::int64_t settle(std::int64_t bytes);            // gives back what is written, until it is so much
  void ask_for(Storage& storage, const Meter* meter); // the elements are there then, until all references are idle
  void forget_copy(Storage& storage) noexcept;
  std::unique_ptr<SpillFile::Copy> write_copy(const Storage& storage); // null: there is no space
  std::string name_;
  Ledger& ledger_;
  std::int64_t beside_;
  Storage* first_ = nullptr;
  std::int64_t live_bytes_ = 0, peak_bytes_ = 0;
  std::unique_ptr<SpillFile> file_;
  std::list<Storage*> being_written_, being_fetched_; // in this order; they are idle, or nobody has asked for them yet
  std::list<Storage*> here_;                          // with a copy, in the order in which they were asked for
  std::int64_t bytes_being_written_ = 0, fetched_ahead_ = 0;
};

} // namespace cairn::ops
