// See tiers.h.
#include "ops/streaming/tiers.h"

#include "ops/plans/read_ahead.h"
#include "ops/streaming/shortage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace cairn::ops::streaming {
namespace {

using Below = StreamedBlock::Below;
using Disk = Below::Disk;
using DiskAccess = Backing::DiskAccess;

// So much of the host's memory is free, or has a copy on the disk or on its way there, when more is wanted.
constexpr std::int64_t ahead_of(std::int64_t budget) { return std::min(budget / 8, std::int64_t{256} << 20); }

} // namespace

Tiers::Tiers(Ledger& ledger, Backing& backing, Counts& counts, Above& above)
    : ledger_(ledger), backing_(backing), counts_(counts), above_(above), has_disk_(!backing.streaming().disk.empty()) {}

SpillFile* Tiers::disk() {
  const Backing::Streaming& settings = backing_.streaming();
  if (disk_ == nullptr && has_disk_) disk_ = std::make_unique<SpillFile>(settings.disk, settings.disk_bytes);
  return disk_.get();
}

// --- in which order blocks leave

namespace {

StreamedBlock& hosted(plans::Resident& resident) { return *static_cast<Below::Hosted&>(resident).block; }

} // namespace

void Tiers::forget_order() { follow(nullptr); }

void Tiers::follow(const plans::Follower* follower) {
  follower_ = follower;
  order_.begin(follower, nullptr, [](plans::Resident& one) { one.dirty = hosted(one).on_disk == nullptr; });
  if (!is_bounded()) return;
  for (StreamedBlock* const block : on_host_) {
    order_.tick();
    note(*block);
  }
}

// Without a plan they leave in the order in which they came.
void Tiers::note(StreamedBlock& block) noexcept {
  block.below->hosted.name = block.name;
  order_.put(block.below->hosted, block.on_disk == nullptr);
}

bool Tiers::may_leave(const StreamedBlock& block) { return block.pins == 0 || block.device_is_current; }

template <class F> std::vector<StreamedBlock*> Tiers::choose(const Want& want, F&& lets_go) {
  std::vector<StreamedBlock*> stay, leaving;
  const auto let_go_of_those = [&] {
    for (StreamedBlock* const block : stay) --block->below->hosted.pins;
  };
  try {
    for (bool all = false; !all;) {
      all = true;
      leaving.clear();
      for (plans::Resident* const one :
           order_.choose({.bytes = static_cast<std::uint64_t>(want.bytes), .needed_at = want.needed_at})) {
        StreamedBlock& block = hosted(*one);
        leaving.push_back(&block);
        if (may_leave(block) && (want.stops_reads || block.below->disk != Disk::reads) && lets_go(block)) continue;
        stay.push_back(&block);
        ++block.below->hosted.pins;
        all = false;
      }
    }
  } catch (...) {
    let_go_of_those();
    throw;
  }
  let_go_of_those();
  return leaving;
}

// --- the host's memory

void Tiers::charge_again(StreamedBlock& block) {
  ledger_.charge(block.bytes, 0);
  block.charged = true;
  --away_;
}

void Tiers::has_left_device(StreamedBlock& block) noexcept {
  if (!block.charged || block.on_device != nullptr || block.on_host != nullptr || block.on_disk == nullptr) return;
  ledger_.charge(-block.bytes, 0);
  block.charged = false;
  ++away_;
}

bool Tiers::take(StreamedBlock& block, const Want& want) {
  Order one{&block};
  if (block.below == nullptr) {
    block.below = std::make_unique<Below>();
    block.below->hosted.block = &block;
    block.below->hosted.bytes = static_cast<std::uint64_t>(block.bytes);
  }
  Block* there = nullptr;
  if (make_room(want)) {
    there = backing_.take_on_host(block.bytes);
    // Where the system gives no more pages, more must go than is wanted.
    while (there == nullptr && evict({1, want.needed_at})) there = backing_.take_on_host(block.bytes);
  }
  if (there == nullptr) return false;
  if (is_bounded()) {
    order_.tick();
    note(block);
  }
  block.on_host = there;
  block.below->host_ready = room_ready_;
  block.below->at_host = one.begin();
  on_host_.splice(on_host_.end(), one);
  came_ += block.bytes;
  return true;
}

