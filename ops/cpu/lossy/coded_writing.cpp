// Making the small form of a chunk: see coded.h. Tokens are looked at twice, from the first to the last for how often each comes,
// and from the last to the first to go into the states, which give them back the other way round.
#include "ops/cpu/lossy/contexts.h"
#include "ops/cpu/lossy/narrow.h"
#include "ops/cpu/lossy/states.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

namespace cairn::ops::cpu::lossy {

namespace {

constexpr std::uint32_t kOne = 1u << 16;
static_assert(kBlock * kCodedWidth < kOne);
struct Found {
  std::uint32_t all = 0;  // bits of values
  std::uint32_t bits = 0; // of all values together, but for the first of each; and kOne times how many there are
};

// Tokens of values, and what they do not say of these: how many bits, and which. Where lists are bytes (narrow.h), a mask in
// place of how many.
template <class List> struct TokenLoop {
  CAIRN_INLINE static void run(const std::uint32_t* values, std::int64_t count, std::uint8_t* tokens, List* beside, List* low,
                               Found* found) {
    std::uint32_t all = 0, bits = 0;
    CAIRN_EACH
    for (std::int64_t i = 0; i < count; ++i) {
      const std::uint32_t value = values[i], is = value != 0 ? ~0u : 0u;
      // A float has the length of its number in front and the bits behind the first one after that.
      const std::uint32_t length = std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<std::int32_t>(value))) >> 21;
      const std::uint32_t direct = value < kDirect ? ~0u : 0u, longer = length - ((127 + 4) * 4 - kDirect);
      const std::uint32_t n = ((longer >> 2) - 2) & ~direct;
      tokens[i] = static_cast<std::uint8_t>((value & direct) | (longer & ~direct));
      const std::uint32_t mask = (1u << (n & 31)) - 1;
      beside[i] = static_cast<List>(sizeof(List) == 1 ? mask : n);
      low[i] = static_cast<List>(value & mask);
      all |= value;
      bits += ((length >> 2) - 127 + kOne) & is;
    }
    *found = {all, bits};
  }
};

// Bits behind others: those of two tokens as one list, and of four where these are at most 56, so that all fit behind the seven
// that may be pending. Of a block, whose lists are zeros behind `count`.
struct BitsLoop {
  CAIRN_INLINE static void run(const std::uint32_t* beside, const std::uint32_t* low, std::int64_t count, bool are_few,
                               Bits* bits) {
    std::uint64_t lists[kBlock / 2];
    std::uint32_t lengths[kBlock / 2];
    std::int64_t all = (count + 3) / 4 * 2;
    CAIRN_EACH
    for (std::int64_t i = 0; i < all; ++i) {
      lists[i] = low[2 * i] | std::uint64_t{low[2 * i + 1]} << beside[2 * i];
      lengths[i] = beside[2 * i] + beside[2 * i + 1];
    }
    if (are_few) {
      all /= 2;
      for (std::int64_t i = 0; i < all; ++i) {
        lists[i] = lists[2 * i] | lists[2 * i + 1] << lengths[2 * i];
        lengths[i] = lengths[2 * i] + lengths[2 * i + 1];
      }
    }
    std::uint8_t* at = bits->end;
    std::uint64_t pending = bits->pending;
    unsigned n = bits->pending_bits;
    for (std::int64_t i = 0; i < all; ++i) {
      pending |= lists[i] << n;
      n += lengths[i];
      std::memcpy(at, &pending, sizeof pending);
      at += n / 8;
      pending >>= n / 8 * 8;
      n %= 8;
    }
    *bits = {bits->begin, at, pending, n};
  }
};

// Tokens with their contexts.
struct SymbolLoop {
  CAIRN_INLINE static void run(const std::uint8_t* tokens, std::int64_t count, const Distances* distances, std::uint16_t* to) {
    for (std::int64_t i = 0; i < count; i += kTogether) {
      std::uint8_t contexts[kTogether];
      find_contexts(tokens + i, distances->near, distances->far, contexts);
      for (std::int64_t k = 0; k < kTogether; ++k)
        to[i + k] = static_cast<std::uint16_t>(contexts[k] * kSymbolsOfContext + tokens[i + k]);
    }
  }
};

