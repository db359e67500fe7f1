// A schedule's state as a line of 64-bit words. One template per class, fields(self, archive), names its members once; with a
// WordWriter it saves them, with a WordReader it restores them.
#pragma once

#include "vm/bytecode/varint.h"

#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
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

// Most words of a schedule are small numbers, which take a quarter of their room like this. The first word is the number of
// bytes.
inline std::vector<std::uint64_t> packed(const std::vector<std::uint64_t>& words) {
  std::vector<std::uint64_t> packed{0};
  std::uint64_t count = 0;
  for (const std::uint64_t word : words)
    bytecode::write_varint(word, [&](std::uint64_t byte) {
      const std::uint64_t at = count++ % sizeof(std::uint64_t);
      if (at == 0) packed.push_back(0);
      packed.back() |= byte << (8 * at);
    });
  packed.front() = count;
  return packed;
}

// None: nothing was packed like this.
inline std::optional<std::vector<std::uint64_t>> unpacked(const std::vector<std::uint64_t>& packed) {
  using bytecode::Varint;
  constexpr std::size_t kBytes = sizeof(std::uint64_t);
  if (packed.empty() || packed.front() > (packed.size() - 1) * kBytes || packed.front() + kBytes <= (packed.size() - 1) * kBytes)
    return std::nullopt;
  std::vector<std::uint64_t> words;
  Varint word;
  for (std::uint64_t i = 0; i < packed.front(); ++i) {
    const Varint::State state = word.add(static_cast<std::uint8_t>(packed[1 + i / kBytes] >> (8 * (i % kBytes))));
    if (state == Varint::State::more) continue;
    if (state != Varint::State::whole) return std::nullopt;
    words.push_back(word.value());
    word = {};
  }
  return word.empty() ? std::optional(std::move(words)) : std::nullopt;
}

} // namespace cairn::schedule