void Tiers::refuse(std::int64_t bytes) {
  const std::int64_t budget = backing_.host_budget(), in_use = backing_.host_in_use();
  const std::string refusal = disk_ != nullptr ? disk_->refusal() : "";
  std::int64_t held = 0, could_leave = 0, largest = bytes;
  for (const StreamedBlock* const block : on_host_) {
    largest = std::max(largest, block->bytes);
    if (!may_leave(*block))
      held += block->bytes;
    else if (block->device_is_current || block->on_disk != nullptr)
      could_leave += block->bytes;
  }
  // What cannot leave, and what comes there for this: beside a disk that takes all that it is given, and without one.
  const Above::Needs needs = above_.needs();
  const std::int64_t without =
      in_use - could_leave - held + std::max(held + bytes, std::max(held, needs.read) + needs.written_back);
  const bool disk_would_do = budget == 0 || std::max(held + bytes, needs.at_once) <= budget;
  // A disk is full when one block finds no room there, and which one that is hangs on how much the host held before: so with more
  // memory there may be a block less on it, and another one on its way.
  const std::int64_t elsewhere = refusal.empty() ? 0 : 2 * largest;
  Least least{.host = has_disk_ && refusal.empty() ? std::max(held + bytes, needs.most_at_once) : without + elsewhere,
              .wants_disk = !has_disk_ && disk_would_do};
  if (!refusal.empty() && !disk_->broken() && backing_.streaming().disk_bytes != 0 && disk_would_do)
    least.disk = taken_on_disk_ + would_take_on_disk(without - budget);
  const std::string holds = budget != 0 ? fmt::format("{} of its {} bytes are in use", in_use, budget)
                                        : fmt::format("the system gives no more than the {} bytes that are in use", in_use);
  const std::string disk = budget != 0 && bytes > budget ? "all of them would not be enough"
                           : !refusal.empty()            ? refusal
                           : has_disk_                   ? "what is there is needed now"
                                                         : "there is no disk to move them to (disk=FOLDER)";
  throw DeviceMemoryExceeded(
      with_ledger(fmt::format("streaming: the host's memory for what streams (host=SIZE) has no room for {} bytes: {}, and {}",
                              bytes, holds, disk),
                  backing_, bytes_on_disk_, least));
}

// Of those that leave the host next and have no copy there yet, until so many bytes would be free; and of what comes to the host
// and goes on at once, if these are not enough.
std::int64_t Tiers::would_take_on_disk(std::int64_t bytes) {
  bytes = std::max<std::int64_t>(bytes, 1);
  std::int64_t taken = 0;
  for (const StreamedBlock* const block :
       choose({bytes}, [](const StreamedBlock& one) { return one.on_disk == nullptr && one.host_is_current; }))
    taken += SpillFile::taken_by(block->bytes);
  return std::max(taken, SpillFile::taken_by(bytes));
}

bool Tiers::make_room(const Want& want) {
  while (backing_.host_budget() != 0 && want.bytes > free_bytes())
    if (!evict({want.bytes - free_bytes(), want.needed_at})) return false;
  return true;
}

// Who has no copy on the disk yet gets one. A write that fails keeps its block here, and the next one is not begun. What is being
// read ahead goes when nothing else can: nothing depends on it, and it is read again when it is asked for.
bool Tiers::evict(const Want& want) {
  if (!has_disk_) return !want.needed_at && give_up_copies(want.bytes);
  const auto lets_go = [&](StreamedBlock& block) { return begin_write(block); };
  std::vector<StreamedBlock*> leaving = choose(want, lets_go);
  if (leaving.empty() && !want.needed_at) leaving = choose({.bytes = want.bytes, .stops_reads = true}, lets_go);
  if (leaving.empty()) return !want.needed_at && give_up_copies(want.bytes);
  const plans::Picoseconds now = backing_.timeline().execute;
  if (want.needed_at && std::ranges::any_of(leaving, [&](const StreamedBlock* block) { return block->below->disk_ready > now; }))
    return false;
  for (StreamedBlock* const block : leaving)
    if (leave_host(*block, ledger_.meter())) has_left_device(*block);
  return true;
}

// False: its copy on the disk failed, and it stays. In virtual time a read that is stopped goes on to its end, and has the memory
// until then.
bool Tiers::leave_host(StreamedBlock& block, const Meter* meter) {
  const bool is_read = block.below->disk == Disk::reads;
  if (!is_read) settle(block, meter);
  if (block.host_is_current && block.on_disk == nullptr) return false;
  room_ready_ = std::max(room_ready_, is_read ? block.below->host_ready : block.below->disk_ready);
  drop_on_host(block);
  return true;
}

