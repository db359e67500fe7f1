// The order is what counts: content, sync, close, rename. Whatever fails before the rename leaves the old file and removes the
// new one.
#include "vm/files/replacing.h"

#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cairn::files {

int FileCalls::open(const char* path, int flags) { return ::open(path, flags | O_CLOEXEC); }
int FileCalls::create(int folder, const char* name, mode_t mode) {
  return ::openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
}
int FileCalls::open_in(int folder, const char* name) { return ::openat(folder, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC); }
int FileCalls::reserve(int file, off_t bytes) {
  const int done = ::fallocate(file, 0, 0, bytes);
  return done != 0 && errno == EOPNOTSUPP ? ::ftruncate(file, bytes) : done;
}
ssize_t FileCalls::write(int file, const void* bytes, std::size_t size) { return ::write(file, bytes, size); }
ssize_t FileCalls::write_at(int file, const void* bytes, std::size_t size, off_t at) { return ::pwrite(file, bytes, size, at); }
int FileCalls::change_mode(int file, mode_t mode) { return ::fchmod(file, mode); }
int FileCalls::sync(int descriptor) { return ::fsync(descriptor); }
int FileCalls::close(int descriptor) { return ::close(descriptor); }
int FileCalls::rename(int folder, const char* from, const char* to) { return ::renameat(folder, from, folder, to); }
int FileCalls::remove(int folder, const char* name) { return ::unlinkat(folder, name, 0); }

namespace {

constexpr std::string_view kUnfinished = ".cairn-part"; // behind NAME.PROCESS-NUMBER

constexpr int kMostNames = 1000; // of files that others left or write at this moment

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

// A file that is written in a folder and gone again unless it gets its name.
class NewFile {
public:
  NewFile(FileCalls& calls, int folder, const std::string& target, mode_t mode) : calls_(calls), folder_(folder) {
    static std::atomic<unsigned> count = 0; // two threads may save at once
    int file = -1;
    for (int i = 0; i < kMostNames && file < 0; ++i) {
      name_ = unfinished_name(target, static_cast<std::uint64_t>(getpid()), count++);
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

} // namespace

std::string unfinished_name(std::string_view target, std::uint64_t first, std::uint64_t second) {
  constexpr std::size_t kNumbers = 40; // bytes that two numbers and what is around them take at most
  return fmt::format("{}.{}-{}{}", target.substr(0, NAME_MAX - kNumbers), first, second, kUnfinished);
}

bool is_unfinished(std::string_view name) {
  if (!name.ends_with(kUnfinished)) return false;
  name.remove_suffix(kUnfinished.size());
  const auto drop_digits = [&name] {
    const std::size_t last = name.find_last_not_of("0123456789");
    const bool some = last != std::string_view::npos && last + 1 < name.size();
    if (some) name = name.substr(0, last + 1);
    return some;
  };
  if (!drop_digits() || !name.ends_with('-')) return false;
  name.remove_suffix(1);
  return drop_digits() && name.ends_with('.');
}

bool OpenFile::close() { return calls_.close(std::exchange(number_, -1)) == 0 || errno == EINTR; }

void FileSink::put(std::span<const std::byte> bytes) {
  write_all(bytes, [&](std::span<const std::byte> rest) { return calls_.write(file_, rest.data(), rest.size()); });
}

void FileSink::patch(std::uint64_t at, std::span<const std::byte> bytes) {
  const std::size_t all = bytes.size();
  write_all(bytes, [&](std::span<const std::byte> rest) {
    return calls_.write_at(file_, rest.data(), rest.size(), static_cast<off_t>(at + all - rest.size()));
  });
}

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

bool replace(int folder, const std::string& name, int mode, const Content& content, FileCalls& calls) {
  constexpr mode_t kNew = 0666;
  bool good = false;
  int why = 0;
  {
    NewFile part(calls, folder, name, mode < 0 ? kNew : static_cast<mode_t>(mode));
    OpenFile file(calls, part.descriptor());
    good = file && (mode < 0 || calls.change_mode(file.number(), static_cast<mode_t>(mode)) == 0) &&
           fill(content, {calls, file.number(), true}) && sync(calls, file.number()) && file.close() && part.give_name(name);
    why = errno;
  }
  errno = why;
  return good;
}

} // namespace cairn::files
