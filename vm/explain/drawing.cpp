// The drawing of a gradient: time from left to right, steps of the run upwards, and memory below on the same time. What was done
// is a line from where it began to where it ended, in the colour of its word above.
#include "vm/explain/forms.h"
#include "vm/explain/labels.h"
#include "vm/text/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace cairn::explain {

namespace {

constexpr double kWidth = 960, kHeight = 580;
constexpr double kLeft = 84, kRight = 944;           // of both plots
constexpr double kTop = 40, kBottom = 370;           // of steps
constexpr double kMemoryTop = 410, kMemoryEnd = 530; // of memory
constexpr std::size_t kMany = 200;                   // stretches that want thin lines, and states that want faint ones

struct Kind {
  Doing doing;
  const char* css;
  const char* word;
};
constexpr Kind kKinds[] = {{Doing::advance, "advance", "run without a tape"},
                           {Doing::tape, "tape", "run on a tape"},
                           {Doing::sweep, "sweep", "swept backwards"}};

class Drawing {
public:
  explicit Drawing(const Gradient& g) : g_(g) {
    time_ = std::max<std::uint64_t>(1, g.time);
    steps_ = std::max<std::uint64_t>(1, g.steps);
    for (const Stretch& s : g.timeline) steps_ = std::max(steps_, s.to);
    std::int64_t most = std::max<std::int64_t>(1, g.measured.peak.value_or(0));
    if (g.predicted && g.predicted->peak && *g.predicted->peak <= 4 * most) most = std::max(most, *g.predicted->peak);
    shows_budget_ = g.budget != 0 && g.budget <= 4 * most;
    if (shows_budget_) most = std::max(most, g.budget);
    bytes_ = round_above(most);
  }

