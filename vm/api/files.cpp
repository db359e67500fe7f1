// Files of cairn.h, by system calls: what went wrong is known exactly. How they are written is in saving.cpp.
#include "vm/api/border.h"
#include "vm/api/memory.h"
#include "vm/api/saving.h"
#include "vm/files/descriptor.h"
#include "vm/image/reseal.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

using cairn::api::guarded;
using cairn::api::Refusal;
using cairn::api::require;
using cairn::files::Descriptor;

namespace {

[[noreturn]] void refuse(const std::string& path, const char* what) {
  throw Refusal{CAIRN_NO_FILE, path + ": error: " + what + ": " + std::strerror(errno) + "\n"};
}

// Memory of malloc that grows with what is really there, and is the only copy of it.
class Content {
public:
  Content() = default;
  ~Content() { std::free(bytes_); }
  Content(const Content&) = delete;
  Content& operator=(const Content&) = delete;
  // Room for `more` bytes behind the others, and a zero byte.
  char* room(std::size_t more) {
    if (capacity_ - size_ < more + 1) {
      const std::size_t capacity = std::max(capacity_ + capacity_ / 2, size_ + more + 1);
      void* grown = std::realloc(bytes_, capacity);
      if (grown == nullptr) throw std::bad_alloc();
      bytes_ = static_cast<char*>(grown);
      capacity_ = capacity;
    }
    return bytes_ + size_;
  }
  void add(std::size_t bytes) { size_ += bytes; }
  std::size_t size() const { return size_; }
  void* take() {
    *room(0) = '\0';
    return std::exchange(bytes_, nullptr);
  }

private:
  char* bytes_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0;
};

void read_content(const std::string& path, Content& content) {
  Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) refuse(path, "cannot be read");
  struct stat facts {};
  const bool known = fstat(file.number(), &facts) == 0;
  if (known && S_ISCHR(facts.st_mode))
    throw Refusal{CAIRN_NO_FILE, path + ": error: is a device, not a file\n"}; // /dev/zero has no end
  // A file of nothing may say that it has any number of bytes.
  if (known && S_ISREG(facts.st_mode) && static_cast<std::uint64_t>(facts.st_size) > cairn::api::available_memory_bytes())
    throw Refusal{CAIRN_OUT_OF_MEMORY,
                  path + ": error: has " + std::to_string(facts.st_size) + " bytes, more than there is memory for\n"};
  constexpr std::size_t kPiece = 1 << 16;
  for (;;) {
    ssize_t got = read(file.number(), content.room(kPiece), kPiece);
    if (got > 0)
      content.add(static_cast<std::size_t>(got));
    else if (got == 0)
      return;
    else if (errno != EINTR)
      refuse(path, "cannot be read");
  }
}

} // namespace

cairn_status cairn_file_read(const char* path, void** bytes, size_t* size, char** error) {
  return guarded(error, [&] {
    require(path != nullptr && bytes != nullptr && size != nullptr, "cairn_file_read: an argument is NULL");
    *bytes = nullptr;
    *size = 0;
    Content content;
    read_content(path, content);
    *bytes = content.take();
    *size = content.size();
  });
}

cairn_status cairn_file_write(const char* path, const void* bytes, size_t size, char** error) {
  return guarded(error, [&] {
    require(path != nullptr && (bytes != nullptr || size == 0), "cairn_file_write: an argument is NULL");
    cairn::api::FileCalls calls;
    cairn::api::replace_file(path, {static_cast<const std::byte*>(bytes), size}, calls);
  });
}

cairn_status cairn_reseal(void* bytes, size_t size, char** error) {
  return guarded(error, [&] {
    require(bytes != nullptr || size == 0, "cairn_reseal: bytes is NULL");
    std::string message;
    if (!cairn::image::reseal_file({static_cast<std::byte*>(bytes), size}, message)) throw Refusal{CAIRN_BAD_ARGUMENT, message};
  });
}
