// Sets of storages in which a walk keeps them apart: one look says of all sets whether they have it, where a set for each would
// be looked into for each tensor of each operation.
#pragma once

#include "vm/value/charged.h"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace cairn::runs {

// A number for each storage, 0 before it was met: bits are sets.
class Marks {
public:
  explicit Marks(value::Heap& heap) : table_(heap) {}

  // So many will be met.
  void reserve(std::size_t storages) {
    std::size_t size = kFew;
    while (size < 2 * (storages + 1)) size *= 2;
    if (size > table_.size()) grow(size);
  }
  std::uint8_t& operator[](const ops::Storage* storage) {
    if (!table_.empty())
      if (Entry& e = entry(storage); e.storage != nullptr) return e.marks;
    if (2 * (met_ + 1) > table_.size()) grow(table_.empty() ? kFew : 2 * table_.size());
    ++met_;
    Entry& e = entry(storage);
    e.storage = storage;
    return e.marks;
  }
  // Null: it was not met.
  std::uint8_t* find(const ops::Storage* storage) {
    if (empty()) return nullptr;
    Entry& e = entry(storage);
    return e.storage != nullptr ? &e.marks : nullptr;
  }
  bool empty() const { return met_ == 0; }
  // False: it has been met before.
  bool insert(const ops::Storage* storage) { return std::exchange((*this)[storage], 1) == 0; }

private:
  struct Entry {
    const ops::Storage* storage = nullptr;
    std::uint8_t marks = 0;
  };
  // Addresses decide where an entry is, and nothing else.
  Entry& entry(const ops::Storage* storage) {
    const std::size_t mask = table_.size() - 1;
    std::size_t i = static_cast<std::size_t>((reinterpret_cast<std::uintptr_t>(storage) >> 4) * 0x9E3779B97F4A7C15u >> 24);
    while (table_[i & mask].storage != nullptr && table_[i & mask].storage != storage) ++i;
    return table_[i & mask];
  }
  void grow(std::size_t size) {
    value::ChargedVector<Entry> old(size, Entry{}, table_.get_allocator());
    old.swap(table_);
    for (const Entry& e : old)
      if (e.storage != nullptr) entry(e.storage) = e;
  }

  static constexpr std::size_t kFew = 16;
  value::ChargedVector<Entry> table_; // a power of two
  std::size_t met_ = 0;
};

} // namespace cairn::runs
