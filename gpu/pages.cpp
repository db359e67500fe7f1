// What the driver cannot do is undone as far as it went. Virtual memory of CUDA: the driver's manual, "Virtual Memory
// Management".
#include "gpu/pages.h"

#include "gpu/errors.h"

namespace cairn::gpu {
namespace {

constexpr std::size_t kPage = static_cast<std::size_t>(ops::Pages::kBytes);

CUmemAllocationProp memory_of(int index) {
  CUmemAllocationProp memory{};
  memory.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  memory.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = index};
  return memory;
}

} // namespace

CudaPages::CudaPages(int index, std::int64_t bytes, std::int64_t fewest) : driver_(driver()), index_(index) {
  const CUmemAllocationProp memory = memory_of(index);
  std::size_t smallest = 0;
  if (driver_.granularity(&smallest, &memory, CU_MEM_ALLOC_GRANULARITY_MINIMUM) != CUDA_SUCCESS)
    throw ops::DeviceLost(fmt::format("cuda:{}: the driver maps no memory of this device", index));
  if (smallest == 0 || kPage % smallest != 0)
    throw ops::DeviceLost(
        fmt::format("cuda:{}: the driver maps memory in pieces of {} bytes; {} are needed", index, smallest, kPage));
  for (addresses_ = whole(bytes);; addresses_ /= 2) {
    if (driver_.reserve(&first_, static_cast<std::size_t>(addresses_) * kPage, kPage, 0, 0) == CUDA_SUCCESS) break;
    if (addresses_ * kBytes <= fewest) throw ops::DeviceLost(fmt::format("cuda:{}: the driver gives no addresses", index));
  }
  begin_ = reinterpret_cast<std::byte*>(first_);
  mapped_.resize(static_cast<std::size_t>(addresses_));
}

CudaPages::~CudaPages() {
  unmap(0, addresses_);
  for (const CUmemGenericAllocationHandle page : pages_) driver_.release(page);
  driver_.free_addresses(first_, static_cast<std::size_t>(addresses_) * kPage);
}

bool CudaPages::allow(std::int64_t at, std::int64_t count) const {
  CUmemAccessDesc access{};
  access.location = memory_of(index_).location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return driver_.set_access(address(at), static_cast<std::size_t>(count) * kPage, &access, 1) == CUDA_SUCCESS;
}

bool CudaPages::map_one(std::int64_t at, CUmemGenericAllocationHandle page) {
  if (driver_.map(address(at), kPage, 0, page, 0) != CUDA_SUCCESS) return false;
  mapped_[static_cast<std::size_t>(at)] = true;
  return true;
}

bool CudaPages::make(std::int64_t first, std::int64_t count) {
  const CUmemAllocationProp memory = memory_of(index_);
  const std::size_t before = pages_.size();
  pages_.reserve(before + static_cast<std::size_t>(count));
  bool made = true;
  for (std::int64_t page = first; made && page < first + count; ++page) {
    CUmemGenericAllocationHandle handle = 0;
    made = driver_.create(&handle, kPage, &memory, 0) == CUDA_SUCCESS;
    if (!made) break;
    pages_.push_back(handle);
    made = map_one(page, handle);
  }
  if (made && allow(first, count)) return true;
  unmap(first, count);
  for (; pages_.size() > before; pages_.pop_back()) driver_.release(pages_.back());
  return false;
}

bool CudaPages::map(std::int64_t at, std::int64_t page, std::int64_t count) {
  bool mapped = true;
  for (std::int64_t i = 0; mapped && i < count; ++i) mapped = map_one(at + i, pages_[static_cast<std::size_t>(page + i)]);
  if (mapped && allow(at, count)) return true;
  unmap(at, count);
  return false;
}

bool CudaPages::unmap(std::int64_t at, std::int64_t count) {
  bool all = true;
  for (std::int64_t i = at; i < at + count; ++i) {
    if (!mapped_[static_cast<std::size_t>(i)]) continue;
    const bool gone = driver_.unmap(address(i), kPage) == CUDA_SUCCESS;
    if (gone) mapped_[static_cast<std::size_t>(i)] = false;
    all = all && gone;
  }
  return all;
}

} // namespace cairn::gpu
