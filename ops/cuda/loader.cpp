// Devices of the CUDA module: looks for it, checks that it fits, and hands on. Without the module, a driver or a GPU there is one
// clear message.
#include "ops/cuda/loader.h"
#include "ops/cuda/module.h"
#include "ops/modelled/settings.h"
#include "ops/module_loader.h"

#include <fmt/format.h>

#include <dlfcn.h>

namespace cairn::ops {
namespace {

const CudaModule* loaded(std::string& why) {
  void* module = open_module("cairn_cuda", why);
  if (module == nullptr) {
    why = "the CUDA module is not installed: " + why;
    return nullptr;
  }
  const auto get = reinterpret_cast<CudaModuleFunction>(dlsym(module, kCudaModule));
  const CudaModule* table = get != nullptr ? get() : nullptr;
  if (table == nullptr || table->build != cuda_build()) {
    why = fmt::format("the CUDA module is of another build ({}, not {})", table != nullptr ? table->build : "unknown",
                      cuda_build());
    return nullptr;
  }
  return table;
}

bool parsed_cuda(std::string_view settings, DeviceMaker& maker, std::string& message) {
  CudaOptions options;
  if (!ModelledSettings::take_number(settings, "cuda", options.index, message)) return false;
  if (!ModelledSettings(options, "cuda", false).read(settings, message)) return false;
  maker = [options](Ledger& ledger) { return make_cuda_device(ledger, options); };
  return true;
}

} // namespace

extern const DeviceKind kCuda; // listed in ops/devices
constinit const DeviceKind kCuda{"cuda", "cuda[:N][,memory=SIZE][,host=SIZE][,disk=FOLDER]", ":,", parsed_cuda};

std::unique_ptr<Device> make_cuda_device(Ledger& ledger, const CudaOptions& options) {
  std::string why;
  const CudaModule* module = loaded(why);
  std::unique_ptr<Device> device(module != nullptr ? module->make(ledger, options, why) : nullptr);
  if (device == nullptr) throw std::runtime_error(fmt::format("cuda:{}: {}", options.index, why));
  return device;
}

std::vector<std::string> cuda_devices(std::string& why) {
  const CudaModule* module = loaded(why);
  return module != nullptr ? module->list(why) : std::vector<std::string>{};
}

} // namespace cairn::ops
