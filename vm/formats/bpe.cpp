// See bpe.h.
#include "vm/formats/bpe.h"

#include "ops/meter.h"
#include "vm/formats/format_error.h"
#include "vm/formats/json.h"
#include "vm/text/character_classes.h"
#include "vm/text/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <unordered_map>
#include <utility>

namespace cairn::formats {

namespace {

constexpr std::size_t kPartsBetweenPolls = 4096;

bool is_blank(std::uint32_t c) {
  return c == ' ' || (c >= 9 && c <= 13) || c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
         c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

enum class Class : std::uint8_t { letter, number, blank, other };
Class class_of(std::uint32_t c) {
  if (c < 0x80) {
    if ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') return Class::letter;
    if (c >= '0' && c <= '9') return Class::number;
    return is_blank(c) ? Class::blank : Class::other;
  }
  return text::is_letter(c) ? Class::letter : text::is_number(c) ? Class::number : is_blank(c) ? Class::blank : Class::other;
}

// The files write bytes as characters that can be seen: what is no character of Latin-1 that can stands for one from U+0100 on.
constexpr bool stands_for_itself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}
constexpr std::uint32_t kFirstOther = 0x100;
constexpr auto kOthers = [] {
  std::array<unsigned char, 68> out{};
  std::size_t n = 0;
  for (unsigned byte = 0; byte < 256; ++byte)
    if (!stands_for_itself(byte)) out[n++] = static_cast<unsigned char>(byte);
  return out;
}();

// The bytes of a token as it is written; a text that no such file has for bytes stands for itself.
std::string bytes_of(std::string_view written) {
  std::string out;
  for (std::size_t at = 0; at < written.size();) {
    const std::uint32_t c = text::next_code_point(written, at);
    if (c < kFirstOther && stands_for_itself(c))
      out += static_cast<char>(c);
    else if (c >= kFirstOther && c < kFirstOther + kOthers.size())
      out += static_cast<char>(kOthers[c - kFirstOther]);
    else
      return std::string(written);
  }
  return out;
}

std::uint64_t key_of(std::uint32_t first, std::uint32_t second) { return std::uint64_t{first} << 32 | second; }
std::uint64_t mixed(std::uint64_t key) {
  key *= 0x9E3779B97F4A7C15;
  return key ^ key >> 29;
}

// An object of texts and their numbers.
class VocabularySink : public JsonSink {
public:
  void begin() override {
    if (depth_++ != 0) wrong();
  }
  void end(bool object) override {
    if (!object) wrong();
  }
  void text(std::string_view text) override {
    if (depth_ == 0 || named_) wrong();
    name_ = text;
    named_ = true;
  }
  void integer(std::int64_t i) override {
    if (!named_ || i < 0 || i > UINT32_MAX) wrong();
    if (entries.size() % kPartsBetweenPolls == 0) ops::Meter::poll_current();
    entries.emplace_back(static_cast<std::uint32_t>(i), bytes_of(name_));
    named_ = false;
  }
  void number(double) override { wrong(); }
  void truth(bool) override { wrong(); }
  void null() override { wrong(); }
  std::vector<std::pair<std::uint32_t, std::string>> entries;

private:
  [[noreturn]] static void wrong() {
    throw FormatError(
        FormatError::kNowhere,
        "is no vocabulary: an object with the number of each token, from 0 on, is expected, such as {\"a\": 0, \"b\": 1}");
  }
  int depth_ = 0;
  bool named_ = false;
  std::string name_;
};

} // namespace

std::size_t end_of_part(std::string_view text, std::size_t at) {
  const std::string_view rest = text.substr(at);
  for (const std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"})
    if (rest.starts_with(ending)) return at + ending.size();
  const auto next = [&](std::size_t& i) { return class_of(text::next_code_point(text, i)); };
  std::size_t end = at;
  Class kind = next(end);
  if (text[at] == ' ' && end < text.size()) { // the space belongs to what follows, if that is not blank
    std::size_t behind = end;
    const Class following = next(behind);
    if (following != Class::blank) {
      kind = following;
      end = behind;
    }
  }
  std::size_t last = at; // of blanks, the one that was read last
  for (std::size_t i = end; i < text.size(); end = i) {
    const std::size_t begin = i;
    if (next(i) != kind) {
      // The last of several blanks is left for what follows them.
      return kind == Class::blank && last != at ? last : end;
    }
    last = begin;
    if ((i - at) / kPartsBetweenPolls != (begin - at) / kPartsBetweenPolls) ops::Meter::poll_current();
  }
  return end;
}

std::int64_t Merges::find(std::uint32_t first, std::uint32_t second) const {
  const std::size_t entries = table.size() / 2, mask = entries - 1; // a power of two
  const std::uint64_t key = key_of(first, second);
  for (std::size_t i = 0, at = mixed(key) & mask; i < entries; ++i, at = (at + 1) & mask) {
    if (table[2 * at] == kFree) return kFree;
    if (static_cast<std::uint64_t>(table[2 * at]) == key) return table[2 * at + 1];
  }
  return kFree;
}

void Merger::consider(const std::vector<std::uint32_t>& tokens, std::uint32_t at) {
  const std::uint32_t behind = next_[at];
  if (behind == tokens.size()) return;
  const std::int64_t found = merges_.find(tokens[at], tokens[behind]);
  if (found < 0) return;
  heap_.push_back({found, at, tokens[at], tokens[behind]});
  const auto later = [](const Candidate& a, const Candidate& b) {
    return std::pair(a.found >> 32, a.at) > std::pair(b.found >> 32, b.at);
  };
  std::push_heap(heap_.begin(), heap_.end(), later);
}

void Merger::merge(std::vector<std::uint32_t>& tokens) {
  constexpr std::uint32_t kGone = UINT32_MAX;
  const auto count = static_cast<std::uint32_t>(tokens.size());
  next_.resize(count);
  before_.resize(count);
  heap_.clear();
  for (std::uint32_t i = 0; i < count; ++i) {
    next_[i] = i + 1;
    before_[i] = i - 1;
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    if (i % kPartsBetweenPolls == 0) ops::Meter::poll_current();
    consider(tokens, i);
  }
  const auto later = [](const Candidate& a, const Candidate& b) {
    return std::pair(a.found >> 32, a.at) > std::pair(b.found >> 32, b.at);
  };
  for (std::size_t n = 0; !heap_.empty(); ++n) {
    if (n % kPartsBetweenPolls == 0) ops::Meter::poll_current();
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const Candidate best = heap_.back();
    heap_.pop_back();
    const std::uint32_t behind = next_[best.at];
    // It is no longer there if one of its tokens has been merged.
    if (behind == kGone || behind == count || tokens[best.at] != best.left || tokens[behind] != best.right) continue;
    tokens[best.at] = static_cast<std::uint32_t>(best.found);
    next_[best.at] = next_[behind];
    if (next_[behind] != count) before_[next_[behind]] = best.at;
    next_[behind] = kGone;
    consider(tokens, best.at);
    if (best.at != 0) consider(tokens, before_[best.at]);
  }
  std::size_t left = 0;
  for (std::uint32_t i = 0; i < count; i = next_[i]) tokens[left++] = tokens[i];
  tokens.resize(left);
}

BpeVocabulary parse_vocabulary(std::string_view json) {
  VocabularySink sink;
  parse_json(json, sink);
  BpeVocabulary out;
  constexpr std::size_t kMostUnused = 65536; // numbers without a token
  std::uint32_t most = 0;
  for (const auto& [number, bytes] : sink.entries) most = std::max(most, number);
  if (sink.entries.empty()) throw FormatError(FormatError::kNowhere, "is a vocabulary without tokens");
  if (most >= sink.entries.size() + kMostUnused)
    throw FormatError(FormatError::kNowhere, fmt::format("has a token with the number {}, and {} tokens; tokens are numbered "
                                                         "from 0 on, and at most {} numbers may be left out",
                                                         most, sink.entries.size(), kMostUnused));
  out.tokens.resize(std::size_t{most} + 1);
  std::vector<bool> seen(out.tokens.size());
  for (auto& [number, bytes] : sink.entries) {
    if (seen[number])
      throw FormatError(FormatError::kNowhere, fmt::format("has two tokens with the number {}; give each its own", number));
    seen[number] = true;
    out.tokens[number] = std::move(bytes);
  }
  return out;
}

BpeFiles parse_merges(std::string_view text, const BpeVocabulary& vocabulary) {
  std::unordered_map<std::string_view, std::uint32_t> numbers;
  BpeFiles out;
  for (std::size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    if (i % kPartsBetweenPolls == 0) ops::Meter::poll_current();
    const std::string& token = vocabulary.tokens[i];
    if (!token.empty()) numbers.emplace(token, static_cast<std::uint32_t>(i));
    out.bytes += token;
    out.ends.push_back(static_cast<std::int64_t>(out.bytes.size()));
  }
  std::uint64_t begin = 0;
  const auto number_of = [&](const std::string& token) {
    const auto found = numbers.find(token);
    if (found == numbers.end()) throw FormatError(begin, "merges a token that is not in the vocabulary, or into one that is not");
    return found->second;
  };
  for (unsigned byte = 0; byte < 256; ++byte) {
    const auto found = numbers.find(std::string(1, static_cast<char>(byte)));
    if (found == numbers.end())
      throw FormatError(FormatError::kNowhere,
                        fmt::format("goes with a vocabulary that has no token for bytes of value {}", byte));
    out.of_bytes.push_back(found->second);
  }
  std::vector<std::pair<std::uint64_t, std::uint32_t>> merges;
  for (std::string_view rest = text; !rest.empty();) {
    if (merges.size() % kPartsBetweenPolls == 0) ops::Meter::poll_current();
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    begin = static_cast<std::uint64_t>(rest.data() - text.data());
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || (begin == 0 && line.starts_with("#version"))) continue;
    const std::size_t space = line.find(' ');
    for (std::size_t at = 0, character = 0; at < line.size();)
      if (character = at; text::next_code_point(line, at) == text::kMalformed)
        throw FormatError(begin + character, "has bytes that are no text in UTF-8");
    if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos)
      throw FormatError(begin, "has a line that is not two tokens");
    const std::string left = bytes_of(line.substr(0, space)), right = bytes_of(line.substr(space + 1));
    merges.emplace_back(key_of(number_of(left), number_of(right)), number_of(left + right));
  }
  if (merges.size() > INT32_MAX) throw FormatError(FormatError::kNowhere, "has more lines than tokens can have numbers");
  out.table.assign(2 * std::bit_ceil(2 * merges.size() + 1), Merges::kFree);
  const std::size_t mask = out.table.size() / 2 - 1;
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    if (rank % kPartsBetweenPolls == 0) ops::Meter::poll_current();
    const auto [key, token] = merges[rank];
    std::size_t at = mixed(key) & mask;
    while (out.table[2 * at] != Merges::kFree && static_cast<std::uint64_t>(out.table[2 * at]) != key) at = (at + 1) & mask;
    if (out.table[2 * at] != Merges::kFree) continue; // the first of two counts
    out.table[2 * at] = static_cast<std::int64_t>(key);
    out.table[2 * at + 1] = static_cast<std::int64_t>(std::uint64_t{rank} << 32 | token);
  }
  return out;
}

} // namespace cairn::formats
