// A schedule's state as a line of 64-bit words. One template per class, fields(self, archive), names its members once; with a
// WordWriter it saves them, with a WordReader it restores them.
#pragma once

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

// Most words of a schedule are small numbers. So they take a quarter of their room as lines of seven bits, the lowest first, each
// in a byte whose eighth bit says that more follow. The first word is the number of bytes.
inline std::vector<std::uint64_t> packed(const std::vector<std::uint64_t>& words) {
  constexpr std::uint64_t kMore = 0x80;
  std::vector<std::uint64_t> packed{0};
  std::uint64_t count = 0;
  const auto put = [&](std::uint64_t byte) {
    const std::uint64_t at = count++ % sizeof(std::uint64_t);
    if (at == 0) packed.push_back(0);
    packed.back() |= byte << (8 * at);
  };
  for (std::uint64_t word : words) {
    for (; word >= kMore; word >>= 7) put((word & (kMore - 1)) | kMore);
    put(word);
  }
  packed.front() = count;
  return packed;
}

// None: nothing was packed like this.
inline std::optional<std::vector<std::uint64_t>> unpacked(const std::vector<std::uint64_t>& packed) {
  constexpr std::uint64_t kMore = 0x80;
  constexpr std::size_t kBytes = sizeof(std::uint64_t);
  if (packed.empty() || packed.front() > (packed.size() - 1) * kBytes || packed.front() + kBytes <= (packed.size() - 1) * kBytes)
    return std::nullopt;
  std::vector<std::uint64_t> words;
  std::uint64_t word = 0;
  int shift = 0;
  for (std::uint64_t i = 0; i < packed.front(); ++i) {
    const std::uint64_t byte = packed[1 + i / kBytes] >> (8 * (i % kBytes)) & 0xff;
    const std::uint64_t bits = byte & (kMore - 1);
    if (shift > 63 || bits << shift >> shift != bits) return std::nullopt;
    word |= bits << shift;
    shift += 7;
    if ((byte & kMore) != 0) continue;
    words.push_back(word);
    word = 0;
    shift = 0;
  }
  return shift == 0 ? std::optional(std::move(words)) : std::nullopt;
}

} // namespace cairn::schedule
