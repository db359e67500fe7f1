// See residency.h.
#include "ops/streaming/residency.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace cairn::ops::streaming {

Residency::Residency(Ledger& ledger, Device& wrapped)
    : wrapped_(wrapped), backing_(*wrapped.backing()), tiers_(ledger, backing_, counts_, *this),
      residents_(std::make_unique<plans::Residents>(nullptr)) {
  backing_.set_evictor(this);
  const plans::Policy policy = backing_.streaming().policy;
  if (!plans::is_unified(policy)) return;
  const std::int64_t budget = backing_.device_budget();
  const bool prefetched = policy == plans::Policy::unified_prefetched;
  const auto note = [this, prefetched](const plans::UnifiedMemory::Move& move) {
    (move.in ? counts_.bytes_in : counts_.bytes_out) += static_cast<std::int64_t>(move.bytes);
    backing_.note_copy(move.in ? StreamKind::copy_in : StreamKind::copy_out, move.begin, move.end,
                       static_cast<std::int64_t>(move.bytes),
                       {move.name, !move.in     ? "pages make room for it"
                                   : prefetched ? "prefetch"
                                                : "faults"});
  };
  unified_ = std::make_unique<plans::UnifiedMemory>(
      plans::Memory{static_cast<std::uint64_t>(budget == 0 ? INT64_MAX : budget), backing_.link()}, prefetched, note);
}

Residency::~Residency() { backing_.set_evictor(nullptr); }

// Between two names is a gap, so that what reads beyond the end of a block is not taken for another one.
StreamedBlock* Residency::take(std::int64_t bytes) {
  auto block = std::make_unique<StreamedBlock>();
  block->bytes = bytes;
  block->number = next_number_++;
  course_.made(name_of(*block), bytes);
  if (unified_ != nullptr) unified_->made(name_of(*block), static_cast<std::uint64_t>(bytes), false);
  by_name_.emplace(name_of(*block), block.get());
  block->data = reinterpret_cast<void*>(next_name_);
  next_name_ += static_cast<std::uintptr_t>((bytes + 2 * kAlignment - 1) / kAlignment * kAlignment);
  return block.release();
}

StreamedBlock* Residency::take_over(Block* on_device) {
  Order one(1);
  StreamedBlock* const block = take(on_device->bytes);
  try {
    residents_->put(name_of(*block), static_cast<std::uint64_t>(block->bytes), true);
  } catch (...) {
    give_back(block);
    throw;
  }
  one.front() = block;
  block->on_device = on_device;
  block->device_is_current = true;
  block->at_device = one.begin();
  on_device_.splice(on_device_.end(), one);
  if (unified_ != nullptr) {
    const plans::Access all[] = {{name_of(*block), static_cast<std::uint64_t>(block->bytes), plans::Use::write_whole}};
    unified_->launch(0, all, backing_.next_launch());
  }
  return block;
}

void Residency::give_back(StreamedBlock* block) noexcept {
  const plans::Name name = name_of(*block);
  as_memory_allows([&] { residents_->dropped(name); });
  tiers_.dropped(*block);
  course_.dropped(name);
  if (unified_ != nullptr) unified_->dropped(name);
  by_name_.erase(name);
  if (block->leaf != kNoLeaf) leaves_[block->leaf] = nullptr;
  drop_on_device(*block);
  delete block;
}

void Residency::drop_on_device(StreamedBlock& block) noexcept {
  if (block.on_device == nullptr) return;
  backing_.give_back_on_device(std::exchange(block.on_device, nullptr));
  block.device_is_current = false;
  on_device_.erase(block.at_device);
  as_memory_allows([&] { residents_->remove(name_of(block)); });
}

// --- a launch

Residency::Pins::~Pins() {
  for (StreamedBlock* const block : pinned_) {
    --block->pins;
    residency_.residents_->unpin(name_of(*block));
  }
}

