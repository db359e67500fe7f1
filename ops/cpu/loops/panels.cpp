// See panels.h.
#include "ops/cpu/loops/panels.h"

#include <algorithm>

namespace cairn::ops::cpu {

Panels::Panels(int axis, std::initializer_list<const View*> views) {
  const View& first = **views.begin();
  for (const View* view : views) {
    data_[views_] = static_cast<char*>(view->data);
    bytes_[views_] = bytes_of(view->dtype);
    along_[views_++] = view->strides[static_cast<std::size_t>(axis)];
  }
  std::size_t rank = 0;
  for (int i = 0; i < first.shape.rank(); ++i) {
    if (i == axis) continue;
    Axis next{first.shape[i], {}};
    lines_ *= next.size;
    if (next.size == 1) continue;
    std::size_t view = 0;
    for (const View* v : views) next.strides[view++] = v->strides[static_cast<std::size_t>(i)];
    std::size_t at = rank++;
    for (; at > 0 && axes_[at - 1].strides[0] < next.strides[0]; --at) axes_[at] = axes_[at - 1];
    axes_[at] = next;
  }
  for (std::size_t i = 1; i < rank; ++i) { // joined where they lie behind each other in all views
    const Axis next = axes_[i];
    bool behind = true;
    for (std::size_t view = 0; view < views_; ++view)
      behind = behind && axes_[last_].strides[view] == next.strides[view] * next.size;
    const std::int64_t before = behind ? axes_[last_].size : 1;
    if (!behind) ++last_;
    axes_[last_] = next;
    axes_[last_].size *= before;
  }
  cut(1);
}

Panels::Panel Panels::operator[](std::int64_t panel) const {
  const std::int64_t from = panel % of_neighbours_ * width_;
  Panel found{std::min(width_, neighbours() - from), {}};
  std::int64_t row = panel / of_neighbours_;
  std::array<std::int64_t, kMostViews> at{};
  for (std::size_t view = 0; view < views_; ++view) at[view] = from * across(view);
  for (std::size_t i = last_; i-- > 0; row /= axes_[i].size)
    for (std::size_t view = 0; view < views_; ++view) at[view] += row % axes_[i].size * axes_[i].strides[view];
  for (std::size_t view = 0; view < views_; ++view) found.at[view] = data_[view] + at[view] * bytes_[view];
  return found;
}

} // namespace cairn::ops::cpu
