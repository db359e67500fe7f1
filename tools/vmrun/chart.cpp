// See chart.h.
#include "chart.h"

#include "vm/text/html.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace cairn::tools {

namespace {

constexpr double kWidth = 480; // of the viewBox below
constexpr double kLeft = 64, kRight = 468, kTop = 34, kBottom = 188;
constexpr double kLetter = 6.4; // about the width of one

std::string fixed(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", number);
  return text;
}

// What an axis shows, and where a number is on it.
class Axis {
public:
  Axis(double low, double high, double from, double to, bool logarithmic = false, Unit unit = Unit::number)
      : from_(from), to_(to), logarithmic_(logarithmic), unit_(unit) {
    if (logarithmic) {
      low_ = std::log10(low);
      high_ = std::log10(high);
    } else {
      low_ = low;
      high_ = high;
    }
    // All numbers alike are drawn in the middle.
    if (high_ - low_ <= 1e-12 * std::max(std::abs(low_), std::abs(high_))) {
      const double around = low_ == 0 ? 1 : std::abs(low_) / 2;
      low_ -= around;
      high_ += around;
    }
  }
  double at(double number) const {
    const double v = logarithmic_ ? std::log10(number) : number;
    return from_ + (to_ - from_) * std::clamp((v - low_) / (high_ - low_), 0.0, 1.0);
  }
  // Round numbers within it, some four.
  std::vector<double> ticks() const {
    std::vector<double> found;
    double step = 1;
    if (unit_ == Unit::bytes) {
      while (high_ / step > 4) step *= 2;
    } else {
      step = std::pow(10.0, std::floor(std::log10((high_ - low_) / 4)));
      for (const double more : {2.0, 2.5, 2.0})
        if ((high_ - low_) / step > 5) step *= more;
      if (logarithmic_) step = std::max(1.0, std::ceil(step));
    }
    constexpr int kMost = 12;
    for (double v = std::ceil(low_ / step) * step; v <= high_ + step * 1e-9 && found.size() < kMost; v += step)
      found.push_back(logarithmic_ ? std::pow(10.0, v) : std::abs(v) < step * 1e-9 ? 0 : v);
    return found;
  }
  std::string text(double number) const { return unit_ == Unit::bytes ? bytes_text(number) : short_number(number); }

private:
  double low_, high_, from_, to_;
  bool logarithmic_;
  Unit unit_;
};

std::string text_at(double x, double y, const char* css, const std::string& words) {
  return "<text x=\"" + fixed(x) + "\" y=\"" + fixed(y) + "\" class=\"" + css + "\">" + text::escaped_for_html(words) +
         "</text>\n";
}

std::string line_at(double x1, double y1, double x2, double y2, const char* css) {
  return "<line x1=\"" + fixed(x1) + "\" y1=\"" + fixed(y1) + "\" x2=\"" + fixed(x2) + "\" y2=\"" + fixed(y2) + "\" class=\"" +
         css + "\"/>\n";
}

std::string begin(const std::string& title, const std::string& note) {
  std::string out =
      "<figure class=\"chart\"><svg viewBox=\"0 0 480 230\" role=\"img\" aria-label=\"" + text::escaped_for_html(title) + "\">\n";
  const auto room = static_cast<std::size_t>((kRight - 8) / (kLetter * 1.2));
  const std::string shown = title.size() <= room ? title : title.substr(0, room - 3) + "...";
  out += text_at(8, 18, "title", shown);
  // Beside the title if there is room, else left out: the axes say nearly the same.
  if ((static_cast<double>(shown.size()) * 1.2 + static_cast<double>(note.size())) * kLetter < kRight - 40)
    out += text_at(kRight, 18, "note end", note);
  return out;
}

std::string axes(const Axis& x, const Axis& y, const std::string& across) {
  std::string out;
  for (const double tick : y.ticks()) {
    out += line_at(kLeft, y.at(tick), kRight, y.at(tick), "grid");
    out += text_at(kLeft - 6, y.at(tick) + 4, "tick end", y.text(tick));
  }
  double free_from = 0;
  for (const double tick : x.ticks()) {
    const std::string text = x.text(tick);
    const double half = kLetter * static_cast<double>(text.size()) / 2, at = x.at(tick);
    if (at - half < free_from || at + half > kWidth) continue;
    free_from = at + half + kLetter;
    out += text_at(at, kBottom + 16, "tick mid", text);
  }
  return out + text_at((kLeft + kRight) / 2, kBottom + 34, "tick mid", across);
}

} // namespace

