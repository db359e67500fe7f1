// What an operation is modelled to take, in counts that no device and no number of threads changes.
#pragma once

namespace cairn::ops {

struct Cost {
  double flops = 0, bytes = 0; // of elements one by one, and moved
  double products = 0;         // flops of products of matrices and of convolutions, which processors do many times as fast
  double all() const { return flops + bytes + products; }
  void add(const Cost& other) {
    flops += other.flops;
    bytes += other.bytes;
    products += other.products;
  }
};

} // namespace cairn::ops
