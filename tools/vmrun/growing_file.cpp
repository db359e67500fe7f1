// See growing_file.h.
#include "growing_file.h"

#include "common/handles.h"
#include "common/writing.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cairn::tools {

const double* Report::value(std::string_view name) const {
  for (const auto& [own, number] : values)
    if (own == name) return &number;
  return nullptr;
}

GrowingFile::~GrowingFile() {
  if (descriptor_ >= 0) close(descriptor_); // what counts was synced before
}

bool GrowingFile::open(const std::string& path, std::string& error) {
  path_ = path;
  if (descriptor_ >= 0) close(descriptor_);
  // A pipe would be waited for.
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
  struct stat facts {};
  if (descriptor_ < 0 || fstat(descriptor_, &facts) != 0) {
    error = path + ": error: cannot be written: " + std::strerror(errno) + "\n";
    return false;
  }
  if (!S_ISREG(facts.st_mode)) {
    error = path + ": error: cannot be written: it is no regular file\n";
    return false;
  }
  length_ = static_cast<std::uint64_t>(facts.st_size);
  return true;
}

bool GrowingFile::read(std::string& content) const {
  content.resize(length_);
  for (std::size_t done = 0; done < content.size();) {
    const ssize_t got = pread(descriptor_, content.data() + done, content.size() - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return false;
    if (got == 0) content.resize(done);
    done += static_cast<std::size_t>(got);
  }
  return true;
}

bool GrowingFile::cut(std::uint64_t length) {
  ragged_ = true;
  length_ = length;
  if (ftruncate(descriptor_, static_cast<off_t>(length)) != 0) return false;
  ragged_ = false;
  return true;
}

bool GrowingFile::append(std::string_view bytes) {
  if (ragged_ && !cut(length_)) return false;
  if (lseek(descriptor_, static_cast<off_t>(length_), SEEK_SET) < 0) return false;
  if (write_fully(descriptor_, bytes.data(), bytes.size())) {
    length_ += bytes.size();
    return true;
  }
  const int why = errno;
  cut(length_);
  errno = why;
  return false;
}

bool GrowingFile::replace(std::string_view content, std::string& error) {
  CairnBuffer fault;
  if (cairn_file_write(path_.c_str(), content.data(), content.size(), fault.text()) != CAIRN_OK) {
    error = std::string(fault.view());
    return false;
  }
  return open(path_, error);
}

bool GrowingFile::sync() const {
  while (fsync(descriptor_) != 0)
    if (errno != EINTR) return false;
  return is_still_at(descriptor_, path_);
}

bool ReportFile::open(const std::string& path, bool resumed, std::uint64_t reports, std::string& error) {
  if (!file_.open(path, error)) return false;
  std::string content;
  if (!resumed) {
    if (!file_.cut(0)) return error = path + ": error: cannot be written: " + std::strerror(errno) + "\n", false;
    begin();
    return true;
  }
  if (!file_.read(content)) return error = path + ": error: cannot be read: " + std::strerror(errno) + "\n", false;
  if (!content.empty()) return go_on(content, reports, error);
  begin();
  return true;
}

bool ReportFile::failed(std::string message) {
  fault_ = std::move(message);
  return false;
}

bool ReportFile::append(std::string_view bytes) {
  return file_.append(bytes) || failed(file_.path() + ": error: cannot be written: " + std::strerror(errno) + "\n");
}

bool ReportFile::write_waiting() {
  for (; !waiting_.empty(); waiting_.pop_front())
    if (!put(waiting_.front())) return false;
  return true;
}

// What waits is tried again when there is twice as much of it, since a try may write the whole file.
bool ReportFile::add(const Report& report) {
  constexpr std::uint64_t kTryAgain = 1000;
  if (waiting_.empty() && put(report)) return true;
  const bool room = waiting_.size() < kMostWaiting;
  if (room)
    waiting_.push_back(report);
  else
    ++lost_;
  if (room ? waiting_.size() < try_at_ : lost_ % kTryAgain != 0) return false;
  if (write_waiting()) {
    try_at_ = 0;
    return true;
  }
  try_at_ = 2 * waiting_.size();
  return false;
}

bool ReportFile::settle() {
  if (!write_waiting()) return false;
  if (!file_.sync()) return failed(file_.path() + ": error: cannot be written: " + writing_fault(errno) + "\n");
  return lost_ == 0 ||
         failed(file_.path() + ": error: " + std::to_string(lost_) + " reports were lost: there was no room for them\n");
}

} // namespace cairn::tools
