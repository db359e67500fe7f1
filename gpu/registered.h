// Memory of the host's that the driver keeps where it is and the GPU's copy engines reach. No limit of the system's counts it.
#pragma once

#include "ops/pages/locking.h"

#include <cstddef>

namespace cairn::gpu {

// Registered in pieces, since memory that grows is one range of addresses and a range is registered as a whole. Copies must not
// reach from one piece into the next.
class Registered final : public ops::Locking {
public:
  static constexpr std::int64_t kPiece = std::int64_t{2} << 20;
  // What follows on what was registered before, if anything was, whose bytes were multiples of a piece.
  std::int64_t lock(void* memory, std::int64_t bytes) override;
  void unlock() noexcept override;

private:
  std::byte* first_ = nullptr;
};

} // namespace cairn::gpu
