// What is known of names, for tables that are asked with every launch: names lie in one array, at the first free place from the
// one that a product of the name gives, so that nothing is allocated but where the array grows. Most names are numbers in order,
// which that lays far apart.
#pragma once

#include "ops/mixing.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace cairn::ops::plans {

template <class T> class NameMap {
public:
  using Name = std::uint64_t;
  // Null: the name is not there.
  T* find(Name name) { return const_cast<T*>(std::as_const(*this).find(name)); }
  const T* find(Name name) const {
    if (places_.empty()) return nullptr;
    const Place& place = places_[place_of(name)];
    return place.name == name ? &place.value : nullptr;
  }
  // The value that is there, else the one that is given. Second: it was not there.
  std::pair<T*, bool> try_emplace(Name name, const T& value) {
    if (2 * (size_ + 1) > places_.size()) grow();
    Place& place = places_[place_of(name)];
    const bool fresh = place.name != name;
    if (fresh) {
      place = {name, value};
      ++size_;
    }
    return {&place.value, fresh};
  }
  void insert_or_assign(Name name, const T& value) { *try_emplace(name, value).first = value; }
  // Those behind it that would lie at its place move up, so that there are no gaps on the way to them.
  void erase(Name name) {
    if (places_.empty()) return;
    std::size_t gap = place_of(name);
    if (places_[gap].name != name) return;
    --size_;
    for (std::size_t at = after(gap); places_[at].name != kNone; at = after(at)) {
      const std::size_t wanted = first_place_of(places_[at].name);
      if (((at - wanted) & (places_.size() - 1)) < ((at - gap) & (places_.size() - 1))) continue;
      places_[gap] = places_[at];
      gap = at;
    }
    places_[gap].name = kNone;
  }
  void clear() {
    places_.clear();
    size_ = 0;
  }
  std::size_t size() const { return size_; }

private:
  static constexpr std::size_t kFewest = 16; // places; always a power of two
  static constexpr Name kNone = UINT64_MAX;  // is no name
  struct Place {
    Name name = kNone;
    T value{};
  };
  std::size_t first_place_of(Name name) const { return static_cast<std::size_t>(name * kGolden >> shift_); }
  std::size_t after(std::size_t place) const { return (place + 1) & (places_.size() - 1); }
  // Where the name is, or would be.
  std::size_t place_of(Name name) const {
    std::size_t at = first_place_of(name);
    while (places_[at].name != kNone && places_[at].name != name) at = after(at);
    return at;
  }
  void grow() {
    std::vector<Place> old(places_.empty() ? kFewest : 2 * places_.size());
    std::swap(old, places_);
    shift_ = 64 - std::countr_zero(places_.size());
    for (const Place& place : old)
      if (place.name != kNone) places_[place_of(place.name)] = place;
  }

  std::vector<Place> places_;
  int shift_ = 0; // so many bits of the product are left out
  std::size_t size_ = 0;
};

} // namespace cairn::ops::plans
