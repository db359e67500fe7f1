#include "ops/modelled/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace cairn::ops {
namespace {

constexpr std::int64_t kHostAlignment = SpillFile::kPage;        // so that a disk can be read and written past the page cache
constexpr std::int64_t kMostAddresses = std::int64_t{256} << 30; // reserved where there is no budget
constexpr std::int64_t kMostOfAll = std::int64_t{1} << 46;       // no machine has more memory
constexpr double kPicoseconds = 1e12;                            // of a second

} // namespace

// Of pages, and of blocks in pages that do not follow one another. They cost nothing, so there are many more of them than bytes
// in the budget, which counts bytes in use: that pages are filled in part never makes a program fail whose tensors fit in.
std::int64_t ModelledDevice::addresses_for(std::int64_t budget) {
  if (budget == 0) return kMostAddresses;
  if (budget > kMostAddresses / 8) return std::max(kMostAddresses, 2 * std::min(budget, kMostOfAll));
  return std::max(8 * budget, kFewestAddresses);
}

ModelledDevice::OnHost::OnHost(std::int64_t budget, std::int64_t pinned, std::unique_ptr<Locking> locking, Progress& progress)
    : pages(addresses_for(budget), kFewestAddresses, pinned, std::move(locking)), arena(pages, progress, kHostAlignment) {}

ModelledDevice::ModelledDevice(std::string name, Ledger& ledger, const ModelledOptions& said, std::unique_ptr<Pages> pages,
                               std::int64_t alignment, bool forget_ordering)
    : Device(std::move(name), ledger, kBesideTracked), ordering_(forget_ordering), said_(said), pages_(std::move(pages)),
      arena_(*pages_, *this, alignment), room_(static_cast<std::uint64_t>(said.memory_bytes)) {}

Block* ModelledDevice::take_on_device(std::int64_t bytes) {
  if (said_.memory_bytes != 0 && bytes > said_.memory_bytes - in_use_) return nullptr;
  PagedBlock* const block = arena_.take(bytes);
  if (block != nullptr) note_taken(*block);
  return block;
}

Block* ModelledDevice::take_on_host(std::int64_t bytes) {
  if (said_.host_bytes != 0 && bytes > said_.host_bytes - host_in_use_) return nullptr;
  Progress& progress = *this;
  if (on_host_ == nullptr) on_host_ = std::make_unique<OnHost>(said_.host_bytes, said_.pinned_bytes, host_locking(), progress);
  PagedBlock* const block = on_host_->arena.take(bytes);
  if (block == nullptr) return nullptr;
  block->ready = 0;
  host_in_use_ += bytes;
  host_peak_.note(host_in_use_);
  return block;
}

void ModelledDevice::give_back_on_host(Block* block) {
  host_in_use_ -= block->bytes;
  on_host_->arena.give_back(static_cast<PagedBlock*>(block));
}

Block* ModelledDevice::take_block(std::int64_t bytes) {
  const std::int64_t budget = said_.memory_bytes;
  if (evictor_ != nullptr && budget != 0 && bytes > budget - in_use_) evictor_->make_room(bytes);
  if (budget != 0 && bytes > budget - in_use_) {
    const std::string what =
        fmt::format("{}: {} bytes wanted, but {} of its {} bytes are in use", name(), bytes, in_use_, budget);
    if (evictor_ != nullptr) evictor_->refuse(what, bytes);
    throw DeviceMemoryExceeded(what);
  }
  PagedBlock* block = arena_.take(bytes);
  if (block == nullptr)
    throw DeviceMemoryExceeded(fmt::format("{}: {} bytes wanted, but the system gives no more pages, of {} bytes in all, or no "
                                           "addresses for them; {} bytes are in use",
                                           name(), bytes, arena_.page_bytes(), in_use_));
  note_taken(*block);
  if (evictor_ != nullptr) evictor_->note_own();
  return block;
}

// Work that is queued has addresses only, and whoever gets the memory next waits for it.
void ModelledDevice::give_back_block(Block* block) {
  in_use_ -= block->bytes;
  const TrackedBlock& given = tracked(*block);
  if (said_.memory_bytes != 0)
    room_.give(static_cast<std::uint64_t>(given.bytes), std::max(given.ready, time_.end_of(Ordering::uses_of_elements(given))));
  arena_.give_back(static_cast<PagedBlock*>(block));
}

void ModelledDevice::note_taken(TrackedBlock& block) {
  in_use_ += block.bytes;
  peak_.note(in_use_);
  block.ready = said_.memory_bytes == 0 ? 0 : room_.take(static_cast<std::uint64_t>(block.bytes));
}

void ModelledDevice::wait_for(const Tickets& tickets) {
  await(tickets);
  time_.host_waits_for(tickets);
}

