// Digests of numbers in order. They are written into files, so they are the same everywhere.
#pragma once

#include "ops/mixing.h"

#include <cstdint>

namespace cairn::ops::plans {

class Digest {
public:
  void add(std::uint64_t v) { value_ = mixed(value_ * kGolden + v + 1); }
  std::uint64_t value() const { return value_; }

private:
  std::uint64_t value_ = 0x6361697265736E61u;
};

} // namespace cairn::ops::plans
