// Files replaced as a whole: a crash, a full disk or a failing device leaves the old content or the new one, never a part of it,
// and the caller learns which. The system calls are virtual, so that a test can let each of them fail in turn.
#pragma once

#include "vm/image/bytes.h"

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <sys/types.h>

namespace cairn::api {

// Each does what the call of its name does; those that work in a folder take its descriptor.
struct FileCalls {
  virtual ~FileCalls() = default;
  virtual int open(const char* path, int flags);
  virtual int create(int folder, const char* name, mode_t mode); // a new file, never one that is there, never through a link
  virtual ssize_t write(int file, const void* bytes, std::size_t size);
  virtual ssize_t write_at(int file, const void* bytes, std::size_t size, off_t at);
  virtual int change_mode(int file, mode_t mode);
  virtual int sync(int descriptor);
  virtual int close(int descriptor);
  virtual int rename(int folder, const char* from, const char* to);
  virtual int remove(int folder, const char* name);
};

// Writes a new file beside `path`, syncs it, renames it over `path` and syncs the folder. The new file has the permissions of the
// old one. Where `path` is a symbolic link, what it points to is replaced and the link stays. A path that is there and no regular
// file (a device, a pipe) is written directly. Throws Refusal: NO_FILE with a message that names the path and says whether the
// old content is still there. `content` puts what the file is to hold; where it throws, the old content stays.
void replace_file(const std::string& path, const std::function<void(image::ImageSink&)>& content, FileCalls& calls);
inline void replace_file(const std::string& path, std::span<const std::byte> content, FileCalls& calls) {
  replace_file(
      path, [content](image::ImageSink& sink) { sink.put(content); }, calls);
}

} // namespace cairn::api
