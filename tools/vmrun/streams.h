// What a running program reads and writes: standard input, standard output or --output's file, and the progress line on the
// terminal, which has to get out of the way of everything else.
#pragma once

#include "cairn.h"
#include "common/writing.h"
#include "reports.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace cairn::tools {

// One line on standard error that is drawn over and over.
class Progress {
public:
  explicit Progress(bool on, std::optional<std::uint64_t> steps_to_make) : on_(on), goal_(steps_to_make) {}
  bool on() const { return on_; }
  void show(std::uint64_t steps_made, const cairn_vm& vm, const Reports& reports);
  void hide();

private:
  using Clock = std::chrono::steady_clock;
  double part_done(std::uint64_t steps_made, const cairn_progress& now, const Reports& reports) const;
  bool on_;
  bool visible_ = false;
  std::optional<std::uint64_t> goal_;
  Clock::time_point start_ = Clock::now(), last_ = start_, bar_start_ = start_;
  double last_part_ = -1, bar_from_ = -1; // of the whole; -1: nobody knows
};

class Streams {
public:
  explicit Streams(Progress& progress) : progress_(progress) {}
  ~Streams();
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  // Where output goes: a file that already holds `kept_bytes` bytes of it, the rest of which is cut off, or standard output (an
  // empty path). False with a message.
  bool open_output(const std::string& path, std::uint64_t kept_bytes, std::string& error);

  // A resumed run goes on behind the input that it has taken already, where the input is a file; a pipe or a terminal is taken to
  // hold what follows. False with a message if the file is shorter.
  bool skip_input(std::uint64_t taken_bytes, std::string& error);

  bool write(std::string_view text);
  std::size_t read(char* buffer, std::size_t capacity); // SIZE_MAX: it failed
  // Everything written so far is where it belongs (`durably`: a file's on the disk). False if that failed, now or before: what a
  // disk did not take once may be gone, so no later success mends it.
  bool flush(bool durably = false);
  // "NAME cannot be written: WHY".
  std::string output_fault() const;
  bool output_failed() const { return writer_ != nullptr && (writer_->error() != 0 || sync_error_ != 0); }
  // Text on standard error, after the output that came before it.
  void report(std::string_view text);

private:
  bool sync();

  Progress& progress_;
  std::string path_;
  bool regular_ = false;    // a file, which can be synced; pipes and terminals cannot
  bool folder_safe_ = true; // the folder's entry of a file that did not exist before is on the disk
  int sync_error_ = 0;      // errno of the first failure
  std::unique_ptr<Writer> writer_;
  bool interactive_ = false; // someone waits for each line
};

} // namespace cairn::tools
