// Reading the small form of a chunk: see coded.h. Bytes are not believed: nothing is read outside of them, whatever they are.
#include "ops/cpu/lossy/contexts.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace cairn::ops::cpu::lossy {

namespace {

// What a state becomes, by its context and its lowest bits: the frequency of the token, 12 bits | how far these bits are behind
// the first ones of the token, 12 bits | the token.
constexpr std::int64_t kBytesOfSteps = 4 * (kContexts << kScaleBits);

void make_steps(const Frequencies& frequencies, std::uint32_t* steps) {
  for (const auto& table : frequencies) {
    const std::uint32_t* const end = steps + kScale;
    for (unsigned t = 0; t < kTokens; ++t)
      for (std::uint32_t i = 0; i < table[t]; ++i) *steps++ = std::uint32_t{table[t]} << 20 | i << 8 | t;
    // Of a context that no element has, which damaged bytes come to.
    for (; steps != end; ++steps) *steps = 1u << 20;
  }
}

struct Decoding {
  const std::uint32_t* steps;
  const std::uint8_t *words, *end;
  Distances distances;
  std::uint32_t states[kLanes];
};

struct DecodeLoop {
  template <bool careful>
  CAIRN_INLINE static std::uint8_t take(const Decoding& d, unsigned context, std::uint32_t& state, const std::uint8_t*& words) {
    in_register(state);
    const std::uint32_t step = d.steps[context << kScaleBits | (state & (kScale - 1))];
    std::uint32_t x = (step >> 20) * (state >> kScaleBits) + (step >> 8 & 0xFFF);
    if (!careful || words != d.end) {
      std::uint16_t word;
      std::memcpy(&word, words, sizeof word);
      const std::uint32_t takes = x < kLeastState ? 16 : 0;
      words += takes / 8;
      x = x << takes | (takes != 0 ? word : 0);
    }
    state = x;
    return static_cast<std::uint8_t>(step);
  }
  CAIRN_INLINE static void run(Decoding* decoding, std::uint8_t* tokens, std::int64_t count) {
    const Decoding d = *decoding;
    std::uint32_t x[kLanes];
    std::copy_n(d.states, kLanes, x);
    const std::uint8_t* words = d.words;
    for (std::int64_t i = 0; i < count; i += kTogether) {
      alignas(32) std::uint8_t contexts[kTogether];
      find_contexts(tokens + i, d.distances.near, d.distances.far, contexts);
      if (count - i >= kTogether && d.end - words >= 2 * kTogether) {
        for (unsigned k = 0; k < kTogether; k += kLanes)
          for (unsigned lane = 0; lane < kLanes; ++lane)
            tokens[i + k + lane] = take<false>(d, contexts[k + lane], x[lane], words);
      } else {
        for (unsigned k = 0; k < std::min(kTogether, count - i); ++k)
          tokens[i + k] = take<true>(d, contexts[k], x[k % kLanes], words);
      }
    }
    std::copy_n(x, kLanes, decoding->states);
    decoding->words = words;
  }
};

struct FlagLoop {
  CAIRN_INLINE static void run(const std::uint8_t* tokens, std::int64_t count, std::uint32_t* numbers, std::uint8_t* flags,
                               std::uint32_t* all) {
    std::uint32_t any = 0;
    CAIRN_EACH
    for (std::int64_t i = 0; i < count; ++i) {
      const std::uint32_t token = tokens[i];
      numbers[i] = token - 1;
      flags[i] = token != 0 ? 1 : 0;
      any |= token;
    }
    *all = any;
  }
};

struct BitLoop {
  CAIRN_INLINE static void run(const std::uint8_t* tokens, std::int64_t count, const std::uint8_t* bits, std::uint64_t last,
                               std::uint64_t* bit, std::uint32_t* numbers) {
    std::uint64_t at = *bit;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::uint32_t token = tokens[i], beside = bits_beside(token);
      std::uint64_t word;
      std::memcpy(&word, bits + std::min(at / 8, last), sizeof word);
      const auto low = static_cast<std::uint32_t>(word >> at % 8) & ((1u << beside) - 1);
      numbers[i] = token < kDirect ? numbers[i] : ((4 | (token & 3)) << beside | low) - 1;
      at += beside;
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
  memory_ = Scratch(kBytesOfSteps + before + elements + kTogether);
  auto* const steps = reinterpret_cast<std::uint32_t*>(memory_.get());
  if (steps == nullptr) throw std::bad_alloc();
  tokens_ = reinterpret_cast<std::uint8_t*>(steps) + kBytesOfSteps + before;
  std::memset(tokens_ - before, 0, static_cast<std::size_t>(before));
  decode(frequencies, steps, states, elements);
  at_ = block_ = 0;
  bit_ = 0;
  return true;
}

void ChunkReader::decode(const Frequencies& frequencies, std::uint32_t* steps, const std::uint8_t* states,
                         std::int64_t elements) {
  make_steps(frequencies, steps);
  Decoding decoding{steps, words_, bits_, {head_.near, head_.far}, {}};
  std::memcpy(decoding.states, states, sizeof decoding.states);
  Generations<DecodeLoop, Decoding*, std::uint8_t*, std::int64_t>::chosen()(&decoding, tokens_, elements);
  ends_well_ = decoding.words == bits_ &&
               std::all_of(decoding.states, decoding.states + kLanes, [](std::uint32_t state) { return state == kLeastState; });
}

BlockHead ChunkReader::next(std::int64_t count, std::uint32_t* numbers, std::uint8_t* flags) {
  const std::uint8_t* const tokens = tokens_ + at_;
  std::uint32_t all = 0;
  Generations<FlagLoop, const std::uint8_t*, std::int64_t, std::uint32_t*, std::uint8_t*, std::uint32_t*>::chosen()(
      tokens, count, numbers, flags, &all);
  if (all >= kDirect)
    Generations<BitLoop, const std::uint8_t*, std::int64_t, const std::uint8_t*, std::uint64_t, std::uint64_t*,
                std::uint32_t*>::chosen()(tokens, count, bits_, head_.bytes_of_bits - kBehindBits, &bit_, numbers);
  BlockHead head;
  head.form = head_.differs != 0 ? forms_[block_] : forms_[0];
  std::memcpy(&head.key, keys_ + 2 * block_, sizeof head.key);
  ++block_;
  at_ += count;
  return head;
}

} // namespace cairn::ops::cpu::lossy
