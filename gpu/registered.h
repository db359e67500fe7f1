// Memory of the host's that the driver keeps where it is and the GPU's copy engines reach. No limit of the system's counts it.
#pragma once

#include "ops/pages/locking.h"
#include "ops/pages/pages.h"

#include <cstddef>

namespace cairn::gpu {

// Registered in pieces, since memory that grows is one range of addresses and a range is registered as a whole. Copies must not
// reach from one piece into the next.
class Registered final : public ops::Locking {
public:
  // A page of the host's, so that copies that are cut at pages are cut at pieces.
  static constexpr std::int64_t kPiece = ops::Pages::kBytes;
  // What follows on what was registered before, if anything was, whose bytes were multiples of a piece.
  std::int64_t lock(void* memory, std::int64_t bytes) override;
  void unlock() noexcept override;

private:
  std::byte* first_ = nullptr;
};

} // namespace cairn::gpu
