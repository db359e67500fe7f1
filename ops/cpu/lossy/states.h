// The states of the small form (coded.h): tokens go into them and come out again, for the processor at hand.
#pragma once

#include "ops/cpu/lossy/coded.h"

namespace cairn::ops::cpu::lossy {

// A token and its context.
inline constexpr unsigned kSymbolsOfContext = 128;
static_assert(kTokens <= kSymbolsOfContext);

// How a symbol goes into a state x: to x / frequency * kScale + first + x % frequency, where first is the sum of the frequencies
// before it. To divide is to multiply by an inverse, which is exact for all states.
struct Put {
  std::uint32_t last = 0; // greater states give a word away before
  std::uint32_t inverse = 0, added = 0;
  std::uint16_t rest = 0, shift = 0;
};
using Puts = std::array<Put, kContexts * kSymbolsOfContext>;

// What a state becomes, by its context and its lowest bits: the frequency of the token, 12 bits | how far these bits are behind
// the first ones of the token, 12 bits | the token.
using Takes = std::uint32_t;
inline constexpr std::int64_t kAllTakes = kContexts << kScaleBits;

struct Coding {
  const Put* puts;
  const std::uint16_t* symbols;
  std::int64_t count;
  std::uint32_t* states;
  std::uint16_t* words; // the end of where they go, then their beginning; there is room for kLanes more
};

struct Decoding {
  const Takes* takes;
  const std::uint8_t *words, *end;
  Distances distances;
  std::uint32_t states[kLanes];
};

struct States {
  void (*code)(Coding& coding);
  // So many tokens, behind those of their neighbours. Room for kTogether more.
  void (*decode)(Decoding& decoding, std::uint8_t* tokens, std::int64_t count);

  static States chosen();
};

} // namespace cairn::ops::cpu::lossy
