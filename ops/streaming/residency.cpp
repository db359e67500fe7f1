// See residency.h.
#include "ops/streaming/residency.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace cairn::ops::streaming {

Residency::Residency(Ledger& ledger, Device& wrapped) : ledger_(ledger), wrapped_(wrapped), backing_(*wrapped.backing()) {
  backing_.set_evictor(this);
}

Residency::~Residency() { backing_.set_evictor(nullptr); }

namespace {

// Keeps a block from giving way to what is done for it.
class Held {
public:
  explicit Held(StreamedBlock& block) : block_(block) { ++block_.pins; }
  ~Held() { --block_.pins; }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

private:
  StreamedBlock& block_;
};

} // namespace

SpillFile* Residency::disk() {
  const Backing::Streaming& settings = backing_.streaming();
  if (disk_ == nullptr && !settings.disk.empty()) disk_ = std::make_unique<SpillFile>(settings.disk, settings.disk_bytes);
  return disk_.get();
}

// Between two names is a gap, so that what reads beyond the end of a block is not taken for another one.
StreamedBlock* Residency::take(std::int64_t bytes) {
  auto block = std::make_unique<StreamedBlock>();
  block->bytes = bytes;
  block->Resident::bytes = static_cast<std::uint64_t>(bytes);
  block->number = next_number_++;
  block->name = plans::born_name(block->number);
  course_.made(block->name, bytes);
  block->data = reinterpret_cast<void*>(next_name_);
  next_name_ += static_cast<std::uintptr_t>((bytes + 2 * kAlignment - 1) / kAlignment * kAlignment);
  return block.release();
}

StreamedBlock* Residency::take_over(Block* on_device) {
  StreamedBlock* const block = take(on_device->bytes);
  block->on_device = on_device;
  block->device_is_current = true;
  residents_.put(*block, true);
  return block;
}

void Residency::give_back(StreamedBlock* block) noexcept {
  residents_.dropped(*block);
  course_.dropped(block->name);
  if (block->numbered) numbered_.erase(block->number);
  if (!plans::is_born(block->name))
    leaves_[block->name] = nullptr;
  else if (absent_.size() != 0)
    absent_.erase(block->name);
  drop_on_device(*block);
  drop_on_host(*block);
  if (block->on_disk != nullptr) disk_->forget(std::move(block->on_disk));
  delete block;
}

void Residency::drop_on_device(StreamedBlock& block) noexcept {
  if (block.on_device == nullptr) return;
  backing_.give_back_on_device(std::exchange(block.on_device, nullptr));
  block.device_is_current = false;
  if (!block.here) return; // it goes
  residents_.remove(block);
  if (course_.follower() == nullptr || !plans::is_born(block.name)) return;
  try {
    absent_.insert_or_assign(block.name, &block);
  } catch (const std::bad_alloc&) { // then it comes when it is asked for
  }
}

void Residency::drop_on_host(StreamedBlock& block) noexcept {
  if (block.on_host == nullptr) return;
  backing_.give_back_on_host(std::exchange(block.on_host, nullptr));
  block.host_is_current = false;
  on_host_.erase(block.at_host);
}

// --- a launch

Residency::Pins::Pins(Residency& residency, std::span<const Operand> operands) : operands_(operands) {
  for (const Operand& operand : operands) operand.block->pins = operand.block->on_device != nullptr ? 1 : 0;
  try {
    for (const auto& [block, use, is_read] : operands) {
      if (use == plans::Use::write_whole) {
        if (block->on_device == nullptr) residency.take_on_device(*block);
      } else if (block->device_is_current) {
        ++residency.counts_.hits;
      } else {
        residency.bring_to_device(*block);
      }
      block->pins = 1;
    }
  } catch (...) {
    for (const Operand& operand : operands) operand.block->pins = 0;
    throw;
  }
}

void Residency::bring_to_device(StreamedBlock& block) {
  if (block.device_is_current || !block.written()) {
    ++counts_.hits;
    if (block.on_device == nullptr) take_on_device(block);
    return;
  }
  ++counts_.misses;
  const Held held(block);
  if (!block.host_is_current) read_from_disk(block);
  if (block.on_device == nullptr) take_on_device(block);
  backing_.queue_copy(StreamKind::copy_in, *block.on_device, *block.on_host);
  block.device_is_current = true;
  counts_.bytes_in += block.bytes;
}