Block& Residency::Pins::pin(StreamedBlock& block) {
  pinned_.reserve(pinned_.size() + 1);
  residency_.make_known(block);
  residency_.residents_->pin(name_of(block));
  pinned_.push_back(&block);
  ++block.pins;
  Order& order = residency_.on_device_;
  order.splice(order.end(), order, block.at_device);
  return *block.on_device;
}

void Residency::Pins::keep(StreamedBlock& block) {
  if (block.on_device != nullptr) pin(block);
}

Block& Residency::Pins::bring(StreamedBlock& block) {
  residency_.bring_to_device(block, "demand");
  return pin(block);
}

Block& Residency::Pins::make(StreamedBlock& block) {
  residency_.tiers_.charge(block);
  if (block.on_device == nullptr) residency_.take_on_device(block);
  return pin(block);
}

void Residency::bring_to_device(StreamedBlock& block, std::string_view reason) {
  if (block.device_is_current || !block.written()) {
    ++counts_.hits;
    if (block.on_device == nullptr) take_on_device(block);
    return;
  }
  ++counts_.misses;
  const Held held(block);
  tiers_.bring_to_host(block);
  if (block.on_device == nullptr) take_on_device(block);
  queue_copy(StreamKind::copy_in, block, reason);
  block.device_is_current = true;
}

void Residency::queue_copy(StreamKind stream, StreamedBlock& block, std::string_view reason) {
  const bool in = stream == StreamKind::copy_in;
  const bool waits = in && backing_.streaming().policy == plans::Policy::demand;
  backing_.queue_copy(stream, in ? *block.on_device : *block.on_host, in ? *block.on_host : *block.on_device,
                      std::max(block.host_ready, waits ? backing_.timeline().execute : 0), {name_of(block), reason});
  if (unified_ == nullptr) (in ? counts_.bytes_in : counts_.bytes_out) += block.bytes;
}

void Residency::written_on_device(StreamedBlock& block) noexcept {
  block.device_is_current = true;
  tiers_.drop(block);
}

void Residency::begin_launch(std::span<const plans::Access> accesses, const Cost& cost) {
  if (unified_ != nullptr) move_pages(accesses, backing_.modelled(cost));
  const std::int64_t divergences = counts_.divergences;
  if (course_.launch(backing_.modelled(cost), accesses)) {
    residents_->replan();
    tiers_.replan();
  }
  if (Tracer* const tracer = backing_.tracer(); tracer != nullptr && counts_.divergences != divergences)
    tracer->moment(backing_.timeline().execute, "the run leaves its plan");
}

// Elements come and go block by block, and take no virtual time: what does are pages, as the model says.
void Residency::move_pages(std::span<const plans::Access> accesses, plans::Picoseconds duration) {
  const auto begins = unified_->launch(duration, accesses, backing_.next_launch());
  if (!begins)
    throw DeviceMemoryExceeded(
        fmt::format("streaming: what one operation uses, in pages of {} bytes, has no room in the {} bytes of {}",
                    plans::UnifiedMemory::kPage, backing_.device_budget(), wrapped_.name()));
  counts_.faults = static_cast<std::int64_t>(unified_->moved().faults);
  backing_.hold_next_launch(*begins);
}

// The launch has been queued, so nothing may fail here: what is not noted now will be when it is used again.
void Residency::end_launch(std::span<const plans::Access> accesses) noexcept {
  try {
    const plans::Picoseconds end = backing_.timeline().execute;
    for (const plans::Access& access : accesses) {
      StreamedBlock& block = *by_name_.at(access.name);
      residents_->put(access.name, access.bytes, !block.has_copy_below(), end);
      tiers_.used(block);
      if (!plans::writes(access.use) || !residents_->must_out(access.name)) continue;
      write_back(block, "write-back"); // it will have to be, and now there is time
      ++counts_.write_backs;
      residents_->cleaned(access.name, backing_.timeline().copy_out);
    }
    residents_->tick();
    tiers_.work_ahead(*residents_);
    if (Tracer* const tracer = backing_.tracer();
        tracer != nullptr && std::exchange(traced_on_disk_, tiers_.bytes_on_disk()) != tiers_.bytes_on_disk())
      tracer->memory("disk", end, tiers_.bytes_on_disk());
    prefetch();
  } catch (...) { // cancelled, or a disk that fails, or no memory: whoever needs what did not come meets that again
  }
}

