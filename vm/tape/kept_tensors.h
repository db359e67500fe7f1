// Tensors as a tape keeps them: most are descriptions, which take a few words instead of what a tensor of kMostAxes axes takes.
// Axes that there are not and strides of what lies in rows take nothing.
#pragma once

#include "ops/tensor.h"

#include <bit>
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
  // One of them, without making it.
  struct Kept {
    ops::Storage* storage = nullptr; // null: only described
    std::uint64_t bytes = 0;         // of its elements
    bool weak = false;
    std::uint32_t begin = 0; // its words, in words from the first one's
  };
  // That whose words begin there, in words from the first one's, and moves behind it. False: there is none.
  bool next(std::uint32_t& at, Kept& kept) const {
    if (at == length_) return false;
    const std::uint64_t* const words = words_.get() + at;
    const Head head = std::bit_cast<Head>(*words);
    auto bytes = static_cast<std::uint64_t>(ops::bytes_of(head.dtype));
    for (std::uint32_t i = 0; i < head.rank; ++i) bytes *= words[2 + i];
    kept = {head.stored ? reinterpret_cast<const ops::StorageRef*>(words + 1)->get() : nullptr, bytes, head.weak, at};
    at += head.words();
    return true;
  }
  // Whether they are as many as others, of the same types and numbers, and lie in the same way, wherever that is.
  bool like(const KeptTensors& others) const;
  // Of those whose words begin there. Whether one lies in rows without gaps; whether one of these and one of others have the same
  // type and shape and lie in the same way at the beginning of memory of one device, and none is a number.
  bool contiguous(std::uint32_t begin) const;
  bool lies_like(std::uint32_t begin, const KeptTensors& others, std::uint32_t other) const;
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
  struct Head {
    ops::DType dtype;
    std::uint8_t rank;
    bool weak, exact;
    bool stored; // else only described, by the device where it is
    bool spread; // offset and strides follow: it does not lie in rows from the beginning of its storage. A description has no
                 // offset
    bool marked; // what is said of its factors (ops/operators/lossy.h) follows
    std::uint8_t none = 0;

    explicit Head(const ops::Tensor& t);
    std::uint32_t words() const { return 2u + rank + (spread ? 1u + rank : 0u) + (marked ? 1u : 0u); }
  };
  static Head head_at(const std::uint64_t* words) { return std::bit_cast<Head>(*words); }
  static std::uint64_t element_bytes_at(const std::uint64_t* words);
  static const ops::Device* device_at(const std::uint64_t* words); // of what is no number
  static ops::Tensor tensor_at(const std::uint64_t*& from);        // and moves behind it

  template <class F> std::uint64_t bytes_where(F&& counts) const; // counts(head, what is behind it)
  ops::Storage* next_storage(std::uint32_t& at) const;            // from word `at` on, and moves behind it; null: there is none
  std::unique_ptr<std::uint64_t[]>
      words_; // of each tensor a head, its storage, device or number, its sizes, then offset and strides, then its mark
  std::uint32_t length_ = 0, size_ = 0;
};

} // namespace cairn::tape
