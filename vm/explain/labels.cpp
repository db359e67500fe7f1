// See the header.
#include "vm/explain/labels.h"

#include "vm/text/html.h"

#include <fmt/format.h>

#include <algorithm>

namespace cairn::explain {

bool Labels::is_free(const Box& b) const {
  if (b.left < left_ || b.right > right_ || b.top < top_ || b.bottom > bottom_) return false;
  return std::none_of(taken_.begin(), taken_.end(),
                      [&](const Box& t) { return b.left < t.right && t.left < b.right && b.top < t.bottom && t.top < b.bottom; });
}

std::string Labels::put(double x, double y, Anchor anchor, const std::string& css, const std::string& text) {
  constexpr int kMostLines = 8;
  const double width = kCharacter * static_cast<double>(text.size());
  double left = anchor == Anchor::start ? x : anchor == Anchor::end ? x - width : x - width / 2;
  left = std::max(left_, std::min(left, right_ - width));
  for (int line = 0; line <= 2 * kMostLines; ++line) {
    const double foot = y + (line % 2 == 0 ? line / 2 : -(line / 2 + 1)) * kLine;
    const Box box{left, foot - kLine + 3, left + width, foot + 3};
    if (!is_free(box)) continue;
    taken_.push_back(box);
    return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\">{}</text>\n", left, foot, css, text::escaped_for_html(text));
  }
  return "";
}

} // namespace cairn::explain