void Residency::drop_below(StreamedBlock& block) noexcept {
  drop_on_host(block);
  if (block.on_disk != nullptr) disk_->forget(std::move(block.on_disk));
}

void Residency::begin_launch(std::span<const Operand> operands, const Cost& cost) {
  if (!course_.is_noted()) return;
  if (accesses_.size() < operands.size()) accesses_.resize(operands.size());
  plans::Access* access = accesses_.data();
  for (const auto& [block, use, is_read] : operands) *access++ = {block->name, block->Resident::bytes, use};
  const plans::Picoseconds duration = course_.is_recorded() ? backing_.modelled(cost) : 0;
  if (course_.launch(duration, {accesses_.data(), operands.size()})) residents_.replan();
}

// The launch has been queued, so nothing may fail here: what is not noted now will be when it is used again.
void Residency::end_launch(std::span<const Operand> operands, std::span<Block* const> writes) noexcept {
  const plans::Picoseconds end = backing_.timeline().execute;
  for (const auto& [block, use, is_read] : operands) {
    if (plans::writes(use)) written_on_device(*block);
    residents_.put(*block, !block->has_copy_below(), end);
  }
  try {
    if (residents_.foresees()) write_back_ahead(writes);
    residents_.tick();
    if (!residents_.missing().empty()) prefetch();
  } catch (...) { // cancelled, or a disk that fails, or no memory: whoever needs what did not come meets that again
  }
}

// What will have to be written back, now that there is time.
void Residency::write_back_ahead(std::span<Block* const> writes) {
  for (Block* const written : writes) {
    if (!is_name(written->data) || !residents_.must_out(streamed(*written))) continue;
    StreamedBlock& block = streamed(*written);
    write_back(block);
    ++counts_.write_backs;
    residents_.cleaned(block, backing_.timeline().copy_out);
  }
}

// What a plan says will be needed, while there is time and room for it. Nothing depends on it, so it stops where something is in
// the way.
void Residency::prefetch() {
  if (course_.follower() == nullptr) return;
  const std::int64_t budget = backing_.device_budget();
  const plans::Link link = backing_.link();
  const plans::Prefetcher prefetcher(*course_.follower(), residents_, link, static_cast<std::uint64_t>(budget));
  while (const auto fetch = prefetcher.next(
             static_cast<std::uint64_t>(std::max<std::int64_t>(0, budget - backing_.device_in_use())), backing_.timeline())) {
    StreamedBlock* const found = find(fetch->name);
    if (found == nullptr || !found->has_copy_below()) return; // the plan knows more than there is
    StreamedBlock& block = *found;
    for (plans::Resident* const leaving : fetch->evicted) evict(streamed(*leaving));
    bring_to_device(block);
    --counts_.misses; // nobody has asked for it
    ++counts_.prefetches;
    residents_.put(block, false, backing_.timeline().copy_in);
  }
}

StreamedBlock* Residency::find(plans::Name name) {
  if (!plans::is_born(name)) return name < leaves_.size() ? leaves_[name] : nullptr;
  StreamedBlock* const* const found = absent_.find(name);
  return found == nullptr ? nullptr : *found;
}

namespace {

void note(plans::Resident& one) { one.dirty = streamed(one).device_is_current && !streamed(one).has_copy_below(); }

} // namespace

std::vector<std::uint64_t> Residency::name_leaves(std::span<StreamedBlock* const> leaves) {
  residents_.begin(nullptr, nullptr, note); // the follower that it looks at goes
  absent_.clear();
  for (StreamedBlock* const block : leaves_)
    if (block != nullptr) block->name = plans::born_name(block->number);
  leaves_.clear();
  leaves_.reserve(leaves.size());
  std::vector<std::uint64_t> bytes;
  for (StreamedBlock* const block : leaves) {
    if (block != nullptr && !plans::is_born(block->name)) continue; // one storage, several leaves
    bytes.push_back(block != nullptr ? static_cast<std::uint64_t>(block->bytes) : 0);
    if (block != nullptr) block->name = plans::leaf_name(leaves_.size());
    leaves_.push_back(block);
  }
  return bytes;
}

