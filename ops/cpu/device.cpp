// The CPU device: a launch is done when it returns, in the calling thread, which large kernels share with the device's workers.
// So there is nothing to wait for and nothing to order.
#include "ops/cpu/arena.h"
#include "ops/cpu/workers.h"
#include "ops/operator.h"

#include <cstring>

namespace cairn::ops {

namespace {

class CpuDevice final : public Device {
public:
  CpuDevice(Ledger& ledger, unsigned threads) : Device("cpu", ledger), workers_(threads) {}

  bool in_host_memory() const override { return true; }
  bool supports(const Operator& op) const override { return op.kernel != nullptr; }

  void launch(StreamKind /*stream*/, const Launch& launch) override {
    const FlushDenormals flush;
    cpu::Workers*& current = cpu::Workers::current();
    cpu::Workers* const outer = current;
    current = &workers_;
    launch.op.kernel(launch.call);
    current = outer;
  }

  void copy_in(Block& to, std::int64_t offset, const void* from, std::int64_t bytes) override {
    if (bytes != 0) std::memcpy(static_cast<char*>(to.data) + offset, from, static_cast<std::size_t>(bytes));
  }
  void copy_out(const Block& from, std::int64_t offset, void* to, std::int64_t bytes) override {
    if (bytes != 0) std::memcpy(to, static_cast<const char*>(from.data) + offset, static_cast<std::size_t>(bytes));
  }
  void wait(const Block& /*block*/) override {}
  void wait_for_all() override {}

protected:
  Block* take_block(std::int64_t bytes) override { return arena_.take(bytes); }
  void give_back_block(Block* block) override { arena_.give_back(block); }

private:
  cpu::Arena arena_;
  cpu::Workers workers_;
};

} // namespace

std::unique_ptr<Device> make_cpu_device(Ledger& ledger, unsigned threads) { return std::make_unique<CpuDevice>(ledger, threads); }

} // namespace cairn::ops
