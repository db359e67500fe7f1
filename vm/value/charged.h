// Memory outside of the heap whose size a program chooses, charged to an account for as long as it is held: an amount of bytes,
// and the allocator of containers that charge what they take.
#pragma once

#include "vm/value/heap.h"

#include <cstdint>
#include <memory>
#include <new>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace cairn::value {

// Bytes of an account. Growing may go over the budget; then nothing has changed.
class Charged {
public:
  explicit Charged(Heap& heap) : Charged(heap, heap.scratch) {}
  Charged(Heap& heap, Account& account, std::int64_t bytes = 0) : heap_(&heap), account_(&account) { grow(bytes); }
  Charged(Charged&& o) noexcept : heap_(o.heap_), account_(o.account_), bytes_(std::exchange(o.bytes_, 0)) {}
  Charged& operator=(Charged&&) = delete;
  ~Charged() { heap_->charge(*account_, -bytes_); }
  std::int64_t bytes() const { return bytes_; }
  void grow(std::int64_t bytes) {
    heap_->charge(*account_, bytes);
    bytes_ += bytes;
  }
  void set(std::int64_t bytes) { grow(bytes - bytes_); }

private:
  Heap* heap_;
  Account* account_;
  std::int64_t bytes_ = 0;
};

template <class T> class ChargedAllocator {
public:
  using value_type = T;
  ChargedAllocator(Heap& heap) : ChargedAllocator(heap, heap.scratch) {} // implicit: containers are made from a heap
  ChargedAllocator(Heap& heap, Account& account) : heap_(&heap), account_(&account) {}
  template <class U> ChargedAllocator(const ChargedAllocator<U>& o) : heap_(o.heap_), account_(o.account_) {}

  T* allocate(std::size_t n) {
    if (n > static_cast<std::size_t>(INT64_MAX) / sizeof(T)) throw std::bad_alloc();
    heap_->charge(*account_, bytes(n));
    try {
      return std::allocator<T>().allocate(n);
    } catch (...) {
      heap_->charge(*account_, -bytes(n));
      throw;
    }
  }
  void deallocate(T* memory, std::size_t n) noexcept {
    heap_->charge(*account_, -bytes(n));
    std::allocator<T>().deallocate(memory, n);
  }
  Heap& heap() const { return *heap_; }
  template <class U> bool operator==(const ChargedAllocator<U>& o) const { return heap_ == o.heap_ && account_ == o.account_; }

private:
  template <class U> friend class ChargedAllocator;
  static std::int64_t bytes(std::size_t n) { return static_cast<std::int64_t>(n * sizeof(T)); }
  Heap* heap_;
  Account* account_;
};

// What is pending in a walk. Few walks have more than a few entries at once; those take no memory.
template <class T> class ChargedStack {
public:
  explicit ChargedStack(Heap& heap) : more_(heap) {}
  bool empty() const { return few_ == 0; }
  T& back() { return more_.empty() ? entries_[few_ - 1] : more_.back(); }
  void push_back(const T& entry) {
    if (few_ < kFew)
      entries_[few_++] = entry;
    else
      more_.push_back(entry);
  }
  void pop_back() {
    if (more_.empty())
      --few_;
    else
      more_.pop_back();
  }

private:
  static constexpr std::size_t kFew = 8;
  std::size_t few_ = 0;
  T entries_[kFew]; // as many as few_ says
  std::vector<T, ChargedAllocator<T>> more_;
};

// Made from a heap: ChargedVector<T> v(heap).
template <class T> using ChargedVector = std::vector<T, ChargedAllocator<T>>;
template <class K, class V>
using ChargedMap = std::unordered_map<K, V, std::hash<K>, std::equal_to<K>, ChargedAllocator<std::pair<const K, V>>>;
template <class K> using ChargedSet = std::unordered_set<K, std::hash<K>, std::equal_to<K>, ChargedAllocator<K>>;

} // namespace cairn::value
