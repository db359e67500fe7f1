// The CPU device: a launch is done when it returns, in the calling thread, which large kernels share with the device's workers.
// So there is nothing to wait for and nothing to order.
#include "ops/cpu/device/device.h"
#include "ops/cpu/device/arena.h"
#include "ops/cpu/device/pace.h"
#include "ops/cpu/device/processor.h"
#include "ops/cpu/device/workers.h"
#include "ops/operator.h"
#include "ops/scratch_room.h"

#include <cstring>
#include <stdexcept>

namespace cairn::ops {

namespace {

class CpuDevice final : public Device {
public:
  CpuDevice(Ledger& ledger, unsigned threads) : Device("cpu", ledger, kBesideElements), workers_(threads) {
    if (const char* refusal = cpu::refusal_of_processor()) throw std::runtime_error(refusal);
  }

  ~CpuDevice() override { end_spilling(); }
  CpuDevice(const CpuDevice&) = delete;
  CpuDevice& operator=(const CpuDevice&) = delete;

  bool in_host_memory() const override { return true; }
  bool can_spill() const override { return true; }
  bool supports(const Operator& op) const override { return op.kernel != nullptr; }

  void launch(StreamKind /*stream*/, const Launch& launch) override {
    const FlushDenormals flush;
    const cpu::Workers::Installed workers(&workers_);
    Meter* const meter = ledger().meter();
    const Meter::Installed installed(meter);
    const KernelCall call = launch.call();
    if (meter == nullptr) return launch.op.kernel(call);
    // What overwrites its operands cannot be done again with more; no such kernel takes as much as is asked for here.
    if (meter->held() && launch.op.borrows) make_scratch_room(ledger(), call, 4, 0);
    for (bool done = false; !done;) {
      meter->lend(ledger().scratch_headroom());
      try {
        launch.op.kernel(call);
        done = true;
      } catch (const ScratchExceeded& e) {
        if (meter->held() || !ledger().make_way_for_scratch()) ledger().refuse_scratch(shown_name(launch.op), e.bytes);
      }
    }
    if (meter->peak() != 0) ledger().note_scratch(meter->peak());
  }

  void copy_in(Block& to, std::int64_t offset, const void* from, std::int64_t bytes) override {
    copy(static_cast<char*>(to.data) + offset, static_cast<const char*>(from), bytes);
  }
  void copy_out(const Block& from, std::int64_t offset, void* to, std::int64_t bytes) override {
    copy(static_cast<char*>(to), static_cast<const char*>(from.data) + offset, bytes);
  }
  void wait(const Block& /*block*/) override {}
  void wait_for_all() override {}

protected:
  Block* take_block(std::int64_t bytes) override { return arena_.take(bytes); }
  void give_back_block(Block* block) override { arena_.give_back(block); }

private:
  void copy(char* to, const char* from, std::int64_t bytes) {
    const Meter::Installed installed(ledger().meter());
    cpu::in_stretches(bytes, [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin));
    });
  }

  cpu::Arena arena_;
  cpu::Workers workers_;
};

} // namespace

extern const DeviceKind kCpu; // listed in ops/devices
constinit const DeviceKind kCpu{"cpu", "cpu", "", [](std::string_view, DeviceMaker&, std::string&) { return true; }};

std::unique_ptr<Device> make_cpu_device(Ledger& ledger, unsigned threads) { return std::make_unique<CpuDevice>(ledger, threads); }

} // namespace cairn::ops
