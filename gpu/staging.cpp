// A ring: parts are taken one behind the other, and wait for those that lie there since the last time round.
#include "gpu/staging.h"

#include "gpu/errors.h"

#include <algorithm>

namespace cairn::gpu {

Staging::Staging(Stream& stream, std::int64_t bytes) : stream_(stream), bytes_(bytes) {
  void* memory = nullptr;
  if (cudaHostAlloc(&memory, static_cast<std::size_t>(bytes), cudaHostAllocDefault) == cudaSuccess) {
    pinned_ = static_cast<char*>(memory);
  } else {
    cudaGetLastError();
    ordinary_ = std::make_unique_for_overwrite<char[]>(static_cast<std::size_t>(bytes));
  }
}

Staging::~Staging() {
  stream_.wait_for_all();
  if (pinned_ != nullptr) cudaFreeHost(pinned_);
}

char* Staging::take(std::int64_t bytes) {
  constexpr std::int64_t kAlignment = 64;
  if (next_ + bytes > bytes_) next_ = 0;
  const std::int64_t begin = next_, end = begin + bytes;
  const auto overlaps = [&](const Part& part) { return part.begin < end && begin < part.end; };
  while (std::any_of(parts_.begin(), parts_.end(), overlaps)) {
    check(stream_.wait_for(parts_.front().ticket), "a copy");
    parts_.pop_front();
  }
  parts_.push_back({begin, end, 0});
  next_ = (end + kAlignment - 1) / kAlignment * kAlignment;
  return (pinned_ != nullptr ? pinned_ : ordinary_.get()) + begin;
}

} // namespace cairn::gpu
