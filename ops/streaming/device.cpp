// See device.h.
#include "ops/streaming/device.h"

#include "ops/ordering.h"
#include "ops/streaming/residency.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace cairn::ops::streaming {
namespace {

// What a streamed block takes beside its elements: itself, and what its copies take.
constexpr std::int64_t kBesideStreamed = 2 * kBesideTracked;

class Streaming final : public StreamingDevice {
public:
  Streaming(Ledger& ledger, Device& wrapped)
      : StreamingDevice("streaming", ledger, kBesideStreamed), wrapped_(wrapped), residency_(ledger, wrapped) {}

  bool in_host_memory() const override { return false; }
  bool models_time() const override { return wrapped_.models_time(); }
  Device* wrapped() override { return &wrapped_; }
  bool supports(const Operator& op) const override { return wrapped_.supports(op); }
  const Counts& counts() const override { return residency_.counts(); }
  void note_relief() override { residency_.note_relief(); }

  void launch(StreamKind stream, const Launch& launch) override {
    if (residency_.has_one_stream()) stream = StreamKind::execute;
    if (!launched_where_all_is(stream, launch)) {
      const std::span<const Operand> operands = collected(launch);
      residency_.begin_launch(operands, launch.cost);
      queue(stream, launch, operands);
    }
    residency_.end_launch(stream, launch, maker);
  }

  void begin_call(std::uint64_t code, std::span<Storage* const> leaves) override {
    if (call_ != nullptr) return;
    std::vector<StreamedBlock*> blocks;
    for (Storage* const leaf : leaves)
      if (leaf->device == this) blocks.push_back(&streamed(leaf->block()));
    residency_.begin_call(code, blocks);
  }

  void enter(const std::shared_ptr<Call>& call) override {
    if (call == call_) return;
    call_ = call;
    residency_.enter(call_.get());
  }
  std::uint64_t work_to_enter() const override { return residency_.work_to_enter(); }
  std::uint64_t number_of(Block& block) override { return residency_.number_of(streamed(block)); }

  void copy_in(Block& to, std::int64_t offset, const void* from, std::int64_t bytes) override {
    if (bytes != 0) residency_.copy_in(streamed(to), offset, from, bytes);
  }
  void copy_out(const Block& from, std::int64_t offset, void* to, std::int64_t bytes) override {
    if (bytes != 0) residency_.copy_out(streamed(const_cast<Block&>(from)), offset, to, bytes); // reading may bring it nearer
  }
  void wait(const Block& block) override {
    if (Block* const there = streamed(block).on_device) wrapped_.wait(*there);
  }
  void wait_for_all() override { wrapped_.wait_for_all(); }
  Memories memories() const override { return residency_.memories(); }
  void begin_peaks() override { residency_.begin_peaks(); }
  std::int64_t make_way(std::int64_t bytes) override { return residency_.make_way(bytes); }

private:
  static bool is_ours(const Block& block) { return Residency::is_name(block.data); }

  // Most launches by far: nobody wants to know of it, all that is read is there, and what is written as well, or it has no
  // elements yet and finds free memory. False: it is another one, and nothing has been queued.
  bool launched_where_all_is(StreamKind stream, const Launch& launch) {
    if (residency_.notes_launches()) return false;
    ++launches_;
    grow(blocks_, launch.reads.size() + launch.writes.size());
    Block** there = blocks_.data();
    std::int64_t hits = 0, bytes = 0; // those of each block once
    for (Block* const block : launch.reads) {
      *there++ = is_ours(*block) ? streamed(*block).on_device : block;
      if (!is_ours(*block)) continue;
      if (!streamed(*block).device_is_current) return false;
      ++hits;
      if (std::exchange(streamed(*block).launch, launches_) != launches_) bytes += block->bytes;
    }
    for (std::size_t i = 0; i < launch.writes.size(); ++i) {
      Block& block = *launch.writes[i];
      if (is_ours(block) && streamed(block).launch != launches_) {
        StreamedBlock& made = streamed(block);
        if (made.written() || !is_written_whole(block, launch, i) || !residency_.finds_room(made)) return false;
        made.launch = launches_;
        bytes += block.bytes;
      }
      *there++ = is_ours(block) ? streamed(block).on_device : &block;
    }
    residency_.note_found(hits, bytes);
    launch_there(stream, launch);
    return true;
  }

