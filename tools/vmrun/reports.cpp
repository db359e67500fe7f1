// See reports.h.
#include "reports.h"

#include <algorithm>
#include <chrono>

namespace cairn::tools {

bool Reports::open(const RunOptions& options, const cairn_vm& vm, std::function<void(const Report&)> earlier,
                   std::string& error) {
  metrics_.on_earlier = std::move(earlier);
  const bool resumed = !options.resume.empty();
  const std::uint64_t reports = cairn_vm_reports(&vm);
  auto open_one = [&](ReportFile& file, const std::string& path) {
    if (!file.open(path, resumed, reports, error)) return false;
    files_.push_back({&file});
    if (resumed && file.last() < reports)
      warn_(path + ": warning: the state that goes on has made " + std::to_string(reports) + " reports, of which this file has " +
            (file.last() == 0 ? "none" : "those up to number " + std::to_string(file.last())) +
            "; the others are not in it: give the file that the run began\n");
    return true;
  };
  return (options.metrics.empty() || open_one(metrics_, options.metrics)) &&
         (options.events.empty() || open_one(events_, events_file(options.events)));
}

Report Reports::add(const cairn_vm& vm, const cairn_reported* values, std::size_t count) {
  Report report;
  report.number = cairn_vm_reports(&vm);
  report.steps = cairn_vm_steps(&vm);
  report.time = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  for (std::size_t i = 0; i < count; ++i) report.values.emplace_back(values[i].name, values[i].value);
  for (const auto& [name, value] : report.values) {
    if (report.names_step(name)) continue;
    auto known = std::ranges::find(last_, name, &std::pair<std::string, double>::first);
    if (known != last_.end())
      known->second = value;
    else if (last_.size() < kMostLast)
      last_.emplace_back(name, value);
  }
  if (const double* step = report.value("step"), *of = report.value("of"); step != nullptr && of != nullptr)
    part_ = Part{*step, *of};
  for (Written& w : files_) {
    const bool good = w.file->add(report);
    if (!good && !w.failing) warn_(w.file->fault() + "vmrun: warning: the run goes on, and what it reports waits\n");
    w.failing = !good;
  }
  if (metrics_.full() && !told_full_) {
    warn_("vmrun: warning: --metrics: a table has " + std::to_string(MetricsFile::kMostNames) +
          " names, fewer if they come late to a long one; what is reported under others is left out\n");
    told_full_ = true;
  }
  return report;
}

bool Reports::settle(std::string& faults) {
  bool good = true;
  for (Written& w : files_)
    if (!w.file->settle()) {
      faults += w.file->fault();
      good = false;
    }
  return good;
}

} // namespace cairn::tools
