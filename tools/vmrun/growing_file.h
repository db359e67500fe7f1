// A file that gets what a program reports, a report at a time: each is in it as a whole or not at all, whatever happens to the
// process or the disk, and what is in it once stays. What a full disk does not take waits for the next report.
#pragma once

#include "cairn.h"

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cairn::tools {

// One call of `report`.
struct Report {
  std::uint64_t number = 0; // from 1, those before a resumption included
  std::uint64_t steps = 0;  // of the machine
  double time = 0;          // seconds since 1970
  std::vector<std::pair<std::string, double>> values;

  const double* value(std::string_view name) const;
  // Which step of the program's own it is of, if it says so: a value named `step`, and if there is one the step of the last
  // report, named `of`.
  bool names_step(std::string_view name) const { return name == "step" || (name == "of" && value("step") != nullptr); }
};

// A file that grows at its end.
class GrowingFile {
public:
  GrowingFile() = default;
  ~GrowingFile();
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;

  // The regular file `path`, made if it is not there. False with a message.
  bool open(const std::string& path, std::string& error);
  // All of it, up to its length; false with errno.
  bool read(std::string& content) const;
  // What is behind so many bytes goes; false with errno.
  bool cut(std::uint64_t length);
  // False with errno: nothing of it is there, or will be once something else is.
  bool append(std::string_view bytes);
  // Another content in one go; false with a message: the old one is there still.
  bool replace(std::string_view content, std::string& error);
  bool sync() const; // false with errno, also where it is no longer the file of its path
  const std::string& path() const { return path_; }
  std::uint64_t length() const { return length_; }

private:
  std::string path_;
  int descriptor_ = -1;
  std::uint64_t length_ = 0; // of what was appended as a whole
  bool ragged_ = false;      // there may be more behind it
};

class ReportFile {
public:
  virtual ~ReportFile() = default;
  ReportFile() = default;
  ReportFile(const ReportFile&) = delete;
  ReportFile& operator=(const ReportFile&) = delete;

  // Begins the file, or with `resumed` goes on in it behind the first `reports` reports. False with a message.
  bool open(const std::string& path, bool resumed, std::uint64_t reports, std::string& error);
  // False if it has to wait.
  bool add(const Report& report);
  // All of them are in the file, and on the disk. False with what is wrong in `fault`.
  bool settle();
  const std::string& fault() const { return fault_; }
  // The last report that was there when the file was opened to go on in it; 0: there was none.
  std::uint64_t last() const { return last_; }

protected:
  virtual void begin() = 0;                                                                    // nothing is there
  virtual bool go_on(std::string_view content, std::uint64_t reports, std::string& error) = 0; // sets where the file ends
  virtual bool put(const Report& report) = 0; // false with a fault: nothing of it is in the file
  bool failed(std::string message);
  bool append(std::string_view bytes);
  GrowingFile file_;
  std::uint64_t last_ = 0;

private:
  static constexpr std::size_t kMostWaiting = 10'000;
  bool write_waiting();
  std::deque<Report> waiting_;
  std::size_t try_at_ = 0; // when so many wait
  std::uint64_t lost_ = 0;
  std::string fault_;
};

} // namespace cairn::tools