void ModelledDevice::host_waits_to_read(const Block& block) {
  wait_for(ordering_.writers_of(tracked(block)));
  ordering_.host_waits_for_writes(tracked(block));
}

void ModelledDevice::host_waits_to_write(const Block& block) {
  Tickets uses{}, known{};
  Ordering::uses(tracked(block), uses, known);
  wait_for(uses);
  ordering_.host_waits_for(uses, known);
}

Tickets ModelledDevice::before_disk(const Block& block, DiskAccess access) {
  if (access == DiskAccess::reads) return Ordering::writes(tracked(block));
  Tickets uses{}, known{};
  Ordering::uses(tracked(block), uses, known);
  return uses;
}

Picoseconds ModelledDevice::note_disk(const Block& block, DiskAccess access, Picoseconds ready, const CopyLabel& label) noexcept {
  const VirtualTime::Span span = time_.add_to_disk(before_disk(block, access), said_.rates.of_disk(block.bytes), ready);
  trace_copy("disk", span, block.bytes, label);
  return span.end;
}

void ModelledDevice::note_copy(StreamKind stream, Picoseconds begin, Picoseconds end, std::int64_t bytes,
                               const CopyLabel& label) {
  const VirtualTime::Span span{begin, end};
  time_.note(stream, span);
  trace_copy(name_of(stream), span, bytes, label);
}

ModelledTime ModelledDevice::modelled_time() const {
  const auto seconds = [](Picoseconds time) { return static_cast<double>(time) * 1e-12; };
  return {seconds(std::max(time_.end(), time_.disk_end())),
          seconds(time_.busy(StreamKind::execute) + time_.busy(StreamKind::update)),
          seconds(time_.busy(StreamKind::update)),
          seconds(time_.busy(StreamKind::copy_in)),
          seconds(time_.busy(StreamKind::copy_out)),
          seconds(time_.disk_busy()),
          seconds(time_.stalled())};
}

plans::Link ModelledDevice::link() const {
  const Rates& rates = said_.rates;
  return {static_cast<std::uint64_t>(rates.bytes_in), static_cast<std::uint64_t>(rates.bytes_out),
          static_cast<Picoseconds>(rates.latency * kPicoseconds)};
}

plans::Link ModelledDevice::disk_link() const {
  const auto rate = static_cast<std::uint64_t>(said_.rates.disk);
  return {rate, rate, static_cast<Picoseconds>(said_.rates.latency * kPicoseconds)};
}

plans::Timeline ModelledDevice::timeline() const {
  const Picoseconds kernels = std::max(time_.end_of(StreamKind::execute), time_.end_of(StreamKind::update));
  return {kernels, time_.end_of(StreamKind::copy_in), time_.end_of(StreamKind::copy_out)};
}

void ModelledDevice::begin_peaks() {
  peak_.recent = in_use_;
  host_peak_.recent = host_in_use_;
}

Pinned ModelledDevice::pinned() const {
  if (on_host_ == nullptr) return {};
  const HostPages& pages = on_host_->pages;
  Pinned pinned{pages.locked_bytes(), staged_through_, {}};
  if (!pages.lock_fault().empty())
    pinned.warning = fmt::format("{} bytes of the host's memory for what streams are locked (pinned=), and no more: {}; copies "
                                 "from and to the rest go through buffers",
                                 pages.locked_bytes(), pages.lock_fault());
  return pinned;
}

VirtualTime::Span ModelledDevice::add_time(const Operation& operation, Picoseconds duration, Picoseconds ready,
                                           std::span<Block* const> reads, std::span<Block* const> writes) {
  for (const auto& blocks : {reads, writes})
    for (const Block* const block : blocks) ready = std::max(ready, tracked(*block).ready);
  return time_.add(operation, duration, ready);
}

void ModelledDevice::trace_kernel(StreamKind stream, const VirtualTime::Span& span, const Launch& launch) {
  if (tracer_ == nullptr) return;
  tracer_->kernel(stream, {span.begin, span.end}, launch, maker);
  if (std::exchange(traced_in_use_, in_use_) != in_use_) tracer_->memory("device", span.begin, in_use_);
  if (std::exchange(traced_host_, host_in_use_) != host_in_use_) tracer_->memory("host", span.begin, host_in_use_);
}

void ModelledDevice::trace_copy(std::string_view track, const VirtualTime::Span& span, std::int64_t bytes,
                                const CopyLabel& label) noexcept {
  if (tracer_ != nullptr) tracer_->copy({track, {span.begin, span.end}, bytes, label.made_by, label.maker, label.reason});
}

void ModelledDevice::trace_copy(StreamKind stream, const VirtualTime::Span& span, std::int64_t bytes,
                                std::string_view reason) noexcept {
  trace_copy(name_of(stream), span, bytes, {.made_by = nullptr, .maker = {}, .reason = reason});
}

} // namespace cairn::ops
