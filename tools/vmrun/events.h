// --events: what a program reports as TensorBoard reads it, docs/file-formats.md has the format. One record a report.
#pragma once

#include "growing_file.h"

namespace cairn::tools {

class EventsFile : public ReportFile {
private:
  void begin() override { empty_ = true; }
  bool go_on(std::string_view content, std::uint64_t reports, std::string& error) override;
  bool put(const Report& report) override;

  bool empty_ = true; // not even the first record is there
};

} // namespace cairn::tools
