// Numbers of the objects that a writer may meet again: a flat table with open addressing. Nothing is ever listed from it, so
// addresses decide where an entry stands and nothing else.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cairn::machine {

class ObjectNumbers {
public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // The number of `object`: what it was given before, or `fresh`, which it has from now on (kNone: which it is not given).
  std::uint32_t number(const void* object, std::uint32_t fresh) {
    if (entries_.size() <= used_ * 2) grow();
    Entry& e = at(object);
    if (e.object != nullptr) return e.number;
    if (fresh != kNone) {
      e = {object, fresh};
      ++used_;
    }
    return fresh;
  }

private:
  struct Entry {
    const void* object = nullptr;
    std::uint32_t number = 0;
  };
  Entry& at(const void* object) {
    auto hash = reinterpret_cast<std::uintptr_t>(object) * 0x9E3779B97F4A7C15u;
    std::size_t mask = entries_.size() - 1;
    std::size_t i = hash >> (64 - std::countr_zero(entries_.size()));
    while (entries_[i].object != nullptr && entries_[i].object != object) i = (i + 1) & mask;
    return entries_[i];
  }
  void grow() {
    std::vector<Entry> old(entries_.empty() ? 64 : entries_.size() * 2);
    old.swap(entries_);
    for (const Entry& e : old)
      if (e.object != nullptr) at(e.object) = e;
  }

  std::vector<Entry> entries_;
  std::size_t used_ = 0;
};

} // namespace cairn::machine
