// Shapes: sizes of axes, at most kMostAxes. All arithmetic on sizes is checked: what does not fit into 63 bits is refused.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <string>

namespace cairn::ops {

inline constexpr int kMostAxes = 8;

// A wrong use of an operator. The message names the operator and shows the shapes; whoever called adds the location.
struct OperatorError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Shape {
public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> sizes) : Shape(std::span<const std::int64_t>(sizes.begin(), sizes.size())) {}
  // OperatorError: more than kMostAxes, or a negative size.
  explicit Shape(std::span<const std::int64_t> sizes);

  int rank() const { return rank_; }
  std::int64_t operator[](int axis) const { return sizes_[static_cast<std::size_t>(axis)]; }
  std::int64_t& operator[](int axis) { return sizes_[static_cast<std::size_t>(axis)]; }
  const std::int64_t* begin() const { return sizes_.data(); }
  const std::int64_t* end() const { return sizes_.data() + rank_; }
  std::span<const std::int64_t> sizes() const { return {sizes_.data(), static_cast<std::size_t>(rank_)}; }
  void push_back(std::int64_t size);
  bool operator==(const Shape& other) const {
    if (rank_ != other.rank_) return false;
    for (std::size_t i = 0; i < static_cast<std::size_t>(rank_); ++i)
      if (sizes_[i] != other.sizes_[i]) return false;
    return true;
  }

  // The product of the sizes; 1 for no axes. OperatorError if it does not fit.
  std::int64_t elements() const {
    constexpr std::uint64_t kSmall = std::uint64_t{1} << 31;
    std::uint64_t product = 1;
    for (const std::int64_t size : *this) {
      if (static_cast<std::uint64_t>(size) >= kSmall || product >= kSmall) return checked_elements();
      product *= static_cast<std::uint64_t>(size);
    }
    return static_cast<std::int64_t>(product);
  }
  // (2 3 4)
  std::string text() const;

private:
  std::int64_t checked_elements() const;
  std::int32_t rank_ = 0;
  std::array<std::int64_t, kMostAxes> sizes_{};
};

// (2 3 4), as messages show lists. (To have them formatted by the library for that takes seconds of every source that does.)
std::string list_text(std::span<const std::int64_t> numbers);

// NumPy's rule: axes are aligned at the last one, a size of 1 stretches. OperatorError in the name of `who`.
Shape broadcast(std::string_view who, const Shape& a, const Shape& b);

// An axis of a tensor of this rank, where negative ones count from the end. OperatorError.
int axis_in(std::string_view who, std::int64_t axis, int rank);

} // namespace cairn::ops