// There is nowhere else to go: beside what is on the disk already, what the device has as well goes, and must be copied out again
// if it leaves the device. Nobody gives up anything where that would not be enough.
bool Tiers::give_up_copies(std::int64_t bytes) {
  const auto may_go = [&](const StreamedBlock& block) {
    return block.device_is_current || (block.on_disk != nullptr && may_leave(block));
  };
  std::int64_t all = 0;
  for (const StreamedBlock* const block : on_host_)
    if (may_go(*block)) all += block->bytes;
  if (all < bytes) return false;
  for (auto at = on_host_.begin(); bytes > 0 && at != on_host_.end();) {
    StreamedBlock& block = **at++;
    if (!may_go(block)) continue;
    if (block.device_is_current) {
      drop_on_host(block);
      ++counts_.host_copies_dropped;
      if (block.on_disk == nullptr) above_.lost_copy_below(block);
    } else {
      if (!leave_host(block, ledger_.meter())) continue;
      has_left_device(block);
    }
    bytes -= block.bytes;
  }
  return true;
}

std::int64_t Tiers::make_way(std::int64_t bytes) {
  std::int64_t freed = 0;
  if (!has_disk_ || on_host_.empty()) return 0;
  const auto lets_go = [&](StreamedBlock& block) { return block.pins == 0 && begin_write(block); };
  std::vector<StreamedBlock*> leaving = choose({bytes}, lets_go);
  if (leaving.empty()) { // all that may go are not enough, but they may be for what is wanted now
    for (StreamedBlock* const block : on_host_)
      if (lets_go(*block)) leaving.push_back(block);
  }
  for (StreamedBlock* const block : leaving) {
    if (block->on_disk == nullptr || !leave_host(*block, nullptr)) continue;
    above_.leave_device(*block);
    has_left_device(*block);
    freed += block->bytes;
  }
  return freed;
}

void Tiers::drop_on_host(StreamedBlock& block) noexcept {
  if (block.on_host == nullptr) return;
  if (block.below->disk == Disk::writes) drop_on_disk(block); // it looks at the memory
  if (block.below->disk == Disk::reads) disk_->stop(*block.on_disk);
  block.below->disk = Disk::idle;
  backing_.give_back_on_host(std::exchange(block.on_host, nullptr));
  block.host_is_current = false;
  on_host_.erase(block.below->at_host);
  if (block.below->hosted.here) order_.remove(block.below->hosted);
}

void Tiers::drop_on_disk(StreamedBlock& block) noexcept {
  if (block.on_disk == nullptr) return;
  block.below->disk = Disk::idle;
  disk_->forget(std::move(block.on_disk));
  bytes_on_disk_ -= block.bytes;
  taken_on_disk_ -= SpillFile::taken_by(block.bytes);
}

void Tiers::drop(StreamedBlock& block) noexcept {
  drop_on_disk(block);
  drop_on_host(block);
}

void Tiers::dropped(StreamedBlock& block) noexcept {
  if (block.below == nullptr) return order_.dropped(block.name);
  drop(block);
  block.below->hosted.name = block.name;
  order_.dropped(block.below->hosted);
  if (!block.charged) --away_;
}

// --- the disk

// False: it takes no more. What has no elements needs no copy.
bool Tiers::begin_write(StreamedBlock& block) {
  if (block.on_disk != nullptr || !block.host_is_current) return true;
  SpillFile& file = *disk();
  backing_.make_ready_for_disk(*block.on_host, DiskAccess::reads);
  block.on_disk = file.write(block.on_host->data, block.bytes);
  if (block.on_disk == nullptr) return false;
  block.below->disk = Disk::writes;
  bytes_on_disk_ += block.bytes;
  disk_peak_.note(bytes_on_disk_);
  taken_on_disk_ += SpillFile::taken_by(block.bytes);
  block.below->disk_ready =
      backing_.note_disk(*block.on_host, DiskAccess::reads, block.below->host_ready, block.copied("to the disk"));
  ++counts_.to_disk;
  counts_.bytes_to_disk += block.bytes;
  note(block);
  return true;
}

// False: there is no room, or where it is not needed yet, none without waiting for it.
bool Tiers::begin_read(StreamedBlock& block, std::optional<std::uint64_t> needed_at) {
  charge(block);
  try {
    if (block.on_host == nullptr && !take(block, {block.bytes, needed_at})) {
      has_left_device(block);
      return false;
    }
    backing_.make_ready_for_disk(*block.on_host, DiskAccess::writes);
    disk_->read(*block.on_disk, block.on_host->data, !needed_at);
  } catch (...) {
    drop_on_host(block);
    has_left_device(block);
    throw;
  }
  block.below->disk = Disk::reads;
  block.below->host_ready =
      backing_.note_disk(*block.on_host, DiskAccess::writes, block.below->host_ready, block.copied("from the disk"));
  ++counts_.from_disk;
  counts_.bytes_from_disk += block.bytes;
  return true;
}

