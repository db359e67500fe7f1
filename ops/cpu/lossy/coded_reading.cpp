// Reading the small form of a chunk: see coded.h. Bytes are not believed: nothing is read outside of them, whatever they are.
#include "ops/cpu/loops/isa.h"
#include "ops/cpu/lossy/narrow.h"
#include "ops/cpu/lossy/states.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace cairn::ops::cpu::lossy {

namespace {

constexpr std::int64_t kBytesOfTakes = kAllTakes * std::int64_t{sizeof(Takes)};

void make_takes(const Frequencies& frequencies, Takes* takes) {
  for (const auto& table : frequencies) {
    const std::uint32_t* const end = takes + kScale;
    for (unsigned t = 0; t < kTokens; ++t)
      for (std::uint32_t i = 0; i < table[t]; ++i) *takes++ = std::uint32_t{table[t]} << 20 | i << 8 | t;
    // Of a context that no element has, which damaged bytes come to.
    for (; takes != end; ++takes) *takes = 1u << 20;
  }
}

// Of tokens: the least value, and how many bits are to be added to it.
struct ValueLoop {
  CAIRN_INLINE static void run(const std::uint8_t* tokens, std::int64_t count, std::uint32_t* values, std::uint32_t* beside,
                               std::uint32_t* all) {
    std::uint32_t any = 0;
    CAIRN_EACH
    for (std::int64_t i = 0; i < count; ++i) {
      const std::uint32_t token = tokens[i], direct = token < kDirect ? ~0u : 0u;
      const std::uint32_t n = ((token >> 2) - 2) & ~direct;
      values[i] = (token & direct) | ((4 | (token & 3)) << (n & 31) & ~direct);
      beside[i] = n;
      any |= token;
    }
    *all = any;
  }
};

// Which bits are beside tokens, where these are few; `all` has those of the longest list.
struct MaskLoop {
  CAIRN_INLINE static void run(const std::uint8_t* tokens, std::int64_t count, std::uint8_t* masks, std::uint32_t* all) {
    std::uint32_t any = 0;
    CAIRN_EACH
    for (std::int64_t i = 0; i < count; ++i) {
      const std::uint32_t token = tokens[i], n = token < kDirect ? 0u : (token >> 2) - 2;
      const std::uint32_t mask = (1u << (n & 31)) - 1;
      masks[i] = static_cast<std::uint8_t>(mask);
      any |= mask;
    }
    *all = any;
  }
};
struct LowLoop {
  CAIRN_INLINE static void run(const std::uint8_t* tokens, const std::uint8_t* low, std::int64_t count, std::uint32_t* values) {
    CAIRN_EACH
    for (std::int64_t i = 0; i < count; ++i) {
      const std::uint32_t token = tokens[i], direct = token < kDirect ? ~0u : 0u;
      const std::uint32_t n = ((token >> 2) - 2) & ~direct;
      values[i] = (token & direct) | (((4 | (token & 3)) << (n & 31) | low[i]) & ~direct);
    }
  }
};

// Of two at a time, which one word has.
struct BitLoop {
  CAIRN_INLINE static void run(const std::uint32_t* beside, std::int64_t count, const std::uint8_t* bits, std::uint64_t last,
                               std::uint64_t* bit, std::uint32_t* values) {
    std::uint64_t at = *bit;
    for (std::int64_t i = 0; i < count; i += 2) {
      std::uint64_t word;
      std::memcpy(&word, bits + std::min(at / 8, last), sizeof word);
      word >>= at % 8;
      values[i] += static_cast<std::uint32_t>(word & ((std::uint64_t{1} << beside[i]) - 1));
      word >>= beside[i];
      values[i + 1] += static_cast<std::uint32_t>(word & ((std::uint64_t{1} << beside[i + 1]) - 1));
      at += beside[i] + beside[i + 1];
    }
    *bit = at;
  }
};

} // namespace

