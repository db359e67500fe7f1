// See run_page.h.
#include "run_page.h"

#include "common/handles.h"
#include "vm/text/html.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <fstream>
#include <sys/utsname.h>
#include <thread>

namespace cairn::tools {

namespace {

constexpr const char* kHead = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
)";

std::string page_style() {
  return text::colours_style(
             ":root",
             "color-scheme: light dark; --objects: #8fb8e0; --tapes: #f0b27a; --capsules: #c9a7e6; --tensors: #8fd0bf; "
             "--scratch: #c8ced4;",
             "--objects: #2f5f92; --tapes: #a8622a; --capsules: #6f4a99; --tensors: #24806c; --scratch: #4a535c;") +
         text::kBodyStyle + R"(h1 { font-size: 1.5em; margin: 0 0 .2em; }
h2 { font-size: 1.15em; margin: 1.8em 0 .5em; }
p { margin: .3em 0; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; color: var(--red); }
.pale { color: var(--pale); }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr)); gap: 1em; }
.facts { border-collapse: collapse; }
.facts th, .facts td { padding: .1em 1.2em .1em 0; text-align: left; vertical-align: top; font-weight: normal; overflow-wrap: anywhere; }
.facts th { color: var(--pale); white-space: nowrap; }
.facts td { font-variant-numeric: tabular-nums; }
)" + chart_style();
}

std::string row(const std::string& name, const std::string& value) {
  return "<tr><th>" + text::escaped_for_html(name) + "</th><td>" + text::escaped_for_html(value) + "</td></tr>\n";
}

