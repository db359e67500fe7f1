// See the header. The descriptors are used directly: what went wrong is known, and nothing is buffered twice.
#include "streams.h"

#include "chart.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cairn::tools {

namespace {

constexpr auto kPatience = std::chrono::seconds(1); // shorter runs show nothing
constexpr auto kRedrawEvery = std::chrono::milliseconds(200);
constexpr int kBarCells = 30;

// 1234567 as "1.23 M".
std::string abbreviated(double number) {
  const char* units[] = {"", " k", " M", " G", " T", " P"};
  std::size_t unit = 0;
  while (number >= 1000 && unit + 1 < std::size(units)) {
    number /= 1000;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, "%.3g%s", number, units[unit]);
  return text;
}

// "34.1 MiB of 2.0 GiB, "
std::string memory_text(const cairn_vm& vm) {
  cairn_memory memory;
  if (cairn_vm_memory(&vm, &memory) != CAIRN_OK) return "";
  const std::string budget = memory.budget == CAIRN_UNLIMITED ? "" : " of " + bytes_text(static_cast<double>(memory.budget));
  return bytes_text(static_cast<double>(memory.all)) + budget + ", ";
}

// What the program reported last: "step 30 of 100, loss 0.2512, ".
std::string told(const Reports& reports) {
  std::string text;
  if (const auto& part = reports.part()) {
    char numbers[64];
    std::snprintf(numbers, sizeof numbers, "step %.15g of %.15g, ", part->step, part->of);
    text += numbers;
  }
  for (const auto& [name, value] : reports.last()) text += name + " " + short_number(value) + ", ";
  return text;
}

// How much of it a terminal shows in one line, which begins with its control characters; all of it elsewhere. Characters are
// counted, and none is cut.
std::size_t width_of_line(const std::string& line) {
  constexpr std::size_t kControl = 4;
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return line.size();
  std::size_t at = kControl;
  for (std::size_t shown = 0; at < line.size(); ++at)
    if ((static_cast<unsigned char>(line[at]) & 0xC0) != 0x80 && ++shown >= size.ws_col) break;
  return at;
}

} // namespace

// What the program says of itself goes before what is known of the gradient in progress.
double Progress::part_done(std::uint64_t steps_made, const cairn_progress& now, const Reports& reports) const {
  if (reports.part() && reports.part()->of > 0) return std::max(0.0, reports.part()->step / reports.part()->of);
  if (now.phase == CAIRN_PHASE_BACKWARD && now.gradient_steps_predicted > 0)
    return static_cast<double>(now.gradient_steps_executed) / static_cast<double>(now.gradient_steps_predicted);
  return goal_ ? static_cast<double>(steps_made) / static_cast<double>(*goal_) : -1;
}

void Progress::show(std::uint64_t steps_made, const cairn_vm& vm, const Reports& reports) {
  auto now = Clock::now();
  if (!on_ || now - start_ < kPatience || now - last_ < kRedrawEvery) return;
  last_ = now;
  cairn_progress progress;
  if (cairn_vm_progress(&vm, &progress) != CAIRN_OK) return;
  double seconds = std::chrono::duration<double>(now - start_).count();
  std::string line = "\r\033[K";
  double part = std::min(part_done(steps_made, progress, reports), 1.0);
  if (part >= 0) {
    int cells = static_cast<int>(part * kBarCells);
    line += "[" + std::string(static_cast<std::size_t>(cells), '#') +
            std::string(static_cast<std::size_t>(kBarCells - cells), '.') + "] " + std::to_string(static_cast<int>(part * 100)) +
            " %  ";
  }
  if (progress.phase == CAIRN_PHASE_FORWARD) line += "gradient, first run: ";
  if (progress.phase == CAIRN_PHASE_BACKWARD)
    line += "gradient of " + abbreviated(static_cast<double>(progress.gradient_steps)) + " steps: ";
  line += told(reports);
  line += abbreviated(static_cast<double>(steps_made)) + " steps, " + abbreviated(static_cast<double>(steps_made) / seconds) +
          "/s, " + memory_text(vm) + std::to_string(static_cast<long>(seconds)) + " s";
  // What is left is judged by what was done since the bar last began anew: each gradient has its own.
  if (part < last_part_ || last_part_ < 0) {
    bar_start_ = now;
    bar_from_ = part;
  }
  last_part_ = part;
  if (part > bar_from_ && part > 0.01) {
    double left = std::chrono::duration<double>(now - bar_start_).count() * (1 - part) / (part - bar_from_);
    line += ", " + std::to_string(static_cast<long>(left) + 1) + " s left";
  }
  complain(line.substr(0, width_of_line(line)));
  visible_ = true;
}

