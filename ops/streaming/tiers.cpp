// See tiers.h.
#include "ops/streaming/tiers.h"

#include <fmt/format.h>

#include <utility>

namespace cairn::ops::streaming {

SpillFile* Tiers::disk() {
  const Backing::Streaming& settings = backing_.streaming();
  if (disk_ == nullptr && !settings.disk.empty()) disk_ = std::make_unique<SpillFile>(settings.disk, settings.disk_bytes);
  return disk_.get();
}

void Tiers::take_on_host(StreamedBlock& block) {
  Order one{&block};
  const Held held(block);
  Block* there = backing_.take_on_host(block.bytes);
  while (there == nullptr && evict_one_from_host()) there = backing_.take_on_host(block.bytes);
  if (there == nullptr) refuse(block.bytes);
  block.on_host = there;
  block.at_host = one.begin();
  on_host_.splice(on_host_.end(), one);
}

void Tiers::refuse(std::int64_t bytes) {
  throw DeviceMemoryExceeded(
      fmt::format("streaming: the host's memory for what streams (host=SIZE) has no room for {} bytes: {} of its {} bytes are in "
                  "use, and {}",
                  bytes, backing_.host_in_use(), backing_.host_budget(),
                  backing_.streaming().disk.empty() ? "there is no disk to move them to (disk=FOLDER)" : "the disk is full too"));
}

void Tiers::drop_on_host(StreamedBlock& block) noexcept {
  if (block.on_host == nullptr) return;
  backing_.give_back_on_host(std::exchange(block.on_host, nullptr));
  block.host_is_current = false;
  on_host_.erase(block.at_host);
}

void Tiers::drop_on_disk(StreamedBlock& block) noexcept {
  if (block.on_disk != nullptr) disk_->forget(std::move(block.on_disk));
}

void Tiers::drop(StreamedBlock& block) noexcept {
  drop_on_host(block);
  drop_on_disk(block);
}

void Tiers::has_left_device(StreamedBlock& block) noexcept {
  if (!block.charged || block.on_device != nullptr || block.on_host != nullptr || block.on_disk == nullptr) return;
  ledger_.charge(-block.bytes, 0);
  block.charged = false;
}

// In the order in which they came there. What is current nowhere else is written to the disk first, if there is one.
bool Tiers::evict_one_from_host() {
  for (StreamedBlock* const block : on_host_) {
    if (block->pins != 0) continue;
    if (block->host_is_current && block->on_disk == nullptr) {
      if (disk() == nullptr) return false;
      write_to_disk(*block);
      if (block->on_disk == nullptr) return false; // it is full
    }
    drop_on_host(*block);
    has_left_device(*block);
    return true;
  }
  return false;
}

std::int64_t Tiers::make_way(std::int64_t bytes) {
  std::int64_t freed = 0;
  if (disk() == nullptr) return 0;
  for (auto at = on_host_.begin(); at != on_host_.end() && freed < bytes;) {
    StreamedBlock& block = **at++;
    if (block.pins != 0) continue;
    if (block.host_is_current && block.on_disk == nullptr) write_to_disk(block);
    if (block.on_disk == nullptr) break; // it is full
    drop_on_host(block);
    above_.leave_device(block);
    has_left_device(block);
    freed += block.bytes;
  }
  return freed;
}

void Tiers::write_to_disk(StreamedBlock& block) {
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

void Tiers::bring_to_host(StreamedBlock& block) {
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

} // namespace cairn::ops::streaming
