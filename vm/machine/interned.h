// What programs put in force by its text, such as schedules: states name each by its number, so it stays once it was in force.
#pragma once

#include "vm/value/charged.h"

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace cairn::machine {

// `to_string` tells any two of them apart. Number 0 is that of the command line.
template <class T> class Interned {
public:
  explicit Interned(value::Heap& heap) : charged_(heap) {}

  const T& operator[](std::size_t number) const { return list_[number]; }
  std::size_t size() const { return list_.size(); }
  auto begin() const { return list_.begin(); }
  auto end() const { return list_.end(); }
  // Of a restored state, or the one of the command line.
  void assign(std::vector<T> list) { list_ = std::move(list); }
  // BudgetExceeded.
  std::uint32_t number_of(const T& one) {
    number_them();
    if (const auto known = numbers_.find(to_string(one)); known != numbers_.end()) return known->second;
    // A program may make up as many as it likes. A few are not worth an account.
    constexpr std::size_t kFew = 64, kBytes = 256;
    if (list_.size() >= kFew) charged_.set(static_cast<std::int64_t>((list_.size() + 1 - kFew) * kBytes));
    list_.push_back(one);
    number_them();
    return static_cast<std::uint32_t>(list_.size() - 1);
  }

private:
  void number_them() {
    for (; numbered_ < list_.size(); ++numbered_)
      numbers_.emplace(to_string(list_[numbered_]), static_cast<std::uint32_t>(numbered_));
  }
  std::vector<T> list_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::size_t numbered_ = 0; // the first so many are in there
  value::Charged charged_;
};

} // namespace cairn::machine
