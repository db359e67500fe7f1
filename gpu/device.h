// A GPU as a device: memory, streams, copies and kernels through the CUDA runtime.
#pragma once

#include "gpu/staging.h"
#include "gpu/stream.h"
#include "ops/cuda/options.h"
#include "ops/modelled/device.h"
#include "ops/operator.h"

#include <array>
#include <string>

namespace cairn::gpu {

using ops::Block;
using ops::StreamKind;

class CudaDevice final : public ops::ModelledDevice {
public:
  // memory_bytes is given.
  CudaDevice(ops::Ledger& ledger, const ops::CudaOptions& options);
  ~CudaDevice() override;

  bool in_host_memory() const override { return false; }
  bool supports(const ops::Operator& op) const override;
  void launch(StreamKind stream, const ops::Launch& launch) override;
  void copy_in(Block& to, std::int64_t offset, const void* from, std::int64_t bytes) override;
  void copy_out(const Block& from, std::int64_t offset, void* to, std::int64_t bytes) override;
  void queue_copy(StreamKind kind, Block& to, Block& from, ops::Picoseconds ready, const ops::CopyLabel& label) override;
  void wait(const Block& block) override { host_waits_to_read(block); }
  void wait_for_all() override;
  Block* take_on_device(std::int64_t bytes) override;
  Block* take_on_host(std::int64_t bytes) override;

protected:
  void await(const ops::Tickets& tickets) override;
  std::unique_ptr<ops::Locking> host_locking() override;
  Block* take_block(std::int64_t bytes) override;

private:
  void use() const;
  Stream& stream(StreamKind kind) { return streams_[ops::index_of(kind)]; }
  ops::Operation begun(StreamKind kind, std::span<Block* const> reads, std::span<Block* const> writes);
  void note_copied(const ops::Operation& operation, std::int64_t bytes, std::span<Block* const> reads,
                   std::span<Block* const> writes, std::string_view reason);
  void note(std::string_view who, cudaError_t error);
  void raise();

  int index_;
  EventPool events_;
  std::array<Stream, ops::kStreams> streams_;
  Staging staging_in_, staging_out_;
  std::string error_; // the first one: told to all who wait, since nothing that was queued behind it is to be read
};

} // namespace cairn::gpu
