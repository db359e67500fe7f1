// Tensors as a tape keeps them: most are descriptions, which take a few words instead of what a tensor of kMostAxes axes takes.
// Axes that there are not and strides of what lies in rows take nothing.
#pragma once

#include "ops/tensor.h"

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace cairn::tape {

// Never changed once it is made. What it holds is shared with the tensors it was made of.
class KeptTensors {
public:
  KeptTensors() = default;
  explicit KeptTensors(std::span<const ops::Tensor> tensors);
  ~KeptTensors();
  KeptTensors(KeptTensors&& other) noexcept
      : words_(std::move(other.words_)), length_(std::exchange(other.length_, 0)), size_(std::exchange(other.size_, 0)) {}
  KeptTensors& operator=(KeptTensors&& other) noexcept {
    std::swap(words_, other.words_);
    std::swap(length_, other.length_);
    std::swap(size_, other.size_);
    return *this;
  }

  std::size_t size() const { return size_; }
  // As many as there are.
  void read(std::span<ops::Tensor> to) const;
  std::vector<ops::Tensor> all() const {
    std::vector<ops::Tensor> tensors(size_);
    read(tensors);
    return tensors;
  }
  // Calls f(Storage&) for each tensor that is kept.
  template <class F> void each_storage(F&& f) const {
    for (std::uint32_t i = 0; ops::Storage* const storage = next_storage(i);) f(*storage);
  }
  // Of their elements, kept or not.
  std::uint64_t element_bytes() const;
  // Of those kept, in memory that was made from that serial on. Each counts, whatever it shares.
  std::uint64_t kept_bytes(std::uint64_t since) const;
  // That it takes itself, without elements.
  std::int64_t bytes() const { return static_cast<std::int64_t>(length_ * sizeof(std::uint64_t)); }

private:
  template <class F> std::uint64_t bytes_where(F&& counts) const; // counts(head, what is behind it)
  ops::Storage* next_storage(std::uint32_t& at) const;            // from word `at` on, and moves behind it; null: there is none
  std::unique_ptr<std::uint64_t[]>
      words_; // of each tensor a head, its storage, device or number, its sizes, then offset and strides
  std::uint32_t length_ = 0, size_ = 0;
};

} // namespace cairn::tape
