// Descriptions of pieces of memory, which lie in slabs of their own: what a piece is must be known while nobody may touch it.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace cairn::ops::cpu {

// T has a member `next_free`.
template <class T> class Slabs {
public:
  // As it was made or given back last. bad_alloc.
  T* take() {
    if (free_ == nullptr) {
      slabs_.reserve(slabs_.size() + 1);
      slabs_.push_back(std::make_unique<T[]>(kInSlab));
      for (std::size_t i = kInSlab; i-- > 0;) give_back(&slabs_.back()[i]);
    }
    T* p = free_;
    free_ = p->next_free;
    return p;
  }
  void give_back(T* p) noexcept {
    p->next_free = free_;
    free_ = p;
  }

private:
  static constexpr std::size_t kInSlab = 64;
  std::vector<std::unique_ptr<T[]>> slabs_;
  T* free_ = nullptr;
};

} // namespace cairn::ops::cpu