// In as many tables as elements that follow each other would otherwise wait for one another's count.
constexpr std::int64_t kCounters = 4;
static_assert(kChunk / kCounters < 1 << 16);
using Counters = std::array<std::array<std::uint16_t, kContexts * kSymbolsOfContext>, kCounters>;

// Of many symbols less than half are counted: of each nine in turn the first ones, so that all channels of an even number are
// among them. What is not among them may be there all the same, so each token up to `most` counts a little.
constexpr std::int64_t kMany = kChunk / 4, kOfMany = 9;
constexpr std::uint32_t kOfOne = 16;

Counts counts_of(const std::uint16_t* symbols, std::int64_t count, unsigned most) {
  Counters counters{};
  const bool are_many = count >= kMany;
  const std::int64_t step = are_many ? kOfMany : kCounters;
  std::int64_t i = 0;
  for (; i + kCounters <= count; i += step)
    for (std::int64_t k = 0; k < kCounters; ++k) ++counters[static_cast<std::size_t>(k)][symbols[i + k]];
  for (; i < count; ++i) ++counters[0][symbols[i]];
  Counts counts{};
  for (const auto& some : counters)
    for (unsigned c = 0; c < kContexts; ++c)
      for (unsigned t = 0; t <= most; ++t) counts[c][t] += some[c * kSymbolsOfContext + t] * kOfOne;
  for (auto& of_context : counts)
    for (unsigned t = 0; t <= most && are_many; ++t) ++of_context[t];
  return counts;
}

// With zeros up to a whole eight.
template <class List>
void tokens_of(const std::uint32_t* values, std::int64_t count, std::uint8_t* tokens, List* beside, List* low, Found& found) {
  Generations<TokenLoop<List>, const std::uint32_t*, std::int64_t, std::uint8_t*, List*, List*, Found*>::chosen()(
      values, count, tokens, beside, low, &found);
  const std::int64_t eights = (count + 7) / 8 * 8;
  std::fill(beside + count, beside + eights, List{0});
  std::fill(low + count, low + eights, List{0});
}

// The largest token that values have, by the bits of all.
unsigned most_token(std::uint32_t all) {
  const auto bits = static_cast<unsigned>(std::bit_width(all));
  return bits <= 4 ? (1u << bits) - 1 : kDirect + 4 * (bits - 5) + 3;
}

Put put_of(std::uint32_t frequency, std::uint32_t first) {
  Put put;
  put.last = (kLeastState >> kScaleBits << 16) * frequency - 1;
  put.rest = static_cast<std::uint16_t>(kScale - frequency);
  if (frequency == 1) { // x * (2^32 - 1) / 2^32 is x - 1
    put.inverse = ~0u;
    put.added = first + kScale - 1;
  } else {
    put.shift = static_cast<std::uint16_t>(std::bit_width(frequency - 1) - 1);
    put.inverse = static_cast<std::uint32_t>(((std::uint64_t{1} << (put.shift + 32)) + frequency - 1) / frequency);
    put.added = first;
  }
  return put;
}

Puts puts_of(const Frequencies& frequencies) {
  Puts puts;
  for (unsigned c = 0; c < kContexts; ++c)
    for (unsigned t = 0, first = 0; t < kTokens; first += frequencies[c][t++])
      if (frequencies[c][t] != 0) puts[c * kSymbolsOfContext + t] = put_of(frequencies[c][t], first);
  return puts;
}

} // namespace

Distances distances_in(const View& x) {
  Distances found;
  std::int64_t near = 0, far = 0;
  const auto nearest_above = [&](std::int64_t least) {
    std::int64_t stride = 0;
    for (int axis = 0; axis < x.shape.rank(); ++axis)
      if (x.shape[axis] > 1 && x.strides[axis] > least && (stride == 0 || x.strides[axis] < stride)) stride = x.strides[axis];
    return stride;
  };
  near = nearest_above(1);
  if (near != 0) near = (kTogether + near - 1) / near * near;
  if (near == 0 || near > kFurthest) return found;
  far = nearest_above(near);
  found.near = static_cast<std::uint32_t>(near);
  found.far = far == 0 || far > kFurthest ? found.near : static_cast<std::uint32_t>(far);
  return found;
}

