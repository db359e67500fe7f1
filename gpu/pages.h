// Pages of a GPU's memory: the driver's virtual memory, one allocation a page, so that any page can be mapped anywhere.
#pragma once

#include "gpu/driver.h"
#include "ops/pages/pages.h"

#include <vector>

namespace cairn::gpu {

class CudaPages final : public ops::Pages {
public:
  // Of the device with that index, which is current. Reserves addresses for so many bytes, or half, a quarter and so on, as the
  // driver gives them, but not less than `fewest`. Throws DeviceLost where the driver does not do that.
  CudaPages(int index, std::int64_t bytes, std::int64_t fewest);
  // Nothing that is queued uses them.
  ~CudaPages() override;

  bool make(std::int64_t first, std::int64_t count) override;
  bool map(std::int64_t at, std::int64_t page, std::int64_t count) override;
  bool unmap(std::int64_t at, std::int64_t count) override;

private:
  CUdeviceptr address(std::int64_t at) const { return first_ + static_cast<CUdeviceptr>(at * kBytes); }
  bool allow(std::int64_t at, std::int64_t count) const;
  bool map_one(std::int64_t at, CUmemGenericAllocationHandle page);

  const Driver driver_;
  int index_;
  CUdeviceptr first_ = 0;
  std::vector<CUmemGenericAllocationHandle> pages_;
  std::vector<bool> mapped_; // by address: the driver unmaps what is mapped alone
};

} // namespace cairn::gpu