void Tiers::settle(StreamedBlock& block, const Meter* meter) {
  if (block.below->disk == Disk::idle) return;
  if (block.below->disk == Disk::reads) disk_->hurry(*block.on_disk);
  const SpillFile::Fate fate = disk_->wait(*block.on_disk, meter);
  const Disk done = std::exchange(block.below->disk, Disk::idle);
  if (done == Disk::reads && fate == SpillFile::Fate::failed) throw SpillError(disk_->read_fault());
  if (done == Disk::reads) block.host_is_current = true;
  if (done == Disk::writes && fate == SpillFile::Fate::failed) {
    drop_on_disk(block);
    note(block);
  }
}

bool Tiers::bring_if_there_is_room(StreamedBlock& block) {
  if (block.host_is_current || block.on_disk == nullptr) return true;
  if (block.below->disk != Disk::reads && !begin_read(block, std::nullopt)) return false;
  settle(block, ledger_.meter());
  return true;
}

void Tiers::read_past_memory(StreamedBlock& block, std::int64_t offset, void* to, std::int64_t bytes) {
  auto* const out = static_cast<char*>(to);
  std::int64_t done = 0;
  if (const std::int64_t skipped = offset % SpillFile::kPiece; skipped != 0) {
    const std::int64_t piece = std::min(SpillFile::kPiece, block.bytes - (offset - skipped));
    std::vector<char> buffer(static_cast<std::size_t>(piece));
    disk_->read_part(*block.on_disk, offset - skipped, buffer.data(), piece);
    done = std::min(bytes, piece - skipped);
    std::memcpy(out, buffer.data() + skipped, static_cast<std::size_t>(done));
  }
  if (done < bytes) disk_->read_part(*block.on_disk, offset + done, out + done, bytes - done);
  ++counts_.from_disk;
  counts_.bytes_from_disk += bytes;
}

void Tiers::host_reads(StreamedBlock& block) {
  backing_.host_waits_to_read(*block.on_host);
  backing_.host_waits_until(block.below->host_ready);
}

void Tiers::host_writes(StreamedBlock& block) {
  backing_.host_waits_to_write(*block.on_host);
  backing_.host_waits_until(block.below->host_ready);
  drop_on_disk(block);
}

void Tiers::work_ahead(const plans::Residents& above) {
  write_ahead();
  read_ahead(above);
}

// Now and then, since all that leaves next is looked at. What is still on its way to the host waits for the next time.
void Tiers::write_ahead() {
  const std::int64_t ahead = ahead_of(backing_.host_budget()), wanted = ahead - free_bytes();
  if (backing_.host_budget() == 0 || wanted <= 0 || came_ < ahead / 4) return;
  came_ = 0;
  const plans::Picoseconds now = backing_.timeline().execute;
  for (StreamedBlock* const block : choose({wanted}, [](StreamedBlock&) { return true; })) {
    if (block->host_is_current && block->below->host_ready > now) continue;
    if (!begin_write(*block)) break;
  }
}

// What the machine's account has no room for is not worth that anything makes way.
void Tiers::read_ahead(const plans::Residents& above) {
  if (away_ == 0 || follower_ == nullptr || backing_.host_budget() == 0) return;
  const plans::Link link = backing_.link(), disk = backing_.disk_link();
  const plans::ReadAhead ahead(*follower_, above, link, disk, static_cast<std::uint64_t>(backing_.host_budget() / 2));
  const auto is_away = [&](plans::Name name) {
    const StreamedBlock* const block = above_.find(name);
    return block != nullptr && !block->charged && block->below->disk == Disk::idle;
  };
  while (const auto read = ahead.next(backing_.timeline(), backing_.disk_end(), is_away)) {
    if (!begin_read_ahead(*above_.find(read->name), read->needed_at)) return;
  }
}

bool Tiers::begin_read_ahead(StreamedBlock& block, std::uint64_t needed_at) {
  if ((!block.charged && ledger_.headroom() < block.bytes) || !begin_read(block, needed_at)) return false;
  ++counts_.read_ahead;
  return true;
}

bool Tiers::is_near(StreamedBlock& block, std::uint64_t needed_at) {
  if (block.host_is_current || block.on_disk == nullptr) return true;
  if (block.below->disk == Disk::idle && !begin_read_ahead(block, needed_at)) return false;
  return block.below->host_ready <= backing_.timeline().execute;
}

} // namespace cairn::ops::streaming
