// Memory is pages of the driver's; copies go through pinned memory, or from and to memory of the host's that is registered;
// kernels are those of kernels.h.
#include "gpu/device.h"

#include "gpu/errors.h"
#include "gpu/kernels.h"
#include "gpu/pages.h"
#include "gpu/registered.h"
#include "gpu/supported.h"

#include <algorithm>
#include <cstring>

namespace cairn::gpu {
namespace {

constexpr std::int64_t kAlignment = 512;

bool run(ops::OperatorId id, const ops::KernelCall& call, cudaStream_t stream) {
  return kernels::unary(id, call, stream) || kernels::binary(id, call, stream) || kernels::moves(id, call, stream) ||
         kernels::folds(id, call, stream) || kernels::rows(id, call, stream);
}

// Streams, events and memory are made on the device that is current: this one from here on.
std::unique_ptr<ops::Pages> pages_of(int index, std::int64_t addresses, std::int64_t fewest) {
  check(cudaSetDevice(index), "choosing the device");
  return std::make_unique<CudaPages>(index, addresses, fewest);
}

} // namespace

CudaDevice::CudaDevice(ops::Ledger& ledger, const ops::CudaOptions& options)
    : ModelledDevice(fmt::format("cuda:{}", options.index), ledger, options,
                     pages_of(options.index, addresses_for(options.memory_bytes), kFewestAddresses), kAlignment),
      index_(options.index), streams_{Stream(events_), Stream(events_), Stream(events_), Stream(events_)},
      staging_in_(stream(StreamKind::copy_in)), staging_out_(stream(StreamKind::copy_out)) {}

CudaDevice::~CudaDevice() {
  cudaSetDevice(index_);
  cudaDeviceSynchronize();
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
  throw ops::DeviceLost(error_);
}

// Of an operation that fails on its way, the stream knows nothing; who waits for it waits for what was queued before.
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
  trace_kernel(kind, add_time(operation, modelled(launch.cost), take_held_until(), launch.reads, launch.writes), launch);
}

void CudaDevice::note_copied(const ops::Operation& operation, std::int64_t bytes, std::span<Block* const> reads,
                             std::span<Block* const> writes, std::string_view reason) {
  const ops::Picoseconds duration = said().rates.of_copy(operation.stream, bytes);
  trace_copy(operation.stream, add_time(operation, duration, 0, reads, writes), bytes, reason);
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
  note_copied(operation, bytes, {}, writes, "written by the host");
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
  note_copied(operation, bytes, reads, {}, "read by the host");
  ordering_.host_waits_for(operation);
  time_.host_waits_until(time_.end_of(StreamKind::copy_out));
  raise();
}

// Memory of the host's is registered at its pages' own addresses, piece by piece. What is not, the driver copies through a buffer
// of its own: in the stream's order as well, but it waits, and so do we.
void CudaDevice::queue_copy(StreamKind kind, Block& to, Block& from, ops::Picoseconds ready, const ops::CopyLabel& label) {
  Block* const reads[] = {&from};
  Block* const writes[] = {&to};
  const bool is_in = kind == StreamKind::copy_in;
  const ops::Operation operation = begun(kind, reads, writes);
  auto* on_device = static_cast<std::byte*>((is_in ? to : from).data);
  static_cast<ops::PagedBlock&>(is_in ? from : to).physical(0, from.bytes, [&](std::uintptr_t begin, std::uintptr_t end) {
    while (begin < end) {
      std::uintptr_t next = std::min(end, (begin / Registered::kPiece + 1) * Registered::kPiece);
      if (begin < locked_end())
        next = std::min(next, locked_end());
      else
        staged_through_ += static_cast<std::int64_t>(next - begin);
      auto* const on_host = reinterpret_cast<std::byte*>(begin);
      note(ops::name_of(kind),
           is_in ? cudaMemcpyAsync(on_device, on_host, next - begin, cudaMemcpyHostToDevice, stream(kind).get())
                 : cudaMemcpyAsync(on_host, on_device, next - begin, cudaMemcpyDeviceToHost, stream(kind).get()));
      on_device += next - begin;
      begin = next;
    }
  });
  stream(kind).queued(operation.ticket);
  const ops::Picoseconds duration = said().rates.of_copy(kind, from.bytes);
  trace_copy(ops::name_of(kind), add_time(operation, duration, ready, reads, writes), from.bytes, label);
}

void CudaDevice::await(const ops::Tickets& tickets) {
  use();
  for (std::size_t i = 0; i < ops::kStreams; ++i)
    if (tickets[i] != 0) note("waiting", streams_[i].wait_for(tickets[i]));
  raise();
}

void CudaDevice::wait_for_all() {
  use();
  for (Stream& each : streams_) note("waiting", each.wait_for_all());
  ordering_.host_waits_for_all();
  time_.host_waits_until(time_.end());
  raise();
}

std::unique_ptr<ops::Locking> CudaDevice::host_locking() { return std::make_unique<Registered>(); }

Block* CudaDevice::take_on_device(std::int64_t bytes) {
  use();
  return ModelledDevice::take_on_device(bytes);
}

Block* CudaDevice::take_on_host(std::int64_t bytes) {
  use();
  return ModelledDevice::take_on_host(bytes);
}

Block* CudaDevice::take_block(std::int64_t bytes) {
  use();
  return ModelledDevice::take_block(bytes);
}

} // namespace cairn::gpu
