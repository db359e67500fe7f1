#include "gpu/registered.h"

#include "gpu/errors.h"

#include <algorithm>

namespace cairn::gpu {

std::int64_t Registered::lock(void* memory, std::int64_t bytes) {
  auto* const from = static_cast<std::byte*>(memory);
  if (first_ == nullptr) first_ = from;
  std::int64_t done = 0;
  while (done < bytes) {
    const std::int64_t piece = std::min(bytes - done, kPiece);
    const cudaError_t error = cudaHostRegister(from + done, static_cast<std::size_t>(piece), cudaHostRegisterPortable);
    if (error != cudaSuccess) {
      fault_ = text_of(error);
      cudaGetLastError();
      break;
    }
    done += piece;
  }
  bytes_ += done;
  return done;
}

void Registered::unlock() noexcept {
  for (std::int64_t at = 0; at < bytes_; at += kPiece) cudaHostUnregister(first_ + at);
  bytes_ = 0;
}

} // namespace cairn::gpu
