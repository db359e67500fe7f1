// A schedule's state as a line of 64-bit words. One template per class, fields(self, archive), names its members once; with a
// WordWriter it saves them, with a WordReader it restores them.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

namespace cairn::schedule {

class WordWriter {
public:
  explicit WordWriter(std::vector<std::uint64_t>& words) : words_(words) {}
  template <class T> void operator()(const T& value) {
    if constexpr (requires { value.begin(); }) {
      words_.push_back(value.size());
      for (const auto& element : value) (*this)(element);
    } else if constexpr (std::is_class_v<T>) {
      T::fields(value, *this);
    } else {
      words_.push_back(static_cast<std::uint64_t>(value));
    }
  }

private:
  std::vector<std::uint64_t>& words_;
};

// Reads what a WordWriter wrote; ok() turns false, and stays so, where words are missing or a value does not fit its type.
class WordReader {
public:
  explicit WordReader(const std::vector<std::uint64_t>& words) : words_(words) {}
  template <class T> void operator()(T& value) {
    if constexpr (requires { value.begin(); }) {
      const std::uint64_t count = take();
      if (count > words_.size() - at_) ok_ = false;
      value.clear();
      for (std::uint64_t i = 0; ok_ && i < count; ++i) (*this)(value.emplace_back());
    } else if constexpr (std::is_class_v<T>) {
      T::fields(value, *this);
    } else {
      const std::uint64_t word = take();
      value = static_cast<T>(word);
      if (static_cast<std::uint64_t>(value) != word) ok_ = false;
    }
  }
  bool ok() const { return ok_; }
  bool complete() const { return ok_ && at_ == words_.size(); }

private:
  std::uint64_t take() {
    if (at_ == words_.size()) ok_ = false;
    return ok_ ? words_[at_++] : 0;
  }
  const std::vector<std::uint64_t>& words_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

} // namespace cairn::schedule
