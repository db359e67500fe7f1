// See device.h.
#include "ops/streaming/device.h"

#include "ops/ordering.h"
#include "ops/streaming/residency.h"

#include <algorithm>
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
    const auto is_ours = [](const Block* block) { return Residency::is_name(block->data); };
    accesses_.clear();
    for (const Block* const block : launch.reads)
      if (is_ours(block)) note(*block, plans::Use::read);
    for (const Block* const block : launch.writes)
      if (is_ours(block)) note(*block, is_written_whole(*block, launch) ? plans::Use::write_whole : plans::Use::write_part);
    residency_.begin_launch(accesses_, launch.cost);
    queue(stream, launch, is_ours);
    for (Block* const block : launch.writes)
      if (is_ours(block)) residency_.written_on_device(streamed(*block));
    residency_.end_launch(accesses_);
  }

  void begin_call(std::uint64_t code, std::span<Storage* const> leaves) override {
    std::vector<StreamedBlock*> blocks;
    for (Storage* const leaf : leaves)
      if (leaf->device == this) blocks.push_back(&streamed(leaf->block()));
    residency_.begin_call(code, blocks);
  }

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
  std::int64_t make_way(std::int64_t bytes) override { return residency_.make_way(bytes); }

private:
  void note(const Block& block, plans::Use use) {
    const StreamedBlock& known = streamed(block);
    accesses_.push_back({name_of(known), static_cast<std::uint64_t>(known.bytes), use});
  }
  // Brings what is used, and gives the launch to the wrapped device with the addresses there.
  template <class IsOurs> void queue(StreamKind stream, const Launch& launch, IsOurs&& is_ours) {
    Residency::Pins pins(residency_);
    for (const auto& blocks : {launch.reads, launch.writes})
      for (Block* const block : blocks)
        if (is_ours(block)) pins.keep(streamed(*block));
    std::vector<Block*> reads, writes;
    reads.reserve(launch.reads.size());
    writes.reserve(launch.writes.size());
    for (Block* const block : launch.reads) reads.push_back(is_ours(block) ? &pins.bring(streamed(*block)) : block);
    for (Block* const block : launch.writes) {
      const bool also_read = std::find(launch.reads.begin(), launch.reads.end(), block) != launch.reads.end();
      if (!is_ours(block))
        writes.push_back(block);
      else if (also_read)
        writes.push_back(streamed(*block).on_device);
      else
        writes.push_back(is_written_whole(*block, launch) ? &pins.make(streamed(*block)) : &pins.bring(streamed(*block)));
    }
    const auto translated = [&](std::span<const View> views) {
      std::vector<View> out(views.begin(), views.end());
      for (View& view : out)
        if (Residency::is_name(view.data)) translate(view, launch);
      return out;
    };
    const std::vector<View> inputs = translated(launch.call.inputs), outputs = translated(launch.call.outputs);
    wrapped_.launch(stream, Launch{launch.op, {inputs, outputs, launch.call.attributes}, reads, writes, launch.cost});
  }
  Block* take_block(std::int64_t bytes) override { return residency_.take(bytes); }
  Block* take_over_block(Block* block) override { return residency_.take_over(block); }
  void give_back_block(Block* block) override { residency_.give_back(&streamed(*block)); }
  bool is_charged(const Block& block) const override { return streamed(block).charged; }

  // Results lie without gaps, so that one with all bytes of the block has all of it.
  static bool is_written_whole(const Block& block, const Launch& launch) {
    return std::any_of(launch.call.outputs.begin(), launch.call.outputs.end(), [&](const View& view) {
      return view.data == block.data && view.elements() * bytes_of(view.dtype) == block.bytes;
    });
  }
  static void translate(View& view, const Launch& launch) {
    const auto at = reinterpret_cast<std::uintptr_t>(view.data);
    for (const auto& blocks : {launch.reads, launch.writes})
      for (Block* const block : blocks) {
        const auto begin = reinterpret_cast<std::uintptr_t>(block->data);
        if (at < begin || at > begin + static_cast<std::uintptr_t>(block->bytes)) continue;
        view.data = static_cast<char*>(streamed(*block).on_device->data) + (at - begin);
        return;
      }
  }

  Device& wrapped_;
  Residency residency_;
  std::vector<plans::Access> accesses_; // of the launch that is being put together
};

} // namespace

std::unique_ptr<StreamingDevice> make_streaming_device(Ledger& ledger, Device& wrapped) {
  return std::make_unique<Streaming>(ledger, wrapped);
}

} // namespace cairn::ops::streaming
