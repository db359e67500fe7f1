// See streams.h.
#include "ops/cpu/exact/streams.h"

#include "ops/cpu/exact/frequencies.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace cairn::ops::exact {

namespace {

enum StreamKind : std::uint8_t { kAsItIs, kConstant, kCoded };

constexpr std::uint32_t kLeastState = 1U << 15;
constexpr std::int64_t kLanes = 4;
constexpr std::int64_t kHeadOfCoded = 2 + kLanes * 4; // behind the table

constexpr auto kLogarithms = [] { // of frequencies
  std::array<std::uint16_t, kScale + 1> logarithms{};
  for (std::uint32_t f = 0; f <= kScale; ++f) logarithms[f] = static_cast<std::uint16_t>(logarithm(f));
  return logarithms;
}();

using ByteCounts = std::array<std::uint32_t, 256>;

// Four tables, so that equal neighbours do not wait for each other.
ByteCounts counts_of(const std::uint8_t* bytes, std::int64_t count) {
  std::array<ByteCounts, 4> some{};
  std::int64_t i = 0;
  for (; i + 4 <= count; i += 4)
    for (std::size_t k = 0; k < 4; ++k) ++some[k][bytes[i + static_cast<std::int64_t>(k)]];
  for (; i < count; ++i) ++some[0][bytes[i]];
  for (std::size_t s = 0; s < 256; ++s) some[0][s] += some[1][s] + some[2][s] + some[3][s];
  return some[0];
}

// Whether, by an eighth of the bytes, all come up as often as if they were thrown: two of them are alike as seldom.
bool is_flat(const std::uint8_t* bytes, std::int64_t count) {
  constexpr std::int64_t kTogether = 16, kApart = 8 * kTogether, kFewest = 4096;
  constexpr std::uint64_t kUnlike = 195; // one of so many pairs may be alike; of thrown bytes it is one of 256
  if (count < kFewest) return false;
  ByteCounts counts{};
  std::uint64_t all = 0, alike = 0;
  for (std::int64_t i = 0; i + kTogether <= count; i += kApart, all += kTogether)
    for (std::int64_t k = 0; k < kTogether; ++k) ++counts[bytes[i + k]];
  for (const std::uint64_t n : counts) alike += n * n - n;
  return alike * kUnlike <= all * (all - 1);
}

// About how many bytes the words will take.
std::int64_t expected(const ByteCounts& counts, const Frequencies& frequencies) {
  std::uint64_t bits = 0; // in 1/256
  for (std::size_t s = 0; s < 256; ++s) bits += std::uint64_t{counts[s]} * (kScaleBits * 256 - kLogarithms[frequencies[s]]);
  return static_cast<std::int64_t>(bits / (256 * 8));
}

std::uint8_t* write_table(const Frequencies& frequencies, std::uint8_t* to, const std::uint8_t* end) {
  constexpr std::int64_t kMost = 2 + 2 * 256;
  if (end - to < kMost) return nullptr;
  const auto is = [](std::uint16_t f) { return f != 0; };
  const auto first = std::find_if(frequencies.begin(), frequencies.end(), is);
  const auto last = std::find_if(frequencies.rbegin(), frequencies.rend(), is).base() - 1;
  *to++ = static_cast<std::uint8_t>(first - frequencies.begin());
  *to++ = static_cast<std::uint8_t>(last - frequencies.begin());
  for (auto f = first; f <= last; ++f) {
    if (*f >= 128) *to++ = static_cast<std::uint8_t>(128 | *f >> 8);
    *to++ = static_cast<std::uint8_t>(*f);
    if (*f != 0) continue;
    const auto next = std::find_if(f, last, is);
    *to++ = static_cast<std::uint8_t>(next - f - 1);
    f = next - 1;
  }
  return to;
}

const std::uint8_t* read_table(const std::uint8_t* from, const std::uint8_t* end, Frequencies& frequencies) {
  if (end - from < 2) return nullptr;
  frequencies.fill(0);
  const unsigned first = *from++, last = *from++;
  unsigned all = 0;
  for (unsigned s = first; s <= last; ++s) {
    if (end - from < 2) return nullptr; // words follow
    unsigned f = *from++;
    if (f >= 128) f = (f & 127) << 8 | *from++;
    if (f == 0) s += *from++;
    all += f;
    if (all > kScale || s > last) return nullptr;
    frequencies[s] = static_cast<std::uint16_t>(f);
  }
  return all == kScale ? from : nullptr;
}

void fill_puts(const Frequencies& frequencies, std::array<Put, 256>& puts) {
  std::uint32_t first = 0;
  for (std::size_t s = 0; s < 256; ++s) {
    const std::uint32_t f = frequencies[s];
    if (f == 0) continue; // of what never comes
    Put& put = puts[s];
    put.last = (kLeastState >> kScaleBits << 16) * f - 1;
    put.rest = static_cast<std::uint16_t>(kScale - f);
    if (f == 1) { // the quotient is one less than it should be, which is added
      put.inverse = ~0U;
      put.shift = 0;
      put.added = first + kScale - 1;
    } else {
      const auto bits = static_cast<unsigned>(std::bit_width(f - 1));
      put.inverse = static_cast<std::uint32_t>(((std::uint64_t{1} << (bits + 31)) + f - 1) / f);
      put.shift = static_cast<std::uint16_t>(bits - 1);
      put.added = first;
    }
    first += f;
  }
}

void fill_takes(const Frequencies& frequencies, std::array<std::uint32_t, kScale>& takes) {
  std::uint32_t* at = takes.data();
  for (std::uint32_t s = 0; s < 256; ++s)
    for (std::uint32_t f = frequencies[s], behind = 0; behind < f; ++behind) *at++ = f << 20 | behind << 8 | s;
}

inline void put_byte(const Put& put, std::uint32_t& state, std::uint8_t*& words) {
  std::uint32_t x = state;
  const auto word = static_cast<std::uint16_t>(x);
  const bool gives = x > put.last;
  std::memcpy(words - 2, &word, sizeof word);
  words -= gives ? 2 : 0;
  x = gives ? x >> 16 : x;
  const auto quotient = static_cast<std::uint32_t>(std::uint64_t{x} * put.inverse >> 32 >> put.shift);
  state = x + put.added + quotient * put.rest;
}

// Words go to the end of the room at first: they are read in the other direction.
std::uint8_t* write_coded(const std::array<Put, 256>& puts, const std::uint8_t* bytes, std::int64_t count, std::uint8_t* to,
                          std::uint8_t* const end) {
  constexpr std::int64_t kMostOfTurn = 2 * kLanes;
  if (end - to < kHeadOfCoded + kMostOfTurn) return nullptr;
  std::uint8_t *const least = to + kHeadOfCoded + kMostOfTurn, *words = end;
  std::array<std::uint32_t, kLanes> x;
  x.fill(kLeastState);
  std::int64_t i = count;
  while (i % kLanes != 0) {
    --i;
    put_byte(puts[bytes[i]], x[static_cast<std::size_t>(i % kLanes)], words);
  }
  for (; i != 0; i -= kLanes) {
    if (words < least) return nullptr;
    put_byte(puts[bytes[i - 1]], x[3], words);
    put_byte(puts[bytes[i - 2]], x[2], words);
    put_byte(puts[bytes[i - 3]], x[1], words);
    put_byte(puts[bytes[i - 4]], x[0], words);
  }
  const std::int64_t size = end - words;
  const auto how_many = static_cast<std::uint16_t>(size / 2);
  std::memcpy(to, &how_many, sizeof how_many);
  std::memcpy(to + sizeof how_many, x.data(), sizeof x);
  std::memmove(to + kHeadOfCoded, words, static_cast<std::size_t>(size));
  return to + kHeadOfCoded + size;
}

inline std::uint8_t take_byte(const std::array<std::uint32_t, kScale>& takes, std::uint32_t& state, const std::uint8_t*& words) {
  const std::uint32_t take = takes[state & (kScale - 1)];
  const std::uint32_t x = (take >> 20) * (state >> kScaleBits) + (take >> 8 & 0xFFF);
  std::uint16_t word;
  std::memcpy(&word, words, sizeof word);
  const bool wants = x < kLeastState;
  state = wants ? x << 16 | word : x;
  words += wants ? 2 : 0;
  return static_cast<std::uint8_t>(take);
}

const std::uint8_t* read_coded(const std::array<std::uint32_t, kScale>& takes, const std::uint8_t* from, const std::uint8_t* end,
                               std::uint8_t* bytes, std::int64_t count) {
  if (end - from < kHeadOfCoded) return nullptr;
  std::uint16_t how_many;
  std::array<std::uint32_t, kLanes> x;
  std::memcpy(&how_many, from, sizeof how_many);
  std::memcpy(x.data(), from + sizeof how_many, sizeof x);
  const std::uint8_t* words = from + kHeadOfCoded;
  if (end - words < 2 * std::int64_t{how_many}) return nullptr;
  const std::uint8_t* const behind = words + 2 * std::int64_t{how_many};
  std::int64_t i = 0;
  for (; i + kLanes <= count && behind - words >= 2 * kLanes; i += kLanes) {
    bytes[i] = take_byte(takes, x[0], words);
    bytes[i + 1] = take_byte(takes, x[1], words);
    bytes[i + 2] = take_byte(takes, x[2], words);
    bytes[i + 3] = take_byte(takes, x[3], words);
  }
  // The last words, which others may stand behind, or nothing.
  std::array<std::uint8_t, 2 * kLanes + 2> last{};
  const std::int64_t left = behind - words;
  if (left >= 2 * kLanes) return nullptr; // more than what is left of the bytes can take
  std::memcpy(last.data(), words, static_cast<std::size_t>(left));
  const std::uint8_t* at = last.data();
  for (; i < count && at - last.data() <= left; ++i) bytes[i] = take_byte(takes, x[static_cast<std::size_t>(i % kLanes)], at);
  const bool ends_well = at - last.data() == left && i == count &&
                         std::all_of(x.begin(), x.end(), [](std::uint32_t state) { return state == kLeastState; });
  return ends_well ? behind : nullptr;
}

} // namespace

