// Elements that go to a file while nobody needs them, and come back. Actions of programs and schedules never depend on what
// happens here: counts of references decide which memory is given back, and nothing else.
#include "ops/device.h"

#include <limits>
#include <utility>

namespace cairn::ops {

// Of a storage that has a copy in the file, or will have.
struct Spilled {
  enum class Whereabouts : std::uint8_t {
    here,          // somebody has asked for them since; the copy may serve again
    being_written, // here until memory is wanted, and written by then; nobody has asked for them since that began
    away,          // in the file alone
    being_fetched  // on their way, or back; nobody has asked for them yet
  };
  Whereabouts where = Whereabouts::here;
  std::unique_ptr<SpillFile::Copy> copy;
  std::list<Storage*>::iterator at; // in the device's list of those; of what is away there is none
};

using Whereabouts = Spilled::Whereabouts;
using Fate = SpillFile::Fate;

namespace {
constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
} // namespace

void Storage::bring_back() { device->ask_for(*this, device->meter()); }

void Storage::bring_back_alone() {
  device->ask_for(*this, device->meter());
  device->forget_copy(*this);
}

void Device::give_back_memory(Storage& storage) {
  live_bytes_ -= storage.bytes;
  ledger_.charge(-storage.bytes, 0);
  give_back_block(std::exchange(storage.block_, nullptr));
}

void Device::take_memory(Storage& storage) {
  ledger_.charge(storage.bytes, 0);
  try {
    storage.block_ = take_block(storage.bytes);
  } catch (...) {
    ledger_.charge(-storage.bytes, 0);
    throw;
  }
  live_bytes_ += storage.bytes;
  peak_bytes_ = std::max(peak_bytes_, live_bytes_);
}

void Device::end_idle(Storage& storage) {
  --storage.idle;
  if (storage.spilled_ != nullptr && storage.spilled_->where == Whereabouts::being_written) ask_for(storage, nullptr);
}

void Device::spill(Storage& storage) noexcept {
  if (file_ == nullptr || storage.release != nullptr || storage.bytes < (storage.aside ? kLeastAside : kLeastSpilled)) return;
  if (Spilled* const spilled = storage.spilled_; spilled != nullptr) {
    if (spilled->where == Whereabouts::being_fetched) { // nobody wants them after all
      file_->stop(*spilled->copy);
      being_fetched_.erase(spilled->at);
      fetched_ahead_ -= storage.bytes;
      give_back_memory(storage);
      spilled->where = Whereabouts::away;
    }
    if (spilled->where != Whereabouts::here) return;
    if (file_->fate(*spilled->copy) == Fate::failed) forget_copy(storage);
  }
  try {
    if (storage.spilled_ == nullptr) {
      auto spilled = std::make_unique<Spilled>();
      std::list<Storage*> one{&storage};
      spilled->copy = write_copy(storage);
      if (spilled->copy == nullptr) return;
      spilled->at = one.begin();
      here_.splice(here_.end(), one);
      storage.spilled_ = spilled.release();
    }
    being_written_.splice(being_written_.end(), here_, storage.spilled_->at);
    storage.spilled_->where = Whereabouts::being_written;
    bytes_being_written_ += storage.bytes;
  } catch (const std::bad_alloc&) { // they stay where they are
  }
}

// Where the file is full, copies of what is in memory make way: so what is in it depends on what is idle alone, and not on who
// has looked at what since.
std::unique_ptr<SpillFile::Copy> Device::write_copy(const Storage& storage) {
  auto copy = file_->write(storage.block_->data, storage.bytes);
  while (copy == nullptr && !here_.empty() && !file_->broken()) {
    forget_copy(*here_.front());
    copy = file_->write(storage.block_->data, storage.bytes);
  }
  return copy;
}

// In the order in which they were begun, so that what is read again and again stays, as long as there is memory.
std::int64_t Device::settle(std::int64_t bytes) {
  std::int64_t freed = 0;
  while (freed < bytes && !being_written_.empty()) {
    Storage& storage = *being_written_.front();
    const Fate fate = file_->fate(*storage.spilled_->copy);
    if (fate == Fate::queued || fate == Fate::running) break;
    if (fate == Fate::failed) {
      forget_copy(storage);
      continue;
    }
    being_written_.pop_front();
    bytes_being_written_ -= storage.bytes;
    storage.spilled_->where = Whereabouts::away;
    give_back_memory(storage);
    freed += storage.bytes;
  }
  return freed;
}

void Device::wait_for_spilled(std::int64_t most_bytes) {
  for (settle(kAll); bytes_being_written_ > most_bytes; settle(kAll))
    file_->wait(*being_written_.front()->spilled_->copy, meter());
}

bool Device::fetch_ahead(Storage& storage) {
  Spilled* const spilled = storage.spilled_;
  if (spilled == nullptr || spilled->where != Whereabouts::away) return true;
  settle(kAll);
  // Nothing else is to make way for it. Where kernels want much, it leaves them half of what there is: those that want more make
  // it give way in any case.
  const std::int64_t headroom = ledger_.headroom();
  if (headroom < storage.bytes + std::min(ledger_.scratch_wanted(), headroom / 2 + fetched_ahead_ / 2)) return false;
  take_memory(storage);
  try {
    spilled->at = being_fetched_.insert(being_fetched_.end(), &storage);
  } catch (...) {
    give_back_memory(storage);
    throw;
  }
  try {
    file_->read(*spilled->copy, storage.block_->data, false);
  } catch (...) {
    being_fetched_.erase(spilled->at);
    give_back_memory(storage);
    throw;
  }
  spilled->where = Whereabouts::being_fetched;
  fetched_ahead_ += storage.bytes;
  return true;
}

void Device::ask_for(Storage& storage, const Meter* meter) {
  Spilled& spilled = *storage.spilled_;
  if (spilled.where == Whereabouts::here) return;
  if (spilled.where == Whereabouts::being_written) {
    here_.splice(here_.end(), being_written_, spilled.at);
    bytes_being_written_ -= storage.bytes;
    spilled.where = Whereabouts::here;
    return;
  }
  if (spilled.where == Whereabouts::away) {
    take_memory(storage);
    std::list<Storage*> one;
    try {
      one.push_back(&storage);
      file_->read(*spilled.copy, storage.block_->data, true);
    } catch (...) {
      give_back_memory(storage);
      throw;
    }
    spilled.at = one.begin();
    being_fetched_.splice(being_fetched_.end(), one);
    fetched_ahead_ += storage.bytes;
    spilled.where = Whereabouts::being_fetched;
  }
  file_->hurry(*spilled.copy);
  const Fate fate = file_->wait(*spilled.copy, meter); // where it is cancelled, they are still fetched
  fetched_ahead_ -= storage.bytes;
  if (fate == Fate::done) {
    here_.splice(here_.end(), being_fetched_, spilled.at);
    spilled.where = Whereabouts::here;
    return;
  }
  being_fetched_.erase(spilled.at);
  give_back_memory(storage);
  spilled.where = Whereabouts::away;
  throw SpillError(file_->read_fault());
}

void Device::forget_copy(Storage& storage) noexcept {
  Spilled* const spilled = std::exchange(storage.spilled_, nullptr);
  if (spilled->where == Whereabouts::being_written) {
    being_written_.erase(spilled->at);
    bytes_being_written_ -= storage.bytes;
  } else if (spilled->where == Whereabouts::being_fetched) {
    being_fetched_.erase(spilled->at);
    fetched_ahead_ -= storage.bytes;
  } else if (spilled->where == Whereabouts::here) {
    here_.erase(spilled->at);
  }
  file_->forget(std::move(spilled->copy));
  delete spilled;
}

void Device::end_spilling() noexcept {
  for (Storage* storage = first_; storage != nullptr; storage = storage->next)
    if (storage->spilled_ != nullptr) forget_copy(*storage);
  file_ = nullptr;
}

std::int64_t Device::make_way(std::int64_t bytes) {
  if (file_ == nullptr) return 0;
  std::int64_t freed = settle(bytes);
  while (freed < bytes && !being_written_.empty()) {
    file_->wait(*being_written_.front()->spilled_->copy, nullptr);
    freed += settle(bytes - freed);
  }
  while (freed < bytes && !being_fetched_.empty()) { // what will be asked for last
    Storage& storage = *being_fetched_.back();
    file_->stop(*storage.spilled_->copy);
    being_fetched_.pop_back();
    fetched_ahead_ -= storage.bytes;
    storage.spilled_->where = Whereabouts::away;
    give_back_memory(storage);
    freed += storage.bytes;
  }
  return freed;
}

void Device::peek(Storage& storage, std::int64_t from, void* to, std::int64_t bytes) {
  const Spilled* const spilled = storage.spilled_;
  if (spilled != nullptr && spilled->where == Whereabouts::away) return file_->read_part(*spilled->copy, from, to, bytes);
  if (spilled != nullptr && spilled->where == Whereabouts::being_fetched) { // nobody has asked for them by this
    file_->hurry(*spilled->copy);
    if (file_->wait(*spilled->copy, nullptr) == Fate::failed) throw SpillError(file_->read_fault());
  }
  copy_out(*storage.block_, from, to, bytes);
}

} // namespace cairn::ops