std::string chart_style() {
  return text::drawing_style(".chart") + R"(.chart { margin: 0; }
.chart .title { font-weight: 600; font-size: 14px; }
.chart .note { fill: var(--pale); }
.chart .limit { stroke: var(--red); stroke-width: 1.5; }
.chart .curve { fill: none; stroke: var(--blue); stroke-width: 1.8; stroke-linejoin: round; }
.chart .band { fill: var(--blue); fill-opacity: .22; stroke: none; }
.chart .dot { fill: var(--blue); }
.chart .objects { fill: var(--objects); } .chart .tapes { fill: var(--tapes); } .chart .capsules { fill: var(--capsules); }
.chart .tensors { fill: var(--tensors); } .chart .scratch { fill: var(--scratch); }
)";
}

void Curve::add(double x, double y) {
  ++number_;
  last_ = y;
  if (!std::isfinite(x) || !std::isfinite(y)) {
    ++left_out_;
    return;
  }
  if (!points_.empty() && points_.back().number < together_) {
    Point& p = points_.back();
    p.least = std::min(p.least, y);
    p.most = std::max(p.most, y);
    p.sum += y;
    ++p.number;
    return;
  }
  if (points_.size() == kMost) {
    for (std::size_t i = 0; i < kMost / 2; ++i) {
      const Point &a = points_[2 * i], &b = points_[2 * i + 1];
      points_[i] = {a.x, std::min(a.least, b.least), std::max(a.most, b.most), a.sum + b.sum, a.number + b.number};
    }
    points_.resize(kMost / 2);
    together_ *= 2;
  }
  points_.push_back({x, y, y, y, 1});
}

std::string chart(const Curve& curve, const std::string& title, const std::string& across, bool from_zero) {
  const std::vector<Curve::Point>& points = curve.points();
  if (points.empty())
    return begin(title, "") + text_at(kLeft, (kTop + kBottom) / 2, "note", "no finite number was reported") + "</svg></figure>\n";
  double left = points[0].x, right = left, low = points[0].least, high = low;
  for (const Curve::Point& p : points) {
    left = std::min(left, p.x);
    right = std::max(right, p.x);
    low = std::min(low, p.least);
    high = std::max(high, p.most);
  }
  constexpr double kWide = 1000; // more between least and most than a linear axis shows well
  const bool logarithmic = low > 0 && high / low > kWide;
  const Axis x(left, right, kLeft, kRight), y(from_zero ? 0 : low, high, kBottom, kTop, logarithmic && !from_zero);
  std::string note = "last " + short_number(curve.last()) + ", " + short_number(low) + " to " + short_number(high);
  if (curve.left_out() != 0) note += ", " + std::to_string(curve.left_out()) + " not finite";
  std::string out = begin(title, note) + axes(x, y, across);
  std::string line, band, back;
  bool banded = false;
  for (const Curve::Point& p : points) {
    line += (line.empty() ? "M" : "L") + fixed(x.at(p.x)) + " " + fixed(y.at(p.mean()));
    band += (band.empty() ? "M" : "L") + fixed(x.at(p.x)) + " " + fixed(y.at(p.most));
    banded = banded || p.number > 1;
  }
  for (std::size_t i = points.size(); i-- > 0;) back += "L" + fixed(x.at(points[i].x)) + " " + fixed(y.at(points[i].least));
  if (banded) out += "<path d=\"" + band + back + "Z\" class=\"band\"/>\n";
  if (points.size() > 1) out += "<path d=\"" + line + "\" class=\"curve\"/>\n";
  out += "<circle cx=\"" + fixed(x.at(points.back().x)) + "\" cy=\"" + fixed(y.at(points.back().mean())) +
         "\" r=\"3\" class=\"dot\"/>\n";
  return out + "</svg></figure>\n";
}

