// Memory for the time of one kernel. The thread keeps some for its next one: fresh memory costs more than most kernels.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>

namespace cairn::ops::cpu {

class Scratch {
public:
  Scratch() = default;
  // 64-byte aligned, contents undefined; empty if there is no memory.
  explicit Scratch(std::int64_t bytes) {
    for (Held& held : spare())
      if (held.bytes >= bytes && (held_.memory == nullptr || held.bytes < held_.bytes)) std::swap(held_, held);
    if (held_.memory != nullptr) return;
    const std::int64_t rounded = (bytes + 63) / 64 * 64;
    held_ = {std::unique_ptr<void, Free>(std::aligned_alloc(64, static_cast<std::size_t>(rounded))), rounded};
    if (held_.memory == nullptr) held_.bytes = 0;
  }
  ~Scratch() {
    auto& kept = spare();
    Held& least = *std::min_element(kept.begin(), kept.end(), [](const Held& a, const Held& b) { return a.bytes < b.bytes; });
    if (least.bytes < held_.bytes) std::swap(least, held_);
  }
  Scratch(Scratch&& other) noexcept : held_(std::exchange(other.held_, {})) {}
  Scratch& operator=(Scratch&& other) noexcept {
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
  static std::array<Held, 3>& spare() {
    thread_local std::array<Held, 3> kept;
    return kept;
  }
  Held held_;
};

} // namespace cairn::ops::cpu