  // What is ours of what the launch uses.
  std::span<const Operand> collected(const Launch& launch) {
    ++launches_;
    grow(operands_, launch.reads.size() + launch.writes.size());
    Operand *const first = operands_.data(), *end = first;
    const auto add = [&](StreamedBlock& block, plans::Use use) {
      if (block.launch != launches_) {
        block.launch = launches_;
        block.operand = static_cast<std::uint32_t>(end - first);
        *end++ = {&block, use, use == plans::Use::read};
        return;
      }
      Operand& before = first[block.operand];
      if (use == plans::Use::read || (use == plans::Use::write_part && !before.is_read)) residency_.note_hit();
      before.use = plans::both(before.use, use);
    };
    for (Block* const block : launch.reads)
      if (is_ours(*block)) add(streamed(*block), plans::Use::read);
    for (std::size_t i = 0; i < launch.writes.size(); ++i)
      if (Block& block = *launch.writes[i]; is_ours(block))
        add(streamed(block), is_written_whole(block, launch, i) ? plans::Use::write_whole : plans::Use::write_part);
    return {first, end};
  }

  // Brings what is used, and gives the launch to the wrapped device with the addresses there: the views are this launch's, so
  // they are changed where they are.
  void queue(StreamKind stream, const Launch& launch, std::span<const Operand> operands) {
    std::optional<Residency::Pins> pins;
    if (!residency_.finds_all(operands)) pins.emplace(residency_, operands);
    grow(blocks_, launch.reads.size() + launch.writes.size());
    Block** const blocks = blocks_.data();
    const auto there = [](Block* block) { return is_ours(*block) ? streamed(*block).on_device : block; };
    std::ranges::transform(launch.writes, std::ranges::transform(launch.reads, blocks, there).out, there);
    launch_there(stream, launch);
  }
  void launch_there(StreamKind stream, const Launch& launch) {
    translate(launch.inputs, launch.reads, launch.writes);
    translate(launch.outputs, launch.writes, launch.reads);
    const std::span<Block* const> blocks(blocks_);
    const auto reads = blocks.first(launch.reads.size()), writes = blocks.subspan(launch.reads.size(), launch.writes.size());
    wrapped_.launch(stream, Launch{launch.op, launch.inputs, launch.outputs, launch.attributes, reads, writes, launch.cost});
  }
  template <class T> static void grow(std::vector<T>& buffer, std::size_t size) {
    if (buffer.size() < size) buffer.resize(size);
  }
  Block* take_block(std::int64_t bytes) override {
    StreamedBlock* const block = residency_.take(bytes);
    block->maker = maker;
    return block;
  }
  Block* take_over_block(Block* block) override { return residency_.take_over(block); }
  void give_back_block(Block* block) override { residency_.give_back(&streamed(*block)); }
  bool is_charged(const Block& block) const override { return streamed(block).charged; }

  // Results lie without gaps, so that one with all bytes of the block has all of it. `likely`: which result it probably is.
  static bool is_written_whole(const Block& block, const Launch& launch, std::size_t likely) {
    const auto is_that = [&](const View& view) {
      return view.data == block.data && view.elements() * bytes_of(view.dtype) == block.bytes;
    };
    return (likely < launch.outputs.size() && is_that(launch.outputs[likely])) || std::ranges::any_of(launch.outputs, is_that);
  }
  // To addresses on the device. `likely` are the blocks where they are looked for first, as a rule one for each view in order.
  static void translate(std::span<View> views, std::span<Block* const> likely, std::span<Block* const> others) {
    for (std::size_t i = 0; i < views.size(); ++i) {
      void*& data = views[i].data;
      if (!Residency::is_name(data) || (i < likely.size() && put_on_device(*likely[i], data))) continue;
      const auto holds = [&](Block* block) { return put_on_device(*block, data); };
      if (!std::ranges::any_of(likely, holds)) std::ranges::any_of(others, holds);
    }
  }
  // False: it is not in that block.
  static bool put_on_device(const Block& block, void*& data) {
    const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(data) - reinterpret_cast<std::uintptr_t>(block.data);
    if (offset > static_cast<std::uintptr_t>(block.bytes)) return false;
    data = static_cast<char*>(streamed(block).on_device->data) + offset;
    return true;
  }

  Device& wrapped_;
  Residency residency_;
  // Of the launch that is being put together: kept for the next one, and only ever longer.
  std::vector<Operand> operands_;
  std::uint64_t launches_ = 0;
  std::vector<Block*> blocks_;
  std::shared_ptr<Call> call_;
};

} // namespace

std::unique_ptr<StreamingDevice> make_streaming_device(Ledger& ledger, Device& wrapped) {
  return std::make_unique<Streaming>(ledger, wrapped);
}

} // namespace cairn::ops::streaming
