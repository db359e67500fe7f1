// Numbers of the objects that a writer may meet again. Objects of one size come from one slab, and what was made together is
// written together: so a number stands in a table of its neighbourhood of addresses, not somewhere in one of all objects. Nothing
// is ever listed from the tables, so addresses decide where an entry stands and nothing else. The tables are charged.
#pragma once

#include "vm/value/charged.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace cairn::value {

class ObjectNumbers {
public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  explicit ObjectNumbers(Heap& heap) : charged_(heap), tables_(heap) {}

  // The number of `object`: what it was given before, or `fresh`, which it has from now on (kNone: which it is not given).
  std::uint32_t number(const void* object, std::uint32_t fresh) {
    auto address = reinterpret_cast<std::uintptr_t>(object);
    std::uintptr_t neighbourhood = address / kTableBytes;
    if (neighbourhood != neighbourhood_) [[unlikely]] {
      if (fresh == kNone && (tables_.empty() || at(neighbourhood).numbers == nullptr)) return kNone;
      go(neighbourhood);
    }
    std::uint32_t& entry = numbers_[address % kTableBytes / kAlignment];
    if (entry == 0) {
      if (fresh == kNone) return kNone;
      entry = fresh + 1;
    }
    return entry - 1;
  }

private:
  static constexpr std::uintptr_t kAlignment = 16;                       // of objects
  static constexpr std::uintptr_t kTableBytes = std::uintptr_t{1} << 16; // of addresses for each table
  static constexpr std::uintptr_t kNowhere = UINTPTR_MAX;
  struct Table {
    std::uintptr_t neighbourhood = 0;
    std::unique_ptr<std::uint32_t[]> numbers; // and 1; 0: none
  };
  Table& at(std::uintptr_t neighbourhood) {
    auto hash = neighbourhood * 0x9E3779B97F4A7C15u;
    std::size_t mask = tables_.size() - 1;
    std::size_t i = hash >> (64 - std::countr_zero(tables_.size()));
    while (tables_[i].numbers != nullptr && tables_[i].neighbourhood != neighbourhood) i = (i + 1) & mask;
    return tables_[i];
  }
  void go(std::uintptr_t neighbourhood) {
    if (tables_.size() <= used_ * 2) grow();
    Table& table = at(neighbourhood);
    if (table.numbers == nullptr) {
      charged_.grow(kTableBytes / kAlignment * sizeof(std::uint32_t));
      table = {neighbourhood, std::make_unique<std::uint32_t[]>(kTableBytes / kAlignment)};
      ++used_;
    }
    neighbourhood_ = neighbourhood;
    numbers_ = table.numbers.get();
  }
  void grow() {
    ChargedVector<Table> old(tables_.empty() ? 64 : tables_.size() * 2, tables_.get_allocator());
    old.swap(tables_);
    for (Table& table : old)
      if (table.numbers != nullptr) at(table.neighbourhood) = std::move(table);
  }

  Charged charged_; // what the tables point to
  ChargedVector<Table> tables_;
  std::size_t used_ = 0;
  std::uintptr_t neighbourhood_ = kNowhere; // that of the last one asked for
  std::uint32_t* numbers_ = nullptr;
};

} // namespace cairn::value