  std::string svg() {
    out_ =
        fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"what the gradient did over time\">\n", kWidth, kHeight);
    axes();
    words();
    states();
    stretches();
    memory();
    return out_ + "</svg>\n";
  }

private:
  static double round_above(std::int64_t bytes) { // two digits of its unit
    double unit = 1;
    const auto number = static_cast<double>(bytes);
    while (number / unit >= 1024) unit *= 1024;
    double step = unit;
    while (number / step >= 20) step *= number / step >= 200 ? 10 : 2;
    while (step > 1 && number / step < 5) step /= 2;
    return std::ceil(number / step) * step;
  }
  double x(std::uint64_t time) const {
    return kLeft + (kRight - kLeft) * static_cast<double>(std::min(time, time_)) / static_cast<double>(time_);
  }
  double y(std::uint64_t step) const {
    return kBottom - (kBottom - kTop) * static_cast<double>(step) / static_cast<double>(steps_);
  }
  double level(std::int64_t bytes) const {
    return kMemoryEnd - (kMemoryEnd - kMemoryTop) * std::min(1.0, static_cast<double>(bytes) / bytes_);
  }
  void line(double x1, double y1, double x2, double y2, const char* css) {
    out_ += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"/>\n", x1, y1, x2, y2, css);
  }
  void text(double at_x, double at_y, const char* css, const std::string& words) {
    out_ +=
        fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\">{}</text>\n", at_x, at_y, css, text::escaped_for_html(words));
  }

  void axes() {
    for (unsigned i = 0; i <= 4; ++i) {
      const double at = kBottom - (kBottom - kTop) * i / 4;
      line(kLeft, at, kRight, at, "grid");
      text(kLeft - 6, at + 4, "tick end", abbreviated(static_cast<double>(steps_) * i / 4));
      const double time = kLeft + (kRight - kLeft) * i / 4;
      text(time, kMemoryEnd + 18, i == 0 ? "tick" : i == 4 ? "tick end" : "tick mid", fmt::format("{} %", 25 * i));
    }
    for (unsigned i = 0; i <= 2; ++i) {
      const double at = kMemoryEnd - (kMemoryEnd - kMemoryTop) * i / 2;
      line(kLeft, at, kRight, at, "grid");
      text(kLeft - 6, at + 4, "tick end", bytes_text(static_cast<std::int64_t>(bytes_ * i / 2)));
    }
    text(6, kTop - 16, "tick", "step of run");
    text(6, kMemoryTop - 14, "tick", "memory");
    text((kLeft + kRight) / 2, kMemoryEnd + 38, "tick mid", "time, by counted steps and work");
  }

  // In the colours of what they mean, in front of a line like those in the drawing.
  void words() {
    double at = kLeft;
    auto word = [&](const char* css, const std::string& words) {
      line(at, kTop - 20, at + 18, kTop - 20, css);
      text(at + 24, kTop - 16, "word", words);
      at += 24 + Labels::kCharacter * static_cast<double>(words.size()) + 24;
    };
    for (const Kind& kind : kKinds) word(kind.css, kind.word);
    word("kept", g_.states_left_out == 0 ? "state kept"
                                         : fmt::format("state kept ({} short-lived ones left out)", grouped(g_.states_left_out)));
    if (!g_.first_run) return;
    const double end = x(*g_.first_run);
    line(end, kTop, end, kMemoryEnd, "mark");
    Labels labels(kLeft, kBottom, kRight, kMemoryTop);
    out_ += labels.put((kLeft + end) / 2, kBottom + 18, Anchor::middle, "word", "first run");
    out_ += labels.put((end + kRight) / 2, kBottom + 18, Anchor::middle, "word", "backwards");
  }

  void states() {
    std::string path;
    for (const KeptState& s : g_.states)
      path += fmt::format("M{:.1f} {:.1f}H{:.1f}", x(s.begin), y(s.step), std::max(x(s.begin) + 0.5, x(s.end)));
    if (!path.empty()) out_ += fmt::format("<path d=\"{}\" class=\"kept{}\"/>\n", path, g_.states.size() > kMany ? " faint" : "");
  }

  void stretches() {
    const bool many = g_.timeline.size() > kMany;
    for (const Kind& kind : kKinds) {
      std::string path;
      for (const Stretch& s : g_.timeline) {
        if (s.doing != kind.doing || !s.placed) continue;
        const bool down = s.doing == Doing::sweep;
        path +=
            fmt::format("M{:.1f} {:.1f}L{:.1f} {:.1f}", x(s.begin), y(down ? s.to : s.from), x(s.end), y(down ? s.from : s.to));
      }
      if (!path.empty()) out_ += fmt::format("<path d=\"{}\" class=\"{}{}\"/>\n", path, kind.css, many ? " thin" : "");
    }
  }

  void memory() {
    std::string path = fmt::format("M{:.1f} {:.1f}", kLeft, kMemoryEnd);
    const Stretch* highest = nullptr;
    for (const Stretch& s : g_.timeline) {
      path += fmt::format("L{:.1f} {:.1f}L{:.1f} {:.1f}", x(s.begin), level(s.peak), x(s.end), level(s.peak));
      if (highest == nullptr || s.peak > highest->peak) highest = &s;
    }
    if (highest == nullptr) return;
    path += fmt::format("L{:.1f} {:.1f}Z", x(g_.timeline.back().end), kMemoryEnd);
    out_ += "<path d=\"" + path + "\" class=\"memory\"/>\n";
    Labels labels(kLeft + 4, kMemoryTop - 16, kRight - 4, kMemoryEnd);
    // Away from the peak.
    const double at = (x(highest->begin) + x(highest->end)) / 2;
    const bool right = at < (kLeft + kRight) / 2;
    auto limit = [&](std::int64_t bytes, const char* css, const std::string& words) {
      out_ += labels.put(right ? kRight - 6 : kLeft + 6, level(bytes) - 5, right ? Anchor::end : Anchor::start, "word", words);
      line(kLeft, level(bytes), kRight, level(bytes), css);
    };
    const bool shows_predicted = g_.predicted && g_.predicted->peak && *g_.predicted->peak <= static_cast<std::int64_t>(bytes_);
    auto keep_free = [&](std::int64_t bytes) { labels.keep_free(kLeft, level(bytes) - 1.5, kRight, level(bytes) + 1.5); };
    if (shows_budget_) keep_free(g_.budget);
    if (shows_predicted) keep_free(*g_.predicted->peak);
    if (shows_budget_) limit(g_.budget, "budget", "budget " + bytes_text(g_.budget));
    if (shows_predicted) limit(*g_.predicted->peak, "predicted", "predicted peak " + bytes_text(*g_.predicted->peak));
    const std::string peak = "peak " + bytes_text(g_.measured.peak.value_or(0));
    const std::string beyond = g_.budget == 0 || shows_budget_ ? "" : " (budget " + bytes_text(g_.budget) + ")";
    out_ += labels.put(at, level(highest->peak) - 6, Anchor::middle, "word", peak + beyond);
    out_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" class=\"dot\"/>\n", at, level(highest->peak));
  }

  const Gradient& g_;
  std::string out_;
  std::uint64_t time_ = 1, steps_ = 1;
  double bytes_ = 1;
  bool shows_budget_ = false;
};

} // namespace

std::string drawing(const Gradient& gradient) { return Drawing(gradient).svg(); }

} // namespace cairn::explain