void Residency::look_ahead() {
  residents_.begin(course_.follower(), course_.foresight(), note);
  try {
    prefetch();
  } catch (...) { // as behind a launch
  }
}

void Residency::begin_call(std::uint64_t code, std::span<StreamedBlock* const> leaves) {
  if (backing_.device_budget() == 0) return;
  course_.begin(code, name_leaves(leaves), memory());
  look_ahead();
}

void Residency::enter(Call* call) {
  std::vector<StreamedBlock*> leaves;
  if (call != nullptr)
    for (const std::uint64_t number : call->leaves) {
      const auto found = numbered_.find(number);
      leaves.push_back(found != numbered_.end() ? found->second : nullptr);
    }
  name_leaves(leaves);
  course_.enter(call, memory());
  look_ahead();
}

std::uint64_t Residency::number_of(StreamedBlock& block) {
  numbered_.emplace(block.number, &block);
  block.numbered = true;
  return block.number;
}

plans::Memory Residency::memory() const { return {static_cast<std::uint64_t>(backing_.device_budget()), backing_.link()}; }

// --- memory

void Residency::take_on_device(StreamedBlock& block) {
  // Where no stretch that is free is long enough, more must go than is wanted.
  Block* there = make_room(block.bytes) ? backing_.take_on_device(block.bytes) : nullptr;
  while (there == nullptr) {
    const std::vector<plans::Resident*> leaving = residents_.choose({.bytes = 1});
    if (leaving.empty()) break;
    evict(streamed(*leaving.front()));
    there = backing_.take_on_device(block.bytes);
  }
  if (there == nullptr) refuse_on_device(block.bytes);
  block.on_device = there;
  residents_.put(block, false);
}

bool Residency::make_room(std::int64_t bytes) {
  const std::int64_t budget = backing_.device_budget();
  for (;;) {
    const std::int64_t wanted = bytes - (budget - backing_.device_in_use());
    if (budget == 0 || wanted <= 0) return true;
    const std::vector<plans::Resident*> leaving = residents_.choose({.bytes = static_cast<std::uint64_t>(wanted)});
    if (leaving.empty()) return false;
    for (plans::Resident* const one : leaving) evict(streamed(*one));
  }
}

void Residency::evict(StreamedBlock& block) {
  if (block.device_is_current && !block.has_copy_below()) {
    write_back(block);
    ++counts_.write_backs;
  } else {
    ++counts_.evictions;
  }
  drop_on_device(block);
  uncharge_if_away(block);
}

void Residency::write_back(StreamedBlock& block) {
  if (block.on_host == nullptr) take_on_host(block);
  backing_.queue_copy(StreamKind::copy_out, *block.on_host, *block.on_device);
  block.host_is_current = true;
  counts_.bytes_out += block.bytes;
}

void Residency::take_on_host(StreamedBlock& block) {
  Order one{&block};
  const Held held(block);
  Block* there = backing_.take_on_host(block.bytes);
  while (there == nullptr && evict_one_from_host()) there = backing_.take_on_host(block.bytes);
  if (there == nullptr) refuse_on_host(block.bytes);
  block.on_host = there;
  block.at_host = one.begin();
  on_host_.splice(on_host_.end(), one);
}

// In the order in which they came there. What is current nowhere else is written to the disk first, if there is one.
bool Residency::evict_one_from_host() {
  for (StreamedBlock* const block : on_host_) {
    if (block->pins != 0) continue;
    if (block->host_is_current && block->on_disk == nullptr) {
      if (disk() == nullptr) return false;
      write_to_disk(*block);
      if (block->on_disk == nullptr) return false; // it is full
    }
    drop_on_host(*block);
    uncharge_if_away(*block);
    return true;
  }
  return false;
}

std::int64_t Residency::free_on_host(std::int64_t bytes) {
  std::int64_t freed = 0;
  if (disk() == nullptr) return 0;
  for (auto at = on_host_.begin(); at != on_host_.end() && freed < bytes;) {
    StreamedBlock& block = **at++;
    if (block.pins != 0) continue;
    if (block.host_is_current && block.on_disk == nullptr) write_to_disk(block);
    if (block.on_disk == nullptr) break; // it is full
    drop_on_host(block);
    drop_on_device(block);
    uncharge_if_away(block);
    freed += block.bytes;
  }
  return freed;
}