std::string grouped(const std::string& digits) {
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

// The counters of --stats, one line of an object whose values are numbers and words without escapes.
std::string statistics(std::string_view json) {
  std::string out;
  for (std::size_t at = 0; (at = json.find('"', at)) != std::string_view::npos;) {
    const std::size_t end = json.find('"', at + 1), next = std::min(json.find(",\"", end), json.size() - 1);
    if (end == std::string_view::npos) break;
    std::string name(json.substr(at + 1, end - at - 1)), value(json.substr(end + 2, next - end - 2));
    if (value.starts_with('"')) value = value.substr(1, value.size() - 2);
    const bool digits = value.find_first_not_of("0123456789") == std::string::npos;
    if (digits && name.ends_with("_bytes"))
      value = bytes_text(std::stod(value)) + " (" + grouped(value) + ")";
    else if (digits)
      value = grouped(value);
    std::ranges::replace(name, '_', ' ');
    out += row(name, value);
    at = next;
  }
  return out;
}

std::string processor() {
  std::ifstream facts("/proc/cpuinfo");
  for (std::string line; std::getline(facts, line);)
    if (line.starts_with("model name")) return line.substr(std::min(line.find(':') + 2, line.size()));
  return "";
}

std::string version_text() {
  const int version = cairn_version();
  return std::to_string(version / 1000000) + "." + std::to_string(version / 1000 % 1000) + "." + std::to_string(version % 1000);
}

std::string environment(const cairn_vm& vm, const RunOptions& options) {
  std::string out = row("program", options.resume.empty() ? options.file : "resumed from " + options.resume);
  std::string words;
  for (const std::string& argument : options.arguments) words += (words.empty() ? "" : " ") + argument;
  if (!words.empty()) out += row("its arguments", words);
  out += row("Cairn", version_text());
  if (options.resume.empty()) {
    out += row("seed", std::to_string(options.seed));
    out += row("schedule", options.checkpoint.value_or("auto"));
    if (options.lossy) out += row("kept with an error", *options.lossy);
    if (!options.costs.empty()) out += row("costs", "a table of its own");
  } else {
    out += row("seed, schedule", "those of the saved state");
  }
  out += row("device", options.device);
  cairn_memory memory;
  if (cairn_vm_memory(&vm, &memory) == CAIRN_OK)
    out += row("memory budget", memory.budget == CAIRN_UNLIMITED ? "none" : bytes_text(static_cast<double>(memory.budget)));
  if (!options.spill.empty()) out += row("file for what memory does not hold", "in " + options.spill);
  const std::string model = processor();
  const unsigned threads = std::thread::hardware_concurrency();
  out +=
      row("processor", (model.empty() ? "" : model + ", ") + std::to_string(threads) + (threads == 1 ? " thread" : " threads"));
  if (utsname system{}; uname(&system) == 0)
    out += row("system", std::string(system.sysname) + " " + system.release + ", " + system.machine);
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  char date[64];
  if (gmtime_r(&now, &parts) != nullptr && std::strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S UTC", &parts) != 0)
    out += row("ended", date);
  return out;
}

} // namespace

void RunPage::add(const Report& report) {
  ++reports_;
  const double* const step = report.value("step");
  constexpr double kLeast = 0.1; // seconds that a speed is taken over
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  if (step != nullptr && (last_step_at_ < 0 || *step < last_step_ || seconds - last_step_at_ >= kLeast)) {
    if (last_step_at_ >= 0 && *step > last_step_) own_speed_.add(seconds, (*step - last_step_) / (seconds - last_step_at_));
    last_step_ = *step;
    last_step_at_ = seconds;
  }
  draw(report);
}

void RunPage::draw(const Report& report) {
  const double* const step = report.value("step");
  for (const auto& [name, value] : report.values) {
    if (report.names_step(name)) continue;
    const auto [known, fresh] = numbers_.try_emplace(name, curves_.size());
    if (fresh) {
      if (curves_.size() == kMostCurves) {
        numbers_.erase(known);
        names_left_out_ = 1;
        continue;
      }
      curves_.push_back({name, {Curve(), step != nullptr ? "step" : "report"}});
    }
    curves_[known->second].second.curve.add(step != nullptr ? *step : static_cast<double>(report.number), value);
  }
}

void RunPage::look(const cairn_vm& vm, bool last) {
  constexpr double kOften = 0.001; // seconds
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  // A run that is over at once still has a speed.
  if (began_ && seconds - looked_ < kOften && !(last && speed_.points().empty())) return;
  Moment moment{seconds, cairn_vm_steps(&vm), {}};
  if (cairn_vm_memory(&vm, &moment.memory) != CAIRN_OK) return;
  if (began_ && seconds > looked_) speed_.add(seconds, static_cast<double>(moment.steps - steps_) / (seconds - looked_));
  began_ = true;
  looked_ = seconds;
  steps_ = moment.steps;
  keep(moment);
}

// Of moments that become one, that with the most memory.
void RunPage::keep(const Moment& moment) {
  if (pending_ != 0 && pending_ < together_) {
    ++pending_;
    if (moment.memory.all > moments_.back().memory.all) moments_.back() = moment;
    return;
  }
  if (moments_.size() == kMostMoments) {
    for (std::size_t i = 0; i < kMostMoments / 2; ++i) {
      const Moment &a = moments_[2 * i], &b = moments_[2 * i + 1];
      moments_[i] = a.memory.all >= b.memory.all ? a : b;
    }
    moments_.resize(kMostMoments / 2);
    together_ *= 2;
  }
  moments_.push_back(moment);
  pending_ = 1;
}

std::string RunPage::curves() const {
  std::string out = "<h2>What the program reported</h2>\n";
  if (curves_.empty()) return out + "<p class=\"pale\">Nothing that could be drawn: (report 'loss l) gives a curve.</p>\n";
  out += "<div class=\"charts\">\n";
  for (const auto& [name, named] : curves_) out += chart(named.curve, name, named.across);
  out += "</div>\n";
  if (names_left_out_ != 0)
    out += "<p class=\"pale\">The first " + std::to_string(kMostCurves) + " names are drawn; --metrics has all.</p>\n";
  return out;
}

std::string RunPage::over_time() const {
  Layers layers;
  const struct {
    const char *name, *css;
    std::uint64_t cairn_memory::*account;
  } accounts[] = {{"objects", "objects", &cairn_memory::objects},
                  {"tensors", "tensors", &cairn_memory::tensors},
                  {"tapes", "tapes", &cairn_memory::tapes},
                  {"capsules", "capsules", &cairn_memory::capsules},
                  {"scratch", "scratch", &cairn_memory::scratch}};
  for (const Moment& m : moments_) layers.x.push_back(m.seconds);
  for (const auto& account : accounts) {
    layers.layers.push_back({account.name, account.css, {}});
    for (const Moment& m : moments_) layers.layers.back().heights.push_back(static_cast<double>(m.memory.*account.account));
  }
  if (!moments_.empty() && moments_.back().memory.budget != CAIRN_UNLIMITED) {
    layers.limit = static_cast<double>(moments_.back().memory.budget);
    layers.limit_name = "budget";
  }
  std::string out = "<h2>Over time</h2>\n<div class=\"charts\">\n" + chart(layers, "memory in accounts", "seconds");
  if (!speed_.points().empty()) out += chart(speed_, "steps of the machine a second", "seconds", true);
  if (!own_speed_.points().empty()) out += chart(own_speed_, "steps of the program a second", "seconds", true);
  return out + "</div>\n<p class=\"pale\">Looked at some hundred times a second, between steps; the largest sizes are among the "
               "counters below.</p>\n";
}

std::string RunPage::text(const cairn_vm& vm, const RunOptions& options, int code, std::string_view message) const {
  const std::string name = options.resume.empty() ? options.file : options.resume;
  std::string out = kHead;
  out += "<title>" + text::escaped_for_html(name) + "</title>\n<style>\n" + page_style() + "</style>\n</head>\n<body>\n";
  out += "<h1>" + text::escaped_for_html(name) + "</h1>\n";
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  std::string how = code == 0 ? "Ended" : code == 75 ? "Stopped by a limit" : "Ended with exit code " + std::to_string(code);
  out += "<p>" + how + " after " + short_number(seconds) + " seconds, " + grouped(std::to_string(cairn_vm_steps(&vm))) +
         " steps of the machine and " + grouped(std::to_string(cairn_vm_reports(&vm))) + " reports" +
         (cairn_vm_reports(&vm) != reports_ ? ", of which " + grouped(std::to_string(reports_)) + " came since it was resumed"
                                            : "") +
         ".</p>\n";
  if (!message.empty()) out += "<pre>" + text::escaped_for_html(std::string(message)) + "</pre>\n";
  out += curves() + over_time();
  CairnBuffer gradients, json;
  out += "<h2>Gradients</h2>\n";
  if (cairn_vm_gradients(&vm, CAIRN_REPORT_SECTION, gradients.text()) == CAIRN_OK) out += gradients.view();
  out += "<h2>Where and how it ran</h2>\n<table class=\"facts\">\n" + environment(vm, options) + "</table>\n";
  out += "<h2>Counters</h2>\n<table class=\"facts\">\n";
  if (cairn_vm_statistics(&vm, json.text()) == CAIRN_OK) out += statistics(json.view());
  return out + "</table>\n</body>\n</html>\n";
}

} // namespace cairn::tools
