// How much a module's register sets may take: the verifier keeps one bit a register for every word of code. A small file must not
// make them large, so they are limited in total; real code stays far below, and the compiler refuses what does not.
#pragma once

#include "vm/bytecode/module.h"

#include <algorithm>

namespace cairn::bytecode {

// Words of a set.
constexpr std::uint32_t mask_words(std::uint16_t slots) { return std::max(1u, (slots + 63u) / 64); }

struct RegisterSets {
  std::size_t code_words = 0, mask_words = 0; // of all functions

  void add(const Function& f) {
    code_words += f.code.size();
    mask_words += f.code.size() * bytecode::mask_words(f.slots);
  }
  bool fit() const {
    constexpr std::size_t kFree = std::size_t{1} << 21, kPerCodeWord = 64;
    return mask_words <= kFree + code_words * kPerCodeWord;
  }
};

} // namespace cairn::bytecode