bool ChunkReader::open(const std::uint8_t* bytes, std::int64_t size, std::int64_t elements) {
  const std::int64_t blocks = (elements + kBlock - 1) / kBlock;
  if (size < static_cast<std::int64_t>(sizeof head_)) return false;
  std::memcpy(&head_, bytes, sizeof head_);
  const auto is_distance = [](std::uint32_t d) { return d >= kTogether && d <= kFurthest; };
  if (head_.kind != Kind::coded || head_.differs > 1 || !is_distance(head_.near) || !is_distance(head_.far)) return false;
  if (head_.bytes_of_bits < kBehindBits || bytes_of_coded(head_, blocks) != size) return false;
  forms_ = bytes + sizeof head_;
  keys_ = forms_ + (head_.differs != 0 ? blocks : 1);
  const std::uint8_t* const tables = keys_ + 2 * blocks;
  const std::uint8_t* const states = tables + head_.bytes_of_tables;
  words_ = states + sizeof(std::uint32_t) * kLanes;
  bits_ = words_ + 2 * std::int64_t{head_.words};
  Frequencies frequencies;
  if (!read_tables(tables, head_.bytes_of_tables, frequencies)) return false;
  const std::int64_t before = std::max(head_.near, head_.far);
  memory_ = Scratch(kBytesOfTakes + before + elements + kTogether);
  auto* const takes = reinterpret_cast<Takes*>(memory_.get());
  if (takes == nullptr) throw std::bad_alloc();
  tokens_ = reinterpret_cast<std::uint8_t*>(takes) + kBytesOfTakes + before;
  std::memset(tokens_ - before, 0, static_cast<std::size_t>(before));
  decode(frequencies, takes, states, elements);
  at_ = block_ = 0;
  bit_ = 0;
  return true;
}

void ChunkReader::decode(const Frequencies& frequencies, Takes* takes, const std::uint8_t* states, std::int64_t elements) {
  make_takes(frequencies, takes);
  Decoding decoding{takes, words_, bits_, {head_.near, head_.far}, {}};
  std::memcpy(decoding.states, states, sizeof decoding.states);
  States::chosen().decode(decoding, tokens_, elements);
  ends_well_ = decoding.words == bits_ &&
               std::all_of(decoding.states, decoding.states + kLanes, [](std::uint32_t state) { return state == kLeastState; });
}

void ChunkReader::wide_values(const std::uint8_t* tokens, std::int64_t count, std::uint32_t* values) {
  alignas(64) std::uint32_t beside[kBlock + 1];
  std::uint32_t all = 0;
  Generations<ValueLoop, const std::uint8_t*, std::int64_t, std::uint32_t*, std::uint32_t*, std::uint32_t*>::chosen()(
      tokens, count, values, beside, &all);
  beside[count] = 0; // of an odd number
  if (all >= kDirect)
    Generations<BitLoop, const std::uint32_t*, std::int64_t, const std::uint8_t*, std::uint64_t, std::uint64_t*,
                std::uint32_t*>::chosen()(beside, count, bits_, head_.bytes_of_bits - kBehindBits, &bit_, values);
}

bool ChunkReader::narrow_values(const std::uint8_t* tokens, std::int64_t count, std::uint32_t* values) {
  const Narrow narrow = Narrow::chosen();
  if (narrow.take == nullptr) return false;
  alignas(64) std::uint8_t masks[kBlock], low[kBlock];
  std::uint32_t all = 0;
  Generations<MaskLoop, const std::uint8_t*, std::int64_t, std::uint8_t*, std::uint32_t*>::chosen()(tokens, count, masks, &all);
  if (all >> kNarrow != 0) return false;
  const std::int64_t eights = (count + 7) / 8 * 8;
  if (all != 0) {
    std::fill(masks + count, masks + eights, std::uint8_t{0});
    narrow.take(masks, eights, bits_, head_.bytes_of_bits - kBehindBits, &bit_, low);
  } else {
    std::fill_n(low, count, std::uint8_t{0});
  }
  Generations<LowLoop, const std::uint8_t*, const std::uint8_t*, std::int64_t, std::uint32_t*>::chosen()(tokens, low, count,
                                                                                                         values);
  return true;
}

BlockHead ChunkReader::next(std::int64_t count, std::uint32_t* values) {
  const std::uint8_t* const tokens = tokens_ + at_;
  if (!narrow_values(tokens, count, values)) wide_values(tokens, count, values);
  BlockHead head;
  head.form = head_.differs != 0 ? forms_[block_] : forms_[0];
  std::memcpy(&head.key, keys_ + 2 * block_, sizeof head.key);
  ++block_;
  at_ += count;
  return head;
}

} // namespace cairn::ops::cpu::lossy