void Residency::make_known(const StreamedBlock& block) {
  if (residents_->find(name_of(block)) == nullptr)
    residents_->put(name_of(block), static_cast<std::uint64_t>(block.bytes), block.device_is_current && !block.has_copy_below());
}

void Residency::lost_copy_below(StreamedBlock& block) {
  if (const auto* const known = residents_->find(name_of(block)))
    residents_->put(name_of(block), static_cast<std::uint64_t>(block.bytes), true, known->free_at);
}

// What a plan says will be needed, while there is time and room for it. Nothing depends on it, so it stops where something is in
// the way.
void Residency::prefetch() {
  const std::int64_t budget = backing_.device_budget();
  if (course_.follower() == nullptr || budget == 0) return;
  const plans::Link link = backing_.link();
  const plans::Prefetcher prefetcher(*course_.follower(), *residents_, link, static_cast<std::uint64_t>(budget));
  while (const auto fetch = prefetcher.next(
             static_cast<std::uint64_t>(std::max<std::int64_t>(0, budget - backing_.device_in_use())), backing_.timeline())) {
    const auto found = by_name_.find(fetch->name);
    if (found == by_name_.end() || !found->second->has_copy_below()) return; // the plan knows more than there is
    StreamedBlock& block = *found->second;
    if (!tiers_.is_near(block, fetch->needed_at)) return; // this is asked again
    for (const plans::Name name : fetch->evicted) evict(*by_name_.at(name));
    bring_to_device(block, "prefetch");
    --counts_.misses; // nobody has asked for it
    ++counts_.prefetches;
    residents_->put(fetch->name, fetch->bytes, false, backing_.timeline().copy_in);
  }
}

void Residency::begin_call(std::uint64_t code, std::span<StreamedBlock* const> leaves) {
  if (backing_.device_budget() == 0) return;
  if (backing_.streaming().policy != plans::Policy::planned) {
    if (Tracer* const tracer = backing_.tracer()) tracer->moment(backing_.timeline().execute, "a call begins");
    return;
  }
  residents_ = std::make_unique<plans::Residents>(nullptr); // the follower that the last one looks at goes
  tiers_.forget_order();
  const auto rename = [&](StreamedBlock& block, std::uint64_t leaf) {
    auto node = by_name_.extract(name_of(block));
    block.leaf = leaf;
    node.key() = name_of(block);
    by_name_.insert(std::move(node));
  };
  for (StreamedBlock* const block : leaves_)
    if (block != nullptr) rename(*block, kNoLeaf);
  leaves_.clear();
  leaves_.reserve(leaves.size());
  std::vector<std::uint64_t> bytes;
  for (StreamedBlock* const block : leaves) {
    if (block->leaf != kNoLeaf) continue; // one storage, several leaves
    bytes.push_back(static_cast<std::uint64_t>(block->bytes));
    rename(*block, leaves_.size());
    leaves_.push_back(block);
  }
  course_.begin(code, bytes, {static_cast<std::uint64_t>(backing_.device_budget()), backing_.link()});
  residents_ = std::make_unique<plans::Residents>(course_.follower(), course_.foresight());
  for (const StreamedBlock* const block : on_device_) make_known(*block);
  tiers_.follow(course_.follower());
  if (Tracer* const tracer = backing_.tracer())
    tracer->moment(backing_.timeline().execute,
                   course_.follower() != nullptr ? "a call begins along its plan" : "a call begins and is recorded");
  prefetch();
}

// --- memory

