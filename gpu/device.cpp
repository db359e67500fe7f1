// Memory is taken from the driver in large stretches and kept; copies go through pinned memory; kernels are those of kernels.h.
#include "gpu/device.h"

#include "gpu/errors.h"
#include "gpu/kernels.h"
#include "gpu/supported.h"

#include <algorithm>
#include <cstring>

namespace cairn::gpu {
namespace {

constexpr std::int64_t kAlignment = 512;
constexpr std::int64_t kPage = std::int64_t{2} << 20;
constexpr std::int64_t kFirstStretch = std::int64_t{64} << 20, kLargestStretch = std::int64_t{1} << 30;

bool run(ops::OperatorId id, const ops::KernelCall& call, cudaStream_t stream) {
  return kernels::unary(id, call, stream) || kernels::binary(id, call, stream) || kernels::moves(id, call, stream) ||
         kernels::folds(id, call, stream) || kernels::rows(id, call, stream);
}

} // namespace

CudaDevice::Current::Current(int index) { check(cudaSetDevice(index), "choosing the device"); }

CudaDevice::CudaDevice(ops::Ledger& ledger, int index)
    : Device(fmt::format("cuda:{}", index), ledger, ops::kBesideTracked), index_(index), current_(index), arena_(kAlignment),
      next_stretch_(kFirstStretch), streams_{Stream(events_), Stream(events_), Stream(events_), Stream(events_)},
      staging_in_(stream(StreamKind::copy_in)), staging_out_(stream(StreamKind::copy_out)) {}

CudaDevice::~CudaDevice() {
  cudaSetDevice(index_);
  cudaDeviceSynchronize();
  for (void* stretch : arena_.all_stretches()) cudaFree(stretch);
}

void CudaDevice::use() const { check(cudaSetDevice(index_), "choosing the device"); }

bool CudaDevice::supports(const ops::Operator& op) const { return supported(op.id); }

void CudaDevice::note(std::string_view who, cudaError_t error) {
  if (error == cudaSuccess) return;
  cudaGetLastError();
  if (error_.empty()) error_ = fmt::format("{}: {}: {}", name(), who, text_of(error));
}

void CudaDevice::raise() {
  if (error_.empty()) return;
  throw ops::DeviceLost(std::exchange(error_, {}));
}

ops::Operation CudaDevice::begun(StreamKind kind, std::span<Block* const> reads, std::span<Block* const> writes) {
  use();
  const ops::Operation operation = ordering_.add(kind, reads, writes);
  for (std::size_t i = 0; i < ops::kStreams; ++i)
    if (operation.waits[i] != 0) stream(kind).begin_after(streams_[i], operation.waits[i]);
  return operation;
}

void CudaDevice::launch(StreamKind kind, const ops::Launch& launch) {
  const ops::Operation operation = begun(kind, launch.reads, launch.writes);
  if (!run(launch.op.id, launch.call(), stream(kind).get())) note(launch.op.name, cudaErrorNotSupported);
  note(launch.op.name, cudaGetLastError());
  stream(kind).queued(operation.ticket);
}

void CudaDevice::copy_in(Block& to, std::int64_t offset, const void* from, std::int64_t bytes) {
  if (bytes == 0) return;
  Block* const writes[] = {&to};
  const ops::Operation operation = begun(StreamKind::copy_in, {}, writes);
  Stream& on = stream(StreamKind::copy_in);
  for (std::int64_t done = 0; done < bytes;) {
    const std::int64_t part = std::min(bytes - done, Staging::kMostAtOnce);
    const std::size_t size = static_cast<std::size_t>(part);
    char* staged = staging_in_.take(part);
    std::memcpy(staged, static_cast<const char*>(from) + done, size);
    note("copy_in", cudaMemcpyAsync(static_cast<char*>(to.data) + offset + done, staged, size, cudaMemcpyHostToDevice, on.get()));
    staging_in_.used_by(operation.ticket);
    done += part;
  }
  on.queued(operation.ticket);
}

void CudaDevice::copy_out(const Block& from, std::int64_t offset, void* to, std::int64_t bytes) {
  if (bytes == 0) return;
  Block* const reads[] = {const_cast<Block*>(&from)}; // blocks are the device's; reading leaves a ticket
  const ops::Operation operation = begun(StreamKind::copy_out, reads, {});
  Stream& on = stream(StreamKind::copy_out);
  struct Part {
    const char* staged = nullptr;
    char* to = nullptr;
    std::size_t size = 0;
    cudaEvent_t arrived = nullptr;
  } previous;
  const auto finish = [&](Part& part) {
    if (part.arrived == nullptr) return;
    note("copy_out", cudaEventSynchronize(part.arrived));
    std::memcpy(part.to, part.staged, part.size);
    events_.give_back(std::exchange(part.arrived, nullptr));
  };
  for (std::int64_t done = 0; done < bytes;) { // while one part is copied on, the next one arrives
    const std::int64_t count = std::min(bytes - done, Staging::kMostAtOnce);
    Part part;
    char* staged = staging_out_.take(count);
    part.staged = staged;
    part.to = static_cast<char*>(to) + done;
    part.size = static_cast<std::size_t>(count);
    part.arrived = events_.take();
    const char* source = static_cast<const char*>(from.data) + offset + done;
    note("copy_out", cudaMemcpyAsync(staged, source, part.size, cudaMemcpyDeviceToHost, on.get()));
    note("copy_out", cudaEventRecord(part.arrived, on.get()));
    staging_out_.used_by(operation.ticket);
    finish(previous);
    previous = part;
    done += count;
  }
  finish(previous);
  on.queued(operation.ticket);
  ordering_.host_waits_for(operation);
  raise();
}

void CudaDevice::wait(const Block& block) {
  use();
  const ops::Tickets waits = ordering_.host_waits_for_writes(ops::tracked(block));
  for (std::size_t i = 0; i < ops::kStreams; ++i)
    if (waits[i] != 0) note("waiting", streams_[i].wait_for(waits[i]));
  raise();
}

void CudaDevice::wait_for_all() {
  use();
  for (Stream& each : streams_) note("waiting", each.wait_for_all());
  ordering_.host_waits_for_all();
  raise();
}

// Another stretch of at least so many bytes, larger each time.
bool CudaDevice::grow(std::int64_t bytes) {
  const std::int64_t needed = (bytes + kPage - 1) / kPage * kPage;
  for (const std::int64_t size : {std::max(needed, next_stretch_), needed}) {
    void* memory = nullptr;
    if (cudaMalloc(&memory, static_cast<std::size_t>(size)) == cudaSuccess) {
      arena_.add(memory, size);
      next_stretch_ = std::min(2 * next_stretch_, kLargestStretch);
      return true;
    }
    cudaGetLastError();
  }
  return false;
}

Block* CudaDevice::take_block(std::int64_t bytes) {
  use();
  if (ops::TrackedBlock* block = arena_.take(bytes)) return block;
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "asking for the memory");
  if (bytes <= static_cast<std::int64_t>(total)) {
    bool there = grow(bytes);
    if (!there) { // perhaps what lies about in small stretches is enough
      check(cudaDeviceSynchronize(), "waiting");
      for (void* stretch : arena_.remove_unused()) cudaFree(stretch);
      there = grow(bytes);
    }
    if (there)
      if (ops::TrackedBlock* block = arena_.take(bytes)) return block;
  }
  check(cudaMemGetInfo(&free, &total), "asking for the memory");
  throw ops::DeviceMemoryExceeded(fmt::format("{}: {} bytes wanted, but tensors hold {} of its {} bytes, {} are free, and {} are "
                                              "free for tensors, at most {} in one piece",
                                              name(), bytes, arena_.taken_bytes(), total, free, arena_.free_bytes(),
                                              arena_.largest_free()));
}

// Work that is queued has addresses only, and whoever gets the memory next waits for it.
void CudaDevice::give_back_block(Block* block) { arena_.give_back(&ops::tracked(*block)); }

} // namespace cairn::gpu
