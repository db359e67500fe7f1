// Files replaced as a whole: a crash, a full disk or a failing device leaves the old content or the new one, never a part of it.
// The system calls are virtual, so that a test can let each of them fail in turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <utility>

namespace cairn::files {

// Whether a file of that name is a new one that is not finished: it lies beside the one that it will replace, and stays there if
// the process is killed meanwhile. It is nobody's content, so whoever lists folders leaves it out.
bool is_unfinished(std::string_view name);
// Such a name of `target`, of two numbers.
std::string unfinished_name(std::string_view target, std::uint64_t first, std::uint64_t second);

// Each does what the call of its name does; those that work in a folder take its descriptor.
struct FileCalls {
  virtual ~FileCalls() = default;
  virtual int open(const char* path, int flags);
  virtual int create(int folder, const char* name, mode_t mode); // a new file, never one that is there, never through a link
  virtual int open_in(int folder, const char* name);             // to be written, not through a link
  virtual int reserve(int file, off_t bytes); // a new file gets that size and, where the disk does so, the room
  virtual ssize_t write(int file, const void* bytes, std::size_t size);
  virtual ssize_t write_at(int file, const void* bytes, std::size_t size, off_t at);
  virtual int change_mode(int file, mode_t mode);
  virtual int sync(int descriptor);
  virtual int close(int descriptor);
  virtual int rename(int folder, const char* from, const char* to);
  virtual int remove(int folder, const char* name);
};

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
  bool close();

private:
  FileCalls& calls_;
  int number_;
};

// What a content is put into. Where it cannot be, an exception ends the content, and `replace` and `fill` return false.
class FileSink {
public:
  FileSink(FileCalls& calls, int file, bool regular) : calls_(calls), file_(file), regular_(regular) {}
  void put(std::span<const std::byte> bytes);
  bool can_patch() const { return regular_; }
  void patch(std::uint64_t at, std::span<const std::byte> bytes);

private:
  FileCalls& calls_;
  int file_;
  bool regular_;
};
using Content = std::function<void(FileSink&)>;

// False with errno set.
bool fill(const Content& content, FileSink sink);
bool sync(FileCalls& calls, int descriptor);
// Writes a new file in the open folder, syncs it and gives it the name. False with errno set, or by an exception of the
// content's: then what had the name before has it still. Syncing the folder is left to the caller. `mode`: the permissions of the
// old file, which the new one gets whatever the process would give it; -1: there is none.
bool replace(int folder, const std::string& name, int mode, const Content& content, FileCalls& calls);

} // namespace cairn::files