std::uint8_t* write_stream(Tables& tables, const std::uint8_t* bytes, std::int64_t count, std::uint8_t* to, std::uint8_t* end) {
  if (count == 0) return to;
  if (end - to < 2) return nullptr;
  const auto size = static_cast<std::size_t>(count);
  if (std::memcmp(bytes, bytes + 1, size - 1) == 0) {
    *to++ = kConstant;
    *to++ = *bytes;
    return to;
  }
  if (!is_flat(bytes, count)) {
    const ByteCounts counts = counts_of(bytes, count);
    Frequencies frequencies;
    scale_counts(counts, static_cast<std::uint64_t>(count), kScale, frequencies);
    // Worth it only where it saves at least a fortieth, as it takes many times as long as to copy them.
    if (const std::int64_t most = count - count / 40; expected(counts, frequencies) + kHeadOfCoded < most) {
      fill_puts(frequencies, tables.puts);
      std::uint8_t* const last = to + std::min(most, end - to);
      *to = kCoded;
      std::uint8_t* at = write_table(frequencies, to + 1, last);
      if (at != nullptr) at = write_coded(tables.puts, bytes, count, at, last);
      if (at != nullptr) return at;
    }
  }
  if (end - to < count + 1) return nullptr;
  *to++ = kAsItIs;
  std::memcpy(to, bytes, size);
  return to + count;
}

const std::uint8_t* read_stream(Tables& tables, const std::uint8_t* from, const std::uint8_t* end, std::uint8_t* bytes,
                                std::int64_t count) {
  if (count == 0) return from;
  if (from == end) return nullptr;
  const auto size = static_cast<std::size_t>(count);
  switch (*from++) {
  case kAsItIs:
    if (end - from < count) return nullptr;
    std::memcpy(bytes, from, size);
    return from + count;
  case kConstant:
    if (from == end) return nullptr;
    std::memset(bytes, *from, size);
    return from + 1;
  case kCoded: {
    Frequencies frequencies;
    from = read_table(from, end, frequencies);
    if (from == nullptr) return nullptr;
    fill_takes(frequencies, tables.takes);
    return read_coded(tables.takes, from, end, bytes, count);
  }
  default:
    return nullptr;
  }
}

} // namespace cairn::ops::exact
