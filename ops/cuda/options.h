// What a user may say of a CUDA device: cuda[:N][,memory=SIZE][,host=SIZE]… (device_spec.h).
#pragma once

#include "ops/modelled/options.h"

#include <cstdint>

namespace cairn::ops {

// Of memory_bytes, 0 stands for what is free when the device is made, but for a part that keeps blocks from failing which do not
// fill their pages. The rates are those of the A100 with 40 GB (its data sheet: 19.5 Tflops in f32, 1,555 GB a second) on a
// PCIe 4.0 link with 16 lanes, of whose 31.5 GB a second 25 are taken to be had; latencies are guesses. Plans alone are made from
// them: where the device is another one, that may cost time and changes no result.
struct CudaOptions : ModelledOptions {
  CudaOptions() {
    pinned_bytes = INT64_MAX;
    rates = {.bytes_in = 25e9,
             .bytes_out = 25e9,
             .latency = 10e-6,
             .products = 19.5e12,
             .flops = 19.5e12,
             .memory = 1555e9,
             .launch = 3e-6,
             .disk = 2e9};
  }
  int index = 0;
};

} // namespace cairn::ops
