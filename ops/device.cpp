// Storage of all devices: charged, listed by who made it, given back.
#include "ops/device.h"

#include <algorithm>
#include <map>

namespace cairn::ops {

Device::~Device() {
  while (first_ != nullptr) {
    Storage* storage = first_;
    first_ = storage->next;
    if (storage->release != nullptr) {
      storage->release(storage->release_context);
      delete storage->block_;
    }
    delete storage;
  }
}

void Device::link(Storage* storage) {
  storage->next = first_;
  if (first_ != nullptr) first_->previous = storage;
  first_ = storage;
}

void Device::unlink(Storage* storage) {
  if (storage->previous != nullptr)
    storage->previous->next = storage->next;
  else
    first_ = storage->next;
  if (storage->next != nullptr) storage->next->previous = storage->previous;
}

Storage* Device::make_storage(std::int64_t bytes) {
  auto storage = std::make_unique<Storage>();
  ledger_.charge(bytes, beside_);
  try {
    storage->block_ = take_block(bytes);
  } catch (...) {
    ledger_.charge(-bytes, -beside_);
    throw;
  }
  storage->device = this;
  storage->bytes = bytes;
  storage->maker_code = maker.code;
  storage->maker_pc = maker.pc;
  link(storage.get());
  live_bytes_ += bytes;
  peak_bytes_ = std::max(peak_bytes_, live_bytes_);
  return storage.release();
}

Storage* Device::adopt_storage(void* memory, std::int64_t bytes, void (*release)(void* context), void* context) {
  auto storage = std::make_unique<Storage>();
  auto block = std::make_unique<Block>();
  block->data = memory;
  block->bytes = bytes;
  storage->block_ = block.release();
  storage->device = this;
  storage->bytes = bytes;
  storage->release = release;
  storage->release_context = context;
  link(storage.get());
  return storage.release();
}

Storage* Device::take_over(Storage& from) {
  auto storage = std::make_unique<Storage>();
  ledger_.charge(0, beside_);
  Block* const block = from.block_;
  try {
    storage->block_ = take_over_block(block);
  } catch (...) {
    ledger_.charge(0, -beside_);
    throw;
  }
  if (storage->block_ == nullptr) {
    ledger_.charge(0, -beside_);
    return nullptr;
  }
  from.block_ = nullptr;
  from.device->live_bytes_ -= from.bytes;
  storage->device = this;
  storage->bytes = from.bytes;
  storage->birth = from.birth;
  storage->maker_code = from.maker_code;
  storage->maker_pc = from.maker_pc;
  link(storage.get());
  live_bytes_ += storage->bytes;
  peak_bytes_ = std::max(peak_bytes_, live_bytes_);
  return storage.release();
}

void Device::drop_storage(Storage* storage) {
  unlink(storage);
  if (storage->release != nullptr) {
    storage->release(storage->release_context);
    delete storage->block_;
    delete storage;
    return;
  }
  if (storage->spilled_ != nullptr) forget_copy(*storage);
  if (Block* const block = storage->block_; block != nullptr) {
    live_bytes_ -= storage->bytes;
    if (is_charged(*block)) ledger_.charge(-storage->bytes, 0);
    give_back_block(block);
  }
  ledger_.charge(0, -beside_);
  delete storage;
}

std::vector<Device::Holder> Device::holders() const {
  std::map<std::pair<std::uint32_t, const void*>, Holder> by_maker; // by where in the code first: addresses vary
  for (const Storage* s = first_; s != nullptr; s = s->next) {
    if (s->release != nullptr || s->block_ == nullptr) continue;
    Holder& holder = by_maker.try_emplace({s->maker_pc, s->maker_code}, Holder{s->maker_code, s->maker_pc, 0, 0}).first->second;
    holder.bytes += s->bytes;
    ++holder.storages;
  }
  std::vector<Holder> out;
  for (const auto& [maker, holder] : by_maker) out.push_back(holder);
  std::stable_sort(out.begin(), out.end(), [](const Holder& a, const Holder& b) { return a.bytes > b.bytes; });
  return out;
}

} // namespace cairn::ops