void Progress::hide() {
  if (visible_) complain("\r\033[K");
  visible_ = false;
}

Streams::~Streams() {
  if (!path_.empty() && writer_ != nullptr) close(writer_->descriptor()); // what counts was synced before
}

bool Streams::open_output(const std::string& path, std::uint64_t kept_bytes, std::string& error) {
  path_ = path;
  if (path.empty()) {
    writer_ = std::make_unique<Writer>(STDOUT_FILENO);
    interactive_ = isatty(STDOUT_FILENO) == 1;
    return true;
  }
  int descriptor = open_to_write(path);
  struct stat facts {};
  if (descriptor < 0 || fstat(descriptor, &facts) != 0) {
    error = path + ": error: cannot be written: " + writing_fault(errno) + "\n";
    return false;
  }
  writer_ = std::make_unique<Writer>(descriptor);
  regular_ = S_ISREG(facts.st_mode);
  folder_safe_ = !regular_;
  // A device or a pipe keeps nothing that could be cut back.
  if (!regular_) return true;
  auto length = static_cast<std::uint64_t>(facts.st_size);
  if (length < kept_bytes) {
    error = path + ": error: holds " + std::to_string(length) + " bytes of output, but the saved state has written " +
            std::to_string(kept_bytes) + "\n";
    return false;
  }
  auto end = static_cast<off_t>(kept_bytes);
  if (ftruncate(descriptor, end) != 0 || lseek(descriptor, end, SEEK_SET) != end) {
    error = path + ": error: cannot be cut back: " + std::strerror(errno) + "\n";
    return false;
  }
  return true;
}

bool Streams::skip_input(std::uint64_t taken_bytes, std::string& error) {
  struct stat facts {};
  if (taken_bytes == 0 || fstat(STDIN_FILENO, &facts) != 0 || !S_ISREG(facts.st_mode)) return true;
  if (static_cast<std::uint64_t>(facts.st_size) < taken_bytes) {
    error = "standard input: error: holds " + std::to_string(facts.st_size) + " bytes, but the saved state has read " +
            std::to_string(taken_bytes) + "\n";
    return false;
  }
  if (lseek(STDIN_FILENO, static_cast<off_t>(taken_bytes), SEEK_SET) < 0) {
    error = std::string("standard input: error: cannot be continued: ") + std::strerror(errno) + "\n";
    return false;
  }
  return true;
}

bool Streams::write(std::string_view text) {
  if (!writer_->write(text)) return false;
  return !interactive_ || text.find('\n') == std::string_view::npos || flush();
}

std::size_t Streams::read(char* buffer, std::size_t capacity) {
  // Whoever types the input has to see the question first.
  if (interactive_ || isatty(STDIN_FILENO) == 1) flush();
  for (;;) {
    ssize_t got = ::read(STDIN_FILENO, buffer, capacity);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) return SIZE_MAX;
  }
}

bool Streams::flush(bool durably) {
  if (writer_ == nullptr) return true;
  if (!writer_->empty() && interactive_) progress_.hide();
  writer_->flush();
  if (durably && !output_failed() &&
      !(regular_ ? is_still_at(writer_->descriptor(), path_) && sync() : is_taken(writer_->descriptor())))
    sync_error_ = errno;
  return !output_failed();
}

// The file, and once its folder: a crash must not take a new file away from under a saved state.
bool Streams::sync() {
  auto synced = [](int descriptor) {
    while (fsync(descriptor) != 0)
      if (errno != EINTR) return false;
    return true;
  };
  if (!synced(writer_->descriptor())) return false;
  if (folder_safe_) return true;
  std::size_t slash = path_.rfind('/');
  std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path_.substr(0, slash);
  int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return false;
  bool good = synced(descriptor) || errno == EINVAL || errno == ENOTSUP; // some file systems do not sync folders
  int why = errno;
  close(descriptor);
  errno = why;
  folder_safe_ = good;
  return good;
}

std::string Streams::output_fault() const {
  return (path_.empty() ? "standard output" : path_) +
         ": error: cannot be written: " + writing_fault(writer_->error() != 0 ? writer_->error() : sync_error_) + "\n";
}

void Streams::report(std::string_view text) {
  flush();
  progress_.hide();
  complain(text);
}

} // namespace cairn::tools
