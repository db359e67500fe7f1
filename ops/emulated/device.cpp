// The emulated device: a second memory beside the host's, with a budget of its own, slow copies if wanted, and streams that are
// threads. All that a GPU does about residence, transfers and order can be run here, raced, and tested: kernels are those of the
// registry, so that results are equal to the bit to those of the CPU device.
#include "ops/emulated/device.h"

#include "ops/elements_lost.h"
#include "ops/emulated/stream.h"
#include "ops/mixing.h"
#include "ops/pages/host_pages.h"
#include "ops/scratch_room.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace cairn::ops {
namespace {

constexpr std::int64_t kAlignment = 64;
constexpr std::int64_t kMostStaged = std::int64_t{32} << 20; // bytes on their way into the device
constexpr std::int64_t kMostAtOnce = kMostStaged / 4;        // of one copy; longer ones are cut
constexpr std::size_t kStaging = std::size_t{1} << 20;       // bytes of the buffer for what is not locked, in each direction

// The bytes that a kernel may touch through the view: from the first, so many before and behind.
struct Extent {
  std::uintptr_t begin = 0, end = 0;
};
Extent extent_of(const View& view) {
  std::int64_t low = 0, high = 0;
  for (int axis = 0; axis < view.shape.rank(); ++axis) {
    const std::int64_t reach = (view.shape[axis] - 1) * view.strides[static_cast<std::size_t>(axis)];
    if (reach > 0) high += reach;
    if (reach < 0) low += reach;
  }
  const std::uintptr_t data = reinterpret_cast<std::uintptr_t>(view.data);
  const std::int64_t element = bytes_of(view.dtype);
  return {data + static_cast<std::uintptr_t>(low * element), data + static_cast<std::uintptr_t>((high + 1) * element)};
}

const Block* block_around(std::span<Block* const> blocks, const Extent& extent) {
  for (const Block* block : blocks) {
    const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(block->data);
    if (begin <= extent.begin && extent.end <= begin + static_cast<std::uintptr_t>(block->bytes)) return block;
  }
  return nullptr;
}

class EmulatedDevice final : public ModelledDevice {
public:
  EmulatedDevice(Ledger& ledger, const EmulatedOptions& options)
      : ModelledDevice(options.number < 0 ? "emulated" : fmt::format("emulated:{}", options.number), ledger, options,
                       std::make_unique<HostPages>(addresses_for(options.memory_bytes), kFewestAddresses), kAlignment,
                       options.forget_ordering),
        behaviour_(options) {}
  // All streams have come to their ends before the first of them goes. Nobody looks at results any more, so what is queued stops
  // soon.
  ~EmulatedDevice() override {
    for (Stream& stream : streams_) stream.end();
    drain();
  }

  bool in_host_memory() const override { return true; }
  bool supports(const Operator& op) const override { return op.kernel != nullptr; }

  void launch(StreamKind stream, const Launch& launch) override {
    this->stream(stream).wait_until_not_full(meter());
    std::list<Work> made = this->stream(stream).one();
    Work& work = made.front();
    if (launch.op.borrows)
      make_scratch_room(ledger(), launch.call(), 16, 16 * Ledger::kScratchAlways); // what is refused later cannot be begun again
    work.scratch_limit = ledger().scratch_headroom();
    work.name = launch.op.name;
    work.kernel = launch.op.kernel;
    work.inputs.assign(launch.inputs.begin(), launch.inputs.end());
    work.outputs.assign(launch.outputs.begin(), launch.outputs.end());
    work.attributes = launch.attributes;
    work.modelled = said().rates.of_kernel(launch.cost);
    work.ready = take_held_until();
    const VirtualTime::Span span = queue(std::move(made), stream, launch.reads, launch.writes, [&] {
                                     for (const View& view : work.inputs) note_view(work, view, launch, false);
                                     for (const View& view : work.outputs) note_view(work, view, launch, true);
                                   }).span;
    trace_kernel(stream, span, launch);
  }

  void copy_in(Block& to, std::int64_t offset, const void* from, std::int64_t bytes) override {
    if (bytes == 0) return;
    for (std::int64_t first = 0; first < bytes; first += kMostAtOnce)
      copy_part_in(to, offset + first, static_cast<const char*>(from) + first, std::min(kMostAtOnce, bytes - first));
  }

