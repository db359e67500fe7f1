// The order is what counts: content, sync, close, rename, sync of the folder. Whatever fails before the rename leaves the old
// file and removes the new one.
#include "vm/api/saving.h"

#include "vm/api/border.h"

#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace cairn::api {

int FileCalls::open(const char* path, int flags) { return ::open(path, flags | O_CLOEXEC); }
int FileCalls::create(int folder, const char* name, mode_t mode) {
  return ::openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
}
ssize_t FileCalls::write(int file, const void* bytes, std::size_t size) { return ::write(file, bytes, size); }
ssize_t FileCalls::write_at(int file, const void* bytes, std::size_t size, off_t at) { return ::pwrite(file, bytes, size, at); }
int FileCalls::change_mode(int file, mode_t mode) { return ::fchmod(file, mode); }
int FileCalls::sync(int descriptor) { return ::fsync(descriptor); }
int FileCalls::close(int descriptor) { return ::close(descriptor); }
int FileCalls::rename(int folder, const char* from, const char* to) { return ::renameat(folder, from, folder, to); }
int FileCalls::remove(int folder, const char* name) { return ::unlinkat(folder, name, 0); }

namespace {

constexpr mode_t kPermissions = 0777;
constexpr int kMostNames = 1000; // of files that others left or write at this moment

[[noreturn]] void refuse(const std::string& path, std::string_view what) {
  throw Refusal{CAIRN_NO_FILE, fmt::format("{}: error: {}: {}\n", path, what, std::strerror(errno))};
}

// A file or folder that is closed through the calls, so that a test can let closing it fail.
class OpenFile {
public:
  OpenFile(FileCalls& calls, int number) : calls_(calls), number_(number) {}
  ~OpenFile() {
    if (number_ >= 0) calls_.close(number_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  explicit operator bool() const { return number_ >= 0; }
  int number() const { return number_; }
  // True if it closed well. Interrupted or not, the descriptor is gone.
  bool close() { return calls_.close(std::exchange(number_, -1)) == 0 || errno == EINTR; }

private:
  FileCalls& calls_;
  int number_;
};

// A system call failed so.
struct Unwritten {
  int error;
};

// Calls write(rest) until nothing is left.
template <class Write> void write_all(std::span<const std::byte> content, Write&& write) {
  while (!content.empty()) {
    ssize_t put = write(content);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) throw Unwritten{put == 0 ? EIO : errno}; // 0: nothing taken and nothing said
    content = content.subspan(static_cast<std::size_t>(put));
  }
}

class FileSink final : public image::ImageSink {
public:
  FileSink(FileCalls& calls, int file, bool regular) : calls_(calls), file_(file), regular_(regular) {}
  void put(std::span<const std::byte> bytes) override {
    write_all(bytes, [&](std::span<const std::byte> rest) { return calls_.write(file_, rest.data(), rest.size()); });
  }
  bool can_patch() const override { return regular_; }
  void patch(std::uint64_t at, std::span<const std::byte> bytes) override {
    const std::size_t all = bytes.size();
    write_all(bytes, [&](std::span<const std::byte> rest) {
      return calls_.write_at(file_, rest.data(), rest.size(), static_cast<off_t>(at + all - rest.size()));
    });
  }

private:
  FileCalls& calls_;
  int file_;
  bool regular_;
};

using Content = std::function<void(image::ImageSink&)>;

// False with errno set.
bool fill(const Content& content, FileSink sink) {
  try {
    content(sink);
    return true;
  } catch (const Unwritten& fault) {
    errno = fault.error;
    return false;
  }
}

bool sync(FileCalls& calls, int descriptor) {
  for (;;) {
    if (calls.sync(descriptor) == 0) return true;
    if (errno != EINTR) return false;
  }
}

// A file that is written in a folder and gone again unless it gets its name.
class NewFile {
public:
  NewFile(FileCalls& calls, int folder, const std::string& target, mode_t mode) : calls_(calls), folder_(folder) {
    static std::atomic<unsigned> count = 0; // two threads may save at once
    std::string stem = target.substr(0, NAME_MAX - 40);
    int file = -1;
    for (int i = 0; i < kMostNames && file < 0; ++i) {
      name_ = fmt::format("{}.{}-{}.part", stem, getpid(), count++);
      file = calls.create(folder, name_.c_str(), mode);
      if (file < 0 && errno != EEXIST) break;
    }
    file_ = file;
  }
  ~NewFile() {
    if (file_ < 0 || named_) return;
    int why = errno;
    calls_.remove(folder_, name_.c_str());
    errno = why;
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  int descriptor() const { return file_; }
  bool give_name(const std::string& name) { return named_ = calls_.rename(folder_, name_.c_str(), name.c_str()) == 0; }

private:
  FileCalls& calls_;
  int folder_;
  int file_ = -1;
  std::string name_;
  bool named_ = false;
};

// What a chain of links ends at.
std::string behind_links(const std::string& path) {
  struct stat facts {};
  if (lstat(path.c_str(), &facts) != 0 || !S_ISLNK(facts.st_mode)) return path;
  std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr), &std::free);
  if (real == nullptr) refuse(path, "is a link that cannot be followed");
  return real.get();
}

void write_directly(const std::string& path, const Content& content, FileCalls& calls) {
  OpenFile file(calls, calls.open(path.c_str(), O_WRONLY | O_NOCTTY));
  if (!file || !fill(content, {calls, file.number(), false}) || !file.close()) refuse(path, "cannot be written");
}

} // namespace

void replace_file(const std::string& path, const Content& content, FileCalls& calls) {
  std::string target = behind_links(path);
  struct stat old {};
  bool exists = stat(target.c_str(), &old) == 0;
  if (exists && !S_ISREG(old.st_mode)) return write_directly(target, content, calls);
  std::size_t slash = target.rfind('/');
  std::string folder_name = slash == std::string::npos ? "." : slash == 0 ? "/" : target.substr(0, slash);
  std::string name = slash == std::string::npos ? target : target.substr(slash + 1);
  if (name.empty()) {
    errno = EISDIR;
    refuse(path, "cannot be written");
  }
  OpenFile folder(calls, calls.open(folder_name.c_str(), O_RDONLY | O_DIRECTORY));
  std::string_view fault = exists ? "cannot be written, the old file stays" : "cannot be written";
  if (!folder) refuse(path, fault);
  mode_t mode = exists ? old.st_mode & kPermissions : 0666;
  {
    NewFile part(calls, folder.number(), name, mode);
    OpenFile file(calls, part.descriptor());
    bool good = file && (!exists || calls.change_mode(file.number(), mode) == 0) && fill(content, {calls, file.number(), true}) &&
                sync(calls, file.number()) && file.close() && part.give_name(name);
    if (!good) refuse(path, fault);
  }
  // Some file systems do not sync folders; they say so.
  if (!sync(calls, folder.number()) && errno != EINVAL && errno != ENOTSUP)
    refuse(path, "is written, but its folder cannot be synced: after a crash the old file may be back");
}

} // namespace cairn::api
