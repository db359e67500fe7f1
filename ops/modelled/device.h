// What a device that streams can wrap has in common with every other one: memory of its own and of the host's, as pages, within
// budgets; the order of what is queued; and what time that takes in the model from which plans are made. Of the device itself
// only verbs are left: to queue a kernel, to queue a copy, to wait.
//
// Plans have to be the same in every run, so they are made from virtual time on real devices, too: rates that the user may say,
// never what a clock told.
#pragma once

#include "ops/modelled/options.h"
#include "ops/pages/host_pages.h"
#include "ops/pages/paged_arena.h"
#include "ops/plans/room.h"
#include "ops/streaming/backing.h"

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace cairn::ops {

class ModelledDevice : public Device, public Backing, protected Progress {
public:
  bool models_time() const override { return true; }
  Backing* backing() override { return this; }

  // --- for a streaming device
  const Streaming& streaming() const override { return said_.streaming; }
  Block* take_on_device(std::int64_t bytes) override;
  void give_back_on_device(Block* block) override { give_back_block(block); }
  Block* take_on_host(std::int64_t bytes) override;
  void give_back_on_host(Block* block) override;
  void host_waits_to_read(const Block& block) override;
  void host_waits_to_write(const Block& block) override;
  void host_waits_until(Picoseconds when) override { time_.host_waits_until(when); }
  void make_ready_for_disk(const Block& block, DiskAccess access) override { await(before_disk(block, access)); }
  Picoseconds note_disk(const Block& block, DiskAccess access, Picoseconds ready, const CopyLabel& label) noexcept override;
  Picoseconds end_of_launches(StreamKind stream) const override { return time_.end_of(stream); }
  Picoseconds next_launch() const override { return std::max(time_.end_of(StreamKind::execute), time_.host()); }
  void hold_next_launch(Picoseconds until) override { held_until_ = until; }
  void note_copy(StreamKind stream, Picoseconds begin, Picoseconds end, std::int64_t bytes, const CopyLabel& label) override;
  ModelledTime modelled_time() const override;
  std::uint64_t modelled(const Cost& cost) const override { return said_.rates.of_kernel(cost); }
  plans::Link link() const override;
  plans::Link disk_link() const override;
  plans::Timeline timeline() const override;
  Picoseconds disk_end() const override { return time_.disk_end(); }
  std::int64_t device_budget() const override { return said_.memory_bytes; }
  std::int64_t device_budget_asked() const override { return said_.memory_asked; }
  std::int64_t device_in_use() const override { return in_use_; }
  std::int64_t host_budget() const override { return said_.host_bytes; }
  std::int64_t host_in_use() const override { return host_in_use_; }
  const Peak& device_peak() const override { return peak_; }
  const Peak& host_peak() const override { return host_peak_; }
  void begin_peaks() override;
  Pinned pinned() const override;
  void set_tracer(Tracer* tracer) override { tracer_ = tracer; }
  Tracer* tracer() const override { return tracer_; }
  void set_evictor(Evictor* evictor) override { evictor_ = evictor; }

protected:
  // `pages` are its memory, of which blocks begin at multiples of `alignment`. Whoever inherits has waited for all that is queued
  // when this goes. `forget_ordering`: for tests (ordering.h).
  ModelledDevice(std::string name, Ledger& ledger, const ModelledOptions& said, std::unique_ptr<Pages> pages,
                 std::int64_t alignment, bool forget_ordering = false);
  // Addresses that pages of so large a memory need, in bytes; 0: nobody knows how large it is. And the fewest that are enough.
  static std::int64_t addresses_for(std::int64_t budget);
  static constexpr std::int64_t kFewestAddresses = std::int64_t{1} << 26;

  // The host waits, really, until these are done. Cancelled; throws what went wrong.
  virtual void await(const Tickets& tickets) = 0;
  // What keeps the host's memory where copy engines reach it.
  virtual std::unique_ptr<Locking> host_locking() { return std::make_unique<LockedBytes>(); }

  Block* take_block(std::int64_t bytes) override;
  void give_back_block(Block* block) override;
  void wait_for(const Tickets& tickets) override;

  // Behind the last locked byte of the host's memory, by its pages' own addresses.
  std::uintptr_t locked_end() const { return on_host_->pages.locked_end(); }
  // When it would begin, as far as its memory, and `ready`, let it; when it would end, which is noted. bad_alloc.
  VirtualTime::Span add_time(const Operation& operation, Picoseconds duration, Picoseconds ready, std::span<Block* const> reads,
                             std::span<Block* const> writes);
  // Before which the next kernel does not begin; of one alone.
  Picoseconds take_held_until() { return std::exchange(held_until_, 0); }
  void trace_kernel(StreamKind stream, const VirtualTime::Span& span, const Launch& launch);
  void trace_copy(std::string_view track, const VirtualTime::Span& span, std::int64_t bytes, const CopyLabel& label) noexcept;
  void trace_copy(StreamKind stream, const VirtualTime::Span& span, std::int64_t bytes, std::string_view reason) noexcept;

  const ModelledOptions& said() const { return said_; }
  Ordering ordering_;
  VirtualTime time_;
  std::int64_t staged_through_ = 0; // bytes copied through a buffer since the host's memory was not locked

private:
  // The host does not take note that they are done: in virtual time whoever comes later still waits for them.
  static Tickets before_disk(const Block& block, DiskAccess access);
  void note_taken(TrackedBlock& block);

  ModelledOptions said_;
  std::unique_ptr<Pages> pages_;
  PagedArena arena_;
  // Of the host's memory, once a streaming device asks for some.
  struct OnHost {
    OnHost(std::int64_t budget, std::int64_t pinned, std::unique_ptr<Locking> locking, Progress& progress);
    HostPages pages;
    PagedArena arena;
  };
  std::unique_ptr<OnHost> on_host_;
  std::int64_t in_use_ = 0, host_in_use_ = 0; // as asked for
  Peak peak_, host_peak_;
  plans::Room room_;           // of the budget, in virtual time
  Picoseconds held_until_ = 0; // the next kernel
  Evictor* evictor_ = nullptr;
  Tracer* tracer_ = nullptr;
  std::int64_t traced_in_use_ = 0, traced_host_ = 0; // as it was told last
};

} // namespace cairn::ops
