// Places (docs/design.md 5.1): the slot of an object, named by the object's serial. A PlaceMap is an insertion-ordered hash map
// from places; its order of iteration depends on nothing but the order of insertions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace cairn::tape {

struct Place {
  std::uint64_t serial = 0;
  std::uint32_t slot = 0;
  bool operator==(const Place&) const = default;
};

// Takes its memory from `Memory`, an allocator of anything.
template <class T, class Memory = std::allocator<std::byte>> class PlaceMap {
public:
  struct Entry { // a place, spelled out so that `erased` takes no room
    std::uint64_t serial;
    std::uint32_t slot;
    bool erased;
    T value;
    Place place() const { return {serial, slot}; }
  };
  explicit PlaceMap(const Memory& memory = Memory()) : entries_(memory), table_(memory) {}

  T* find(Place p) {
    if (table_.empty()) return nullptr;
    for (std::size_t i = hash(p) & mask();; i = (i + 1) & mask()) {
      std::uint32_t at = table_[i];
      if (at == 0) return nullptr;
      Entry& e = entries_[at - 1];
      if (e.place() == p) return e.erased ? nullptr : &e.value;
    }
  }
  // The value at p, default-made if it was not there; `fresh` tells.
  T& at(Place p, bool& fresh) {
    if ((entries_.size() + 1) * 2 > table_.size()) rebuild();
    for (std::size_t i = hash(p) & mask();; i = (i + 1) & mask()) {
      std::uint32_t at = table_[i];
      if (at == 0) {
        if (entries_.size() == entries_.capacity()) entries_.reserve(entries_.size() + entries_.size() / 2 + 8);
        entries_.push_back({p.serial, p.slot, false, T{}});
        table_[i] = static_cast<std::uint32_t>(entries_.size());
        ++live_;
        fresh = true;
        return entries_.back().value;
      }
      Entry& e = entries_[at - 1];
      if (e.place() == p) {
        fresh = e.erased;
        if (e.erased) {
          e.erased = false;
          e.value = T{};
          ++live_;
        }
        return e.value;
      }
    }
  }
  void set(Place p, T value) {
    bool fresh = false;
    at(p, fresh) = value;
  }
  // How many entries of the table are looked at to find p, which is there.
  std::size_t probes(Place p) const {
    std::size_t n = 1;
    for (std::size_t i = hash(p) & mask(); !(entries_[table_[i] - 1].place() == p); i = (i + 1) & mask()) ++n;
    return n;
  }
  bool erase(Place p) {
    if (table_.empty()) return false;
    for (std::size_t i = hash(p) & mask();; i = (i + 1) & mask()) {
      std::uint32_t at = table_[i];
      if (at == 0) return false;
      Entry& e = entries_[at - 1];
      if (e.place() == p) {
        if (e.erased) return false;
        e.erased = true;
        --live_;
        return true;
      }
    }
  }
  template <class F> void for_each(F&& f) {
    for (Entry& e : entries_)
      if (!e.erased) f(e.place(), e.value);
  }
  template <class F> void for_each(F&& f) const {
    for (const Entry& e : entries_)
      if (!e.erased) f(e.place(), e.value);
  }
  std::size_t size() const { return live_; }
  std::int64_t bytes() const { return static_cast<std::int64_t>(entries_.capacity() * sizeof(Entry) + table_.capacity() * 4); }
  void clear() {
    entries_ = decltype(entries_)(entries_.get_allocator());
    table_ = decltype(table_)(table_.get_allocator());
    live_ = 0;
  }

private:
  // Sixteen serials in a row share a line of the table: places are mostly met in the order in which their objects were made, or
  // the reverse.
  static std::size_t hash(Place p) {
    std::uint64_t h = ((p.serial >> 4) * 0x9E3779B97F4A7C15u) ^ (std::uint64_t{p.slot} * 0xC2B2AE3D27D4EB4Fu);
    return static_cast<std::size_t>((h ^ h >> 32) << 4 | (p.serial & 15));
  }
  std::size_t mask() const { return table_.size() - 1; }
  // Drops erased entries and makes the table at least four times as large as what lives.
  void rebuild() {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < entries_.size(); ++i)
      if (!entries_[i].erased) {
        if (kept != i) entries_[kept] = entries_[i];
        ++kept;
      }
    entries_.resize(kept);
    std::size_t size = 16;
    while (size < (kept + 1) * 4) size *= 2;
    table_.assign(size, 0);
    for (std::size_t n = 0; n < kept; ++n) {
      std::size_t i = hash(entries_[n].place()) & mask();
      while (table_[i] != 0) i = (i + 1) & mask();
      table_[i] = static_cast<std::uint32_t>(n + 1);
    }
  }

  template <class U> using Line = std::vector<U, typename std::allocator_traits<Memory>::template rebind_alloc<U>>;
  Line<Entry> entries_;
  Line<std::uint32_t> table_;
  std::size_t live_ = 0;
};

} // namespace cairn::tape