ChunkCoder::ChunkCoder(Distances distances, std::int64_t elements) : distances_(distances) {
  const std::int64_t before = (distances_.far + kTogether - 1) / kTogether * kTogether;
  const std::int64_t room = (elements + kTogether - 1) / kTogether * kTogether;
  const std::int64_t words = room + kTogether; // one at most an element, and some that are written in vain
  memory_ = Scratch(before + 3 * room + 2 * words + room * (kCodedWidth - 2) / 8 + 2 * kBehindBits);
  auto* const bytes = reinterpret_cast<std::uint8_t*>(memory_.get());
  if (bytes == nullptr) throw std::bad_alloc();
  std::memset(bytes, 0, static_cast<std::size_t>(before));
  tokens_ = bytes + before;
  symbols_ = reinterpret_cast<std::uint16_t*>(tokens_ + room);
  end_of_words_ = symbols_ + room + words;
  bits_.begin = bits_.end = reinterpret_cast<std::uint8_t*>(end_of_words_);
}

ChunkCoder::Added ChunkCoder::add(const BlockHead& head, unsigned width, const std::uint32_t* values, std::int64_t count) {
  const Narrow narrow = Narrow::chosen();
  Found found;
  if (narrow.put != nullptr && width < kNarrowValue) {
    alignas(64) std::uint8_t masks[kBlock], low[kBlock];
    tokens_of(values, count, tokens_ + count_, masks, low, found);
    if (found.all >= kDirect) narrow.put(masks, low, (count + 7) / 8 * 8, &bits_);
  } else {
    alignas(64) std::uint32_t beside[kBlock], low[kBlock];
    tokens_of(values, count, tokens_ + count_, beside, low, found);
    if (found.all >= kDirect)
      Generations<BitsLoop, const std::uint32_t*, const std::uint32_t*, std::int64_t, bool, Bits*>::chosen()(
          beside, low, count, found.all >> kFewBits == 0, &bits_);
  }
  all_ |= found.all;
  forms_[static_cast<std::size_t>(blocks_)] = head.form;
  keys_[static_cast<std::size_t>(blocks_)] = head.key;
  ++blocks_;
  count_ += count;
  return {found.bits / kOne, found.bits % kOne};
}

std::int64_t ChunkCoder::code() {
  Generations<SymbolLoop, const std::uint8_t*, std::int64_t, const Distances*, std::uint16_t*>::chosen()(tokens_, count_,
                                                                                                         &distances_, symbols_);
  const Frequencies frequencies = frequencies_of(counts_of(symbols_, count_, most_token(all_)));
  const Puts puts = puts_of(frequencies);
  Coding coding{puts.data(), symbols_, count_, states_.data(), end_of_words_};
  States::chosen().code(coding);
  words_ = coding.words;
  std::memcpy(bits_.end, &bits_.pending, sizeof bits_.pending);
  std::uint8_t* const end_of_bits = bits_.end + (bits_.pending_bits + 7) / 8;
  std::memset(end_of_bits, 0, kBehindBits);

  const auto has_another = [&](std::uint8_t form) { return form != forms_[0]; };
  head_.differs = std::any_of(forms_.begin(), forms_.begin() + blocks_, has_another) ? 1 : 0;
  head_.bytes_of_tables = static_cast<std::uint16_t>(write_tables(frequencies, tables_.data()));
  head_.near = distances_.near;
  head_.far = distances_.far;
  head_.words = static_cast<std::uint32_t>(end_of_words_ - words_);
  head_.bytes_of_bits = static_cast<std::uint32_t>(end_of_bits - bits_.begin + kBehindBits);
  return bytes_of_coded(head_, blocks_);
}

void ChunkCoder::write(std::uint8_t* to) const {
  const auto put = [&](const void* from, std::int64_t bytes) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
    to += bytes;
  };
  put(&head_, sizeof head_);
  put(forms_.data(), head_.differs != 0 ? blocks_ : 1);
  put(keys_.data(), 2 * blocks_);
  put(tables_.data(), head_.bytes_of_tables);
  put(states_.data(), sizeof states_);
  put(words_, 2 * std::int64_t{head_.words});
  put(bits_.begin, head_.bytes_of_bits);
}

} // namespace cairn::ops::cpu::lossy