void Residency::write_to_disk(StreamedBlock& block) {
  backing_.host_waits_to_read(*block.on_host);
  auto copy = disk_->write(block.on_host->data, block.bytes);
  if (copy == nullptr) return;
  if (disk_->wait(*copy, nullptr) == SpillFile::Fate::failed) {
    disk_->forget(std::move(copy));
    throw SpillError(disk_->refusal());
  }
  block.on_disk = std::move(copy);
  backing_.note_disk(block.bytes);
  ++counts_.to_disk;
  counts_.bytes_to_disk += block.bytes;
}

void Residency::read_from_disk(StreamedBlock& block) {
  const Held held(block);
  if (!block.charged) {
    ledger_.charge(block.bytes, 0);
    block.charged = true;
  }
  if (block.on_host == nullptr) take_on_host(block);
  backing_.host_waits_to_write(*block.on_host);
  disk_->read(*block.on_disk, block.on_host->data, true);
  if (disk_->wait(*block.on_disk, nullptr) == SpillFile::Fate::failed) throw SpillError(disk_->read_fault());
  block.host_is_current = true;
  backing_.note_disk(block.bytes);
  ++counts_.from_disk;
  counts_.bytes_from_disk += block.bytes;
}

void Residency::uncharge_if_away(StreamedBlock& block) noexcept {
  if (!block.charged || block.on_device != nullptr || block.on_host != nullptr || block.on_disk == nullptr) return;
  ledger_.charge(-block.bytes, 0);
  block.charged = false;
}

void Residency::refuse_on_device(std::int64_t bytes) {
  std::int64_t pinned = 0;
  for (plans::Resident* one = residents_.first(); one != nullptr; one = one->behind)
    if (one->pins != 0) pinned += streamed(*one).bytes;
  throw DeviceMemoryExceeded(fmt::format(
      "streaming: {} has no room for {} bytes: {} of its {} bytes are in use, {} of them by what streams and is needed "
      "at the same time",
      wrapped_.name(), bytes, backing_.device_in_use(), backing_.device_budget(), pinned));
}

void Residency::refuse_on_host(std::int64_t bytes) {
  throw DeviceMemoryExceeded(
      fmt::format("streaming: the host's memory for what streams (host=SIZE) has no room for {} bytes: {} of its {} bytes are in "
                  "use, and {}",
                  bytes, backing_.host_in_use(), backing_.host_budget(),
                  backing_.streaming().disk.empty() ? "there is no disk to move them to (disk=FOLDER)" : "the disk is full too"));
}

// --- elements from and for the host

// What has no elements yet is made in the host's memory, so that it need not travel before a kernel uses it.
void Residency::copy_in(StreamedBlock& to, std::int64_t offset, const void* from, std::int64_t bytes) {
  if (to.device_is_current) {
    wrapped_.copy_in(*to.on_device, offset, from, bytes);
    written_on_device(to);
    return;
  }
  if (!to.host_is_current && to.on_disk != nullptr) read_from_disk(to);
  if (to.on_host == nullptr) take_on_host(to);
  backing_.host_waits_to_write(*to.on_host);
  std::memcpy(static_cast<char*>(to.on_host->data) + offset, from, static_cast<std::size_t>(bytes));
  to.host_is_current = true;
  if (to.on_disk != nullptr) disk_->forget(std::move(to.on_disk));
}

void Residency::copy_out(StreamedBlock& from, std::int64_t offset, void* to, std::int64_t bytes) {
  if (from.device_is_current && !from.host_is_current) return wrapped_.copy_out(*from.on_device, offset, to, bytes);
  if (!from.host_is_current && from.on_disk != nullptr) read_from_disk(from);
  if (from.on_host == nullptr) return; // nothing was ever written there
  backing_.host_waits_to_read(*from.on_host);
  std::memcpy(to, static_cast<const char*>(from.on_host->data) + offset, static_cast<std::size_t>(bytes));
}

} // namespace cairn::ops::streaming