void Residency::take_on_device(StreamedBlock& block) {
  Order one{&block};
  // Where no stretch that is free is long enough, more must go than is wanted.
  Block* there = make_room(block.bytes) ? backing_.take_on_device(block.bytes) : nullptr;
  while (there == nullptr) {
    const std::vector<plans::Name> leaving = residents_->choose({.bytes = 1});
    if (leaving.empty()) break;
    evict(*by_name_.at(leaving.front()));
    there = backing_.take_on_device(block.bytes);
  }
  if (there == nullptr) refuse_on_device(block.bytes);
  block.on_device = there;
  block.at_device = one.begin();
  on_device_.splice(on_device_.end(), one);
  make_known(block);
}

bool Residency::make_room(std::int64_t bytes) {
  const std::int64_t budget = backing_.device_budget();
  for (;;) {
    const std::int64_t wanted = bytes - (budget - backing_.device_in_use());
    if (budget == 0 || wanted <= 0) return true;
    std::vector<plans::Name> leaving = residents_->choose({.bytes = static_cast<std::uint64_t>(wanted)});
    if (leaving.empty()) { // perhaps for want of memory to note some of them
      for (const StreamedBlock* const block : on_device_) make_known(*block);
      leaving = residents_->choose({.bytes = static_cast<std::uint64_t>(wanted)});
    }
    if (leaving.empty()) return false;
    for (const plans::Name name : leaving) evict(*by_name_.at(name));
  }
}

void Residency::evict(StreamedBlock& block) {
  if (block.device_is_current && !block.has_copy_below()) {
    write_back(block, "eviction");
    ++counts_.write_backs;
  } else {
    ++counts_.evictions;
  }
  drop_on_device(block);
  tiers_.has_left_device(block);
}

void Residency::write_back(StreamedBlock& block, std::string_view reason) {
  if (block.on_host == nullptr) tiers_.take_on_host(block);
  queue_copy(StreamKind::copy_out, block, reason);
  block.host_is_current = true;
  block.host_ready = backing_.timeline().copy_out;
}

void Residency::refuse_on_device(std::int64_t bytes) {
  std::int64_t pinned = 0;
  for (const StreamedBlock* const block : on_device_)
    if (block->pins != 0) pinned += block->bytes;
  throw DeviceMemoryExceeded(fmt::format(
      "streaming: {} has no room for {} bytes: {} of its {} bytes are in use, {} of them by what streams and is needed "
      "at the same time",
      wrapped_.name(), bytes, backing_.device_in_use(), backing_.device_budget(), pinned));
}

// --- elements from and for the host

// What has no elements yet is made in the host's memory, so that it need not travel before a kernel uses it.
void Residency::copy_in(StreamedBlock& to, std::int64_t offset, const void* from, std::int64_t bytes) {
  if (to.device_is_current) {
    wrapped_.copy_in(*to.on_device, offset, from, bytes);
    written_on_device(to);
    return;
  }
  tiers_.bring_to_host(to);
  if (to.on_host == nullptr) tiers_.take_on_host(to);
  tiers_.host_writes(to);
  std::memcpy(static_cast<char*>(to.on_host->data) + offset, from, static_cast<std::size_t>(bytes));
  to.host_is_current = true;
  if (unified_ != nullptr) unified_->fill(name_of(to));
}

void Residency::copy_out(StreamedBlock& from, std::int64_t offset, void* to, std::int64_t bytes) {
  if (from.device_is_current && !from.host_is_current) return wrapped_.copy_out(*from.on_device, offset, to, bytes);
  if (!tiers_.bring_if_there_is_room(from)) return tiers_.read_past_memory(from, offset, to, bytes);
  if (from.on_host == nullptr) return; // nothing was ever written there
  tiers_.host_reads(from);
  std::memcpy(to, static_cast<const char*>(from.on_host->data) + offset, static_cast<std::size_t>(bytes));
}

} // namespace cairn::ops::streaming
