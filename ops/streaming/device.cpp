// See device.h.
#include "ops/streaming/device.h"

#include "ops/ordering.h"
#include "ops/streaming/residency.h"

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

  void launch(StreamKind stream, const Launch& launch) override {
    collect(launch);
    residency_.begin_launch(operands_, launch.cost);
    queue(stream, launch);
    residency_.end_launch(operands_, launch.writes);
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
  std::int64_t make_way(std::int64_t bytes) override { return residency_.free_on_host(bytes); }

private:
  static bool is_ours(const Block& block) { return Residency::is_name(block.data); }

  // What is ours of what the launch uses.
  void collect(const Launch& launch) {
    ++launches_;
    operands_.clear();
    for (Block* const block : launch.reads)
      if (is_ours(*block)) add(streamed(*block), plans::Use::read);
    for (Block* const block : launch.writes)
      if (is_ours(*block)) add(streamed(*block), is_written_whole(*block, launch) ? plans::Use::write_whole : plans::Use::write_part);
  }
  void add(StreamedBlock& block, plans::Use use) {
    if (block.launch != launches_) {
      block.launch = launches_;
      block.operand = operands_.size();
      operands_.push_back({&block, use});
      return;
    }
    Operand& before = operands_[block.operand];
    if (before.use == use && use != plans::Use::write_whole) residency_.note_hit();
    before.use = plans::both(before.use, use);
  }

  // Brings what is used, and gives the launch to the wrapped device with the addresses there.
  void queue(StreamKind stream, const Launch& launch) {
    const Residency::Pins pins(residency_, operands_);
    blocks_.clear();
    for (Block* const block : launch.reads) blocks_.push_back(is_ours(*block) ? streamed(*block).on_device : block);
    for (Block* const block : launch.writes) blocks_.push_back(is_ours(*block) ? streamed(*block).on_device : block);
    views_.clear();
    translate(launch.call.inputs, launch.reads, launch.writes);
    translate(launch.call.outputs, launch.writes, launch.reads);
    const std::span<Block* const> blocks = blocks_;
    const std::span<const View> views = views_;
    const auto inputs = views.first(launch.call.inputs.size()), outputs = views.subspan(inputs.size());
    const auto reads = blocks.first(launch.reads.size()), writes = blocks.subspan(reads.size());
    wrapped_.launch(stream, Launch{launch.op, {inputs, outputs, launch.call.attributes}, reads, writes, launch.cost});
  }
  Block* take_block(std::int64_t bytes) override { return residency_.take(bytes); }
  Block* take_over_block(Block* block) override { return residency_.take_over(block); }
  void give_back_block(Block* block) override { residency_.give_back(&streamed(*block)); }
  bool is_charged(const Block& block) const override { return streamed(block).charged; }

  // Results lie without gaps, so that one with all bytes of the block has all of it.
  static bool is_written_whole(const Block& block, const Launch& launch) {
    for (const View& view : launch.call.outputs)
      if (view.data == block.data && view.elements() * bytes_of(view.dtype) == block.bytes) return true;
    return false;
  }
  // The same with the addresses on the device; `likely` are the blocks where they are looked for first.
  void translate(std::span<const View> views, std::span<Block* const> likely, std::span<Block* const> others) {
    for (const View& view : views) {
      views_.push_back(view);
      if (!Residency::is_name(view.data)) continue;
      void*& data = views_.back().data;
      if (!translate(data, likely)) translate(data, others);
    }
  }
  static bool translate(void*& data, std::span<Block* const> blocks) {
    const auto at = reinterpret_cast<std::uintptr_t>(data);
    for (Block* const block : blocks) {
      const auto begin = reinterpret_cast<std::uintptr_t>(block->data);
      if (at < begin || at > begin + static_cast<std::uintptr_t>(block->bytes)) continue;
      data = static_cast<char*>(streamed(*block).on_device->data) + (at - begin);
      return true;
    }
    return false;
  }

  Device& wrapped_;
  Residency residency_;
  // Of the launch that is being put together: kept, so that what they hold is not allocated for each.
  std::vector<Operand> operands_;
  std::uint64_t launches_ = 0;
  std::vector<Block*> blocks_;
  std::vector<View> views_;
  std::shared_ptr<Call> call_;
};

} // namespace

std::unique_ptr<StreamingDevice> make_streaming_device(Ledger& ledger, Device& wrapped) {
  return std::make_unique<Streaming>(ledger, wrapped);
}

} // namespace cairn::ops::streaming
