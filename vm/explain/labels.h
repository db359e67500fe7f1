// Words in a drawing that must not lie on each other: each takes the free place that is nearest to where it is wanted.
#pragma once

#include <string>
#include <vector>

namespace cairn::explain {

enum class Anchor : unsigned char { start, middle, end };

class Labels {
public:
  static constexpr double kCharacter = 6.6, kLine = 14; // of letters of 12 pixels, on the safe side

  // Labels stay between these.
  Labels(double left, double top, double right, double bottom) : left_(left), top_(top), right_(right), bottom_(bottom) {}
  // The SVG of a text whose line ends, begins or is centred at x, with its foot at y or a few lines above or below. Empty if
  // there is no place.
  std::string put(double x, double y, Anchor anchor, const std::string& css, const std::string& text);
  // No label comes here.
  void keep_free(double left, double top, double right, double bottom) { taken_.push_back({left, top, right, bottom}); }

private:
  struct Box {
    double left = 0, top = 0, right = 0, bottom = 0;
  };
  bool is_free(const Box& box) const;
  double left_, top_, right_, bottom_;
  std::vector<Box> taken_;
};

} // namespace cairn::explain
