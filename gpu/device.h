// A GPU as a device: memory, streams, copies and kernels through the CUDA runtime.
#pragma once

#include "gpu/staging.h"
#include "gpu/stream.h"
#include "ops/arena.h"
#include "ops/operator.h"

#include <array>
#include <string>
#include <vector>

namespace cairn::gpu {

using ops::Block;
using ops::StreamKind;

class CudaDevice final : public ops::Device {
public:
  CudaDevice(ops::Ledger& ledger, int index);
  ~CudaDevice() override;

  bool in_host_memory() const override { return false; }
  bool supports(const ops::Operator& op) const override;
  void launch(StreamKind stream, const ops::Launch& launch) override;
  void copy_in(Block& to, std::int64_t offset, const void* from, std::int64_t bytes) override;
  void copy_out(const Block& from, std::int64_t offset, void* to, std::int64_t bytes) override;
  void wait(const Block& block) override;
  void wait_for_all() override;

protected:
  Block* take_block(std::int64_t bytes) override;
  void give_back_block(Block* block) override;

private:
  // Streams and events are made on the device that is current: this one from here on.
  struct Current {
    explicit Current(int index);
  };
  void use() const;
  Stream& stream(StreamKind kind) { return streams_[ops::index_of(kind)]; }
  ops::Operation begun(StreamKind kind, std::span<Block* const> reads, std::span<Block* const> writes);
  void note(std::string_view who, cudaError_t error);
  void raise();
  bool grow(std::int64_t bytes);

  int index_;
  Current current_;
  ops::Arena arena_;
  std::int64_t next_stretch_; // bytes that are taken next from the driver
  ops::Ordering ordering_;
  EventPool events_;
  std::array<Stream, ops::kStreams> streams_;
  Staging staging_in_, staging_out_;
  std::string error_; // of kernels, until somebody waits
};

} // namespace cairn::gpu
