// Memory for the time of one kernel, taken through the meter of the machine that the thread works for: what a program's sizes
// make large is refused where its budget has no room. Small pieces are not worth counting. Scratch is kept by the thread for its
// next kernel, up to a constant: fresh memory costs more than most kernels.
#pragma once

#include "ops/cpu/device/pace.h"
#include "ops/cpu/device/pages.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace cairn::ops::cpu {

inline constexpr std::int64_t kUncounted = std::int64_t{64} << 10; // bytes of a piece of scratch that the meter does not hear of
inline constexpr std::int64_t kMostKept = std::int64_t{8} << 20;   // bytes that a thread keeps for its next kernels

// Bytes of the current meter, for as long as this is there.
class Taken {
public:
  Taken() = default;
  // ScratchExceeded.
  explicit Taken(std::int64_t bytes) : meter_(bytes > kUncounted ? Meter::current() : nullptr), bytes_(bytes) {
    if (meter_ != nullptr) meter_->take(bytes);
  }
  ~Taken() {
    if (meter_ != nullptr) meter_->give_back(bytes_);
  }
  Taken(Taken&& other) noexcept : meter_(std::exchange(other.meter_, nullptr)), bytes_(other.bytes_) {}
  Taken& operator=(Taken&& other) noexcept {
    std::swap(meter_, other.meter_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

private:
  Meter* meter_ = nullptr;
  std::int64_t bytes_ = 0;
};

class Scratch {
public:
  Scratch() = default;
  // 64-byte aligned, contents undefined; empty if the system has no memory. ScratchExceeded: the budget has no room for it.
  explicit Scratch(std::int64_t bytes) : taken_(bytes) {
    for (Held& held : spare().kept)
      if (held.bytes >= bytes && (held_.memory == nullptr || held.bytes < held_.bytes)) std::swap(held_, held);
    if (held_.memory != nullptr) return;
    const std::int64_t unit = bytes >= 2 * kHugePage ? kHugePage : 64, rounded = (bytes + unit - 1) / unit * unit;
    held_ = {std::unique_ptr<void, Free>(std::aligned_alloc(static_cast<std::size_t>(unit), static_cast<std::size_t>(rounded))),
             rounded};
    if (held_.memory == nullptr) held_.bytes = 0;
    if (held_.memory != nullptr) advise_large_pages(held_.memory.get(), rounded);
  }
  ~Scratch() {
    Spare& thread = spare();
    Held& least =
        *std::min_element(thread.kept.begin(), thread.kept.end(), [](const Held& a, const Held& b) { return a.bytes < b.bytes; });
    if (least.bytes < held_.bytes && thread.bytes() - least.bytes + held_.bytes <= kMostKept) std::swap(least, held_);
  }
  Scratch(Scratch&& other) noexcept : taken_(std::move(other.taken_)), held_(std::exchange(other.held_, {})) {}
  Scratch& operator=(Scratch&& other) noexcept {
    std::swap(taken_, other.taken_);
    std::swap(held_, other.held_);
    return *this;
  }
  float* get() const { return static_cast<float*>(held_.memory.get()); }

private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  struct Held {
    std::unique_ptr<void, Free> memory;
    std::int64_t bytes = 0;
  };
  struct Spare {
    std::array<Held, 3> kept;
    std::int64_t bytes() const { return kept[0].bytes + kept[1].bytes + kept[2].bytes; }
  };
  static Spare& spare() {
    thread_local Spare kept;
    return kept;
  }
  Taken taken_;
  Held held_;
};

// The allocator of arrays that kernels make. Elements that are not given a value are not initialised.
template <class T> struct Metered {
  using value_type = T;
  Metered() = default;
  template <class U> Metered(const Metered<U>& other) noexcept : meter(other.meter) {}

  T* allocate(std::size_t n) {
    const std::int64_t bytes = bytes_for(n);
    if (counted(bytes)) meter->take(bytes);
    try {
      return std::allocator<T>().allocate(n);
    } catch (...) {
      if (counted(bytes)) meter->give_back(bytes);
      throw;
    }
  }
  void deallocate(T* memory, std::size_t n) noexcept {
    std::allocator<T>().deallocate(memory, n);
    if (counted(bytes_for(n))) meter->give_back(bytes_for(n));
  }
  template <class U, class... Given> void construct(U* memory, Given&&... given) {
    if constexpr (sizeof...(Given) == 0)
      ::new (static_cast<void*>(memory)) U;
    else
      ::new (static_cast<void*>(memory)) U(std::forward<Given>(given)...);
  }
  friend bool operator==(const Metered& a, const Metered& b) noexcept { return a.meter == b.meter; }

  Meter* meter = Meter::current();

private:
  // A vector has asked whether so many elements can be at all.
  static std::int64_t bytes_for(std::size_t n) { return static_cast<std::int64_t>(n * sizeof(T)); }
  bool counted(std::int64_t bytes) const { return meter != nullptr && bytes > kUncounted; }
};
template <class T> using Array = std::vector<T, Metered<T>>;

// n elements of one value; filling is asked whether it was cancelled.
template <class T> Array<T> filled(std::int64_t n, T value) {
  Array<T> all;
  if constexpr (std::is_trivially_default_constructible_v<T>) {
    all.resize(static_cast<std::size_t>(n));
    in_stretches(n, [&](std::int64_t begin, std::int64_t end) { std::fill(all.begin() + begin, all.begin() + end, value); });
  } else {
    all.reserve(static_cast<std::size_t>(n));
    in_stretches(n, [&](std::int64_t begin, std::int64_t end) {
      all.resize(static_cast<std::size_t>(end), value);
      (void)begin;
    });
  }
  return all;
}

} // namespace cairn::ops::cpu
