// What an operation is modelled to take, in counts that no device and no number of threads changes.
#pragma once

namespace cairn::ops {

struct Cost {
  double flops = 0, bytes = 0; // of elements one by one, and moved
  double products = 0;         // flops of products of matrices and of convolutions, which processors do many times as fast
  // Bytes of tensors that are encoded with a bounded error or decoded, in the fast form and in the small one: all that takes.
  double lossy = 0, lossy_small = 0;
  double all() const { return flops + bytes + products + lossy + lossy_small; }
  void add(const Cost& other) {
    flops += other.flops;
    bytes += other.bytes;
    products += other.products;
    lossy += other.lossy;
    lossy_small += other.lossy_small;
  }
};

} // namespace cairn::ops
