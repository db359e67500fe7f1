// Curves for the page of --report, as SVG: bounded however much is seen, with their names and numbers where they are drawn, in
// colours that the page sets for light and dark screens.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cairn::tools {

// Points in the order in which they came. Where there are many, neighbours become one, which knows their least and most.
class Curve {
public:
  struct Point {
    double x, least, most, sum;
    std::uint64_t number; // of points in it
    double mean() const { return sum / static_cast<double>(number); }
  };
  void add(double x, double y);
  const std::vector<Point>& points() const { return points_; }
  double last() const { return last_; }
  std::uint64_t number() const { return number_; }     // of all that were added
  std::uint64_t left_out() const { return left_out_; } // of these, that are infinite or no numbers

private:
  static constexpr std::size_t kMost = 1024;
  std::vector<Point> points_;
  std::uint64_t together_ = 1; // points that become one
  std::uint64_t number_ = 0, left_out_ = 0;
  double last_ = 0;
};

// Layers that lie on each other, at moments: heights[i] is of the layer names[i], the lowest first.
struct Layers {
  struct Layer {
    std::string name, css;
    std::vector<double> heights;
  };
  std::vector<double> x;
  std::vector<Layer> layers;
  double limit = 0; // a line, drawn where it is not far above; 0: none
  std::string limit_name;
};

// How numbers on the axis up are written.
enum class Unit { number, bytes };

std::string chart(const Curve& curve, const std::string& title, const std::string& across, bool from_zero = false);
std::string chart(const Layers& layers, const std::string& title, const std::string& across);

std::string short_number(double number); // four digits
std::string bytes_text(double bytes);
std::string chart_style();

} // namespace cairn::tools
