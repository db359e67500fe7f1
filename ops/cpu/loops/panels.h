// Panels: lines along one axis that lie beside each other in memory, taken together by kernels. So kernels work on whole vectors
// and use whole cache lines, also if the elements of one line are far from each other.
#pragma once

#include "ops/cpu/loops/elementwise.h"

#include <array>
#include <initializer_list>

namespace cairn::ops::cpu {

class Panels {
public:
  static constexpr std::size_t kMostViews = 3;

  // The views differ at most in their sizes along the axis. Lines are neighbours as they lie in the first one.
  Panels(int axis, std::initializer_list<const View*> views);

  // From element to element of a line, and from line to line of a panel.
  std::int64_t along(std::size_t view) const { return along_[view]; }
  std::int64_t across(std::size_t view) const { return axes_[last_].strides[view]; }

  // How many neighbours there are; panels have up to `lines` of them.
  std::int64_t neighbours() const { return axes_[last_].size; }
  void cut(std::int64_t lines) {
    width_ = lines;
    of_neighbours_ = (neighbours() + lines - 1) / lines;
  }

  std::int64_t lines() const { return lines_; }
  std::int64_t count() const { return lines_ == 0 ? 0 : lines_ / neighbours() * of_neighbours_; }
  struct Panel {
    std::int64_t lines;
    std::array<char*, kMostViews> at; // the first element
  };
  Panel operator[](std::int64_t panel) const;

private:
  struct Axis {
    std::int64_t size = 1;
    std::array<std::int64_t, kMostViews> strides{};
  };
  std::size_t views_ = 0, last_ = 0;
  std::array<char*, kMostViews> data_{};
  std::array<std::int64_t, kMostViews> bytes_{}, along_{};
  std::array<Axis, kMostAxes> axes_{}; // others than the one of the lines, the closest last
  std::int64_t lines_ = 1, width_ = 1, of_neighbours_ = 1;
};

} // namespace cairn::ops::cpu
