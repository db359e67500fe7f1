// The order in which a primitive wants the weights of a convolution, where it is one of blocks of channels, and bringing weights
// into it. oneDNN's own reorders take an element at a time for these, which is up to a tenth of a convolution of many channels
// and few positions.
#pragma once

#include <dnnl.hpp>

#include <cstdint>
#include <optional>

namespace cairn::ops::math {

// Weights lie row-major as [small, large, taps], the taps of the window being one axis.
struct PlainWeights {
  const float* data;
  std::int64_t large, taps;
};

// The first channel from `at` on with which a block begins. Whoever is given a part of the channels arranges the blocks that
// begin in it.
constexpr std::int64_t next_block(std::int64_t at, std::int64_t block) { return (at + block - 1) / block * block; }

class WeightOrder {
public:
  // For a description of [small, large, kernel...], or of [large, small, kernel...] with windows turned by half a circle. Nothing
  // if it is none of those known here: both axes of channels in blocks or not, elements of a whole block of one beside each
  // other.
  static std::optional<WeightOrder> of(const dnnl::memory::desc& weights, int axes, bool turned);

  // The blocks of small channels that begin in [begin, end): a block may have any number of channels, such as 48.
  void arrange(const PlainWeights& from, std::int64_t begin, std::int64_t end, float* to) const;

private:
  struct Channels {
    std::int64_t block = 1, stride = 0, within = 0; // from block to block, and within one
    std::int64_t at(std::int64_t i) const { return i / block * stride + i % block * within; }
  };

  Channels small_, large_;
  std::int64_t tap_stride_ = 0;
  bool turned_ = false;
};

} // namespace cairn::ops::math
