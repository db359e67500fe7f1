// Places (docs/design.md 5.1): the slot of an object, named by the object's serial. A PlaceMap is a hash map from places; its
// order of iteration depends on nothing but the order of insertions. Many places are in tables of their neighbourhoods: one table
// of millions would take tenths of a second to grow, in the middle of a step.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace cairn::tape {

struct Place {
  std::uint64_t serial = 0;
  std::uint32_t slot = 0;
  auto operator<=>(const Place&) const = default;
};

// One table, iterated in the order of insertion. Takes its memory from `Memory`, an allocator of anything.
template <class T, class Memory> class PlaceTable {
public:
  struct Entry { // a place, spelled out so that `erased` takes no room
    std::uint64_t serial;
    std::uint32_t slot;
    bool erased;
    T value;
    Place place() const { return {serial, slot}; }
  };
  explicit PlaceTable(const Memory& memory) : entries_(memory), table_(memory) {}
  // A copy has the capacity of the original: what is charged for a table depends on what was put into it, not on who copied it,
  // and one that is read from a file is charged the same.
  PlaceTable(const PlaceTable& other) : entries_(other.entries_.get_allocator()), table_(other.table_), live_(other.live_) {
    entries_.reserve(other.entries_.capacity());
    entries_.insert(entries_.end(), other.entries_.begin(), other.entries_.end());
  }
  PlaceTable& operator=(const PlaceTable& other) {
    if (this != &other) *this = PlaceTable(other);
    return *this;
  }
  PlaceTable(PlaceTable&&) noexcept = default;
  PlaceTable& operator=(PlaceTable&&) noexcept = default;
  ~PlaceTable() = default;

  T* find(Place p) {
    if (table_.empty()) return nullptr;
    for (std::size_t i = hash(p) & mask();; i = (i + 1) & mask()) {
      std::uint32_t at = table_[i];
      if (at == 0) return nullptr;
      Entry& e = entries_[at - 1];
      if (e.place() == p) return e.erased ? nullptr : &e.value;
    }
  }
  // The value at p, default-made if it was not there; `fresh` tells. Inline: a call for each number that a tape lifts is felt.
  [[gnu::always_inline]] T& at(Place p, bool& fresh) {
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
  [[gnu::noinline]] void rebuild() {
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

// The first kFew are in one table. Then there is a table for each neighbourhood, in the order in which they were met.
template <class T, class Memory = std::allocator<std::byte>> class PlaceMap {
public:
  static constexpr std::size_t kFew = 1 << 15;

  explicit PlaceMap(const Memory& memory = Memory()) : few_(memory), numbers_(memory), tables_(memory) {}

  T* find(Place p) {
    if (tables_.empty()) return few_.find(p);
    Table* table = table_of(p);
    return table != nullptr ? table->find(p) : nullptr;
  }
  // The value at p, default-made if it was not there; `fresh` tells.
  T& at(Place p, bool& fresh) {
    if (tables_.empty()) {
      if (few_.size() < kFew) return few_.at(p, fresh);
      spread();
    }
    return put(p, fresh);
  }
  void set(Place p, T value) {
    bool fresh = false;
    at(p, fresh) = value;
  }
  // How many entries of a table are looked at to find p, which is there.
  std::size_t probes(Place p) { return tables_.empty() ? few_.probes(p) : numbers_.probes(area_of(p)) + table_of(p)->probes(p); }
  bool erase(Place p) {
    if (tables_.empty()) return few_.erase(p);
    Table* table = table_of(p);
    if (table == nullptr || !table->erase(p)) return false;
    --live_;
    if (table->size() == 0) { // places of objects that are gone do not come back
      in_tables_ -= table->bytes();
      table->clear();
    }
    return true;
  }
  template <class F> void for_each(F&& f) { each(*this, f); }
  template <class F> void for_each(F&& f) const { each(*this, f); }
  std::size_t size() const { return tables_.empty() ? few_.size() : live_; }
  std::int64_t bytes() const {
    return few_.bytes() + numbers_.bytes() + static_cast<std::int64_t>(tables_.capacity() * sizeof(Table)) + in_tables_;
  }
  void clear() {
    few_.clear();
    numbers_.clear();
    tables_ = decltype(tables_)(tables_.get_allocator());
    live_ = 0;
    in_tables_ = 0;
    last_area_ = kNoArea;
  }

private:
  using Table = PlaceTable<T, Memory>;
  using Tables = std::vector<Table, typename std::allocator_traits<Memory>::template rebind_alloc<Table>>;

  static Place area_of(Place p) { return {p.serial >> 12, p.slot >> 4}; }
  static constexpr Place kNoArea{UINT64_MAX, 0};

  Table* table_of(Place p) {
    const Place area = area_of(p);
    if (!(area == last_area_)) {
      const std::uint32_t* number = numbers_.find(area);
      if (number == nullptr) return nullptr;
      last_area_ = area;
      last_ = *number;
    }
    return &tables_[last_];
  }
  T& put(Place p, bool& fresh) {
    Table* table = table_of(p);
    if (table == nullptr) {
      bool added = false;
      tables_.emplace_back(Memory(tables_.get_allocator()));
      try {
        numbers_.at(area_of(p), added) = static_cast<std::uint32_t>(tables_.size() - 1);
      } catch (...) {
        tables_.pop_back();
        throw;
      }
      table = table_of(p);
    }
    const std::int64_t before = table->bytes();
    T& value = table->at(p, fresh);
    in_tables_ += table->bytes() - before;
    if (fresh) ++live_;
    return value;
  }
  void spread() {
    PlaceMap spread(Memory(tables_.get_allocator()));
    few_.for_each([&](Place p, const T& value) {
      bool fresh = false;
      spread.put(p, fresh) = value;
    });
    *this = std::move(spread);
  }
  template <class Self, class F> static void each(Self& self, F&& f) {
    if (self.tables_.empty()) return self.few_.for_each(f);
    for (auto& table : self.tables_) table.for_each(f);
  }

  Table few_;
  PlaceTable<std::uint32_t, Memory> numbers_; // of the tables, by area
  Tables tables_;
  std::size_t live_ = 0;       // in the tables
  std::int64_t in_tables_ = 0; // bytes
  Place last_area_ = kNoArea;  // that was met, and its table
  std::uint32_t last_ = 0;
};

} // namespace cairn::tape
