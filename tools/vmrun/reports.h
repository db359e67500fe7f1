// What a program reports, on its way to the files that were asked for and to the line of --progress.
#pragma once

#include "common/run_options.h"
#include "events.h"
#include "metrics.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace cairn::tools {

class Reports {
public:
  // `warn` gets what goes wrong on the way, once for each file.
  explicit Reports(std::function<void(const std::string&)> warn) : warn_(std::move(warn)) {}

  // Opens the files; a resumed run goes on in them, and `earlier` gets the reports that stay in the table of --metrics. False
  // with a message.
  bool open(const RunOptions& options, const cairn_vm& vm, std::function<void(const Report&)> earlier, std::string& error);
  // A call of the machine's program.
  Report add(const cairn_vm& vm, const cairn_reported* values, std::size_t count);
  // All that was reported is on the disk. False with a message for each file of which that is not so.
  bool settle(std::string& faults);

  // Of each name the last value, in the order in which they came first; no more than a line has room for.
  const std::vector<std::pair<std::string, double>>& last() const { return last_; }
  // The program's own step and the last one there will be, where the last report that has one says both.
  struct Part {
    double step, of;
  };
  const std::optional<Part>& part() const { return part_; }

private:
  static constexpr std::size_t kMostLast = 16;
  struct Written {
    ReportFile* file;
    bool failing = false;
  };
  std::function<void(const std::string&)> warn_;
  MetricsFile metrics_;
  EventsFile events_;
  std::vector<Written> files_;
  bool told_full_ = false;
  std::vector<std::pair<std::string, double>> last_;
  std::optional<Part> part_;
};

} // namespace cairn::tools
