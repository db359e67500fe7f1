// --events: what a program reports as TensorBoard reads it, docs/file-formats.md has the format. One record a report.
#pragma once

#include "growing_file.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cairn::tools {

class EventsFile : public ReportFile {
private:
  void begin() override {
    empty_ = true;
    last_step_.reset();
  }
  bool go_on(std::string_view content, std::uint64_t reports, std::string& error) override;
  bool put(const Report& report) override;

  bool empty_ = true;                      // not even the first record is there
  std::optional<std::uint64_t> last_step_; // that the program named: reports without one stand there
};

} // namespace cairn::tools