std::string chart(const Layers& layers, const std::string& title, const std::string& across) {
  const std::size_t n = layers.x.size();
  std::vector<double> sums(n, 0.0);
  double most = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (const Layers::Layer& layer : layers.layers) sums[i] += layer.heights[i];
    most = std::max(most, sums[i]);
  }
  if (n == 0 || most == 0) return "";
  const bool limited = layers.limit > 0 && layers.limit <= 4 * most;
  const Axis x(layers.x.front(), layers.x.back(), kLeft, kRight);
  const Axis y(0, limited ? std::max(layers.limit, most) : most, kBottom, kTop, false, Unit::bytes);
  std::string note = "at the most " + bytes_text(most);
  if (layers.limit > 0 && !limited) note += ", " + layers.limit_name + " " + bytes_text(layers.limit);
  std::string out = begin(title, note) + axes(x, y, across), words;
  std::vector<double> under(n, 0.0);
  for (const Layers::Layer& layer : layers.layers) {
    std::string path, back;
    std::size_t widest = 0;
    for (std::size_t i = 0; i < n; ++i) {
      path += (i == 0 ? "M" : "L") + fixed(x.at(layers.x[i])) + " " + fixed(y.at(under[i] + layer.heights[i]));
      if (layer.heights[i] > layer.heights[widest]) widest = i;
    }
    for (std::size_t i = n; i-- > 0;) back += "L" + fixed(x.at(layers.x[i])) + " " + fixed(y.at(under[i]));
    if (layer.heights[widest] > 0) out += "<path d=\"" + path + back + "Z\" class=\"" + layer.css + "\"/>\n";
    // Its name stands in it, where it is high enough.
    const double top = y.at(under[widest] + layer.heights[widest]), bottom = y.at(under[widest]);
    constexpr double kLine = 14;
    const double half = kLetter * static_cast<double>(layer.name.size()) / 2;
    if (bottom - top >= kLine)
      words += text_at(std::clamp(x.at(layers.x[widest]), kLeft + half + 2, kRight - half - 2), (top + bottom) / 2 + 4,
                       "word mid", layer.name);
    for (std::size_t i = 0; i < n; ++i) under[i] += layer.heights[i];
  }
  if (limited) {
    out += line_at(kLeft, y.at(layers.limit), kRight, y.at(layers.limit), "limit");
    words += text_at(kLeft + 4, y.at(layers.limit) + (y.at(layers.limit) < kTop + 16 ? 15 : -5), "word",
                     layers.limit_name + " " + bytes_text(layers.limit));
  }
  return out + words + "</svg></figure>\n";
}

std::string short_number(double number) {
  constexpr double kLarge = 1e4, kLargest = 1e15; // between these with a unit
  const char* unit = "";
  for (const char* next : {" k", " M", " G", " T"})
    if (std::abs(number) >= (*unit == 0 ? kLarge : 1000.0) && std::abs(number) < kLargest) {
      number /= 1000;
      unit = next;
    }
  char text[32];
  std::snprintf(text, sizeof text, "%.4g%s", number, unit);
  return text;
}

std::string bytes_text(double bytes) {
  const char* units[] = {" bytes", " KiB", " MiB", " GiB", " TiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < std::size(units)) {
    bytes /= 1024;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 || bytes == std::floor(bytes) ? "%.0f%s" : "%.1f%s", bytes, units[unit]);
  return text;
}

} // namespace cairn::tools
