// What is free of a memory at each of many moments, which may follow each other in a circle, and stretches of time that take a
// part of it: a tree, so that a stretch of any length takes O(log n) steps.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace cairn::ops::plans {

class Profile {
public:
  explicit Profile(std::span<const std::int64_t> free) : size_(free.size()) {
    while (leaves_ < size_) leaves_ *= 2;
    least_.resize(2 * leaves_, kEndless);
    change_.resize(2 * leaves_);
    std::ranges::copy(free, least_.begin() + static_cast<std::ptrdiff_t>(leaves_));
    for (std::size_t i = leaves_; --i > 0;) least_[i] = std::min(least_[2 * i], least_[2 * i + 1]);
  }
  // So many bytes of all moments [begin, end), if there are as many: `begin` is one of them, and behind the last comes the first,
  // no moment twice.
  bool take(std::size_t begin, std::size_t end, std::int64_t bytes) {
    if (end - begin > size_ || least({1, 0, leaves_}, begin, end) < bytes) return false;
    if (end > size_ && least({1, 0, leaves_}, 0, end - size_) < bytes) return false;
    give(begin, end, -bytes);
    return true;
  }
  void give(std::size_t begin, std::size_t end, std::int64_t bytes) {
    add({1, 0, leaves_}, begin, std::min(end, size_), bytes);
    if (end > size_) add({1, 0, leaves_}, 0, end - size_, bytes);
  }

private:
  static constexpr std::int64_t kEndless = std::numeric_limits<std::int64_t>::max() / 2;
  struct Node {
    std::size_t index = 1, from = 0, to = 0;
    Node left() const { return {2 * index, from, (from + to) / 2}; }
    Node right() const { return {2 * index + 1, (from + to) / 2, to}; }
  };
  std::int64_t least(const Node& node, std::size_t begin, std::size_t end) const {
    if (begin >= node.to || end <= node.from) return kEndless;
    if (begin <= node.from && node.to <= end) return least_[node.index];
    return change_[node.index] + std::min(least(node.left(), begin, end), least(node.right(), begin, end));
  }
  void add(const Node& node, std::size_t begin, std::size_t end, std::int64_t bytes) {
    if (begin >= node.to || end <= node.from) return;
    if (begin <= node.from && node.to <= end) {
      least_[node.index] += bytes;
      change_[node.index] += bytes;
      return;
    }
    add(node.left(), begin, end, bytes);
    add(node.right(), begin, end, bytes);
    least_[node.index] = change_[node.index] + std::min(least_[2 * node.index], least_[2 * node.index + 1]);
  }

  std::size_t size_, leaves_ = 1;
  std::vector<std::int64_t> least_, change_; // by node: of all below it; and what all below it have got besides
};

} // namespace cairn::ops::plans
