// Byte-level byte pair encoding, as GPT-2 has it: how a text is split, how the bytes of a part become tokens, and the two files
// that say which there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::formats {

// The part of a text in UTF-8 that begins at `at`, by GPT-2's expression: one of the endings 's 't 're 've 'm 'll 'd; letters, or
// numbers, or what is neither these nor blank, behind a space or not; blanks up to the one before something else; blanks. Gives
// where it ends.
std::size_t end_of_part(std::string_view text, std::size_t at);

// Pairs of tokens with their rank and the token that they become: open addressing in two numbers an entry, so that a table is a
// tensor of a program. What such a table says is checked where it is used.
struct Merges {
  static constexpr std::int64_t kFree = -1;
  std::span<const std::int64_t> table; // of each entry (first << 32 | second) and (rank << 32 | token)
  // The second number of a pair, or kFree.
  std::int64_t find(std::uint32_t first, std::uint32_t second) const;
};

// Merges the pair of the lowest rank, of those the first, until there is none. Room that is used again from part to part.
class Merger {
public:
  explicit Merger(Merges merges) : merges_(merges) {}
  // `tokens`, one for each byte, become those that are left. May be stopped.
  void merge(std::vector<std::uint32_t>& tokens);
  // Bytes that a part of so many tokens takes.
  static constexpr std::size_t room(std::size_t tokens) { return 96 * tokens; }

private:
  struct Candidate {
    std::int64_t found; // rank and token
    std::uint32_t at, left, right;
  };
  void consider(const std::vector<std::uint32_t>& tokens, std::uint32_t at);
  Merges merges_;
  std::vector<std::uint32_t> next_, before_;
  std::vector<Candidate> heap_;
};

// What GPT-2's files say.
struct BpeFiles {
  std::vector<std::uint32_t> of_bytes; // the token of each
  std::vector<std::int64_t> table;     // of merges
  std::string bytes;                   // of all tokens
  std::vector<std::int64_t> ends;      // where those of each token end in there
};
// How much memory they take while they are read.
constexpr std::uint64_t bpe_memory(std::uint64_t bytes_of_files) { return 64 * bytes_of_files + (std::uint64_t{1} << 20); }
struct BpeVocabulary {
  // The bytes of each token by number.
  std::vector<std::string> tokens;
};
// Both throw FormatError, of the first file or the second.
BpeVocabulary parse_vocabulary(std::string_view json);
BpeFiles parse_merges(std::string_view text, const BpeVocabulary& vocabulary);

} // namespace cairn::formats
