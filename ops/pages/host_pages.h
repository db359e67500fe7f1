// Pages of the host's memory: for the emulated device.
#pragma once

#include "ops/pages/pages.h"

namespace cairn::ops {

class HostPages final : public Pages {
public:
  // Reserves addresses for so many bytes, or half, a quarter and so on, as the system gives them, but not less than `fewest`:
  // then it throws bad_alloc.
  HostPages(std::int64_t bytes, std::int64_t fewest);
  ~HostPages() override;

  bool make(std::int64_t first, std::int64_t count) override;
  bool map(std::int64_t at, std::int64_t page, std::int64_t count) override;
  bool unmap(std::int64_t at, std::int64_t count) override;

private:
  std::byte* address(std::int64_t at) const { return begin_ + at * kBytes; }
  void* reserved_ = nullptr;
  std::int64_t reserved_bytes_ = 0;
};

} // namespace cairn::ops