  void copy_out(const Block& from, std::int64_t offset, void* to, std::int64_t bytes) override {
    if (bytes == 0) return;
    Stream& copies = stream(StreamKind::copy_out);
    copies.wait_until_not_full(meter());
    std::list<Work> made = copy(StreamKind::copy_out, to, static_cast<const std::byte*>(from.data) + offset, bytes);
    Work& work = made.front();
    const std::shared_ptr<Reader> reader = work.reader = std::make_shared<Reader>();
    Block* const reads[] = {const_cast<Block*>(&from)}; // blocks are the device's; reading leaves a ticket
    const auto [operation, span] =
        queue(std::move(made), StreamKind::copy_out, reads, {}, [&] { note_part(work, from, offset, bytes, false); });
    trace_copy(StreamKind::copy_out, span, bytes, "read by the host");
    try {
      copies.wait_for(operation.ticket, meter());
    } catch (...) {
      reader->leave();
      throw;
    }
    ordering_.host_waits_for(operation);
    time_.host_waits_until(time_.end_of(StreamKind::copy_out));
    tell();
  }

  void wait(const Block& block) override {
    host_waits_to_read(block);
    tell();
  }

  void wait_for_all() override {
    for (std::size_t i = 0; i < kStreams; ++i) streams_[i].wait_for(ordering_.last(static_cast<StreamKind>(i)), meter());
    ordering_.host_waits_for_all();
    time_.host_waits_until(time_.end());
    checker_.clear();
    staged_ = 0;
    tell();
  }

  void queue_copy(StreamKind kind, Block& to, Block& from, Picoseconds ready, const CopyLabel& label) override {
    stream(kind).wait_until_not_full(meter());
    std::list<Work> made = copy(kind, to.data, from.data, from.bytes);
    Work& work = made.front();
    work.ready = ready;
    stage(work, kind, kind == StreamKind::copy_in ? from : to);
    const bool is_free = plans::is_unified(said().streaming.policy); // what it takes is noted page by page
    if (is_free) work.modelled = 0;
    Block* const reads[] = {&from};
    Block* const writes[] = {&to};
    const auto queued = queue(std::move(made), kind, reads, writes, [&] {
      note_part(work, from, 0, from.bytes, false);
      note_part(work, to, 0, from.bytes, true);
    });
    if (!is_free) trace_copy(name_of(kind), queued.span, from.bytes, label);
  }
  Pinned pinned() const override {
    Pinned pinned = ModelledDevice::pinned();
    std::string buffers; // why they are not locked
    for (const auto& buffer : staging_) {
      if (buffer == nullptr) continue;
      pinned.bytes += buffer->locked_bytes();
      if (!buffer->lock_fault().empty()) buffers = buffer->lock_fault();
    }
    if (!buffers.empty())
      pinned.warning += pinned.warning.empty()
                            ? fmt::format("buffers for what is not locked (pinned=) are not all locked either: {}", buffers)
                            : ", which are not all locked either";
    return pinned;
  }

private:
  void await(const Tickets& tickets) override {
    for (std::size_t i = 0; i < kStreams; ++i) streams_[i].wait_for(tickets[i], meter());
    raise_if_lost();
  }
  void stage(Work& work, StreamKind kind, const Block& on_host) {
    bool locked = true;
    static_cast<const PagedBlock&>(on_host).physical(
        0, on_host.bytes, [&](std::uintptr_t, std::uintptr_t end) { locked = locked && end <= locked_end(); });
    if (said().pinned_bytes == 0 || locked) return;
    auto& buffer = staging_[kind == StreamKind::copy_in ? 0 : 1];
    if (buffer == nullptr) buffer = std::make_unique<LockedBuffer>(kStaging);
    work.through = {buffer->data(), buffer->size()};
    staged_through_ += on_host.bytes;
  }
  void copy_part_in(Block& to, std::int64_t offset, const void* from, std::int64_t bytes) {
    if (staged_ + bytes > kMostStaged) {
      stream(StreamKind::copy_in).wait_for(ordering_.last(StreamKind::copy_in), meter());
      staged_ = 0;
    }
    stream(StreamKind::copy_in).wait_until_not_full(meter());
    staged_ += bytes;
    std::list<Work> made = copy(StreamKind::copy_in, static_cast<std::byte*>(to.data) + offset, nullptr, bytes);
    Work& work = made.front();
    work.staged = std::make_unique_for_overwrite<std::byte[]>(work.bytes);
    std::memcpy(work.staged.get(), from, work.bytes);
    work.from = work.staged.get();
    Block* const writes[] = {&to};
    const auto queued =
        queue(std::move(made), StreamKind::copy_in, {}, writes, [&] { note_part(work, to, offset, bytes, true); });
    trace_copy(StreamKind::copy_in, queued.span, bytes, "written by the host");
  }

