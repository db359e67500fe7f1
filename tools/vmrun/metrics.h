// --metrics: what a program reports as a table, a row a report and a column a name. A name that is new gives the table a column:
// the file is then replaced as a whole.
#pragma once

#include "growing_file.h"

#include <functional>
#include <unordered_map>

namespace cairn::tools {

class MetricsFile : public ReportFile {
public:
  // Names beyond so many have no column, nor those for which a long table would have to be written too often. True if there were
  // some.
  static constexpr std::size_t kMostNames = 1000;
  bool full() const { return full_; }
  // Called, where a resumed run goes on in a table, with each report that stays in it. Empty: nobody wants to know.
  std::function<void(const Report&)> on_earlier;

private:
  void begin() override;
  bool go_on(std::string_view content, std::uint64_t reports, std::string& error) override;
  bool put(const Report& report) override;
  bool widen(const std::vector<std::string>& added);
  std::string header() const;
  Report report_of(std::string_view row) const;

  bool empty_ = true; // not even the header is there
  bool full_ = false;
  std::uint64_t replaced_ = 0; // bytes that were written to give the table columns
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::size_t> columns_; // by name, the index in names_
};

} // namespace cairn::tools