  // What the work so far took, and what went wrong in it.
  void tell() {
    for (const Stream& stream : streams_)
      if (stream.scratch_peak() != 0) ledger().note_scratch(stream.scratch_peak());
    faults_.raise();
    raise_if_lost();
  }
  // Once it is lost, whoever waits for its work is told so, whatever he waits for.
  bool is_lost() const { return behaviour_.lost_after != 0 && queued_ > behaviour_.lost_after; }
  void raise_if_lost() const {
    if (is_lost()) throw DeviceLost(fmt::format("{}: the device was lost after {} operations", name(), behaviour_.lost_after));
  }

  Stream& stream(StreamKind kind) { return streams_[index_of(kind)]; }
  void drain() {
    for (std::size_t i = 0; i < kStreams; ++i) streams_[i].wait_for(ordering_.last(static_cast<StreamKind>(i)));
  }

  // Gives the work its ticket, notes what it uses and queues it. A ticket that nobody works on would never be done: what may fail
  // for want of memory comes before, but for times and notes, after whose failure the ticket is all that is queued.
  struct Queued {
    Operation operation;
    VirtualTime::Span span;
  };
  template <class Note>
  Queued queue(std::list<Work> one, StreamKind kind, std::span<Block* const> reads, std::span<Block* const> writes, Note&& note) {
    Work& work = one.front();
    stream(kind).start(streams_, faults_, kernels_);
    const Operation operation = work.operation = ordering_.add(kind, reads, writes);
    ++queued_;
    VirtualTime::Span span;
    try {
      if (work.kernel == nullptr) work.name = name_of(kind);
      work.pause = pause_before(operation);
      span = add_time(operation, work.modelled, work.ready, reads, writes);
      note();
    } catch (...) {
      undo(work);
      stream(kind).push(std::move(one));
      throw;
    }
    if (is_lost()) undo(work);
    stream(kind).push(std::move(one));
    return {operation, span};
  }
  // What is queued has a ticket all the same.
  static void undo(Work& work) {
    work.kernel = nullptr;
    work.bytes = 0;
  }
  std::list<Work> copy(StreamKind direction, void* to, const void* from, std::int64_t bytes) {
    std::list<Work> one = stream(direction).one();
    Work& work = one.front();
    work.to = to;
    work.from = from;
    work.bytes = static_cast<std::size_t>(bytes);
    work.modelled = said().rates.of_copy(direction, bytes);
    if (behaviour_.copies_take_their_time)
      work.transfer = std::chrono::nanoseconds(static_cast<std::int64_t>(work.modelled / 1000));
    return one;
  }

  void note_part(Work& work, const Block& block, std::int64_t offset, std::int64_t bytes, bool write) {
    static_cast<const PagedBlock&>(block).physical(offset, bytes, [&](std::uintptr_t begin, std::uintptr_t end) {
      checker_.use(work.operation, work.name, block, begin, end, write, work.needs);
    });
  }
  void note_view(Work& work, const View& view, const Launch& launch, bool write) {
    if (view.data == nullptr || view.elements() == 0) return;
    const Extent extent = extent_of(view);
    const Block* block = block_around(launch.writes, extent);
    if (block == nullptr && !write) block = block_around(launch.reads, extent);
    if (block == nullptr) {
      faults_.note(fmt::format("race: {} {} {} bytes at {:#x}, which are in no block that it names", work.name,
                               write ? "writes" : "reads", extent.end - extent.begin, extent.begin));
      return;
    }
    note_part(work, *block, static_cast<std::int64_t>(extent.begin - reinterpret_cast<std::uintptr_t>(block->data)),
              static_cast<std::int64_t>(extent.end - extent.begin), write);
  }

  // Most operations begin at once; the others are late by up to a fifth of a millisecond.
  std::chrono::nanoseconds pause_before(const Operation& operation) const {
    if (behaviour_.random_delays == 0) return {};
    const std::uint64_t random = next_mixed(next_mixed(behaviour_.random_delays + index_of(operation.stream)) + operation.ticket);
    return std::chrono::nanoseconds(random % 4 == 0 ? (random >> 8) % 200'000 : 0);
  }

  EmulatedBehaviour behaviour_;
  std::unique_ptr<LockedBuffer> staging_[2]; // for each direction
  RaceChecker checker_;
  std::uint64_t queued_ = 0; // operations
  std::int64_t staged_ = 0;  // at most; corrected when the stream has been waited for
  Faults faults_;
  std::atomic<bool> kernels_ = false; // one of a stream runs that runs alone
  Streams streams_;
};

} // namespace

std::unique_ptr<Device> make_emulated_device(Ledger& ledger, const EmulatedOptions& options) {
  return std::make_unique<EmulatedDevice>(ledger, options);
}

} // namespace cairn::ops
